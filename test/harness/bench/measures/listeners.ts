// P14: how long a change on the hub takes to reach its child on a listener's cluster, beside the same change of a record that
// is there itself; and what the agent costs.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AppDeployment } from '../../../../src/api/app-deployment.ts';
import { conditionOf } from '../../../../src/api/conditions.ts';
import type { Listener } from '../../../../src/api/listener.ts';
import { LISTENER_LABEL } from '../../../../src/api/meta.ts';
import { join as joinListener } from '../../../../src/cli/listener.ts';
import { LISTENER_AGENT } from '../../../../src/record/listener-names.ts';
import { until } from '../../../cluster/api-client.ts';
import { DAVIT_NAMESPACE } from '../../../support/platform.ts';
import { countsOf } from '../children.ts';
import { startArm } from '../contender-process.ts';
import { davit } from '../contenders/davit.ts';
import { entryPoint } from '../entry-point.ts';
import { type Figure, type Goal, median, quantile, ratios, rounded } from '../figures.ts';
import { atRest, requestsOf } from '../fill.ts';
import { createRecords, recordsPath } from '../load.ts';
import type { Bench, BenchServer, Measure, Running } from '../measure.ts';
import { cpuMs, rssMiB } from '../processes.ts';
import { type BareRecord, recordIn } from '../records.ts';
import { since } from '../server-counts.ts';
import { mountServiceAccount } from '../service-account.ts';
import { watchChildren } from '../watched-children.ts';
import { CHANGES_PER_S, steadily, type Target } from './changes.ts';

const GOALS = { 'P14.change': { atMost: 2 }, 'P14.rest': { atMost: 0 } } as const satisfies Record<string, Goal>;
/** On the hub, and as many on the listener's cluster itself. */
const RECORDS = 60;
const SECONDS = 60;
const QUICK_SECONDS = 15;
const MOST_REPEATS = 3;
const REST_MS = 120_000;
const QUICK_REST_MS = 15_000;
/** Tenant of the hub. */
const TEAM = 'bench-hub';
/** Namespace of the listener's cluster that accepts the hub, and one whose records are made there. */
const PLACE = 'bench-place';
const LOCAL = 'bench-local';

export const listeners: Measure = { key: 'P14', goal: GOALS['P14.change'], run };

async function run(bench: Bench): Promise<readonly Figure[]> {
  await davit(bench).prepare?.(bench.say);
  const onHub = { tenants: [TEAM], values: { 'settings.listeners.enabled': true } };
  const onRemote = {
    tenants: [PLACE, LOCAL],
    values: { 'listener.enabled': true, 'listener.namespaces': [PLACE] },
  };
  return bench.onFreshServer(onHub, (hub) =>
    bench.onFreshServer(onRemote, async (remote) => {
      const running: Running[] = [];
      try {
        running.push(await davit(bench).start(hub), await davit(bench).start(remote));
        const listenerId = await enrol(hub, remote);
        const agent = await startAgent(remote);
        running.push(agent);
        return await figures(bench, { hub, remote, agent, listenerId });
      } finally {
        await Promise.all(running.map((one) => one.stop()));
      }
    }),
  );
}

interface Site {
  readonly hub: BenchServer;
  readonly remote: BenchServer;
  readonly agent: Running;
  readonly listenerId: string;
}

async function figures(bench: Bench, { hub, remote, agent, listenerId }: Site): Promise<Figure[]> {
  const records = Math.min(RECORDS, bench.records);
  const forListener = (index: number): BareRecord => {
    const { spec, ...record } = recordIn(TEAM, index);
    const to = { listenerId, listenerConfig: { k8sNamespace: PLACE } };
    return {
      ...record,
      spec: { ...spec, sourceConfig: { ...spec.sourceConfig, ...to } } satisfies AppDeployment['spec'],
    };
  };
  const servers = countsOf(remote.rendering).get('Deployment') ?? 0;
  const children = await watchChildren(remote.cluster, ['Deployment']);
  const rest = async (): Promise<void> => {
    await atRest(bench, hub);
    await atRest(bench, remote);
  };
  try {
    await until('the Listener is connected', async () => {
      const { items } = JSON.parse(await hub.cluster.kubectl(['get', 'lsn', '-A', '-o', 'json'])) as {
        items: Listener[];
      };
      if (!items.every(({ status }) => conditionOf(status?.conditions, 'Connected')?.status === 'True'))
        throw new Error('not yet');
    });
    await rest();
    const emptyMiB = await rssMiB(agent.pid);

    await createRecords(
      remote.cluster,
      range(0, records).map((index) => recordIn(LOCAL, index)),
    );
    await createRecords(hub.cluster, range(0, records).map(forListener));
    await children.until(new Map([['Deployment', 2 * records * servers]]));
    await rest();
    const rounds = await changed(bench, { hub, remote, agent }, records);

    await createRecords(hub.cluster, range(records, bench.records).map(forListener));
    await children.until(new Map([['Deployment', (bench.records + records) * servers]]));
    await rest();
    const before = [await requestsOf(hub), await requestsOf(remote)] as const;
    const restMs = bench.quick ? QUICK_REST_MS : REST_MS;
    await sleep(restMs);
    const written =
      since(before[0], await requestsOf(hub)).written + since(before[1], await requestsOf(remote)).written;
    const absolutes = {
      works: bench.records,
      seconds: restMs / 1000,
      agentMiB: rounded(await rssMiB(agent.pid)),
      agentMiBWithout: rounded(emptyMiB),
    };
    return [rounds, { key: 'P14.rest', goal: GOALS['P14.rest'], samples: [written], absolutes }];
  } finally {
    children.close();
  }
}

/** Changes of the records of both, in turns. */
async function changed(
  bench: Bench,
  { hub, remote, agent }: Omit<Site, 'listenerId'>,
  records: number,
): Promise<Figure> {
  const targets = range(0, records).flatMap((index): (Target & { readonly isHub: boolean })[] => {
    const { name } = recordIn('', index).metadata;
    return [
      { isHub: true, cluster: hub.cluster, path: `${recordsPath(TEAM)}/${name}` },
      { isHub: false, cluster: remote.cluster, path: `${recordsPath(LOCAL)}/${name}` },
    ];
  });
  const count = (bench.quick ? QUICK_SECONDS : SECONDS) * CHANGES_PER_S;
  const over: number[][] = [];
  const direct: number[][] = [];
  const cpu: number[] = [];
  for (let repeat = 0; repeat < Math.min(MOST_REPEATS, bench.repeats); repeat += 1) {
    // oxlint-disable no-await-in-loop -- one after the other
    const cpuBefore = await cpuMs(agent.pid);
    const reached = await steadily(remote.cluster, targets, { count, from: repeat * count });
    const of = (isHub: boolean): number[] => reached.filter(({ target }) => target.isHub === isHub).map(({ ms }) => ms);
    const [far, near] = [of(true), of(false)];
    over.push(far);
    direct.push(near);
    cpu.push(((await cpuMs(agent.pid)) - cpuBefore) / far.length);
    const said = [far, near].flatMap((one) => [quantile(one, 0.5), quantile(one, 0.99)].map(Math.round));
    bench.say(`  over the hub p50 ${said[0]} ms, p99 ${said[1]} ms; directly ${said[2]} ms, ${said[3]} ms`);
    // oxlint-enable no-await-in-loop
  }
  const at = (share: number, all: readonly number[][]): number[] => all.map((samples) => quantile(samples, share));
  return {
    key: 'P14.change',
    goal: GOALS['P14.change'],
    samples: ratios(at(0.99, over), at(0.99, direct)),
    absolutes: {
      records,
      changesPerS: CHANGES_PER_S,
      p50Ratio: median(ratios(at(0.5, over), at(0.5, direct))),
      hubP50Ms: Math.round(median(at(0.5, over))),
      hubP99Ms: Math.round(median(at(0.99, over))),
      directP50Ms: Math.round(median(at(0.5, direct))),
      directP99Ms: Math.round(median(at(0.99, direct))),
      agentCpuMsPerChange: rounded(median(cpu)),
    },
  };
}

/** As docs/listeners.md has it. Returns the Listener's uid. */
async function enrol(hub: BenchServer, remote: BenchServer): Promise<string> {
  const atHub = (args: readonly string[], input?: string): Promise<string> =>
    hub.cluster.kubectl(['-n', TEAM, ...args], input === undefined ? {} : { input });
  const { metadata } = await hub.cluster.api.call<Listener>(
    'POST',
    `/apis/davit.dev/v1alpha1/namespaces/${TEAM}/listeners`,
    { apiVersion: 'davit.dev/v1alpha1', kind: 'Listener', metadata: { name: 'edge' }, spec: { namespaces: [PLACE] } },
  );
  await remote.cluster.kubectl(['label', 'namespace', PLACE, `${LISTENER_LABEL}=${metadata.uid}`]);
  let manifest = '';
  await until('the Listener has its namespace', async () => {
    ({ manifest } = await joinListener(atHub, 'edge', undefined, () => Promise.resolve()));
  });
  await remote.cluster.kubectl(['apply', '-f', '-'], { input: manifest });
  return metadata.uid ?? '';
}

/** As the image starts it. */
async function startAgent({ cluster }: BenchServer): Promise<Running> {
  const directory = join(cluster.runDir, 'agent');
  await mkdir(directory);
  return startArm({
    command: process.execPath,
    args: await entryPoint('listener'),
    env: {
      ...(await mountServiceAccount(cluster, LISTENER_AGENT, directory)),
      DAVIT_NAMESPACE,
      DAVIT_LISTENER_NAMESPACES: PLACE,
      DAVIT_HEALTH_PORT: '0',
    },
    log: join(cluster.logsDir, 'agent.log'),
    isReady: (line) => line.includes('"msg":"Started"'),
  });
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
