// Before a peer's figures count: from the same records it has made the same objects as Davit, it writes nothing at rest,
// and it makes again what somebody has changed or deleted.

import { setTimeout as sleep } from 'node:timers/promises';
import { serialRevisionId } from '../../../../src/deploy/record/revision-id.ts';
import { DEPLOYMENT_LABEL } from '../../../../src/kinds/meta.ts';
import { type ApiObject, until } from '../../../cluster/api-client.ts';
import { countsOf } from '../children.ts';
import { davit } from '../contenders/davit.ts';
import { atRest, requestsOf } from '../fill.ts';
import { createRecords } from '../load.ts';
import type { Arm, Bench, BenchServer } from '../measure.ts';
import { oncePerBench } from '../once.ts';
import { recordsOf, tenantsOf } from '../records.ts';
import { since, total } from '../server-counts.ts';
import { watchChildren } from '../watched-children.ts';
import { likenessOf, type Stored, unlike } from './likeness.ts';

const RECORDS = 5;
const AT_REST_MS = 5000;
const AGAIN_WITHIN_MS = 30_000;

type Likeness = ReadonlyMap<string, string>;

const fromDavit = oncePerBench((bench) => likenessMadeBy(bench, davit({ workers: bench.workers })));
/** By the peer's name. */
const checksOf = oncePerBench(async () => new Map<string, Promise<void>>());

/** Throws what is other. Once a run for each peer; Davit's own objects are made once. A quick run leaves it out. */
export async function checkPeer(bench: Bench, peer: Arm): Promise<void> {
  if (bench.quick) {
    bench.say(`  ${peer.name}: what it makes is only counted, as this is a quick run`);
    return;
  }
  const checks = await checksOf(bench);
  const check = checks.get(peer.name) ?? compareOnce(bench, peer);
  checks.set(peer.name, check);
  await check;
}

async function compareOnce(bench: Bench, peer: Arm): Promise<void> {
  bench.say(`  ${peer.name}: whether it makes what Davit makes, of ${RECORDS} records`);
  const wanted = await fromDavit(bench);
  const findings = unlike(wanted, await likenessMadeBy(bench, peer));
  if (findings.length > 0)
    throw new Error(`${peer.name} makes other objects than Davit (${findings.length}): ${findings[0]}`);
  bench.say(
    `  ${peer.name}: ${wanted.size} objects are the same, nothing is written at rest, what was changed is put right`,
  );
}

async function likenessMadeBy(bench: Bench, arm: Arm): Promise<Likeness> {
  await arm.prepare?.(bench.say);
  return bench.onFreshServer({ tenants: tenantsOf(RECORDS) }, async (server) => {
    const records = await createRecords(server.cluster, recordsOf(RECORDS));
    const perRecord = countsOf(server.rendering);
    const expected = new Map([...perRecord].map(([kind, count]) => [kind, count * RECORDS]));
    const children = await watchChildren(server.cluster, perRecord.keys());
    const running = await arm.start(server);
    try {
      await children.until(expected);
      await atRest(bench, server);
      const likeness = likenessOf(await storedOf(server), masksOf(server, records));
      await writesNothing(server, arm);
      await putsRight(server, arm);
      return likeness;
    } finally {
      children.close();
      await running.stop();
    }
  });
}

const COLLECTIONS = [
  'api/v1/persistentvolumeclaims',
  'api/v1/secrets',
  'api/v1/services',
  'apis/apps/v1/deployments',
  'apis/apps/v1/statefulsets',
  'apis/davit.dev/v1alpha1/apprevisions',
  'apis/davit.dev/v1alpha1/tracingprojects',
  'apis/networking.k8s.io/v1/networkpolicies',
];

async function storedOf({ cluster }: BenchServer): Promise<Stored[]> {
  const lists = await Promise.all(
    COLLECTIONS.map(async (path) => {
      const list = await cluster.api.call<{ readonly kind: string; readonly items: readonly Omit<Stored, 'kind'>[] }>(
        'GET',
        `/${path}?labelSelector=${encodeURIComponent(DEPLOYMENT_LABEL)}`,
      );
      return list.items.map((item) => ({ ...item, kind: list.kind.replace(/List$/, '') }));
    }),
  );
  return lists.flat();
}

function masksOf({ tenants }: BenchServer, records: readonly ApiObject[]): Map<string, string> {
  const masks = new Map<string, string>();
  for (const { metadata } of records) {
    const { name, uid = '' } = metadata;
    const revision = serialRevisionId(uid, 1);
    masks.set(uid, `(uid of ${name})`);
    masks.set(revision, `(revision of ${name})`);
    masks.set(`${name}--${revision.slice(0, 8)}`, `${name}--(revision)`);
  }
  for (const [name, uid] of tenants) masks.set(uid, `(uid of ${name})`);
  return masks;
}

async function writesNothing(server: BenchServer, { name }: Arm): Promise<void> {
  const before = await requestsOf(server);
  await sleep(AT_REST_MS);
  const { writes } = since(before, await requestsOf(server));
  if (total(writes) > 0) throw new Error(`${name} writes at rest: ${[...writes.keys()].join(', ')}`);
}

interface Workload extends ApiObject {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
}

async function putsRight(server: BenchServer, { name }: Arm): Promise<void> {
  const { api } = server.cluster;
  const service = '/api/v1/namespaces/bench-0/services/shop-0';
  const workload = '/apis/apps/v1/namespaces/bench-0/deployments/shop-0';
  const imageOf = async (): Promise<string | undefined> =>
    (await api.call<Workload>('GET', workload)).spec.template.spec.containers[0]?.image;
  const image = await imageOf();
  await api.call('DELETE', service);
  const edit = { spec: { template: { spec: { containers: [{ name: 'server', image: 'somebody/elses:1' }] } } } };
  await api.call('PATCH', workload, edit, 'application/strategic-merge-patch+json');
  const again = async (): Promise<void> => {
    await api.call('GET', service);
    if ((await imageOf()) !== image) throw new Error('the edited image is still there');
  };
  await until(`${name} to make again what was deleted and edited`, again, AGAIN_WITHIN_MS);
}
