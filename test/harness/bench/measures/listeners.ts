// P14: what it costs that a record of the hub runs in a listener's cluster. Changes of records of the hub and of the cluster's own,
// in turns on the same two control planes; then what the agent needs and what is written while nothing changes.

import { setTimeout as sleep } from 'node:timers/promises';
import { join } from '../../../../src/cli/commands/listener.ts';
import type { AppDeployment } from '../../../../src/kinds/app-deployment.ts';
import { LISTENERS } from '../../../../src/kinds/listener.ts';
import { hubNamespace } from '../../../../src/kinds/listener-names.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../../../src/kinds/listener-work.ts';
import { LISTENER_LABEL } from '../../../../src/kinds/meta.ts';
import { collectionPath } from '../../../../src/runtime/kube/urls.ts';
import type { ApiObject } from '../../../cluster/api-client.ts';
import type { Cluster } from '../../../cluster/cluster.ts';
import { davit, listenerAgent } from '../contenders/davit.ts';
import { type Figure, type Goal, median, quantile, ratios, rounded } from '../figures.ts';
import { atRest, requestsOf } from '../fill.ts';
import { createRecords, recordsPath } from '../load.ts';
import type { Bench, BenchServer, Measure, Running } from '../measure.ts';
import { rssMiB } from '../processes.ts';
import { type BareRecord, recordIn } from '../records.ts';
import { eachOf, since } from '../server-counts.ts';
import { watchChildren } from '../watched-children.ts';
import { childrenOn, type Sight, steadily } from './changes.ts';

const goal: Goal = { atMost: 2 };
const restGoal: Goal = { atMost: 0 };
/** Of each of the two kinds that are changed. */
const RECORDS = 60;
const QUICK_RECORDS = 20;
/** Well below what two control planes on one machine can do. */
const CHANGES_PER_S = 2;
/** In turns: what slows the machine for half a minute slows both. */
const SECONDS_OF_A_TURN = 10;
const TURNS = 6;
const BETWEEN_TURNS_MS = 1000;
const MOST_REPEATS = 3;
const REST_MS = 120_000;
const QUICK_REST_MS = 10_000;
const LISTENER = 'edge';
/** On the hub: the tenant with the Listener. */
const TENANT = 'team';
/** On the listener's cluster: for the records of the hub, and for its own. */
const PLACE = 'shops';
const OWN = 'own';

export const listeners: Measure = { key: 'P14', goal, run };

interface Pair {
  readonly hub: BenchServer;
  readonly remote: BenchServer;
  /** uid of the Listener. */
  readonly id: string;
}

/** Latencies of each repeat in ms. */
interface Changes {
  /** Of the cluster's own records, up to the child. */
  readonly own: (readonly number[])[];
  /** Of the hub's records, up to the work, the copy, and the child. */
  readonly work: (readonly number[])[];
  readonly copy: (readonly number[])[];
  readonly hub: (readonly number[])[];
  /** Of both clusters together, of all changes of one kind. */
  readonly writes: { own: number; hub: number };
}

async function run(bench: Bench): Promise<readonly Figure[]> {
  await davit(bench).prepare?.(bench.say);
  const values = { 'listener.enabled': true, 'listener.namespaces': [PLACE] };
  return bench.onFreshServer({ tenants: [TENANT], values: { 'settings.listeners.enabled': true } }, (hub) =>
    bench.onFreshServer({ tenants: [PLACE, OWN], values }, async (remote) => {
      const running: Running[] = [];
      try {
        running.push(await davit(bench).start(hub), await davit(bench).start(remote));
        return await measure(bench, { hub, remote, id: await enrol(hub, remote) }, running);
      } finally {
        // The agent first: it writes to both.
        for (const one of running.toReversed()) await one.stop();
      }
    }),
  );
}

/** Everything but the agent; returns the Listener's uid. */
async function enrol({ cluster: hub }: BenchServer, { cluster: remote }: BenchServer): Promise<string> {
  const path = collectionPath('create', LISTENERS, TENANT);
  const { metadata } = await hub.api.call<ApiObject>('POST', path, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: LISTENER },
    spec: { namespaces: [PLACE] },
  });
  const id = metadata.uid ?? '';
  const labels = { metadata: { labels: { [LISTENER_LABEL]: id } } };
  await remote.api.call('PATCH', `/api/v1/namespaces/${PLACE}`, labels, 'application/merge-patch+json');
  const onHub = (args: readonly string[]): Promise<string> => hub.kubectl(['-n', TENANT, ...args]);
  await onHub(['wait', '--for=jsonpath={.status.namespace}', `lsn/${LISTENER}`, '--timeout=60s']);
  // Nobody has had credentials that could still be valid.
  const { manifest } = await join(onHub, LISTENER, undefined, () => Promise.resolve());
  await remote.kubectl(['apply', '-f', '-'], { input: manifest });
  return id;
}

/** `running`: told the agent, whenever it is started. */
async function measure(bench: Bench, pair: Pair, running: Running[]): Promise<readonly Figure[]> {
  const agent = await startAgent(bench, pair, running);
  await pair.hub.cluster.kubectl([
    '-n',
    TENANT,
    'wait',
    '--for=condition=Connected',
    `lsn/${LISTENER}`,
    '--timeout=60s',
  ]);
  await bothAtRest(bench, pair);
  const without = await rssMiB(agent.pid);
  const changed = bench.quick ? QUICK_RECORDS : RECORDS;
  const own = Array.from({ length: changed }, (_, index) => recordIn(OWN, index));
  const works = Array.from({ length: Math.max(bench.records, changed) }, (_, index) => workRecord(pair, index));
  const first = works.slice(0, changed);
  await createRecords(pair.remote.cluster, own);
  await createRecords(pair.hub.cluster, first);
  await arrived(bench, pair, own.length + first.length);
  const changes = await changesOf(bench, pair, { own, hub: first });

  bench.say(`  ${works.length} works`);
  await createRecords(pair.hub.cluster, works.slice(changed));
  await arrived(bench, pair, own.length + works.length);
  const filled = await rssMiB(agent.pid);
  running.splice(running.indexOf(agent), 1);
  await agent.stop();
  const again = await startAgent(bench, pair, running);
  const rest = await restOf(bench, pair);
  const at = (share: number, all: readonly (readonly number[])[]): number[] =>
    all.map((samples) => quantile(samples, share));
  const ms = (share: number, all: readonly (readonly number[])[]): number => Math.round(median(at(share, all)));
  return [
    {
      key: 'P14.change',
      goal,
      samples: ratios(at(0.99, changes.hub), at(0.99, changes.own)),
      absolutes: {
        records: changed,
        changesPerS: CHANGES_PER_S,
        seconds: turnsOf(bench) * SECONDS_OF_A_TURN,
        p50Ratio: rounded(median(ratios(at(0.5, changes.hub), at(0.5, changes.own)))),
        ownP50Ms: ms(0.5, changes.own),
        ownP99Ms: ms(0.99, changes.own),
        listenerP50Ms: ms(0.5, changes.hub),
        listenerP99Ms: ms(0.99, changes.hub),
        workP50Ms: ms(0.5, changes.work),
        workP99Ms: ms(0.99, changes.work),
        copyP50Ms: ms(0.5, changes.copy),
        copyP99Ms: ms(0.99, changes.copy),
        ownWritesPerChange: rounded(changes.writes.own / changes.own.flat().length),
        listenerWritesPerChange: rounded(changes.writes.hub / changes.hub.flat().length),
      },
    },
    {
      key: 'P14.rest',
      goal: restGoal,
      samples: [rest.writes],
      absolutes: {
        unit: 'writes',
        works: works.length,
        seconds: rest.seconds,
        lastSeenWrites: rest.lastSeen,
        leaseRenewalsPerMin: rounded((rest.renewals * 60) / rest.seconds),
        agentRssMiBWithoutWorks: rounded(without),
        agentRssMiBAfterFilling: rounded(filled),
        agentRssMiBAfterRestart: rounded(await rssMiB(again.pid)),
        agentReadyS: rounded(again.readyMs / 1000),
      },
    },
  ];
}

async function startAgent(bench: Bench, { remote }: Pair, running: Running[]): Promise<Running> {
  const agent = await listenerAgent([PLACE], bench).start(remote);
  running.push(agent);
  return agent;
}

function workRecord({ id }: Pair, index: number): BareRecord {
  const record = recordIn(TENANT, index);
  const sourceConfig = { listenerId: id, listenerConfig: { k8sNamespace: PLACE } };
  return { ...record, spec: { ...record.spec, sourceConfig } };
}

/** All children are there, and both clusters have nothing left to write. */
async function arrived(bench: Bench, pair: Pair, records: number): Promise<void> {
  const children = await watchChildren(pair.remote.cluster, ['Deployment']);
  try {
    await children.until(new Map([['Deployment', records]]));
    await bothAtRest(bench, pair);
  } finally {
    children.close();
  }
}

async function bothAtRest(bench: Bench, { hub, remote }: Pair): Promise<void> {
  await atRest(bench, remote);
  await atRest(bench, hub);
}

/** In turns: at once they would measure each other. */
async function changesOf(
  bench: Bench,
  pair: Pair,
  records: { readonly own: readonly BareRecord[]; readonly hub: readonly BareRecord[] },
): Promise<Changes> {
  const [hub, remote] = [pair.hub.cluster, pair.remote.cluster];
  const sightsOfHub = [...handedOver(hub, remote, pair.id), childrenOn(remote)];
  const all: Changes = { own: [], work: [], copy: [], hub: [], writes: { own: 0, hub: 0 } };
  let had = 0;
  for (let repeat = 0; repeat < Math.min(MOST_REPEATS, bench.repeats); repeat += 1) {
    const taken = { own: [] as number[], work: [] as number[], copy: [] as number[], hub: [] as number[] };
    for (let turn = 0; turn < turnsOf(bench); turn += 1) {
      const changing = { perS: CHANGES_PER_S, seconds: SECONDS_OF_A_TURN, had };
      const ofOwn = async (): Promise<void> => {
        const sights = [childrenOn(remote)];
        const [child = []] = await steadily({ ...changing, cluster: remote, records: records.own, sights });
        taken.own.push(...child);
      };
      const ofHub = async (): Promise<void> => {
        const [work = [], copy = [], child = []] = await steadily({
          ...changing,
          cluster: hub,
          records: records.hub,
          sights: sightsOfHub,
        });
        taken.work.push(...work);
        taken.copy.push(...copy);
        taken.hub.push(...child);
      };
      const blocks = [['own', ofOwn] as const, ['hub', ofHub] as const];
      for (const [kind, block] of turn % 2 === 0 ? blocks : blocks.toReversed()) {
        const before = await written(pair);
        await block();
        await sleep(BETWEEN_TURNS_MS);
        all.writes[kind] += (await written(pair)) - before;
      }
      had += CHANGES_PER_S * SECONDS_OF_A_TURN;
    }
    const told = (['own', 'work', 'copy', 'hub'] as const).map((name) => {
      all[name].push(taken[name]);
      const [p50, p99] = [0.5, 0.99].map((share) => Math.round(quantile(taken[name], share)));
      return `${name} p50 ${p50} ms, p99 ${p99} ms`;
    });
    bench.say(`  ${told.join('; ')}`);
    await bothAtRest(bench, pair);
  }
  return all;
}

/** By everybody on both, leases aside. */
async function written({ hub, remote }: Pair): Promise<number> {
  const all = await Promise.all([requestsOf(hub), requestsOf(remote)]);
  return all.reduce((sum, one) => sum + one.written, 0);
}

/** The two objects between a record and its child. */
function handedOver(hub: Cluster, remote: Cluster, id: string): Sight[] {
  return [
    {
      cluster: hub,
      path: collectionPath('watch', LISTENER_WORKS, hubNamespace(id)),
      imageOf: ({ spec }: ListenerWork) => spec.deployment.sourceRevisionConfig.imageUri,
    },
    {
      cluster: remote,
      path: recordsPath(PLACE),
      imageOf: ({ spec }: AppDeployment) => spec.sourceRevisionConfig.imageUri,
    },
  ];
}

function turnsOf({ quick }: Bench): number {
  return quick ? 1 : TURNS;
}

interface Rest {
  /** By everybody on both, without Leases and `lastSeen`. */
  readonly writes: number;
  /** Of status.lastSeenAt of the Listener, every five minutes: at most 1 in this time. */
  readonly lastSeen: number;
  /** How often the agent renewed its Lease on the hub. */
  readonly renewals: number;
  readonly seconds: number;
}

async function restOf(bench: Bench, pair: Pair): Promise<Rest> {
  const { hub, remote } = pair;
  await bothAtRest(bench, pair);
  const over = new AbortController();
  let renewals = 0;
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${hubNamespace(pair.id)}/leases`;
  await hub.cluster.api.follow(leases, over.signal, () => {
    renewals += 1;
  });
  renewals = 0;
  const before = await Promise.all([requestsOf(hub), requestsOf(remote)]);
  const ms = bench.quick ? QUICK_REST_MS : REST_MS;
  await sleep(ms);
  const after = await Promise.all([requestsOf(hub), requestsOf(remote)]);
  over.abort();
  const difference = after.map((requests, index) => since(before[index] ?? requests, requests));
  for (const { writes } of difference) if (writes.size > 0) bench.say(`  at rest: ${eachOf(writes, 1)}`);
  const lastSeen = Math.min(1, difference[0]?.writes.get('APPLY listeners/status') ?? 0);
  const all = difference.reduce((sum, one) => sum + one.written, 0);
  return { writes: all - lastSeen, lastSeen, renewals, seconds: ms / 1000 };
}
