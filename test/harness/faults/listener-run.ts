// One run of a listener: a tenant of the hub with a controller of its own, and a namespace of another cluster with an agent of its own.
// Each of their three connections goes through a proxy. The Davit of the other cluster is shared by all runs and left in peace.

import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../cluster/api-client.ts';
import { startCluster } from '../../cluster/cluster.ts';
import { DAVIT_NAMESPACE, startPlatform } from '../../support/platform.ts';
import { LEASE_MS, makeRunFolder, makeRunTenant, type RunFolder } from './ground.ts';
import type { Violation } from './invariants.ts';
import { type Agent, RIGHTS_NAMESPACE } from './listener-agent.ts';
import { judgeListener, type ListenerRun } from './listener-invariants.ts';
import { type ListenerPlan, SIDES, type Side, type SideLabels } from './listener-plans.ts';
import {
  type Diary,
  emptyDiary,
  type ListenerBench,
  type ListenerGround,
  makeListenerStage,
} from './listener-stage.ts';
import { performListener } from './listener-workloads.ts';
import { type Census, type Seen, startCensus } from './object-history.ts';
import { type Proxy, startProxy } from './proxy.ts';
import { type Cast, startCast } from './run-processes.ts';
import { mainFor, startWith } from './seeded-start.ts';
import { NotConverged } from './workloads/stage.ts';

/** Of the chart, on the hub and on the listener's cluster. A clone of the latter runs against the hub's own API server. */
export const LISTENER_CHART = {
  'settings.listeners.enabled': true,
  'listener.enabled': true,
  'listener.namespaces': [RIGHTS_NAMESPACE],
};

/** What the setting is then; with the agent's renewals as much shorter. */
const SILENT_AFTER_S = 15;
const SHORT_SILENT_AFTER_S = 4;
const SHORT_SILENCE: ReadonlySet<string> = new Set(['listener-cut', 'listener-revoked', 'listener-clone']);
const QUIET_MS = 2000;
const LONGEST_UNREST_MS = 20_000;
/** A second cluster, on which Davit runs undisturbed. */
export async function startRemote(
  progress: (line: string) => void,
): Promise<Pick<ListenerBench, 'remote' | 'remoteCensus'> & { end: () => Promise<void> }> {
  const remote = await startCluster({ pods: 'off', keepLogs: true, progress: (line) => progress(`remote: ${line}`) });
  const ended = new AbortController();
  try {
    await remote.api.ensure('/api/v1/namespaces', { metadata: { name: RIGHTS_NAMESPACE } });
    const platform = await startPlatform(remote, { parts: ['controller'], values: LISTENER_CHART });
    const remoteCensus = startCensus(remote.api, ended.signal);
    const end = async (): Promise<void> => {
      ended.abort();
      await platform.stop();
      await remote.stop();
    };
    return { remote, remoteCensus, end };
  } catch (error) {
    await remote.stop();
    throw error;
  }
}

/** The labels of the writes of an undisturbed life, which must itself be without blame. */
export async function learnListener(bench: ListenerBench): Promise<SideLabels> {
  const plan: ListenerPlan = { workload: 'listener-life', side: 'link', fault: { kind: 'none' } };
  const { run, labels } = await runListener(plan, bench);
  const wrong = judgeListener(run);
  if (wrong.length > 0) throw new Error(`undisturbed, a listener: ${wrong.map(({ what }) => what).join('; ')}`);
  return labels;
}

export async function runListenerPlan(
  plan: ListenerPlan,
  bench: ListenerBench,
): Promise<{ readonly violations: Violation[]; readonly fired: boolean; readonly told: string }> {
  const { run, fired, told } = await runListener(plan, bench);
  const violations = judgeListener(run).map(({ invariant, what }) => ({ invariant, what: `${what}; see ${told}` }));
  return { violations, fired, told };
}

let serial = 0;

async function runListener(
  plan: ListenerPlan,
  bench: ListenerBench,
): Promise<{ run: ListenerRun; labels: SideLabels; fired: boolean; told: string }> {
  const { hub, hubCensus, remote, remoteCensus } = bench;
  const diary = emptyDiary();
  const ground = await openGround(plan, bench, diary);
  const { tenant, place, cast, proxies } = ground;
  const outcome = await play(ground, diary);
  const { hubNamespace, agents, expectedEnds, ...happened } = diary;
  const processes = [cast, ...agents];
  const sum = (count: (one: Agent | Cast) => number): number => processes.reduce((all, one) => all + count(one), 0);
  const ends = sum((one) => one.starts()) - sum((one) => one.kills());
  const logs = [...new Set([...cast.logs, ...agents.map(({ log }) => log)])];
  const told = await Promise.all(logs.map((log) => readFile(log, 'utf8').catch(() => '')));
  const { writes: hubWrites } = proxies.hub.trace;
  const { writes: linkWrites } = proxies.link.trace;
  const { writes: remoteWrites } = proxies.remote.trace;
  const run: ListenerRun = {
    plan,
    tenant,
    hubNamespace,
    place,
    hubHistory: [...hubCensus.history(tenant), ...hubCensus.history(hubNamespace)],
    remoteHistory: remoteCensus.history(place),
    cloned: hubCensus.history(place),
    ...happened,
    linkWrites,
    remoteWrites,
    // The agent's own token goes where the hub's address is.
    bodies: [...hubWrites, ...linkWrites, ...remoteWrites],
    log: told.join(''),
    ...outcome,
    accidents: Math.max(0, ends - processes.length - expectedEnds),
  };
  const labels = { hub: labelsOf(hubWrites), link: labelsOf(linkWrites), remote: labelsOf(remoteWrites) };
  await ground.folder.remove();
  await putToRest(hub.api, hubCensus, tenant, hubNamespace);
  await putToRest(remote.api, remoteCensus, place, ground.agentNamespace);
  return { run, labels, fired: SIDES.some((side) => proxies[side].trace.fired), told: logs.join(' ') };
}

interface OpenGround extends ListenerGround {
  readonly cast: Cast;
  readonly proxies: Readonly<Record<Side, Proxy>>;
  readonly folder: RunFolder;
}

async function openGround(plan: ListenerPlan, bench: ListenerBench, { agents }: Diary): Promise<OpenGround> {
  const { hub, remote } = bench;
  const { fault, seed, workload } = plan;
  serial += 1;
  const tenant = `lsn-${process.pid}-${serial}`;
  // Its first writes come while it starts.
  let running: Cast | undefined;
  const open = (side: Side): Promise<Proxy> => {
    const { server, ca } = side === 'remote' ? remote : hub;
    return startProxy({
      server,
      ca,
      fault: side === plan.side ? fault : { kind: 'none' },
      leaseMs: LEASE_MS,
      ...(side === 'hub' && { leaseNamespace: tenant }),
      actors: ['a'],
      kill: (_, signal) => (side === 'hub' ? running?.kill('a', signal) : agents[0]?.kill()),
      pause: () => undefined,
      atWrite: () => Promise.resolve(),
    });
  };
  const proxies = { hub: await open('hub'), link: await open('link'), remote: await open('remote') };
  await makeRunTenant(hub, tenant);
  const isShort = SHORT_SILENCE.has(workload);
  const silentAfterSeconds = isShort ? SHORT_SILENT_AFTER_S : SILENT_AFTER_S;
  const seeds = [seed, isShort && 'SHORT_SILENCE', fault.kind === 'watch-half-open' && 'SHORT_IDLE'].filter(
    (one) => typeof one === 'string',
  );
  const start = (side: Side): ReturnType<typeof startWith> =>
    startWith({ seeds, ...(fault.kind === 'clock-skew' && plan.side === side && { skewMs: fault.ms }) });
  const main = await mainFor(hub, seeds);
  const folder = await makeRunFolder(hub, { namespace: tenant, authority: proxies.hub.ca });
  const { directory } = folder;
  const keys = await folder.keysOf('davit-controller');
  for (const side of SIDES) proxies[side].enter('enrol');
  const cast = await startCast(['a'], {
    cluster: hub,
    proxy: proxies.hub,
    namespace: tenant,
    // Role bindings and admission policies name the controller's account there.
    leaseNamespace: DAVIT_NAMESPACE,
    settings: { listeners: { enabled: true, silentAfterSeconds } },
    directory,
    keys,
    leaseMs: LEASE_MS,
    ...main,
    ...start('hub'),
    letItEnd: false,
  });
  running = cast;
  const names = { tenant, place: `${tenant}-place`, agentNamespace: `${tenant}-agent` };
  const agent = { ...main, ...start('link'), caFile: keys.caFile, directory };
  return {
    plan,
    bench,
    ...names,
    ...agent,
    silentAfterSeconds,
    proxyOf: (side) => proxies[side],
    cast,
    proxies,
    folder,
  };
}

/** Performs the workload, and ends all processes; why it did not come to its end or to rest. */
async function play(ground: OpenGround, diary: Diary): Promise<Pick<ListenerRun, 'stuck' | 'restless'>> {
  const proxies = Object.values(ground.proxies);
  try {
    await performListener(ground.plan.workload, makeListenerStage(ground, diary));
    return { stuck: undefined, restless: await comesToRest(proxies.map(({ trace }) => trace)) };
  } catch (error) {
    if (!(error instanceof NotConverged)) throw error;
    return { stuck: error.message, restless: undefined };
  } finally {
    await Promise.all([ground.cast.stop(), ...diary.agents.map((agent) => agent.stop())]);
    for (const proxy of proxies) proxy.close();
  }
}

function labelsOf(writes: readonly { readonly label: string }[]): readonly string[] {
  return writes.map(({ label }) => label);
}

/** Which writes keep coming; leases are none. */
async function comesToRest(traces: readonly Proxy['trace'][]): Promise<string | undefined> {
  const from = performance.now();
  const lastWriteAt = (): number => Math.max(from, ...traces.map((trace) => trace.lastWriteAt));
  while (performance.now() - lastWriteAt() < QUIET_MS) {
    if (performance.now() - from > LONGEST_UNREST_MS) {
      const last = traces.flatMap(({ writes }) => writes).toSorted((a, b) => a.at - b.at);
      return `still writing: ${last
        .slice(-4)
        .map(({ label }) => label)
        .join(', ')}`;
    }
    await sleep(50);
  }
  return undefined;
}

/** No controller is left to take the finalizers off. */
async function putToRest(api: ApiClient, census: Census, ...namespaces: readonly string[]): Promise<void> {
  for (const namespace of namespaces) {
    if (namespace === '') continue;
    for (const { kind, object } of census.current(namespace)) {
      if (!['AppDeployment', 'ListenerWork', 'Listener'].includes(kind)) continue;
      await release(api, `${kind.toLowerCase()}s`, object);
    }
    await api.call('DELETE', `/api/v1/namespaces/${namespace}`).catch(() => undefined);
    census.forget(namespace);
  }
}

async function release(api: ApiClient, plural: string, { metadata }: Seen): Promise<void> {
  const path = `/apis/davit.dev/v1alpha1/namespaces/${metadata.namespace}/${plural}/${metadata.name}`;
  await api.call('DELETE', path).catch(() => undefined);
  const patch = { metadata: { finalizers: [] } };
  await api.call('PATCH', path, patch, 'application/merge-patch+json').catch(() => undefined);
}
