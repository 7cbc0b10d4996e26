// The chart renders as documented, and tells in a sentence what is wrong with a values file.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { limitViolations } from '../../../src/deploy/record/limits.ts';
import { customResourceDefinitions } from '../../../src/kinds/crd.ts';
import { ResourceSpec } from '../../../src/kinds/resource-spec.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { RuntimeWorker } from '../../../src/kinds/workers.ts';
import { loadConfig } from '../../../src/main/config.ts';
import { OLDEST_KUBERNETES } from '../../../src/main/preflight/preflight-checks.ts';
import { withDefaults } from '../../../src/tools/crd-defaults.ts';
import {
  type ChartRenderer,
  type Manifest,
  makeChartRenderer,
  manifestNamed as named,
} from '../../support/rendered-chart.ts';
import { type Host, startHost } from '../codehost/host.ts';

/** Said by their name, as everywhere in Kubernetes. */
const OBVIOUS =
  /: (replicas|resources|requests|limits|podLabels|podAnnotations|nodeSelector|tolerations|affinity|priorityClassName|annotations|hostnames|repository|enabled|pullPolicy|interval)\b/;
const chart = join(import.meta.dirname, '../../../charts/davit');

let home: string;
let helm: ChartRenderer['helm'];
let render: ChartRenderer['render'];
let renderWhole: ChartRenderer['renderWhole'];
let notes: ChartRenderer['notes'];
let close: ChartRenderer['close'];
beforeAll(async () => {
  ({ home, helm, render, renderWhole, notes, close } = await makeChartRenderer());
});
afterAll(() => close?.());

/**
 * Without the label that a test sets everywhere, and without what differs from one rendering to the next: certificates that the
 * chart makes, and digests of them.
 */
function comparable(manifests: readonly Manifest[]): unknown {
  const text = JSON.stringify(manifests)
    .replaceAll(/-----BEGIN CERTIFICATE-----[^"]*?-----END CERTIFICATE-----(\\n)?/g, '')
    .replaceAll(/"(tls\.crt|tls\.key|checksum\/settings)":"[^"]*"/g, '"$1":""');
  return JSON.parse(text, (key, value: unknown) => {
    if (key === 'team' && value === 'platform') return undefined;
    return key === 'labels' && Object.keys(value as object).length === 0 ? undefined : value;
  }) as unknown;
}

/** Where in an object a field is found, such as `metadata.labels.team`. */
function pathsOf(value: unknown, isWanted: (key: string, value: unknown) => boolean): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    isWanted(key, inner) ? [key] : pathsOf(inner, isWanted).map((path) => `${key}.${path}`),
  );
}

function kinds(manifests: readonly Manifest[]): string[] {
  return [...new Set(manifests.map(({ kind }) => kind))].toSorted();
}

const BUILDS = 'settings.builds.registry.host=registry.example.com,settings.builds.images.builder=builder:1';

describe('with its defaults', () => {
  it('renders the definitions as they are generated, to be kept on uninstall', async () => {
    const rendered = (await renderWhole()).filter(({ kind }) => kind === 'CustomResourceDefinition');
    expect(new Map(rendered.map(({ metadata, spec }) => [metadata.name, spec as unknown]))).toEqual(
      new Map(
        customResourceDefinitions()
          .map(withDefaults)
          .map(({ metadata, spec }) => [metadata.name, spec]),
      ),
    );
    const { version } = parse(await readFile(join(chart, 'Chart.yaml'), 'utf8')) as { version: string };
    expect(rendered.map(({ metadata }) => metadata.annotations)).toEqual(
      rendered.map(() => ({ 'helm.sh/resource-policy': 'keep', 'davit.dev/version': version })),
    );
  });
  it.each(['controller', 'api'])('runs davit %s restricted, on its own account', async (part) => {
    const { spec } = named(await render(), 'Deployment', `davit-${part}`)['spec'].template;
    expect(spec).toMatchObject({
      serviceAccountName: `davit-${part}`,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(spec.containers).toHaveLength(1);
    expect(spec.containers[0]).toMatchObject({
      args: [part],
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
      livenessProbe: { httpGet: { path: '/livez' } },
      readinessProbe: { httpGet: { path: '/readyz' } },
    });
  });
  it('has the list of the whole store as a Job that nothing starts, restricted and without rights, where there is a store', async () => {
    const isList = ({ metadata }: { readonly metadata: { readonly name: string } }): boolean =>
      metadata.name === 'davit-backup-list';
    expect((await render()).some(isList)).toBe(false);
    const store = 'settings.backups.store.endpoint=https://s3.example,settings.backups.store.bucket=backups';
    const { suspend, jobTemplate } = named(await render('--set', store), 'CronJob', 'davit-backup-list')['spec'];
    expect(suspend).toBe(true);
    expect(jobTemplate.spec.template.spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          args: ['backup', 'list', '--credentials=/store'],
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
      volumes: [{ configMap: { name: 'davit-settings' } }, { secret: { secretName: 'davit-backup-store' } }],
    });
  });
  it('gives both processes an environment and settings that they accept', async () => {
    const manifests = await render('--set', 'settings.hosting=cloud,settings.namespaces={a,b}');
    const documents = named(manifests, 'ConfigMap', 'davit-settings')['data'] as Record<string, string>;
    const files = { DAVIT_SETTINGS: join(home, 'settings.yaml'), DAVIT_REQUIREMENTS: join(home, 'requirements.yaml') };
    await writeFile(files.DAVIT_SETTINGS, documents['settings.yaml'] ?? '');
    await writeFile(files.DAVIT_REQUIREMENTS, documents['requirements.yaml'] ?? '');
    for (const part of ['controller', 'api']) {
      const { env } = named(manifests, 'Deployment', `davit-${part}`)['spec'].template.spec.containers[0] as {
        env: { name: string; value?: string }[];
      };
      const given = Object.fromEntries(env.map(({ name, value }) => [name, value ?? 'davit']));
      expect(loadConfig({ ...given, ...files }).settings).toEqual({
        ...defaultSettings(),
        hosting: 'cloud',
        namespaces: ['a', 'b'],
      });
    }
  });
  it('has a namespace for builds, and its own image for their plans, where images are built', async () => {
    const manifests = await render('--set', BUILDS);
    expect(named(manifests, 'Namespace', 'davit-builds').metadata).toMatchObject({
      labels: { 'pod-security.kubernetes.io/enforce': 'privileged' },
    });
    const settings = parse(named(manifests, 'ConfigMap', 'davit-settings')['data']['settings.yaml'] as string) as {
      builds: { images: unknown };
    };
    const image = named(manifests, 'Deployment', 'davit-controller')['spec'].template.spec.containers[0]
      .image as string;
    expect(settings.builds.images).toEqual({ builder: 'builder:1', davit: image });
    const names = (await render()).map(({ metadata }) => metadata.name);
    expect(names.filter((name) => name.includes('builds'))).toEqual([]);
  });
  it('says in values.yaml the defaults that the code has', async () => {
    const values = parse(await readFile(join(chart, 'values.yaml'), 'utf8')) as { settings: unknown };
    expect(values.settings).toEqual(defaultSettings());
  });
  it('rolls the pods when the settings change', async () => {
    const checksum = async (...args: string[]): Promise<unknown> =>
      named(await render(...args), 'Deployment', 'davit-api')['spec'].template.metadata.annotations[
        'checksum/settings'
      ];
    expect(await checksum()).toBe(await checksum());
    expect(await checksum('--set', 'settings.pods.port=9000')).not.toBe(await checksum());
  });
  it('has the controller ask for the rights that its roles have, and for every policy', async () => {
    for (const values of [
      'settings.hosting=cloud',
      'settings.namespaces={red,blue}',
      BUILDS,
      'settings.listeners.enabled=true',
    ]) {
      const manifests = await render('--set', values);
      const text = named(manifests, 'ConfigMap', 'davit-settings')['data']['requirements.yaml'] as string;
      const { admissionPolicies, rights } = parse(text) as {
        admissionPolicies: string[];
        rights: { namespace?: string; rules: unknown }[];
      };
      const policies = manifests.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
      expect(admissionPolicies.toSorted()).toEqual(policies.map(({ metadata }) => metadata.name).toSorted());
      const role = (kind: string, name: string): unknown => named(manifests, kind, name)['rules'];
      expect(rights).toEqual([
        { rules: role('ClusterRole', 'davit-controller') },
        { namespace: 'davit-system', rules: role('Role', 'davit-controller-own') },
        { namespace: 'davit-org', rules: role('Role', 'davit-controller-organization') },
        ...(values === BUILDS ? [{ namespace: 'davit-builds', rules: role('Role', 'davit-controller-builds') }] : []),
        ...(values.includes('red') ? [{ namespace: 'red', rules: role('Role', 'davit-controller') }] : []),
      ]);
    }
  });
  it('lets a drained node take one replica at a time, and only the needed ports be reached', async () => {
    const manifests = await render();
    for (const part of ['controller', 'api']) {
      expect(named(manifests, 'PodDisruptionBudget', `davit-${part}`)['spec']).toMatchObject({ maxUnavailable: 1 });
    }
    const ports = (name: string): unknown =>
      (named(manifests, 'NetworkPolicy', name)['spec'].ingress as { ports: unknown[] }[]).flatMap((rule) => rule.ports);
    expect(ports('davit-controller')).toEqual([]);
    expect(ports('davit-api')).toEqual([{ port: 'http' }]);
    const single = await render('--set', 'controller.replicas=1,api.replicas=1,networkPolicy.enabled=false');
    expect(kinds(single).filter((kind) => /Disruption|NetworkPolicy/.test(kind))).toEqual([]);
  });
  it('asks for no definitions of others', async () => {
    const own =
      /^(v1|(apps|rbac\.authorization\.k8s\.io|policy|networking\.k8s\.io|admissionregistration\.k8s\.io|apiextensions\.k8s\.io)\/v1)$/;
    expect(
      (await renderWhole()).map(({ apiVersion }) => apiVersion as string).filter((version) => !own.test(version)),
    ).toEqual([]);
  });
  it('binds every policy', async () => {
    const manifests = await render();
    const names = (kind: string): string[] =>
      manifests
        .filter((manifest) => manifest.kind === kind)
        .map(({ metadata }) => metadata.name)
        .toSorted();
    expect(names('ValidatingAdmissionPolicyBinding')).toEqual(names('ValidatingAdmissionPolicy'));
    expect(names('ValidatingAdmissionPolicy')).toContain('davit-hosting');
  });
});

describe('with other values', () => {
  it('limits just the numbers that the API and the controller limit', async () => {
    const limits = { cpu: 1, memoryMb: 64, scale: 1, storageGi: 1 };
    const set = Object.entries(limits).map(([name, most]) => `settings.limits.${name}=${most}`);
    const manifests = await render('--set', set.join());
    const { validations } = named(manifests, 'ValidatingAdmissionPolicy', 'davit-limits')['spec'];
    const numbers = Object.keys(ResourceSpec.shape).map((field) => [field, 1e9]);
    const excesses = limitViolations({ resourceSpec: Object.fromEntries(numbers) as ResourceSpec }, limits);
    const all: string[] = validations.map(({ message }: { message: string }) => message);
    const messages = all.filter((message) => !message.includes('of a worker'));
    const worker = Object.fromEntries(Object.keys(RuntimeWorker.shape).map((field) => [field, 1e9]));
    const ofWorkers = limitViolations({ runtime: { workers: { mailer: worker } } }, limits);
    expect(all.filter((message) => message.includes('of a worker must')).toSorted()).toEqual(
      ofWorkers.map(({ field, most }) => `${field} of a worker must be at most ${most} on this platform`).toSorted(),
    );
    // The request and the limit of each of two resources, with the sidecars.
    expect(all.filter((message) => message.includes('of a worker:'))).toHaveLength(4);
    const isOfContainers = (message: string): boolean =>
      message.includes('with the sidecars') || message.includes('of a pod');
    expect(messages.filter((message: string) => !isOfContainers(message)).toSorted()).toEqual(
      excesses.map(({ field, most }) => `${field} must be at most ${most} on this platform`).toSorted(),
    );
    // cpu and memory, request and limit, of the containers; and each of the four parts with its sidecars.
    expect(messages.filter(isOfContainers)).toHaveLength(4 + 16);
  });
  it('has rights on children in the listed namespaces alone, and lets records and operations go without them', async () => {
    const manifests = await render('--set', 'settings.namespaces={red,blue}');
    const roles = manifests.filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'davit-controller');
    expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(['red', 'blue']);
    const { rules } = named(manifests, 'ClusterRole', 'davit-controller') as unknown as {
      rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
    };
    expect(rules.map(({ resources, verbs }) => `${verbs.join()} ${resources.join()}`)).toEqual([
      'get,list,watch,patch appdeployments,datastoreoperations',
      // The policy davit-operation-finalizer asks for the right to the status.
      'patch appdeployments/status,datastoreoperations/status',
      'get,list,watch namespaces',
      'get validatingadmissionpolicies,validatingadmissionpolicybindings',
    ]);
    const api = named(manifests, 'ClusterRole', 'davit-api') as unknown as { rules: { resources: string[] }[] };
    expect(api.rules.flatMap(({ resources }) => resources)).toEqual(['namespaces']);
  });
  it.each([
    'address.kind=ingress',
    'address.kind=gateway,settings.address.gateway.name=a,settings.address.gateway.namespace=b',
  ])('has a policy for each write in tenants but of records, operations and events, with %s', async (address) => {
    const set = 'settings.namespaces={red},settings.keda.enabled=true,settings.database.cloudNativePg.enabled=true';
    const manifests = await render('--set', `${set},settings.${address}`);
    const writes = (rules: { apiGroups: string[]; resources: string[]; [verbs: string]: string[] }[], verbs: string) =>
      rules.flatMap(({ apiGroups: [group], resources, [verbs]: these = [] }) =>
        resources.flatMap((resource) => these.map((verb) => `${verb} ${group}/${resource}`)),
      );
    const policy = named(manifests, 'ValidatingAdmissionPolicy', 'davit-controller')['spec'];
    const covered = new Set(writes(policy.matchConstraints.resourceRules, 'operations'));
    const OPERATIONS: Readonly<Record<string, string>> = { create: 'CREATE', patch: 'UPDATE', delete: 'DELETE' };
    const granted = writes(named(manifests, 'Role', 'davit-controller')['rules'], 'verbs').filter((right) => {
      const [verb = '', resource] = right.split(' ');
      return verb in OPERATIONS && !covered.has(`${OPERATIONS[verb]} ${resource}`);
    });
    expect(granted.filter((right) => !/\/status$| davit.dev\/datastoreoperations$/.test(right))).toEqual([
      'create events.k8s.io/events',
      'patch events.k8s.io/events',
    ]);
  });
  it('lets editors read pods and their logs, and change none', async () => {
    const manifests = await render();
    const onPods = (name: string): string[] => {
      const { rules } = named(manifests, 'ClusterRole', name) as unknown as {
        rules: { resources: string[]; verbs: string[] }[];
      };
      return rules
        .filter(({ resources }) => resources.some((resource) => resource.startsWith('pods')))
        .map(({ resources, verbs }) => `${verbs.join()} ${resources.join()}`);
    };
    // The last is of metrics.k8s.io.
    expect(onPods('davit-editor')).toEqual(['get,list,watch pods', 'get pods/log', 'get,list pods']);
    expect([onPods('davit-viewer'), onPods('davit-admin')]).toEqual([[], []]);
  });
  it('gives the API rights on Secrets and logs of builds only where images are kept and built, each by name', async () => {
    interface Rules {
      readonly rules: readonly { resources: string[]; resourceNames?: string[]; verbs: string[] }[];
    }
    const ofApi = (manifests: readonly Manifest[]): string[] =>
      manifests
        .filter(({ kind, metadata }) => kind === 'Role' && /^davit-api-(own|builds)$/.test(metadata.name))
        .flatMap(({ metadata, ...role }) =>
          (role as unknown as Rules).rules.map(({ resources, resourceNames = [], verbs }) =>
            `${metadata.namespace}: ${verbs.join()} ${resources.join()} ${resourceNames.join()}`.trimEnd(),
          ),
        );
    const plain = await render();
    expect(ofApi(plain)).toEqual([]);
    expect(JSON.stringify(named(plain, 'ValidatingAdmissionPolicy', 'davit-api'))).not.toContain('davit-registry');
    const keys = [
      'davit-system: create secrets',
      'davit-system: get secrets davit-registry-key,davit-registry-tokens',
      'davit-system: patch secrets davit-registry-tokens',
    ];
    const registry = 'settings.builds.registry.host=registry.example';
    const pushed = await render('--set', `${registry},settings.builds.registry.tokens=true`);
    expect(ofApi(pushed)).toEqual(keys);
    // To create is a right that cannot be given by name; a policy says of which.
    expect(JSON.stringify(named(pushed, 'ValidatingAdmissionPolicy', 'davit-api'))).toContain(
      "object.metadata.name in ['davit-registry-key', 'davit-registry-tokens']",
    );
    const builder = 'settings.builds.images.builder=registry.example/builder:1';
    const built = await render('--set', `${registry},settings.builds.registry.pushSecret=push,${builder}`);
    expect(ofApi(built)).toEqual([
      ...keys,
      'davit-builds: list pods',
      'davit-builds: get pods/log',
      'davit-builds: get secrets push',
    ]);
  });
  it("lets the controller sign tokens where it asks a registry for them, and have its pod only where that is the chart's", async () => {
    const builder = 'settings.builds.images.builder=registry.example/builder:1';
    const external = 'settings.builds.registry.host=registry.example';
    const rightsOf = async (set: string): Promise<boolean[]> => {
      const manifests = await render('--set', set);
      const role = JSON.stringify(named(manifests, 'Role', 'davit-controller-own'));
      const policy = JSON.stringify(named(manifests, 'ValidatingAdmissionPolicy', 'davit-controller'));
      return [role, policy].flatMap((text) => [
        text.includes('davit-registry-tokens'),
        text.includes('davit-registry-0'),
      ]);
    };
    expect(
      await rightsOf(`registry.enabled=true,registry.host=r.example,registry.ingress.enabled=true,${builder}`),
    ).toEqual([true, true, true, true]);
    expect(await rightsOf(`${external},settings.builds.registry.tokens=true,${builder}`)).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(await rightsOf(`${external},settings.builds.registry.pushSecret=push,${builder}`)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
  it('may list nodes only where there are builds', async () => {
    const manifests = await render();
    expect(JSON.stringify(named(manifests, 'ClusterRole', 'davit-controller'))).not.toContain('"nodes"');
  });
  it.each([
    { set: 'settings.address.kind=ingress', right: 'networking.k8s.io/ingresses' },
    {
      set: 'settings.address.kind=gateway,settings.address.gateway.name=a,settings.address.gateway.namespace=b',
      right: 'gateway.networking.k8s.io/httproutes',
    },
  ])('has a right on $right alone for $set, in both modes', async ({ set, right }) => {
    for (const namespaces of ['', ',settings.namespaces={red}']) {
      const manifests = await render('--set', `${set}${namespaces}`);
      const { rules } = named(manifests, namespaces === '' ? 'ClusterRole' : 'Role', 'davit-controller') as unknown as {
        rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
      };
      const addresses = rules.filter(({ resources }) => /ingresses|httproutes/.test(resources.join()));
      expect(addresses.map(({ apiGroups, resources }) => `${apiGroups[0]}/${resources[0]}`)).toEqual([right]);
      expect(addresses[0]?.verbs).toEqual(['get', 'list', 'watch', 'create', 'patch', 'delete']);
    }
    expect(JSON.stringify(await render())).not.toMatch(/"ingresses"|"httproutes"/);
  });
  it('grants rights to make namespaces only where listeners are enabled, and never the right to Secrets everywhere', async () => {
    const rights = async (...values: string[]): Promise<string[]> => {
      const manifests = await render('--set', ['settings.namespaces={red}', ...values].join(','));
      const { rules } = named(manifests, 'ClusterRole', 'davit-controller') as unknown as {
        rules: { resources: string[]; verbs: string[]; resourceNames?: string[] }[];
      };
      return rules.flatMap(({ resources, verbs, resourceNames = ['*'] }) =>
        resources.map((resource) => `${verbs.join(' ')}: ${resource} ${resourceNames.join(' ')}`),
      );
    };
    const without = new Set(await rights());
    const added = (await rights('settings.listeners.enabled=true')).filter((right) => !without.has(right));
    // The names of the policies are in the right to read them.
    expect(added.filter((right) => !right.includes('validatingadmissionpolic'))).toEqual([
      'get patch: listeners *',
      'patch: listeners/status *',
      'get list watch create patch delete: listenerworks *',
      'get list watch: leases davit-listener',
      'create patch delete: namespaces *',
      'get create patch: rolebindings *',
      'bind: clusterroles davit-listener-hub davit-listener-agent',
    ]);
  });
  it("gives the agent of a listener rights in the hub's namespaces alone, and needs to be told them", async () => {
    await expect(render('--set', 'listener.enabled=true')).rejects.toThrow('listener.namespaces');
    const manifests = await render('--set', 'listener.enabled=true,listener.namespaces={shops,tools}');
    const tenant = manifests.filter(({ metadata }) => metadata.name === 'davit-listener-tenant');
    expect(tenant.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`).toSorted()).toEqual([
      'Role shops',
      'Role tools',
      'RoleBinding shops',
      'RoleBinding tools',
    ]);
    expect(named(manifests, 'ClusterRole', 'davit-listener')['rules']).toEqual([
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
    ]);
    const { spec } = named(manifests, 'Deployment', 'davit-listener')['spec'].template;
    expect([spec.serviceAccountName, spec.containers[0].args]).toEqual(['davit-listener', ['listener']]);
    expect(spec.containers[0].env).toContainEqual({ name: 'DAVIT_LISTENER_NAMESPACES', value: 'shops,tools' });
    expect((await render()).filter(({ metadata }) => metadata.name === 'davit-listener')).toEqual([]);
  });
  it('leaves the two processes out', async () => {
    const manifests = await renderWhole('--set', 'workloads.enabled=false');
    expect(kinds(manifests)).not.toEqual(expect.arrayContaining(['Deployment']));
    expect(kinds(manifests)).toEqual(
      expect.arrayContaining([
        'ClusterRole',
        'ConfigMap',
        'CustomResourceDefinition',
        'ServiceAccount',
        'ValidatingAdmissionPolicy',
      ]),
    );
  });
  it("leaves the definitions and the organization's namespace out", async () => {
    const manifests = await renderWhole('--set', 'crds.install=false,organizationNamespace.create=false');
    expect(kinds(manifests).filter((kind) => /Definition|^Namespace/.test(kind))).toEqual([]);
  });
  it('takes a certificate, or serves plain HTTP behind something that ends TLS', async () => {
    const own = await render('--set', 'api.tls.secretName=mine');
    expect(kinds(own)).not.toContain('Secret');
    expect(JSON.stringify(named(own, 'Deployment', 'davit-api'))).toContain('"secretName":"mine"');
    const plain = await render('--set', 'settings.http.insecure=true');
    expect(JSON.stringify(named(plain, 'Deployment', 'davit-api'))).not.toContain('DAVIT_TLS');
    expect(named(plain, 'Service', 'davit-api')['spec'].ports).toEqual([
      { name: 'http', port: 80, targetPort: 'http' },
    ]);
  });
});

it('is rendered in test/demo/chart.yaml, which the demo applies where there is no Helm', async () => {
  const manifests = await render('--set', 'workloads.enabled=false,crds.install=false,settings.hosting=both');
  // Parsed and written again: Helm 3 and Helm 4 differ in white space.
  const text = manifests.map((manifest) => stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false }));
  await expect(
    text.join('---\n'),
    'rewrite it: npx vitest run --project unit test/suites/hygiene/chart.test.ts -u',
  ).toMatchFileSnapshot('../../demo/chart.yaml');
});

it.each([
  ['', false],
  ['api.ingress.enabled=true,api.ingress.host=davit.example', true],
  ['api.ingress.enabled=true,api.ingress.host=davit.example,settings.http.trustedProxies={10.0.0.0/8}', false],
])('warns of an Ingress whose proxies are not named: %s', async (set, isWarned) => {
  expect((await notes(set)).includes('WARNING: settings.http.trustedProxies is empty')).toBe(isWarned);
});

it.each([
  ['api.ingress.enabled=true,api.ingress.host=davit.example', 'The HTTP API is at http://davit.example, once'],
  [
    'api.ingress.enabled=true,api.ingress.host=davit.example,api.ingress.tlsSecretName=tls',
    'The HTTP API is at https://davit.example, once',
  ],
  [
    'api.httpRoute.enabled=true,api.httpRoute.hostnames={a.example,b.example},api.httpRoute.parentRefs[0].name=gateway,settings.http.insecure=true',
    'The HTTP API is at a.example, b.example, once',
  ],
  ['', 'Reach the HTTP API from here, then open'],
])('the notes say where the API is: %s', async (set, says) => {
  expect(await notes(set)).toContain(says);
});

const DIGEST = `sha256:${'a'.repeat(64)}`;
it.each([
  ['registry.enabled=true,registry.host=davit-registry.davit-system.svc', []],
  ['settings.images.postgres=docker.io/library/postgres:17', ['settings.images.postgres']],
  ['settings.images.postgres=postgres:17.11', ['settings.images.postgres']],
  ['settings.images.postgres=postgres:17.11-trixie', []],
  ['settings.images.postgres=postgres', ['settings.images.postgres']],
  [`settings.images.postgres=postgres:17@${DIGEST}`, []],
  [
    'settings.images.redis=valkey/valkey:8.1-trixie,settings.images.cloudNativePg=mirror:5000/pg:17-standard-trixie',
    ['settings.images.cloudNativePg', 'settings.images.redis'],
  ],
  [
    'registry.enabled=true,registry.host=davit-registry.davit-system.svc,registry.image=registry:3,settings.builds.images.builder=builder:latest',
    ['registry.image', 'settings.builds.images.builder'],
  ],
  [`settings.images.redis=valkey:8,imageDigests.valkey:8=${DIGEST}`, []],
  ['image.tag=latest,settings.backups.image=davit:latest', ['image.tag', 'settings.backups.image']],
  [`image.tag=latest,image.digest=${DIGEST}`, []],
])('warns of the images whose tags move: %s', async (set, named) => {
  const warned = [...(await notes(set)).matchAll(/WARNING: (\S+) is \S+\. Its tag moves/g)].map(([, value]) => value);
  expect(warned).toEqual(named);
});

it('gives each image the digest that imageDigests has of its name', async () => {
  const values = join(home, 'digests.yaml');
  const of = {
    'docker.io/library/registry:3.1.1': DIGEST,
    'docker.io/pgvector/pgvector:0.8.6-pg17-trixie': DIGEST,
    'docker.io/a/builder:1.0.0': DIGEST,
  };
  await writeFile(values, JSON.stringify({ imageDigests: of }));
  const set =
    'global.imageRegistry=r.example/hub,registry.enabled=true,registry.host=davit-registry.davit-system.svc,settings.builds.images.builder=docker.io/a/builder:1.0.0';
  const manifests = await render(`--values=${values}`, '--set', set);
  expect(JSON.stringify(manifests)).toContain(`r.example/hub/library/registry:3.1.1@${DIGEST}`);
  const { data } = named(manifests, 'ConfigMap', 'davit-settings') as unknown as { data: Record<string, string> };
  expect(parse(data['settings.yaml'] ?? '')).toMatchObject({
    images: {
      postgres: `docker.io/pgvector/pgvector:0.8.6-pg17-trixie@${DIGEST}`,
      redis: defaultSettings().images.redis,
    },
    builds: { images: { builder: `r.example/hub/a/builder:1.0.0@${DIGEST}` } },
  });
});

it.each([
  ['', true],
  ['settings.namespaces={team}', false],
])('the notes say whose Secrets the controller may read, with %j', async (set, isSaid) => {
  expect((await notes(set)).includes('may read the Secrets of every namespace')).toBe(isSaid);
});

it('is found well-made by helm lint', async () => {
  expect(await helm('lint', '--strict', chart)).toContain('1 chart(s) linted, 0 chart(s) failed');
});

describe('an address for the API', () => {
  it('by Ingress', async () => {
    const manifests = await render(
      '--set',
      'api.ingress.enabled=true,api.ingress.host=davit.example,api.ingress.className=nginx,api.ingress.tlsSecretName=crt',
    );
    expect(named(manifests, 'Ingress', 'davit-api')['spec']).toEqual({
      ingressClassName: 'nginx',
      tls: [{ hosts: ['davit.example'], secretName: 'crt' }],
      rules: [
        {
          host: 'davit.example',
          http: {
            paths: [
              { path: '/', pathType: 'Prefix', backend: { service: { name: 'davit-api', port: { number: 443 } } } },
            ],
          },
        },
      ],
    });
  });
  it('by HTTPRoute', async () => {
    const manifests = await render(
      '--set',
      'settings.http.insecure=true,api.httpRoute.enabled=true,api.httpRoute.hostnames={davit.example},api.httpRoute.parentRefs[0].name=gw',
    );
    expect(named(manifests, 'HTTPRoute', 'davit-api')['spec']).toEqual({
      parentRefs: [{ name: 'gw' }],
      hostnames: ['davit.example'],
      rules: [{ backendRefs: [{ name: 'davit-api', port: 80 }] }],
    });
  });
});

describe('metrics', () => {
  const prometheus = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
  const metricsFrom = ['--set-json', `networkPolicy.metricsFrom=${JSON.stringify([prometheus])}`];
  it('are for nobody but those who are named', async () => {
    const rules = (
      manifests: Awaited<ReturnType<typeof render>>,
      part: string,
    ): { from?: unknown; ports: unknown }[] => {
      const policy = named(manifests, 'NetworkPolicy', `davit-${part}`)['spec'];
      expect(policy).toMatchObject({
        policyTypes: ['Ingress'],
        podSelector: { matchLabels: { 'app.kubernetes.io/component': part } },
      });
      return policy.ingress;
    };
    const [closed, open] = [await render(), await render(...metricsFrom)];
    const metrics = { ports: [{ port: 'health' }], from: [prometheus] };
    expect(rules(closed, 'controller')).toEqual([]);
    expect(rules(closed, 'api')).toEqual([{ ports: [{ port: 'http' }] }]);
    expect(rules(open, 'controller')).toEqual([metrics]);
    expect(rules(open, 'api')).toEqual([{ ports: [{ port: 'http' }] }, metrics]);
  });
  it('for the Prometheus operator, of whom it has to be said where it is', async () => {
    await expect(render('--set', 'serviceMonitor.enabled=true')).rejects.toThrow(
      'serviceMonitor.enabled needs networkPolicy.metricsFrom',
    );
    const unguarded = await render('--set', 'serviceMonitor.enabled=true,networkPolicy.enabled=false');
    expect(kinds(unguarded)).toContain('ServiceMonitor');
  });
  it('of both processes, when asked for', async () => {
    const manifests = await render(
      '--set',
      'serviceMonitor.enabled=true,serviceMonitor.labels.release=prometheus',
      ...metricsFrom,
    );
    const { metadata, spec } = named(manifests, 'ServiceMonitor', 'davit');
    expect(metadata).toMatchObject({ labels: { release: 'prometheus' } });
    const service = named(manifests, 'Service', 'davit-metrics');
    expect(service.metadata).toMatchObject({ labels: spec.selector.matchLabels as object });
    for (const part of ['controller', 'api']) {
      const { template } = named(manifests, 'Deployment', `davit-${part}`)['spec'];
      expect(template.metadata.labels).toMatchObject(service['spec'].selector as object);
      expect(template.spec.containers[0].ports).toContainEqual({ name: 'health', containerPort: 9090 });
    }
  });
});

describe('alerts and the dashboard', () => {
  it('are there only when asked for, and with the labels by which others find them', async () => {
    const monitoring = (manifests: readonly Manifest[]): string[] =>
      manifests
        .filter(({ kind, metadata }) => kind === 'PrometheusRule' || metadata.name === 'davit-dashboard')
        .map(({ kind, metadata: { name, namespace } }) => `${namespace} ${kind} ${name}`)
        .toSorted();
    expect(monitoring(await render())).toEqual([]);
    const manifests = await render(
      '--set',
      'prometheusRule.enabled=true,prometheusRule.labels.release=prometheus,grafanaDashboard.enabled=true,grafanaDashboard.annotations.grafana_folder=Platform',
    );
    expect(monitoring(manifests)).toEqual([
      'davit-system ConfigMap davit-dashboard',
      'davit-system PrometheusRule davit',
    ]);
    const rule = named(manifests, 'PrometheusRule', 'davit');
    expect(rule.metadata).toMatchObject({ labels: { release: 'prometheus' } });
    const dashboard = named(manifests, 'ConfigMap', 'davit-dashboard');
    expect(dashboard.metadata).toMatchObject({
      labels: { grafana_dashboard: '1' },
      annotations: { grafana_folder: 'Platform' },
    });
  });
  it('have the link of their section where the address of the source is given', async () => {
    const base = 'https://git.example.com/davit/blob/v1';
    const manifests = await render('--set', `prometheusRule.enabled=true,prometheusRule.runbookBaseUrl=${base}`);
    const { groups } = named(manifests, 'PrometheusRule', 'davit')['spec'] as {
      groups: { rules: { annotations: Record<string, string> }[] }[];
    };
    const annotations = groups.flatMap(({ rules }) => rules.map((rule) => rule.annotations));
    expect(annotations.length).toBeGreaterThan(15);
    for (const { runbook, runbook_url: link } of annotations) expect(link).toBe(`${base}/${runbook}`);
  });
  it('are those that are tested, unchanged by Helm', async () => {
    const manifests = await render('--set', 'prometheusRule.enabled=true,grafanaDashboard.enabled=true');
    expect(named(manifests, 'PrometheusRule', 'davit')['spec']).toEqual(
      parse(await readFile(join(chart, 'files/alerts.yaml'), 'utf8')),
    );
    const { data } = named(manifests, 'ConfigMap', 'davit-dashboard') as unknown as { data: Record<string, string> };
    expect(JSON.parse(data['davit.json'] ?? '')).toEqual(
      JSON.parse(await readFile(join(chart, 'files/dashboard.json'), 'utf8')),
    );
  });
});

describe('for companies', () => {
  const images = (manifests: readonly Manifest[]): string[] => {
    const found = JSON.stringify(manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet'));
    return [...new Set([...found.matchAll(/"image":"([^"]+)"/g)].map(([, image = '']) => image))];
  };
  const podOf = (manifests: readonly Manifest[], name: string): Record<string, unknown> =>
    (named(manifests, 'Deployment', name) as unknown as { spec: { template: { spec: Record<string, unknown> } } }).spec
      .template.spec;

  it('all images come from the registry of global.imageRegistry', async () => {
    const manifests = await render(
      '--set',
      'global.imageRegistry=r.example/hub,registry.enabled=true,registry.host=davit-registry.davit-system.svc,image.repository=git.example:5000/team/davit,settings.builds.images.builder=docker.io/a/builder:1',
    );
    const all = images(manifests);
    expect(all.length).toBeGreaterThan(1);
    expect(all.filter((image) => !image.startsWith('r.example/hub/'))).toEqual([]);
    expect(all.some((image) => image.startsWith('r.example/hub/team/davit:'))).toBe(true);
    const { data } = named(manifests, 'ConfigMap', 'davit-settings') as unknown as { data: Record<string, string> };
    const settings = parse(data['settings.yaml'] ?? '') as {
      images: { registry: string };
      builds: { images: Record<string, string> };
    };
    expect(settings.images.registry).toBe('r.example/hub');
    expect(settings.builds.images).toMatchObject({ builder: 'r.example/hub/a/builder:1' });
    expect(settings.builds.images['davit']).toMatch(/^r\.example\/hub\/team\/davit:/);
  });

  it('variables, volumes, authorities, annotations and the spread of nodes are what the values say', async () => {
    const manifests = await render(
      '--set',
      [
        'api.extraEnv[0].name=TZ,api.extraEnv[0].value=UTC',
        'controller.extraVolumes[0].name=more,controller.extraVolumes[0].emptyDir.sizeLimit=1Mi',
        'controller.extraVolumeMounts[0].name=more,controller.extraVolumeMounts[0].mountPath=/more',
        'controller.topologySpreadConstraints[0].topologyKey=zone',
        'caBundle.configMap=authorities,registry.enabled=true,registry.host=davit-registry.davit-system.svc',
        'registry.service.annotations.note=here',
      ].join(','),
    );
    const api = JSON.stringify(podOf(manifests, 'davit-api'));
    const controller = podOf(manifests, 'davit-controller');
    expect(api).toContain('{"name":"TZ","value":"UTC"}');
    for (const pod of [api, JSON.stringify(controller)]) {
      expect(pod).toContain('{"name":"NODE_EXTRA_CA_CERTS","value":"/etc/davit-ca/ca.crt"}');
      expect(pod).toContain('{"name":"ca-bundle","mountPath":"/etc/davit-ca","readOnly":true}');
      expect(pod).toContain('{"name":"DAVIT_CA_BUNDLE","value":"/etc/davit-ca/ca.crt"}');
      expect(pod).toContain(
        '{"name":"ca-bundle","configMap":{"name":"authorities","items":[{"key":"ca.crt","path":"ca.crt"}]}}',
      );
    }
    expect(JSON.stringify(controller)).toContain('"mountPath":"/more"');
    expect(controller['topologySpreadConstraints']).toEqual([{ topologyKey: 'zone' }]);
    expect(named(manifests, 'Service', 'davit-registry').metadata).toMatchObject({ annotations: { note: 'here' } });
  });

  describe('proxies', () => {
    const PROXY =
      'settings.proxy.httpsProxy=http://proxy.example:3128,settings.proxy.noProxy={.example.com,10.0.0.0/8}';
    const OWN = 'registry.enabled=true,registry.host=r.example:5000,registry.tokenUrl=https://t.example:8443/t';
    async function noProxyOf(set: string): Promise<readonly string[]> {
      const documents = named(await render('--set', set), 'ConfigMap', 'davit-settings')['data'] as Record<
        string,
        string
      >;
      const file = join(home, 'proxy-settings.yaml');
      await writeFile(file, documents['settings.yaml'] ?? '');
      return loadConfig({ DAVIT_SETTINGS: file, KUBERNETES_SERVICE_HOST: '10.96.0.1' }).settings.proxy.noProxy;
    }
    const CLUSTER = ['localhost', '127.0.0.1', '::1', '.svc', '.cluster.local', '10.96.0.1'];

    it("are not used for the cluster, for the chart's registry and where it gives tokens, and for code hosts with addresses", async () => {
      expect(await noProxyOf(PROXY)).toEqual(['.example.com', '10.0.0.0/8', ...CLUSTER]);
      expect(await noProxyOf(`${PROXY},${OWN}`)).toEqual([
        '.example.com',
        '10.0.0.0/8',
        'r.example',
        't.example',
        ...CLUSTER,
      ]);
      const hosts =
        'settings.codeHosts[0].host=api.github.com,settings.codeHosts[1].host=git.corp:8443,settings.codeHosts[1].addresses={10.1.1.1}';
      expect(await noProxyOf(`${PROXY},${hosts}`)).toEqual(['.example.com', '10.0.0.0/8', ...CLUSTER, 'git.corp']);
      const inside =
        'settings.oauth.hosts[0].host=id.corp,settings.oauth.hosts[0].addresses={10.1.1.2},settings.http.prometheus=http://prometheus.monitoring:9090';
      expect(await noProxyOf(`${PROXY},${inside}`)).toEqual([
        '.example.com',
        '10.0.0.0/8',
        ...CLUSTER,
        'id.corp',
        'prometheus.monitoring',
      ]);
      expect(await noProxyOf(OWN)).toEqual([]);
    });

    it.each([
      [
        'settings.backups.store.endpoint=http://minio.example,settings.backups.store.bucket=backups',
        'must begin with https://',
      ],
      ['settings.proxy.httpsProxy=http://user:pass@proxy.example:3128', 'must have no user name or password'],
      ['settings.proxy.httpsProxy=https://proxy.example:3128', "at '/settings/proxy/httpsProxy'"],
      ['settings.proxy.httpsProxy=proxy.example:3128', "at '/settings/proxy/httpsProxy'"],
      ['settings.proxy.noProxy={*.example.com}', "at '/settings/proxy/noProxy/0'"],
      ['settings.proxy.noProxy={example.com:443}', "at '/settings/proxy/noProxy/0'"],
    ])('%s is refused', async (set, says) => {
      await expect(render('--set', set)).rejects.toThrow(says);
    });

    it.each([
      ['http://proxy.example:3128', '', true],
      ['http://proxy.example:3128', ',settings.proxy.addresses={10.1.1.1}', false],
      ['http://10.1.1.1:3128', '', false],
    ])('given by name need their private addresses for builds: %s%s', async (proxy, more, isWarned) => {
      const set = `${BUILDS},settings.proxy.httpsProxy=${proxy}${more}`;
      expect((await notes(set)).includes(`WARNING: builds reach the proxy ${proxy} only if`)).toBe(isWarned);
    });
  });

  describe('caBundle', () => {
    let host: Host;
    beforeAll(async () => {
      host = await startHost('localhost');
    });
    afterAll(() => host?.close());

    /** What a program of the container, with the mounts of its pod, says of a request to code host and registry. */
    async function reach(set: string): Promise<string> {
      const { containers, volumes } = podOf(await render('--set', set), 'davit-controller') as unknown as {
        containers: { env: { name: string; value?: string }[]; volumeMounts: { name: string; mountPath: string }[] }[];
        volumes: { name: string; configMap?: { name: string; items?: { key: string; path: string }[] } }[];
      };
      const env = containers[0]?.env ?? [];
      const volumeMounts = containers[0]?.volumeMounts ?? [];
      const volume = volumes.find(({ configMap }) => configMap?.name === 'authorities');
      const mount = volumeMounts.find(({ name }) => name === volume?.name);
      const root = await mkdtemp(join(home, 'root-'));
      for (const { key, path } of volume?.configMap?.items ?? []) {
        expect(key).toBe('company.pem');
        await mkdir(join(root, mount?.mountPath ?? ''), { recursive: true });
        await writeFile(join(root, mount?.mountPath ?? '', path), host.ca);
      }
      const given = Object.fromEntries(
        env.flatMap(({ name, value }) => (/CA_/.test(name) && value !== undefined ? [[name, join(root, value)]] : [])),
      );
      const { NODE_EXTRA_CA_CERTS: _, ...own } = process.env;
      const program = join(import.meta.dirname, '../../support/reach-over-tls.ts');
      const { stdout } = await promisify(execFile)(process.execPath, [program, `localhost:${host.port}`], {
        env: { ...own, ...given },
      });
      return stdout.trim();
    }

    it('is how the processes trust code hosts and registries, and is handed to builds', async () => {
      expect(await reach('caBundle.configMap=authorities,caBundle.key=company.pem')).toBe(
        `code host 404, registry 404, builds ${host.ca.length}`,
      );
      expect(await reach('caBundle.configMap=')).toBe('code host unreachable, registry unreachable, builds 0');
    });
  });

  describe('commonLabels', () => {
    const ALL = [
      'registry.enabled=true,registry.host=r.example,registry.ingress.enabled=true,registry.nodes.enabled=true,registry.tokenUrl=https://t.example/t',
      'settings.builds.images.builder=builder:1,settings.hosting=both,settings.listeners.enabled=true,settings.limits.cpu=2',
      'settings.namespaces={red,blue},settings.pods.policy=restricted,settings.http.insecure=true',
      'listener.enabled=true,listener.namespaces={red}',
      'api.ingress.enabled=true,api.ingress.host=a.example,api.httpRoute.enabled=true,api.httpRoute.hostnames={a.example},api.httpRoute.parentRefs[0].name=gw',
      'networkPolicy.metricsFrom[0].podSelector.matchLabels.a=b,serviceMonitor.enabled=true,prometheusRule.enabled=true,grafanaDashboard.enabled=true',
    ].join(',');
    const OWN = ['controller', 'api', 'listener', 'registry'].map((part) => `${part}.podLabels.team=own`);
    const OF_OBJECTS = ['serviceMonitor', 'prometheusRule', 'grafanaDashboard'].map(
      (part) => `${part}.labels.team=own`,
    );
    const nameOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`;
    /** The labels of the object and of the pods that it makes. */
    const labelSets = (manifest: Manifest): (Record<string, string> | undefined)[] =>
      [manifest.metadata as { labels?: Record<string, string> }, manifest['spec']?.template?.metadata]
        .filter((metadata) => metadata !== undefined)
        .map(({ labels }) => labels);

    it('are on every object and every pod, and never in what selects', async () => {
      const [bare, labelled] = [
        await renderWhole('--set', ALL),
        await renderWhole('--set', `${ALL},commonLabels.team=platform`),
      ];
      expect(labelled.length).toBeGreaterThan(80);
      expect(kinds(labelled)).toEqual(
        expect.arrayContaining(['CustomResourceDefinition', 'DaemonSet', 'HTTPRoute', 'Pod', 'PrometheusRule']),
      );
      const without = labelled.filter((manifest) =>
        labelSets(manifest).some((labels) => labels?.['team'] !== 'platform'),
      );
      expect(without.map(nameOf)).toEqual([]);
      const pods = labelled.filter((manifest) => labelSets(manifest).length === 2);
      expect(pods.map(nameOf).toSorted()).toEqual([
        'DaemonSet davit-registry-nodes',
        'Deployment davit-api',
        'Deployment davit-controller',
        'Deployment davit-listener',
        'StatefulSet davit-registry',
      ]);
      expect(comparable(labelled)).toEqual(comparable(bare));
      // Neither in selectors nor in the templates of volumes, which cannot be changed.
      const paths = labelled.flatMap((manifest) =>
        pathsOf(manifest, (key, value) => key === 'team' && value === 'platform'),
      );
      expect([...new Set(paths)].toSorted()).toEqual(['metadata.labels.team', 'spec.template.metadata.labels.team']);
    });

    it('give way to labels of one object', async () => {
      const manifests = await render('--set', [ALL, 'commonLabels.team=platform', ...OWN, ...OF_OBJECTS].join(','));
      for (const kind of ['ServiceMonitor', 'PrometheusRule'])
        expect(labelSets(named(manifests, kind, 'davit'))[0]).toMatchObject({ team: 'own' });
      for (const name of ['davit-controller', 'davit-api', 'davit-listener'])
        expect(labelSets(named(manifests, 'Deployment', name)).map((labels) => labels?.['team'])).toEqual([
          'platform',
          'own',
        ]);
      expect(labelSets(named(manifests, 'StatefulSet', 'davit-registry'))[1]).toMatchObject({ team: 'own' });
    });
  });

  it.each([
    ['settings.address.kind=gateway', "missing property 'gateway'"],
    ['settings.address.kind=ingress,settings.address.tls=secret', "missing property 'tlsSecretName'"],
    ['commonLabels.app\\.kubernetes\\.io/name=x', 'commonLabels must not have app.kubernetes.io/name'],
    [
      'api.httpRoute.enabled=true,api.httpRoute.hostnames={a.example},api.httpRoute.parentRefs[0].name=gw',
      'api.httpRoute.enabled needs settings.http.insecure, or api.httpRoute.backendTls',
    ],
    ['global.imageRegistry=https://r.example', 'imageRegistry'],
    ['imageDigests.valkey:8=sha256:short', 'imageDigests'],
    ['controller.extraEnv[0].value=x', 'extraEnv'],
  ])('%s is refused, with what is missing', async (values, message) => {
    await expect(render('--set', values)).rejects.toThrow(message);
  });
});

describe('an older Kubernetes', () => {
  it('is refused by its version', async () => {
    await expect(render('--kube-version', '1.33.9')).rejects.toThrow(
      'chart requires kubeVersion: >=1.34.0-0 which is incompatible with Kubernetes v1.33.9',
    );
    await expect(render('--kube-version', '1.34.4-eks-2d5f260')).resolves.toBeDefined();
  });
  it('is the same for the chart and the processes', async () => {
    const { kubeVersion } = parse(await readFile(join(chart, 'Chart.yaml'), 'utf8')) as { kubeVersion: string };
    expect(kubeVersion).toBe(`>=${OLDEST_KUBERNETES.major}.${OLDEST_KUBERNETES.minor}.0-0`);
  });
});

describe('values.yaml', () => {
  it('says of every value, the platform settings included, what it is for', async () => {
    const lines = (await readFile(join(chart, 'values.yaml'), 'utf8')).split('\n');
    // By a comment above it, one that it shares with the line above, its twin further up, or the comment in it.
    const explained = new Set<string>();
    const missing: string[] = [];
    let shared: number | undefined;
    for (const [i, line] of lines.entries()) {
      const [, space = '', key] = /^(\s*)([A-Za-z]+):/.exec(line) ?? [];
      if (key === undefined) continue;
      const commented = [lines[i - 1], lines[i + 1]].some((next) => /^\s*#/.test(next ?? ''));
      if (commented) shared = space.length;
      if (commented || shared === space.length) explained.add(key);
      else if (!/:\s*$/.test(line) && !explained.has(key)) missing.push(`${i + 1}: ${line.trim()}`);
      if (!commented && shared !== space.length) shared = undefined;
    }
    expect(missing.filter((line) => !OBVIOUS.test(line))).toEqual([]);
  });
});

describe('wrong values', () => {
  it.each([
    { values: 'settings: {hostin: cloud}', says: "at '/settings': additional properties 'hostin' not allowed" },
    {
      values: 'settings: {hosting: hybrid}',
      says: "at '/settings/hosting': value must be one of 'self-hosted', 'cloud', 'both'",
    },
    {
      values: 'settings: {namespaces: [Team_A]}',
      says: "at '/settings/namespaces/0': 'Team_A' does not match pattern",
    },
    {
      values: 'settings: {sizes: {plain: {redis: {cpu: 0.005}}}}',
      says: "at '/settings/sizes/plain/redis/cpu': minimum: got 0.005, want 0.01",
    },
    {
      values: 'settings: {sizes: {plain: {server: {cpu: 2}}}}',
      says: 'settings.sizes.plain.server.cpuLimit must not be below cpu, which is 2',
    },
    {
      values: 'settings: {address: {kind: gateway}}',
      says: "at '/settings/address': missing property 'gateway'",
    },
    {
      values: 'settings: {address: {kind: ingress, tls: secret}}',
      says: "at '/settings/address': missing property 'tlsSecretName'",
    },
    ...['proxy.example', '10.0.0.*', '10.0.0.0-10.0.0.9'].map((proxy) => ({
      values: `settings: {http: {trustedProxies: ["::1", 10.0.0.0/8, "${proxy}"]}}`,
      says: 'settings.http.trustedProxies[2] must be an IP address such as 10.0.0.7 or a range such as 10.0.0.0/8, not a host name or a wildcard',
    })),
    { values: 'controller: {replicas: two}', says: "at '/controller/replicas': got string, want integer" },
    { values: 'image: {digest: "1234"}', says: "at '/image/digest': '1234' does not match pattern" },
    { values: 'api: {ingress: {enabled: true}}', says: 'api.ingress.enabled needs api.ingress.host' },
    { values: 'api: {httpRoute: {enabled: true}}', says: 'api.httpRoute.enabled needs api.httpRoute.parentRefs' },
    { values: 'serviceMonitor: {interval: often}', says: "at '/serviceMonitor/interval': 'often' does not match" },
    { values: 'api: {tls: {selfSigned: false}}', says: 'The HTTP API needs a certificate: set api.tls.secretName' },
  ])('$values', async ({ values, says }) => {
    const file = join(home, 'wrong.yaml');
    await writeFile(file, values);
    await expect(render('--values', file)).rejects.toThrow(says);
  });
});
