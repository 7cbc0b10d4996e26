// The registry of the chart, as it is rendered. test/suites/builds/registry-tokens.test.ts has the real program take this
// configuration and Davit's tokens.

import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { makeBuildNetworkPolicy } from '../../../src/build/job/namespace.ts';
import { ARGUMENT } from '../../../src/build/registry/collection.ts';
import { KEY_RING_SECRET } from '../../../src/build/registry/keys.ts';
import { makeSigningKey, PUBLIC_KEYS_KEY } from '../../../src/build/registry/signing-keys.ts';
import { issueToken, TOKEN_SERVICE } from '../../../src/build/registry/tokens.ts';
import { BUILD_LABEL } from '../../../src/kinds/meta.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { makeAuthority } from '../../cluster/certificates.ts';
import { close, listen } from '../../support/http-servers.ts';
import {
  type ChartRenderer,
  type Manifest,
  makeChartRenderer,
  manifestNamed as named,
} from '../../support/rendered-chart.ts';
import { eventually } from '../../support/running-davit.ts';

let chart: ChartRenderer;
beforeAll(async () => {
  chart = await makeChartRenderer();
});
afterAll(() => chart?.close());

/** For nodes that are configured for the name of the Service. */
const ON = 'registry.enabled=true,registry.host=davit-registry.davit-system.svc';
/** For nodes that the chart configures. */
const ADDRESSES = 'registry.enabled=true,registry.service.clusterIP=10.96.0.9,api.service.clusterIP=10.96.0.8';

const render = (set: string): Promise<Manifest[]> => chart.render('--set', set);
const configuration = (manifests: readonly Manifest[]): Configuration =>
  parse(named(manifests, 'ConfigMap', 'davit-registry')['data']['config.yml'] as string) as Configuration;
const settings = (manifests: readonly Manifest[]): Settings =>
  Settings.parse(parse(named(manifests, 'ConfigMap', 'davit-settings')['data']['settings.yaml'] as string));
const certificates = (pem: string): X509Certificate[] =>
  [...pem.matchAll(/-----BEGIN[^]+?END CERTIFICATE-----/g)].map(([text]) => new X509Certificate(text));

it('is not there by default', async () => {
  expect((await chart.render()).filter(({ metadata }) => metadata.name.includes('registry'))).toEqual([]);
});

describe('registry.enabled', () => {
  it('becomes the setting, with the rights that a registry with tokens needs', async () => {
    const manifests = await render(ON);
    const { registry } = settings(manifests).builds;
    expect(registry).toMatchObject({ host: 'davit-registry.davit-system.svc', tokens: true, insecure: false });
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names).toContain('Role davit-api-own');
    expect(names).toContain('ValidatingAdmissionPolicy davit-api');
    const building = await render(`${ON},settings.builds.images.builder=builder:1`);
    expect(named(building, 'Namespace', 'davit-builds')).toBeDefined();
    expect(JSON.stringify(named(building, 'Role', 'davit-controller-own'))).toContain('davit-registry-key');
  });

  it('has builds trust the certificates that the chart made, for both addresses', async () => {
    const manifests = await render(ADDRESSES);
    const trusted = certificates(settings(manifests).builds.registry?.ca ?? '');
    const made = ['davit-registry-tls', 'davit-api-tls'].map((name) => {
      const data = named(manifests, 'Secret', name)['data'] as Record<string, string>;
      return new X509Certificate(Buffer.from(data['tls.crt'] ?? '', 'base64'));
    });
    expect(trusted.map(({ fingerprint256 }) => fingerprint256)).toEqual(
      made.map(({ fingerprint256 }) => fingerprint256),
    );
    expect(made.map(({ subjectAltName }) => subjectAltName)).toEqual([
      expect.stringContaining('IP Address:10.96.0.9'),
      expect.stringContaining('IP Address:10.96.0.8'),
    ]);
    expect(made[0]?.checkHost('davit-registry.davit-system.svc')).toBeDefined();
    expect(settings(manifests).builds.registry?.host).toBe('10.96.0.9');
    expect(named(manifests, 'Service', 'davit-registry')['spec']).toMatchObject({ clusterIP: '10.96.0.9' });
    expect(named(manifests, 'Service', 'davit-api')['spec']).toMatchObject({ clusterIP: '10.96.0.8' });
  });

  it('verifies the tokens that Davit signs, by its public keys alone', async () => {
    const manifests = await render(ON);
    const { auth, storage } = configuration(manifests);
    const ring = { keys: [makeSigningKey(new Date())] };
    const [header, claims] = issueToken(ring, [], { now: new Date(), id: 'x' })
      .token.split('.')
      .slice(0, 2)
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, string>);
    expect(auth.token).toMatchObject({
      issuer: claims?.['iss'],
      service: TOKEN_SERVICE,
      signingalgorithms: [header?.['alg']],
    });
    expect(claims?.['aud']).toBe(TOKEN_SERVICE);
    const { volumes, containers } = pod(manifests);
    const keys = volumes.find(({ name }) => name === 'keys');
    expect(keys?.['secret']).toEqual({
      secretName: KEY_RING_SECRET,
      items: [{ key: PUBLIC_KEYS_KEY, path: PUBLIC_KEYS_KEY }],
    });
    const mount = containers[0]?.volumeMounts.find(({ name }) => name === 'keys');
    expect(`${mount?.mountPath}/${PUBLIC_KEYS_KEY}`).toBe(auth.token['jwks']);
    expect(storage).toMatchObject({ delete: { enabled: true } });
  });

  it.each([
    ['registry.tokenUrl=https://t.example/v1/registry/token', 'https://t.example/v1/registry/token'],
    ['registry.ingress.enabled=true,registry.host=r.example', 'https://r.example/v1/registry/token'],
    ['api.ingress.enabled=true,api.ingress.host=davit.example', 'https://davit.example/v1/registry/token'],
    ['api.service.clusterIP=10.96.0.8', 'https://10.96.0.8/v1/registry/token'],
    [
      'settings.http.insecure=true,api.ingress.enabled=true,api.ingress.host=davit.example',
      'https://davit.example/v1/registry/token',
    ],
    ['api.replicas=1', 'https://davit-api.davit-system.svc/v1/registry/token'],
  ])('with %s sends its clients to %s', async (set, realm) => {
    expect(configuration(await render(`${ON},${set}`)).auth.token['realm']).toBe(realm);
  });

  it('runs restricted, as a pod that builds may reach and that reaches nothing', async () => {
    const manifests = await render(`${ON},settings.builds.images.builder=builder:1`);
    const { securityContext, initContainers, containers, automountServiceAccountToken } = pod(manifests);
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(automountServiceAccountToken).toBe(false);
    for (const container of [...initContainers, ...containers]) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
    const { labels } = named(manifests, 'StatefulSet', 'davit-registry')['spec'].template.metadata as {
      labels: Record<string, string>;
    };
    const peers = makeBuildNetworkPolicy(settings(manifests)).spec?.egress?.flatMap(({ to = [] }) => to) ?? [];
    expect(
      peers.some(({ podSelector }) =>
        Object.entries(podSelector?.matchLabels ?? {}).some(([key, value]) => labels[key] === value),
      ),
    ).toBe(true);
    expect(named(manifests, 'NetworkPolicy', 'davit-registry')['spec']).toEqual({
      podSelector: {
        matchLabels: {
          'app.kubernetes.io/name': 'davit',
          'app.kubernetes.io/instance': 'davit',
          'app.kubernetes.io/component': 'registry',
        },
      },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [{ port: 'https' }] }],
    });
  });

  it('lets in builds and its own pods, at the API too, where these are open to some peers only', async () => {
    const nodes = '10.0.0.0/8';
    const closed = ['api', 'registry'].map((part) => `networkPolicy.${part}From[0].ipBlock.cidr=${nodes}`).join();
    const own = {
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'davit', 'app.kubernetes.io/instance': 'davit' } },
    };
    const builds = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'davit-builds' } },
      podSelector: { matchExpressions: [{ key: BUILD_LABEL, operator: 'Exists' }] },
    };
    const from = async (part: string, set: string): Promise<unknown> =>
      (named(await render(set), 'NetworkPolicy', `davit-${part}`)['spec'] as { ingress: unknown }).ingress;
    for (const [part, port] of [
      ['api', 'http'],
      ['registry', 'https'],
    ] as const) {
      const peers = [{ ipBlock: { cidr: nodes } }, own];
      expect(await from(part, `${ON},${closed}`)).toEqual([{ ports: [{ port }], from: peers }]);
      expect(await from(part, `${ON},${closed},settings.builds.images.builder=builder:1`)).toEqual([
        { ports: [{ port }], from: [...peers, builds] },
      ]);
    }
  });

  it('collects garbage before it serves, where the controller works for it', async () => {
    const manifests = await render(`${ON},settings.builds.images.builder=builder:1`);
    const [collect] = pod(manifests).initContainers;
    expect(collect).toMatchObject({
      args: ['garbage-collect', `$(${ARGUMENT})`, '--quiet', '/etc/distribution/config.yml'],
      // The last has precedence.
      envFrom: [
        { configMapRef: { name: 'davit-registry-start' } },
        { configMapRef: { name: 'davit-registry-collection', optional: true } },
      ],
      terminationMessagePolicy: 'FallbackToLogsOnError',
    });
    expect(collect?.env.map(({ name }) => name)).not.toContain(ARGUMENT);
    // A pod that nobody has told to collect starts at once.
    expect(named(manifests, 'ConfigMap', 'davit-registry-start')['data']).toEqual({ [ARGUMENT]: '--help' });
    expect(named(manifests, 'ConfigMap', 'davit-registry-collection')).not.toHaveProperty('data');
    expect(JSON.stringify(named(manifests, 'Role', 'davit-controller-own'))).toContain('davit-registry-collection');
    const { upkeep } = settings(manifests).builds.registry ?? {};
    expect(upkeep).toEqual({ enabled: true, everyDays: 7, hour: 3, limitMinutes: 30, cacheDays: 30, maxTags: 500 });
    // Switched off, images are tagged all the same: it may be switched on later, when the registry's pod is the first to start.
    const off = await render(`${ON},settings.builds.images.builder=builder:1,registry.garbageCollection.enabled=false`);
    expect(pod(off).initContainers).toBeUndefined();
    expect(settings(off).builds.registry?.upkeep?.enabled).toBe(false);
    // Without a builder no controller tags what revisions name.
    const without = await render(ON);
    expect(pod(without).initContainers).toBeUndefined();
    expect(settings(without).builds.registry?.upkeep).toBeUndefined();
    expect(JSON.stringify(named(without, 'Role', 'davit-controller-own'))).not.toContain('davit-registry-0');
  });

  it('has one Ingress for images and tokens', async () => {
    const manifests = await render(
      `${ON},registry.host=r.example,registry.ingress.enabled=true,registry.ingress.tlsSecretName=crt`,
    );
    const { rules, tls } = named(manifests, 'Ingress', 'davit-registry')['spec'] as {
      tls: unknown;
      rules: { host: string; http: { paths: { path: string; backend: { service: { name: string } } }[] } }[];
    };
    expect(tls).toEqual([{ hosts: ['r.example'], secretName: 'crt' }]);
    expect(rules[0]?.http.paths.map(({ path, backend }) => [path, backend.service.name])).toEqual([
      ['/v2', 'davit-registry'],
      ['/v1/registry/token', 'davit-api'],
    ]);
    // Its certificate is the system's business.
    expect(settings(manifests).builds.registry).toEqual({
      host: 'r.example',
      tokens: true,
      insecure: false,
    });
  });

  it.each([
    ['settings.builds.registry.host=r.example', 'exclude each other'],
    ['registry.host=,registry.ingress.enabled=true', 'registry.ingress.enabled needs registry.host'],
    ['registry.tls.selfSigned=false', 'The registry needs a certificate: set registry.tls.secretName'],
    [
      'registry.nodes.enabled=true,registry.service.clusterIP=10.96.0.9',
      'registry.nodes.enabled needs an address of the HTTP API that nodes reach',
    ],
    [
      'registry.host=',
      'registry.enabled needs an address that nodes reach: they pull the images, and do not resolve names of Services. Set registry.host and registry.ingress, or registry.service.clusterIP and registry.nodes.enabled. If your nodes are configured for the name of the Service, set registry.host: davit-registry.davit-system.svc',
    ],
    ['registry.host=r.example', 'registry.enabled needs an address of the HTTP API that nodes reach'],
    ['registry.host=,registry.service.clusterIP=10.96.0.9', 'registry.enabled needs an address of the HTTP API'],
    ['registry.service.clusterIP=registry.example', "at '/registry/service/clusterIP'"],
    ['settings.http.insecure=true', 'passwords to http://davit-api.davit-system.svc/v1/registry/token, without TLS'],
    ['settings.http.insecure=true,api.service.clusterIP=10.96.0.8', 'set registry.tokenUrl to an https URL'],
    ['registry.tokenUrl=http://10.0.0.1:8080/v1/registry/token', 'set registry.tokenUrl to an https URL'],
  ])('says what is wrong with %s', async (set, says) => {
    await expect(render(`${ON},${set}`)).rejects.toThrow(says);
  });
});

describe('an address that nodes may not reach', () => {
  it.each(['registry.host=', 'registry.host=r.example'])('is no reason to refuse an upgrade: %s', async (set) => {
    const upgraded = await chart.render('--is-upgrade', '--set', `${ON},${set}`);
    expect(named(upgraded, 'StatefulSet', 'davit-registry')).toBeDefined();
  });

  it.each([
    [ON, 'nodes must trust its certificate'],
    [ADDRESSES, 'nodes must trust its certificate'],
    [`${ADDRESSES},registry.nodes.enabled=true`, undefined],
    [`${ON},registry.host=r.example,registry.ingress.enabled=true`, undefined],
    [`${ON},registry.tls.secretName=crt`, undefined],
  ])('is warned of in the notes where it cannot be decided: %s', async (set, warning) => {
    expect(/WARNING: (nodes [^,.]*)/.exec(await chart.notes(set))?.[1]).toBe(warning);
  });

  describe('helm test', () => {
    const REALM = { 'www-authenticate': 'Bearer realm="https://t.example/v1/registry/token",service="x"' };
    /** The pod of the test, with its two addresses led to one server on this machine. */
    async function run(
      answers: Readonly<Record<string, { status: number; headers?: Record<string, string> }>>,
    ): Promise<{
      code: number | null;
      output: string;
    }> {
      const { certificate, key } = makeAuthority('test').serving('localhost', ['localhost']);
      const server = createServer({ cert: certificate, key }, (request, response) => {
        const { status, headers } = answers[request.url ?? ''] ?? { status: 404 };
        response.writeHead(status, headers).end();
      });
      await listen(server, 0, '127.0.0.1');
      const here = `https://localhost:${(server.address() as AddressInfo).port}`;
      const given = Object.fromEntries(testPod().containers[0]?.env.map(({ name, value }) => [name, value]) ?? []);
      expect(given).toEqual({ REGISTRY: 'https://r.example', TOKENS: 'https://t.example/v1/registry/token' });
      const script = (testPod().containers[0]?.args[0] ?? '').replaceAll(
        /await fetch\(url/g,
        'await fetch(url.replace(/^https:..[rt].example/, process.env.HERE)',
      );
      const env = { ...process.env, ...given, HERE: 'r' in answers ? 'https://registry.invalid' : here };
      const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { env });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (data: Buffer) => (output += data.toString()));
      const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
      await close(server);
      return { code, output };
    }
    let manifests: Manifest[];
    beforeAll(async () => {
      manifests = await render(`${ON},registry.host=r.example,registry.tokenUrl=https://t.example/v1/registry/token`);
    });
    const testPod = (): Pod => named(manifests, 'Pod', 'davit-test-registry')['spec'] as Pod;

    it('looks with the resolver of the node, restricted', () => {
      expect(testPod()).toMatchObject({ dnsPolicy: 'Default', securityContext: { runAsNonRoot: true } });
      expect(testPod()).not.toHaveProperty('hostNetwork');
    });
    it.each([
      ['passes', { '/v2/': { status: 401, headers: REALM }, '/v1/registry/token': { status: 401 } }, 0, 'answers 401'],
      [
        'says that a name leads nowhere',
        { r: { status: 0 } },
        1,
        'https://r.example/v2/ is not reached as a node would reach it: getaddrinfo',
      ],
      ['says that something else answers', { '/v2/': { status: 200 } }, 1, 'it names no address'],
      [
        'says that tokens are not there',
        { '/v2/': { status: 401, headers: REALM } },
        1,
        "is not answered by Davit's API: it answers 404",
      ],
    ])('%s', async (_what, answers, code, says) => {
      const result = await run(answers);
      expect(result.output).toContain(says);
      expect(result.code).toBe(code);
    });
    it('is not there where nodes are configured for the name of a Service', async () => {
      const names = (await render(ON)).map(({ metadata }) => metadata.name);
      expect(names).toContain('davit-test');
      expect(names).not.toContain('davit-test-registry');
    });
    it('asks the address that registry.nodes gives to nodes', async () => {
      const pod = named(
        await render(`${ADDRESSES},registry.host=r.example,registry.nodes.enabled=true`),
        'Pod',
        'davit-test-registry',
      );
      expect((pod['spec'] as Pod).containers[0]?.env).toContainEqual({ name: 'REGISTRY', value: 'https://10.96.0.9' });
    });
  });
});

describe('registry.storage.s3', () => {
  const BUILDING = `${ON},settings.builds.images.builder=builder:1`;
  const S3 = `${BUILDING},registry.storage.s3.bucket=images`;

  it('keeps images in a bucket of Amazon, by the role of a ServiceAccount', async () => {
    const role = 'arn:aws:iam::111122223333:role/davit';
    const manifests = await render(
      `${S3},registry.storage.s3.region=eu-central-1,registry.storage.s3.serviceAccountAnnotations.eks\\.amazonaws\\.com/role-arn=${role}`,
    );
    expect(configuration(manifests).storage).toEqual({
      s3: { bucket: 'images', region: 'eu-central-1', forcepathstyle: false, secure: true },
      redirect: { disable: true },
      delete: { enabled: true },
      maintenance: { uploadpurging: { enabled: true, age: '24h', interval: '24h', dryrun: false } },
    });
    expect(named(manifests, 'ServiceAccount', 'davit-registry').metadata.annotations).toEqual({
      'eks.amazonaws.com/role-arn': role,
    });
    expect(pod(manifests)).toMatchObject({ serviceAccountName: 'davit-registry', automountServiceAccountToken: false });
    // DNS, the bucket, and where the credentials of a role come from.
    const { egress } = named(manifests, 'NetworkPolicy', 'davit-registry')['spec'] as { egress: unknown };
    expect(egress).toEqual([
      {
        ports: [
          { port: 53, protocol: 'UDP' },
          { port: 53, protocol: 'TCP' },
        ],
      },
      { ports: [{ port: 443 }] },
      { ports: [{ port: 443 }] },
      {
        ports: [{ port: 80 }],
        to: [{ ipBlock: { cidr: '169.254.170.23/32' } }, { ipBlock: { cidr: 'fd00:ec2::23/128' } }],
      },
    ]);
  });

  it('keeps images in a bucket of another service, by a Secret', async () => {
    const values =
      'endpoint=https://s3.example:9000,prefix=team/davit,credentialsSecret=bucket,ca=PEM,redirect=true'.replaceAll(
        /(^|,)/g,
        '$1registry.storage.s3.',
      );
    const manifests = await render(`${S3},${values}`);
    expect(configuration(manifests).storage).toMatchObject({
      s3: {
        bucket: 'images',
        region: 'us-east-1',
        regionendpoint: 'https://s3.example:9000',
        forcepathstyle: true,
        secure: true,
        rootdirectory: '/team/davit',
      },
      redirect: { disable: false },
    });
    expect(named(manifests, 'ConfigMap', 'davit-registry')['data']['s3-ca.crt']).toBe('PEM\n');
    expect(
      manifests.some(({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === 'davit-registry'),
    ).toBe(false);
    const { initContainers, containers } = pod(manifests);
    const secret = (key: string): object => ({
      name: key,
      valueFrom: { secretKeyRef: { name: 'bucket', key } },
    });
    // The collection reads the same bucket.
    for (const { env } of [...initContainers, ...containers]) {
      expect(env).toEqual([
        { name: 'OTEL_TRACES_EXPORTER', value: 'none' },
        secret('AWS_ACCESS_KEY_ID'),
        secret('AWS_SECRET_ACCESS_KEY'),
        { name: 'AWS_CA_BUNDLE', value: '/etc/distribution/s3-ca.crt' },
      ]);
    }
    const { egress } = named(manifests, 'NetworkPolicy', 'davit-registry')['spec'] as { egress: unknown[] };
    expect(egress.slice(1)).toEqual([{ ports: [{ port: 9000 }] }]);
  });

  it('needs no volume, and remains one pod of the same name, which the controller replaces', async () => {
    const manifests = await render(`${S3},registry.storage.s3.region=eu-central-1`);
    const { spec } = named(manifests, 'StatefulSet', 'davit-registry');
    expect(spec.volumeClaimTemplates).toBeUndefined();
    expect(spec.replicas).toBe(1);
    const { volumes, initContainers, containers } = pod(manifests);
    expect(volumes.map(({ name }) => name)).toEqual(['configuration', 'keys', 'tls']);
    const mounts = (these: readonly Container[]): string[] =>
      these.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name));
    expect([mounts(initContainers), mounts(containers)]).toEqual([['configuration'], ['configuration', 'keys', 'tls']]);
    expect(settings(manifests).builds.registry?.upkeep?.enabled).toBe(true);
  });

  it('of plain HTTP and within the cluster is reached without TLS, by the peers that are named', async () => {
    const peer = 'networkPolicy.registryTo[0].namespaceSelector.matchLabels.team=storage';
    const manifests = await render(
      `${S3},registry.storage.s3.endpoint=http://minio.storage.svc,registry.storage.s3.pathStyle=false,registry.storage.s3.credentialsSecret=x,${peer}`,
    );
    expect(configuration(manifests).storage).toMatchObject({ s3: { secure: false, forcepathstyle: false } });
    const { egress } = named(manifests, 'NetworkPolicy', 'davit-registry')['spec'] as { egress: unknown[] };
    expect(egress.slice(1)).toEqual([{ to: [{ namespaceSelector: { matchLabels: { team: 'storage' } } }] }]);
  });

  it.each([
    ['bucket=images', 'registry.storage.s3.bucket needs region, for Amazon S3, or endpoint'],
    ['region=eu-central-1', 'registry.storage.s3 needs bucket'],
    ['redirect=true', 'registry.storage.s3 needs bucket'],
    ['bucket=images,endpoint=s3.example', "at '/registry/storage/s3/endpoint'"],
    ['bucket=images,endpoint=https://s3.example/images', "at '/registry/storage/s3/endpoint'"],
    ['bucket=Images,region=x', "at '/registry/storage/s3/bucket'"],
    ['bucket=images,region=x,prefix=/davit/', "at '/registry/storage/s3/prefix'"],
    [
      'bucket=images,region=x,credentialsSecret=a,serviceAccountAnnotations.a=b',
      'remove credentialsSecret to use the role',
    ],
    ['bucket=images,endpoint=http://s3.example,redirect=true', 'set an https endpoint, or redirect to false'],
    ['bucket=images,region=x,ca=PEM', 'registry.storage.s3.ca is for an https endpoint'],
  ])('says what is wrong with %s', async (values, says) => {
    const set = values.replaceAll(/(^|,)/g, '$1registry.storage.s3.');
    await expect(render(`${BUILDING},${set}`)).rejects.toThrow(says);
  });

  it.each(['size=10Gi', 'storageClassName=fast'])('says that a volume is not wanted with %s', async (set) => {
    await expect(render(`${S3},registry.storage.s3.region=x,registry.storage.${set}`)).rejects.toThrow(
      'registry.storage.s3.bucket and a volume exclude each other',
    );
  });
});

describe('registry.nodes', () => {
  let child: ChildProcess | undefined;
  afterAll(() => void child?.kill());

  it("writes what a node's containerd reads", async () => {
    const manifests = await render(`${ADDRESSES},registry.nodes.enabled=true`);
    const { containers, volumes } = named(manifests, 'DaemonSet', 'davit-registry-nodes')['spec'].template.spec as Pod;
    expect(volumes.find(({ name }) => name === 'node')?.['hostPath']).toMatchObject({
      path: '/etc/containerd/certs.d',
    });
    const folder = await mkdtemp(join(chart.home, 'node-'));
    const script = join(folder, 'trust-registry.mjs');
    await writeFile(
      script,
      named(manifests, 'ConfigMap', 'davit-registry-nodes')['data']['trust-registry.mjs'] as string,
    );
    const env = Object.fromEntries((containers[0]?.env ?? []).map(({ name, value }) => [name, value]));
    child = spawn(process.execPath, [script], { env: { ...env, REGISTRY_FOLDER: folder }, stdio: 'ignore' });
    const hosts = join(folder, '10.96.0.9/hosts.toml');
    await eventually(async () => expect(existsSync(hosts)).toBe(true));
    expect(await readFile(hosts, 'utf8')).toBe(
      [
        'server = "https://10.96.0.9"',
        '[host."https://10.96.0.9"]',
        '  capabilities = ["pull", "resolve"]',
        '  ca = "/etc/containerd/certs.d/10.96.0.9/ca.crt"',
        '',
      ].join('\n'),
    );
    expect(certificates(await readFile(join(folder, '10.96.0.9/ca.crt'), 'utf8'))).toHaveLength(2);
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });
});

interface Configuration {
  readonly auth: { readonly token: Readonly<Record<string, unknown>> };
  readonly storage: object;
}
interface Container {
  readonly envFrom?: readonly object[];
  readonly args: readonly string[];
  readonly securityContext: object;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}
interface Pod {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: object;
  readonly initContainers: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string; readonly [kind: string]: unknown }[];
}

function pod(manifests: readonly Manifest[]): Pod {
  return named(manifests, 'StatefulSet', 'davit-registry')['spec'].template.spec as Pod;
}
