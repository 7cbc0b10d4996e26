// Addresses on a real API server, on a cluster of their own: what they are made of is one for a whole platform. No ingress
// controller runs here; what one would report is written in its place.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INGRESSES } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { loadKubeConfigFile } from '../../../src/runtime/kube/config.ts';
import { type HttpKubeClient, makeKubeClient } from '../../../src/runtime/kube/http-client.ts';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { gatewayApi } from '../../cluster/tools.ts';
import { aManifest } from '../../support/builders.ts';
import { type Platform, startPlatform, type Tenant } from '../../support/platform.ts';
import { type Attached, callsTo, eventually } from '../../support/running-davit.ts';

const HOST = 'wanted.example.com';
const TENANTS = ['red', 'green', 'blue', 'black', 'white'] as const;
const CLAIMANTS = 50;

let cluster: Cluster;
let platform: Platform | undefined;
let client: HttpKubeClient;
let tenants: readonly Tenant[];
let call: Attached['call'];

async function start(address: object): Promise<void> {
  platform = await startPlatform(cluster, { values: { 'settings.address': address } });
  call = callsTo(platform.apiUrl);
}

beforeAll(async () => {
  cluster = await startCluster({ pods: 'off' });
  client = makeKubeClient({ access: await loadKubeConfigFile({ path: cluster.kubeconfig }), userAgent: 'test' });
  await start({ kind: 'ingress', baseDomain: 'apps.example', ingressClassName: 'nginx' });
  tenants = await Promise.all(TENANTS.map((name) => (platform as Platform).makeTenant(name)));
  await kubectl('annotate', 'namespace', ...TENANTS, `davit.dev/hosts=${HOST} *.shops.example`);
  await Promise.all(
    TENANTS.map((name) =>
      kubectl('-n', name, 'create', 'secret', 'generic', 'outside', '--from-literal=uri=redis://nowhere.invalid'),
    ),
  );
}, 900_000);
afterAll(async () => {
  await client?.close();
  await platform?.stop();
  await cluster?.stop();
}, 60_000);

const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(args);

/** With a database and a Redis elsewhere, so that there is little beside the address. */
function record(namespace: string, name: string, customUrl?: string): object {
  return aManifest(
    { namespace, name },
    {
      sourceConfig: customUrl === undefined ? {} : { customUrl },
      secretReferences: ['POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM'].map((variable) => ({
        name: variable,
        secretName: 'outside',
        secretKey: 'uri',
      })),
    },
  );
}
async function apply(...objects: readonly object[]): Promise<void> {
  const input = objects.map((object) => JSON.stringify(object)).join('\n');
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input });
}
function address(namespace: string, name: string): Promise<string> {
  const path =
    '{.status.conditions[?(@.type=="AddressReady")].status} {.status.conditions[?(@.type=="AddressReady")].reason} {.status.url}';
  return kubectl('-n', namespace, 'get', 'appd', name, '-o', `jsonpath=${path}`);
}
async function until(namespace: string, name: string, says: string): Promise<void> {
  await eventually(async () => expect(await address(namespace, name)).toBe(says));
}
/** AddressReady's reason → how many records say so. */
async function reasons(): Promise<Record<string, number>> {
  const path = '{range .items[*]}{.status.conditions[?(@.type=="AddressReady")].reason}{"\\n"}{end}';
  const said = (await kubectl('get', 'appd', '-A', '-l', 'claimant=yes', '-o', `jsonpath=${path}`)).trim().split('\n');
  return Object.fromEntries([...new Set(said)].map((reason) => [reason, said.filter((one) => one === reason).length]));
}

interface Ingress extends KubeObject {
  readonly spec: { readonly rules: readonly { readonly host: string }[] };
}

/** Everything that happens to Ingresses of HOST from now on: who has it after each event. */
async function watchOwners(stop: AbortSignal): Promise<{ owners: Set<string>; history: string[][] }> {
  const { items, resourceVersion } = await client.listAll<Ingress>(INGRESSES);
  const owners = new Set<string>();
  const history: string[][] = [];
  const see = ({ metadata, spec }: Ingress, there: boolean): void => {
    const owner = `${metadata.namespace}/${metadata.name}`;
    if (there && spec.rules.some(({ host }) => host === HOST)) owners.add(owner);
    else owners.delete(owner);
    const now = [...owners];
    if (now.join() !== history.at(-1)?.join()) history.push(now);
  };
  for (const item of items) see(item, true);
  void (async () => {
    const watch = client.watch<Ingress>(INGRESSES, {
      resourceVersion,
      timeoutSeconds: 600,
      idleMs: 600_000,
      signal: stop,
    });
    for await (const { type, object } of watch) if (type !== 'BOOKMARK') see(object, type !== 'DELETED');
  })().catch(() => undefined);
  return { owners, history };
}

describe('an Ingress', () => {
  it("has the default host, and an ingress controller's writes cause no reconcile writes", async () => {
    await apply(record('red', 'shop'));
    await until('red', 'shop', 'Unknown AddressPending https://shop-red.apps.example');
    const ingress = JSON.parse(await kubectl('-n', 'red', 'get', 'ingress', 'shop', '-o', 'json')) as Ingress;
    expect(ingress.spec).toEqual({
      ingressClassName: 'nginx',
      rules: [
        {
          host: 'shop-red.apps.example',
          http: {
            paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'shop', port: { number: 80 } } } }],
          },
        },
      ],
    });
    const serving = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } };
    await kubectl(
      '-n',
      'red',
      'patch',
      'ingress',
      'shop',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify(serving),
    );
    await until('red', 'shop', 'True Routed https://shop-red.apps.example');
    const version = (kind: string): Promise<string> =>
      kubectl('-n', 'red', 'get', kind, 'shop', '-o', 'jsonpath={.metadata.resourceVersion}');
    const before = [await version('ingress'), await version('appd')];
    const touched = { metadata: { annotations: { 'nginx/seen': 'yes' } } };
    await kubectl('-n', 'red', 'patch', 'ingress', 'shop', '--type=merge', '-p', JSON.stringify(touched));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(Number(await version('ingress'))).toBeGreaterThan(Number(before[0]));
    expect(await version('appd')).toBe(before[1]);
    const managers = await kubectl(
      '-n',
      'red',
      'get',
      'ingress',
      'shop',
      '--show-managed-fields',
      '-o',
      'jsonpath={.metadata.annotations}',
    );
    expect(managers).toContain('nginx/seen');
    expect(await kubectl('-n', 'red', 'get', 'appd', 'shop')).toContain('https://shop-red.apps.example');
  });

  it('HTTP and kubectl reject hosts that the tenant cannot claim, and a new host needs no revision', async () => {
    const [red] = tenants;
    if (!red) throw new Error('there is no tenant');
    const id = await kubectl('-n', 'red', 'get', 'appd', 'shop', '-o', 'jsonpath={.metadata.uid}');
    const patch = (custom_url: string): ReturnType<Attached['call']> =>
      call(red, 'PATCH', `/v2/deployments/${id}`, { source_config: { custom_url } });
    const { body: before } = await call(red, 'GET', `/v2/deployments/${id}`);
    expect(before.source_config.custom_url).toBe('https://shop-red.apps.example');
    const refused = await patch('shop-green.apps.example');
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ['body', 'source_config', 'custom_url']]);
    const { status, body } = await patch('https://a.shops.example');
    expect([status, body.source_config.custom_url, body.latest_revision_id]).toEqual([
      200,
      'https://a.shops.example',
      before.latest_revision_id,
    ]);
    await until('red', 'shop', 'True Routed https://a.shops.example');
    await apply(record('red', 'shop', 'shop-green.apps.example'));
    await until('red', 'shop', 'False HostNotAllowed ');
    expect(await kubectl('-n', 'red', 'get', 'ingress', '-o', 'name')).toBe('');
    await expect(apply(record('red', 'shop', 'https://a.example/path'))).rejects.toThrow('customUrl');
    await expect(apply(record('red', 'shop', '10.0.0.1'))).rejects.toThrow('customUrl');
  });

  it('one of fifty claimants of a host gets it, keeps it over a restart, and the next one gets it after its deletion', async () => {
    const stop = new AbortController();
    const { history, owners } = await watchOwners(stop.signal);
    const claimants = Array.from({ length: CLAIMANTS }, (_, index) => {
      const claimant = record(TENANTS[index % TENANTS.length] ?? '', `c${index}`, HOST) as { metadata: object };
      return { ...claimant, metadata: { ...claimant.metadata, labels: { claimant: 'yes' } } };
    });
    await Promise.all(TENANTS.map((_, of) => apply(...claimants.filter((__, index) => index % TENANTS.length === of))));
    await eventually(
      async () => expect(await reasons()).toEqual({ AddressPending: 1, HostTaken: CLAIMANTS - 1 }),
      60_000,
      500,
    );
    const [winner = ''] = owners;
    platform?.processes.controller?.kill('SIGKILL');
    const [namespace = '', name = ''] = winner.split('/');
    // Something that only a controller does, so that it is back.
    await kubectl('-n', namespace, 'delete', 'service', name);
    await eventually(async () => kubectl('-n', namespace, 'get', 'service', name));
    expect(await reasons()).toEqual({ AddressPending: 1, HostTaken: CLAIMANTS - 1 });
    expect(history).toEqual([[winner]]);

    await kubectl('-n', namespace, 'delete', 'appd', name, '--timeout=180s');
    await eventually(async () => expect(await reasons()).toEqual({ AddressPending: 1, HostTaken: CLAIMANTS - 2 }));
    const [second = ''] = owners;
    expect(second).not.toBe(winner);
    // It lets go by asking for another.
    const [ofSecond = '', nameOfSecond = ''] = second.split('/');
    const other = JSON.stringify({ spec: { sourceConfig: { customUrl: 'z.shops.example' } } });
    await kubectl('-n', ofSecond, 'patch', 'appd', nameOfSecond, '--type=merge', '-p', other);
    await eventually(async () => expect([...owners]).toEqual([expect.not.stringMatching(`^(${winner}|${second})$`)]));
    expect(history.map((at) => at.length).filter((count) => count > 1)).toEqual([]);
    stop.abort();
    await kubectl('delete', 'appd', '-A', '-l', 'claimant=yes', '--timeout=180s');
  });
});

describe('an HTTPRoute', () => {
  beforeAll(async () => {
    await platform?.stop();
    await start({
      kind: 'gateway',
      baseDomain: 'apps.example',
      gateway: { name: 'public', namespace: 'gateways', sectionName: 'https' },
    });
  });

  it('needs the Gateway API: a condition says so until it is installed', async () => {
    await apply(record('green', 'shop'));
    await until('green', 'shop', 'False GatewayApiMissing ');
    await kubectl('-n', 'green', 'get', 'deployment,service', 'shop');
    const definitions = join(await gatewayApi(), 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml');
    await kubectl('apply', '--server-side', '-f', definitions);
    await until('green', 'shop', 'Unknown AddressPending https://shop-green.apps.example');
    const { spec } = JSON.parse(await kubectl('-n', 'green', 'get', 'httproute', 'shop', '-o', 'json')) as {
      spec: object;
    };
    expect(spec).toMatchObject({
      parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
      hostnames: ['shop-green.apps.example'],
      rules: [{ backendRefs: [{ name: 'shop', port: 80 }] }],
    });
  });

  it.each([
    { status: 'False', reason: 'NotAllowedByListeners', says: 'False GatewayRefused' },
    { status: 'True', reason: 'Accepted', says: 'True Routed' },
  ])('the Gateway says $reason: $says', async ({ status, reason, says }) => {
    const at = '2026-01-01T00:00:00Z';
    const condition = { lastTransitionTime: at, observedGeneration: 1, message: 'in its words' };
    const parent = {
      parentRef: { name: 'public', namespace: 'gateways' },
      controllerName: 'example.com/gateway',
      conditions: [
        { ...condition, type: 'Accepted', status, reason },
        { ...condition, type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs' },
      ],
    };
    const patch = JSON.stringify({ status: { parents: [parent] } });
    await kubectl('-n', 'green', 'patch', 'httproute', 'shop', '--subresource=status', '--type=merge', '-p', patch);
    await until('green', 'shop', `${says} https://shop-green.apps.example`);
  });

  it('is not written again, and is deleted with its record', async () => {
    const version = (): Promise<string> =>
      kubectl('-n', 'green', 'get', 'httproute', 'shop', '-o', 'jsonpath={.metadata.resourceVersion}');
    const before = await version();
    platform?.processes.controller?.kill('SIGKILL');
    await kubectl('-n', 'green', 'delete', 'service', 'shop');
    await eventually(async () => kubectl('-n', 'green', 'get', 'service', 'shop'));
    expect(await version()).toBe(before);
    await kubectl('-n', 'green', 'delete', 'appd', 'shop', '--timeout=180s');
    expect(await kubectl('-n', 'green', 'get', 'httproute', '-o', 'name')).toBe('');
  });
});
