// Addresses and hosts over the in-memory API server: who gets a host, who waits, and who gets it next.

import { describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { type Settings, Settings as SettingsSchema } from '../../../src/kinds/settings.ts';
import { NotFound, Unavailable } from '../../../src/runtime/errors.ts';
import { HTTP_ROUTES, INGRESSES, NAMESPACES, SERVICES } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, KEY, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, edit, putRecord, record, says as statusAndReason } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge, crashed } from './harness.ts';

const INGRESS = SettingsSchema.parse({ address: { kind: 'ingress', baseDomain: 'apps.example' } });
const GATEWAY = SettingsSchema.parse({
  address: { kind: 'gateway', gateway: { name: 'public', namespace: 'gateways' }, baseDomain: 'apps.example' },
});
const NONE = SettingsSchema.parse({});
const PAUSED = { 'davit.dev/paused': 'true' };

function started(kube: FakeKube, settings: Settings = INGRESS): Promise<MemoryController> {
  return aController(kube, settings);
}

function tenant(kube: FakeKube, name: string, hosts?: string): void {
  kube.seed(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name,
      labels: { 'davit.dev/tenant': 'true' },
      ...(hosts !== undefined && { annotations: { 'davit.dev/hosts': hosts } }),
    },
  });
}

function asks(kube: FakeKube, namespace: string, name: string, customUrl?: string): void {
  putRecord(kube, { sourceConfig: customUrl === undefined ? {} : { customUrl } }, { namespace, name });
}

function says(kube: FakeKube, namespace = 'team', name = 'shop', type = 'AddressReady'): string {
  return statusAndReason(kube, type, namespace, name);
}

function addresses(kube: FakeKube, resource = INGRESSES): string[] {
  return kube
    .objects<KubeObject & { spec: { rules?: { host: string }[]; hostnames?: string[] } }>(resource)
    .map(
      ({ metadata, spec }) => `${metadata.namespace}/${metadata.name} ${spec.rules?.[0]?.host ?? spec.hostnames?.[0]}`,
    );
}

async function rest(controller: MemoryController, ...keys: readonly string[]): Promise<void> {
  for (let pass = 0; pass < 4; pass += 1) {
    for (const key of keys) {
      await controller.reconcile(key);
      await makeReady(controller.kube);
    }
  }
  controller.writes();
}

/** A record with its default host, paused. */
async function paused(hosts?: string): Promise<MemoryController> {
  const kube = aServer();
  tenant(kube, 'team', hosts);
  putRecord(kube);
  const controller = await started(kube);
  await converge(controller);
  await edit(kube, { metadata: { annotations: PAUSED } });
  return controller;
}

/** Its tenant edits the Ingress. */
async function routes(kube: FakeKube, ...hosts: readonly string[]): Promise<void> {
  const spec = { rules: hosts.map((host) => ({ host })) };
  await kube.mergePatch(INGRESSES, { namespace: 'team', name: 'shop' }, { spec } as object, { fieldManager: 'x' });
}

async function allows(kube: FakeKube, name: string, hosts: string): Promise<void> {
  const annotated = { metadata: { annotations: { 'davit.dev/hosts': hosts } } };
  await kube.mergePatch(NAMESPACES, { name }, annotated, { fieldManager: 'admin' });
}

/** Two tenants that may have the same host, each with a record that asks for it. */
async function contended(): Promise<MemoryController> {
  const kube = aServer();
  tenant(kube, 'team', 'a.example.com b.example.com');
  tenant(kube, 'other', '*.example.com');
  asks(kube, 'team', 'shop', 'a.example.com');
  asks(kube, 'other', 'shop', 'https://a.example.com');
  const controller = await started(kube);
  await rest(controller, KEY, 'other/shop');
  return controller;
}

describe('an address', () => {
  it('of the base domain is made with the rest, reported, and served when the ingress controller says so', async () => {
    const kube = aServer();
    putRecord(kube);
    const controller = await started(kube);
    await converge(controller);
    expect(addresses(kube)).toEqual(['team/shop shop-team.apps.example']);
    expect(record(kube).status).toMatchObject({
      url: 'https://shop-team.apps.example',
      hostClaim: { host: 'shop-team.apps.example' },
    });
    expect([says(kube), says(kube, 'team', 'shop', 'Ready')]).toEqual(['Unknown AddressPending', 'True Serving']);
    const [made] = kube.objects(INGRESSES);
    kube.seed(
      INGRESSES,
      { ...made, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } } as KubeObject,
      'nginx',
    );
    await controller.reconcile();
    expect(controller.writes()).toEqual(['apply AppDeployment shop/status']);
    expect(says(kube)).toBe('True Routed');
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
    const again = await started(kube);
    await again.reconcile();
    expect(again.writes()).toEqual([]);
  });

  it('follows a changed custom_url, and makes no revision', async () => {
    const kube = aServer();
    tenant(kube, 'team', 'a.example.com');
    putRecord(kube);
    const controller = await started(kube);
    await converge(controller);
    const before = record(kube).status?.latestRevisionId;
    await edit(kube, { spec: { sourceConfig: { customUrl: 'a.example.com' } } });
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual(['apply Ingress shop', 'apply AppDeployment shop/status']);
    expect(addresses(kube)).toEqual(['team/shop a.example.com']);
    expect(record(kube).status).toMatchObject({ url: 'https://a.example.com', latestRevisionId: before });
  });

  it('is an HTTPRoute where a Gateway is configured', async () => {
    const kube = aServer();
    putRecord(kube);
    const controller = await started(kube, GATEWAY);
    await converge(controller);
    expect(addresses(kube, HTTP_ROUTES)).toEqual(['team/shop shop-team.apps.example']);
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it('that the platform does not make is said, and holds nothing back', async () => {
    const kube = aServer();
    asks(kube, 'team', 'shop', 'a.example.com');
    const controller = await started(kube, NONE);
    await converge(controller);
    expect([says(kube), says(kube, 'team', 'shop', 'Ready')]).toEqual(['False NoAddressConfigured', 'True Serving']);
    expect(kube.objects(INGRESSES)).toEqual([]);
  });

  it('goes first when the record goes', async () => {
    const kube = aServer();
    putRecord(kube);
    const controller = await started(kube);
    await converge(controller);
    const { uid = '' } = record(kube).metadata;
    await kube.remove(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' }, { uid });
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual(['apply AppDeployment shop/status', 'delete Ingress shop']);
    expect(record(kube).status?.url).toBe('https://shop-team.apps.example');
    await controller.reconcile();
    expect(record(kube).status?.url).toBeUndefined();
  });

  it('that is a foreign object of that name is left alone, and said', async () => {
    const kube = aServer();
    const foreign = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'shop', namespace: 'team' },
    };
    kube.seed(INGRESSES, foreign);
    putRecord(kube);
    const controller = await started(kube);
    await rest(controller, KEY);
    expect(kube.objects(INGRESSES)[0]?.metadata.labels).toBeUndefined();
    expect([says(kube), says(kube, 'team', 'shop', 'Stalled')]).toEqual(['False NameConflict', 'True NameConflict']);
    expect(record(kube).status?.url).toBeUndefined();
  });

  it('of a paused record stays as it is', async () => {
    const controller = await paused();
    const { kube } = controller;
    await controller.reconcile();
    expect(addresses(kube)).toEqual(['team/shop shop-team.apps.example']);
    expect(record(kube).status?.url).toBe('https://shop-team.apps.example');
  });

  it.each([
    { how: 'added to the Ingress of a paused record' },
    { how: 'added so, and asked for', customUrl: 'shop-other.apps.example' },
  ])('does not hold the host of another tenant that was $how', async ({ customUrl }) => {
    const controller = await paused();
    const { kube } = controller;
    if (customUrl !== undefined) await edit(kube, { spec: { sourceConfig: { customUrl } } });
    await routes(kube, 'shop-team.apps.example', 'shop-other.apps.example');
    await rest(controller, KEY);
    tenant(kube, 'other');
    asks(kube, 'other', 'shop');
    await rest(controller, 'other/shop');
    expect(addresses(kube)).toContain('other/shop shop-other.apps.example');
  });

  it('that was added to the Ingress of a paused record is let go when the tenant may not have it any more', async () => {
    const controller = await paused('*.example.com');
    const { kube } = controller;
    await routes(kube, 'shop-team.apps.example', 'a.example.com');
    tenant(kube, 'other', 'a.example.com');
    asks(kube, 'other', 'shop', 'a.example.com');
    await rest(controller, 'other/shop');
    expect(says(kube, 'other')).toBe('False HostTaken');
    const woken = controller.wake();
    await woken.take();
    await allows(kube, 'team', 'b.example.com');
    expect(await woken.take()).toContain('other/shop');
    await rest(controller, 'other/shop');
    expect(addresses(kube)).toContain('other/shop a.example.com');
  });

  it('that the tenant may not have any more goes, even where another child is refused', async () => {
    const kube = aServer();
    tenant(kube, 'team', 'a.example.com');
    asks(kube, 'team', 'shop', 'a.example.com');
    const controller = await started(kube);
    await converge(controller);
    expect(addresses(kube)).toEqual(['team/shop a.example.com']);
    kube.erase(SERVICES, { namespace: 'team', name: 'shop' });
    kube.failOn(({ verb, kind }) => (verb === 'apply' && kind === 'Service' ? new Unavailable('down') : undefined));
    await kube.mergePatch(NAMESPACES, { name: 'team' }, { metadata: { annotations: null } } as object, {
      fieldManager: 'x',
    });
    await controller.reconcile().catch(() => undefined);
    expect(addresses(kube)).toEqual([]);
    kube.failOn(undefined);
    await rest(controller, KEY);
    expect(says(kube)).toBe('False HostNotAllowed');
    expect([record(kube).status?.url, record(kube).status?.hostClaim]).toEqual([undefined, undefined]);
  });
});

describe('one host, one owner', () => {
  it('who comes first has it; the other is told, and keeps nothing', async () => {
    const { kube } = await contended();
    expect(addresses(kube)).toEqual(['team/shop a.example.com']);
    expect([says(kube), says(kube, 'other')]).toEqual(['Unknown AddressPending', 'False HostTaken']);
    expect([says(kube, 'team', 'shop', 'Ready'), says(kube, 'other', 'shop', 'Ready')]).toEqual([
      'True Serving',
      'False HostTaken',
    ]);
    expect(JSON.stringify(record(kube, 'other').status?.conditions)).not.toContain('team');
  });

  it('keeps it over a restart, whoever is asked first', async () => {
    const { kube } = await contended();
    const again = await started(kube);
    await again.reconcile('other/shop');
    await again.reconcile();
    expect(again.writes()).toEqual([]);
  });

  it('is kept by who has made it and died before the report', async () => {
    const kube = aServer();
    tenant(kube, 'team', 'a.example.com');
    tenant(kube, 'other', 'a.example.com');
    asks(kube, 'team', 'shop', 'a.example.com');
    asks(kube, 'other', 'shop', 'a.example.com');
    const dying = await started(kube);
    kube.failOn(({ kind, subresource }) =>
      kind === 'AppDeployment' && subresource === 'status' ? new Unavailable('gone') : undefined,
    );
    await dying.reconcile().catch(() => undefined);
    expect([addresses(kube), record(kube).status]).toEqual([['team/shop a.example.com'], undefined]);
    kube.failOn(undefined);
    const next = await started(kube);
    await rest(next, 'other/shop', KEY);
    expect(addresses(kube)).toEqual(['team/shop a.example.com']);
    expect(says(kube, 'other')).toBe('False HostTaken');
  });

  it('is nobody else’s while it may have been made: no answer came, and the cache does not show it', async () => {
    const kube = aServer();
    tenant(kube, 'team', 'a.example.com');
    tenant(kube, 'other', 'a.example.com');
    asks(kube, 'team', 'shop', 'a.example.com');
    asks(kube, 'other', 'shop', 'a.example.com');
    const controller = await started(kube);
    kube.failOn(({ verb, kind }) =>
      verb === 'apply' && kind === 'Ingress' ? new Unavailable('no answer') : undefined,
    );
    await controller.reconcile().catch(() => undefined);
    kube.failOn(undefined);
    await rest(controller, 'other/shop');
    expect(addresses(kube)).toEqual([]);
    await rest(controller, KEY);
    expect(addresses(kube)).toEqual(['team/shop a.example.com']);
  });

  it.each([
    {
      how: 'its owner asks for another',
      letGo: async (kube: FakeKube) => {
        await edit(kube, { spec: { sourceConfig: { customUrl: 'b.example.com' } } });
      },
      left: ['team/shop b.example.com'],
    },
    {
      how: 'its owner goes',
      letGo: async (kube: FakeKube) => {
        const { uid = '' } = record(kube).metadata;
        await kube.remove(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' }, { uid });
      },
      left: [],
    },
    {
      how: 'its owner may not have it any more',
      letGo: (kube: FakeKube) => allows(kube, 'team', 'b.example.com'),
      left: [],
    },
  ])('goes to who waits when $how', async ({ letGo, left }) => {
    const controller = await contended();
    const { kube } = controller;
    const woken = controller.wake();
    await letGo(kube);
    await controller.reconcile('other/shop');
    await woken.take();
    // Not before it is really let go.
    expect(addresses(kube)).toEqual(['team/shop a.example.com']);
    await controller.reconcile();
    await controller.reconcile();
    expect(await woken.take()).toContain('other/shop');
    await rest(controller, 'other/shop');
    expect(addresses(kube)).toEqual(['other/shop a.example.com', ...left]);
    expect(says(kube, 'other')).toBe('Unknown AddressPending');
    expect(says(kube, 'other', 'shop', 'Ready')).toBe('True Serving');
  });

  it('stays with its owner, who may not have it any more, while a paused record keeps the Ingress', async () => {
    const controller = await contended();
    const { kube } = controller;
    await edit(kube, { metadata: { annotations: PAUSED } });
    await allows(kube, 'team', 'b.example.com');
    await rest(controller, KEY, 'other/shop');
    expect(addresses(kube)).toEqual(['team/shop a.example.com']);
    expect(says(kube)).toBe('False HostNotAllowed');
  });

  it("is not claimed by what a listener's cluster reports: it would take the hosts of other tenants", async () => {
    const kube = aServer();
    tenant(kube, 'team', 'a.example.com');
    tenant(kube, 'other');
    const listenerId = '7d0c1f0e-5a5e-4a55-9c3e-0c6d5b8f7a10';
    putRecord(
      kube,
      { sourceConfig: { listenerId, listenerConfig: { k8sNamespace: 'shops' } } },
      { namespace: 'other', name: 'thief', creationTimestamp: '2020-01-01T00:00:00Z' },
    );
    const hostClaim = { host: 'a.example.com', since: '2020-01-01T00:00:00Z' };
    kube.seed(APP_DEPLOYMENTS, {
      ...record(kube, 'other', 'thief'),
      status: { url: 'https://a.example.com', hostClaim },
    });
    asks(kube, 'team', 'shop', 'a.example.com');
    const controller = await started(kube);
    await rest(controller, KEY);
    expect(says(kube)).toBe('Unknown AddressPending');
    expect(addresses(kube)).toEqual(['team/shop a.example.com']);
  });

  it('of those who wait the first to have said so is next', async () => {
    const controller = await contended();
    const { kube } = controller;
    tenant(kube, 'third', '*.example.com');
    asks(kube, 'third', 'shop', 'a.example.com');
    controller.clock.ms += 60_000;
    await rest(controller, 'third/shop');
    const { uid = '' } = record(kube).metadata;
    await kube.remove(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' }, { uid });
    await rest(controller, KEY, KEY, KEY);
    await rest(controller, 'third/shop');
    expect(addresses(kube)).toEqual([]);
    await rest(controller, 'other/shop', 'third/shop');
    expect(addresses(kube)).toEqual(['other/shop a.example.com']);
  });

  it('of fifty in five tenants at once one gets it', async () => {
    const kube = aServer();
    const keys: string[] = [];
    for (let index = 0; index < 50; index += 1) {
      const namespace = `team-${index % 5}`;
      if (index < 5) tenant(kube, namespace, 'a.example.com');
      asks(kube, namespace, `r${index}`, 'a.example.com');
      keys.push(`${namespace}/r${index}`);
    }
    const controller = await started(kube);
    await Promise.all(keys.map((key) => controller.reconcile(key)));
    const [winner] = addresses(kube);
    expect(addresses(kube)).toHaveLength(1);
    await Promise.all(keys.toReversed().map((key) => controller.reconcile(key)));
    expect(addresses(kube)).toEqual([winner]);
    expect(kube.writes.filter(({ kind, verb }) => kind === 'Ingress' && verb === 'apply')).toHaveLength(1);
  });
});

it('a changed annotation of its namespace wakes a record, as does a host that is let go', async () => {
  const controller = await contended();
  const { kube } = controller;
  const woken = controller.wake();
  await woken.take();
  await allows(kube, 'team', 'b.example.com');
  expect(await woken.take()).toEqual([KEY]);
  kube.erase(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' });
  expect(new Set(await woken.take())).toEqual(new Set([KEY, 'other/shop']));
});

describe('a crash at any write of a record that changes its host', () => {
  /** Team's record asks for b instead of a, for which other's waits, and controllers follow one another. */
  async function moved(when: 'failOn' | 'failAfter', crash: number): Promise<{ kube: FakeKube; writes: number }> {
    const before = await contended();
    const { kube } = before;
    before.stop();
    await edit(kube, { spec: { sourceConfig: { customUrl: 'b.example.com' } } });
    const dying = await started(kube);
    const writes = await crashed(dying, { when, at: crash, keys: [KEY, 'other/shop'] });
    expect(new Set(addresses(kube).map((address) => address.split(' ')[1])).size).toBe(addresses(kube).length);
    const next = await started(kube);
    await rest(next, 'other/shop', KEY, 'other/shop');
    next.stop();
    return { kube, writes };
  }

  it.each(['failOn', 'failAfter'] as const)('%s: no host has two owners, and the end is the same', async (when) => {
    const { writes } = await moved(when, Number.POSITIVE_INFINITY);
    expect(writes).toBeGreaterThanOrEqual(4);
    for (let crash = 1; crash <= writes; crash += 1) {
      const { kube } = await moved(when, crash);
      expect(addresses(kube), `at write ${crash}`).toEqual(['other/shop a.example.com', 'team/shop b.example.com']);
      expect([record(kube).status?.url, record(kube, 'other').status?.url]).toEqual([
        'https://b.example.com',
        'https://a.example.com',
      ]);
    }
  });
});

describe('a cluster that does not know HTTPRoutes', () => {
  it('is said, everything else is made, and the address follows when it does', async () => {
    const kube = aServer();
    putRecord(kube);
    kube.failOn(({ kind }) =>
      kind === 'HTTPRoute' ? new NotFound('the server could not find the requested resource') : undefined,
    );
    const controller = await started(kube, GATEWAY);
    await rest(controller, KEY);
    expect([says(kube), says(kube, 'team', 'shop', 'Available')]).toEqual(['False GatewayApiMissing', 'True Serving']);
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
    kube.failOn(undefined);
    const later = await started(kube, GATEWAY);
    await rest(later, KEY);
    expect(addresses(kube, HTTP_ROUTES)).toEqual(['team/shop shop-team.apps.example']);
    expect(says(kube)).toBe('Unknown AddressPending');
  });
});
