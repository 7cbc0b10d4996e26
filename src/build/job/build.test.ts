import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { TENANT, UID } from '../../../test/support/builders.ts';
import { Settings } from '../../kinds/settings.ts';
import type { BuildInputs } from './inputs.ts';
import { makeBuildJob, makeBuildSecrets } from './job.ts';
import { buildNamespaceObjects, makeBuildNetworkPolicy } from './namespace.ts';

const settings = Settings.parse({
  builds: {
    registry: { host: 'registry.example.com:5000', repository: 'davit', ca: 'CA', tokens: true },
    images: { builder: 'registry.example.com/davit-builder:1', davit: 'registry.example.com/davit:1' },
    baseImages: { python: 'registry.example.com/python:{version}' },
    packageIndex: { pip: 'http://pypi.example.com/simple', npm: 'https://npm.example.com' },
    egress: ['10.1.2.3/32'],
    placement: { nodeSelector: { pool: 'builds' }, priorityClassName: 'low' },
  },
  codeHosts: [{ host: 'git.example.com:8443', addresses: ['10.20.0.7', 'fd00::7'] }],
});
const { registry } = settings.builds;
const revisionId = '44444444-4444-4444-8444-444444444444';

function inputs(more: Partial<BuildInputs> = {}): BuildInputs {
  if (!registry) throw new Error('no registry');
  return {
    revisionId,
    tenant: { namespace: 'team', tenantId: TENANT },
    deployment: { name: 'shop', uid: UID },
    source: { kind: 'git', url: 'https://git.example.com/team/shop', ref: 'c'.repeat(40) },
    workflowConfigPath: 'davit.json',
    installCommand: 'echo "$(HOME)" $$ && make',
    mode: 'userns',
    settings: settings.builds,
    registry,
    images: { builder: 'registry.example.com/davit-builder:1', davit: 'registry.example.com/davit:1' },
    ...more,
  };
}
const credentials = {
  source: { token: 'source-credential' },
  sourceCa: 'CODE HOST CA',
  push: 'push-credential',
  login: { username: 'u', password: 'push-credential' },
};
const yaml = (object: unknown): string => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false });

describe('objects of a build', () => {
  it.each([
    ['git-userns', inputs()],
    ['upload-rootless', inputs({ mode: 'rootless', source: { kind: 'upload', tag: 'upload-1' } })],
  ])('match the golden file: %s', async (name, given) => {
    const objects = [makeBuildJob(given), ...makeBuildSecrets(given, credentials, 'job-uid')];
    await expect(objects.map(yaml).join('---\n')).toMatchFileSnapshot(`../../../test/golden/build-${name}.yaml`);
  });

  it('match the golden file of the namespace', async () => {
    const objects = buildNamespaceObjects(settings).map(yaml).join('---\n');
    await expect(objects).toMatchFileSnapshot('../../../test/golden/build-namespace.yaml');
  });
});

describe.each(['userns', 'rootless'] as const)('build pod, mode %s', (mode) => {
  const { spec } = makeBuildJob(inputs({ mode }));
  const pod = spec?.template.spec;
  const containers = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];

  it('mounts in each container only the credential that it needs', () => {
    const mounts = Object.fromEntries(
      containers.map(({ name, volumeMounts = [] }) => [
        name,
        volumeMounts.map((mount) => mount.name).filter((volume) => volume === 'source' || volume === 'push'),
      ]),
    );
    expect(mounts).toEqual({ fetch: ['source'], plan: [], build: ['push'] });
    for (const value of ['source-credential', 'push-credential']) expect(JSON.stringify(spec)).not.toContain(value);
  });

  it('has no service account token, and no environment variables from Secrets', () => {
    expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    expect(
      containers.flatMap(({ env = [], envFrom = [] }) => [...env.filter(({ valueFrom }) => valueFrom), ...envFrom]),
    ).toEqual([]);
  });

  it('runs fetch and plan restricted, and mounts the workspace read-only except in fetch', () => {
    for (const { name, securityContext, volumeMounts = [] } of containers) {
      const workspace = volumeMounts.find((mount) => mount.name === 'workspace');
      expect(workspace?.readOnly ?? false).toBe(name !== 'fetch');
      if (name === 'build') continue;
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('is not privileged, and limits the resources of all containers and the size of all volumes', () => {
    for (const { resources, securityContext } of containers) {
      expect(securityContext?.privileged).toBeUndefined();
      expect(Object.keys(resources?.limits ?? {})).toEqual(expect.arrayContaining(['cpu', 'memory']));
    }
    for (const { emptyDir } of pod?.volumes ?? []) if (emptyDir) expect(emptyDir.sizeLimit).toMatch(/^\d+[MG]i$/);
  });

  it('escapes dollar signs in commands', () => {
    expect(pod?.initContainers?.[1]?.args).toContain('--install-command=echo "$$(HOME)" $$$$ && make');
  });
});

describe('proxies', () => {
  const proxies = {
    httpProxy: 'http://proxy.example:3128',
    httpsProxy: 'http://proxy.example:3129',
    noProxy: ['.svc', '10.0.0.0/8'],
    addresses: [],
  };
  const pod = makeBuildJob(inputs({ proxies })).spec?.template.spec;
  const values = {
    HTTP_PROXY: 'http://proxy.example:3128',
    HTTPS_PROXY: 'http://proxy.example:3129',
    NO_PROXY: '.svc,10.0.0.0/8',
  };

  it('are variables of what fetches and builds, in both cases of letters, and none of plan', () => {
    const both = Object.entries(values).flatMap(([name, value]) => [
      { name, value },
      { name: name.toLowerCase(), value },
    ]);
    for (const container of [pod?.initContainers?.[0], pod?.containers[0]])
      expect(container?.env).toEqual(expect.arrayContaining(both));
    expect(JSON.stringify(pod?.initContainers?.[1])).not.toContain('proxy.example');
  });

  it('are the arguments that every RUN gets, and of no declared ARG', () => {
    const { command = [] } = pod?.containers[0] ?? {};
    expect(command.filter((argument) => argument.includes('PROXY='))).toEqual(
      Object.entries(values).map(([name, value]) => `--opt=build-arg:${name}=${value}`),
    );
  });

  it('change nothing where there are none', () => {
    const none = { noProxy: ['.svc'], addresses: ['10.0.0.1'] };
    expect(makeBuildJob(inputs({ proxies: none }))).toEqual(makeBuildJob(inputs()));
    const policy = (proxy: object): unknown =>
      makeBuildNetworkPolicy({ ...settings, proxy: Settings.parse({ proxy }).proxy });
    expect(policy(none)).toEqual(policy({}));
  });

  it.each([
    // [the proxy, its addresses, the ranges that are opened, the port]
    ['http://10.20.0.7:3128', [], ['10.20.0.7/32'], 3128],
    ['http://[fd00::7]:3128', [], ['fd00::7/128'], 3128],
    ['http://proxy.example:3128', ['10.20.0.0/24', '10.30.0.1'], ['10.20.0.0/24', '10.30.0.1/32'], 3128],
    ['http://proxy.example', ['10.20.0.7'], ['10.20.0.7/32'], 80],
  ])('are reached by builds at private addresses, at their port alone: %s', (httpsProxy, addresses, ranges, port) => {
    const { proxy } = Settings.parse({ proxy: { httpsProxy, addresses } });
    const egress = makeBuildNetworkPolicy({ ...settings, proxy }).spec?.egress ?? [];
    const before = makeBuildNetworkPolicy(settings).spec?.egress ?? [];
    expect(
      egress.filter((rule) => !before.some((other) => JSON.stringify(other) === JSON.stringify(rule))).at(-1),
    ).toEqual({
      to: ranges.map((cidr) => ({ ipBlock: { cidr } })),
      ports: [{ port, protocol: 'TCP' }],
    });
    // Elsewhere that port stays closed.
    expect(egress[0]?.ports).toEqual(before[0]?.ports);
  });

  it('are reached at any public address where they are given by name alone', () => {
    const { proxy } = Settings.parse({
      proxy: { httpProxy: 'http://10.20.0.7:3127', httpsProxy: 'http://proxy.example:3128' },
    });
    const egress = makeBuildNetworkPolicy({ ...settings, proxy }).spec?.egress ?? [];
    const port = (number: number): object => ({ port: number, protocol: 'TCP' });
    expect(egress[0]?.ports).toContainEqual(port(3128));
    expect(egress[0]?.ports).not.toContainEqual(port(3127));
    expect(egress).toContainEqual({ to: [{ ipBlock: { cidr: '10.20.0.7/32' } }], ports: [port(3127), port(3128)] });
  });
});

describe('what a RUN reaches in the cluster', () => {
  const egress = makeBuildNetworkPolicy(settings).spec?.egress ?? [];

  it('is no pod of a tenant, whatever its labels', () => {
    const open = egress
      .flatMap(({ to = [] }) => to)
      .filter(({ podSelector }) => podSelector)
      .map(({ namespaceSelector }) => namespaceSelector);
    expect(open.length).toBeGreaterThan(1);
    for (const { matchLabels = {}, matchExpressions = [] } of open.map((selector) => selector ?? {}))
      expect([matchLabels['kubernetes.io/metadata.name'], matchExpressions]).toBeOneOf([
        ['kube-system', []],
        [undefined, [{ key: 'davit.dev/tenant', operator: 'DoesNotExist' }]],
      ]);
  });

  it('is port 53 of the DNS alone', () => {
    const rules = egress.filter(({ ports = [] }) => ports.some(({ port }) => port === 53));
    expect(rules.map(({ to = [] }) => to.length)).toEqual([2]);
    expect(egress.filter(({ to = [] }) => to.length === 0)).toEqual([]);
  });
});

describe('public addresses of the API server and of nodes', () => {
  const blocks = (builds: object): object[] => {
    const given = Settings.parse({ builds: { ...builds } });
    const rules = makeBuildNetworkPolicy(given).spec?.egress ?? [];
    return rules.flatMap(({ to = [] }) => to).flatMap(({ ipBlock }) => ipBlock ?? []);
  };

  it('are closed to builds where the settings name them, in every range that contains them', () => {
    const egressExcept = ['203.0.113.7', '198.51.100.0/24', '2001:db8::7', '10.0.0.0/16'];
    const [v4, v6, named] = blocks({ egressExcept, egress: ['10.0.0.0/8'] }) as { except?: string[] }[];
    expect(v4?.except).toEqual(expect.arrayContaining(['10.0.0.0/8', '203.0.113.7/32', '198.51.100.0/24']));
    expect(v4?.except).not.toContain('2001:db8::7/128');
    expect(v6?.except).toEqual(['fc00::/7', 'fe80::/10', '::1/128', '2001:db8::7/128']);
    expect(named).toEqual({ cidr: '10.0.0.0/8', except: ['10.0.0.0/16'] });
  });

  it('are open where a smaller range is opened, such as a registry on a node', () => {
    const opened = blocks({ egressExcept: ['198.51.100.0/24'], egress: ['198.51.100.7/32', '198.51.100.0/24'] });
    expect(opened).toContainEqual({ cidr: '198.51.100.7/32' });
    expect(opened).toContainEqual({ cidr: '198.51.100.0/24' });
  });

  it('change nothing where none are named', () => {
    expect(blocks({})).toEqual(blocks({ egressExcept: [] }));
  });

  it.each(['example.com', '203.0.113.*', '203.0.113.0/33'])('are no %s', (range) => {
    expect(Settings.safeParse({ builds: { egressExcept: [range] } }).success).toBe(false);
  });
});

describe('docs/build-platform.md, about the container build', () => {
  const documented = readFileSync(join(import.meta.dirname, '../../../docs/build-platform.md'), 'utf8');
  const list = (values: readonly (string | undefined)[] = []): string =>
    values.map((value) => `\`${value}\``).join(', ');
  const facts = (mode: 'userns' | 'rootless'): Record<string, string> => {
    const pod = makeBuildJob(inputs({ mode })).spec?.template.spec;
    const { securityContext: context, volumeMounts = [] } = pod?.containers[0] ?? {};
    const one = (value: string | undefined): string => (value === undefined ? '' : `\`${value}\``);
    const mounts = (readOnly: boolean): string =>
      list(volumeMounts.filter((mount) => (mount.readOnly ?? false) === readOnly).map(({ mountPath }) => mountPath));
    return {
      'user namespace of its own': pod?.hostUsers === false ? 'yes' : 'no',
      user: one(`${context?.runAsUser}:${context?.runAsGroup}`),
      'capabilities added': list(context?.capabilities?.add),
      'capabilities dropped': list(context?.capabilities?.drop),
      'seccomp profile': one(context?.seccompProfile?.type),
      'AppArmor profile': one(context?.appArmorProfile?.type),
      '`procMount`': one(context?.procMount),
      privileged: context?.privileged === true ? 'yes' : 'no',
      'read-only mounts': mounts(true),
      'other mounts': mounts(false),
    };
  };
  it.each(Object.keys(facts('userns')))('%s', (fact) => {
    const row = [fact, facts('userns')[fact], facts('rootless')[fact]].map((cell) => (cell === '' ? ' ' : ` ${cell} `));
    expect(documented).toContain(`|${row.join('|')}|`);
  });
});

it('labels the Secrets and makes the Job their owner', () => {
  for (const { metadata } of makeBuildSecrets(inputs(), credentials, 'job-uid'))
    expect(metadata).toMatchObject({
      namespace: 'davit-builds',
      ownerReferences: [{ kind: 'Job', name: `build-${revisionId}`, uid: 'job-uid' }],
      labels: { 'davit.dev/build': revisionId, 'davit.dev/build-tenant': 'team', 'davit.dev/build-deployment': UID },
    });
});
