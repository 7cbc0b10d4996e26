// One run of a listener: a tenant of the hub with a controller of its own, and a namespace of another cluster with an agent of its own.
// Each of their three connections goes through a proxy. The Davit of the other cluster is shared by all runs and left in peace.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HUB_SECRET, LISTENER_AGENT, LISTENER_TOKEN } from '../../../src/schema/listener-names.ts';
import { LISTENER_LABEL } from '../../../src/schema/meta.ts';
import { type ApiClient, type ApiObject, patient } from '../../cluster/api-client.ts';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { DAVIT_NAMESPACE, startPlatform, supervise } from '../../support/platform.ts';
import { bundledDavit } from './bundle.ts';
import { LEASE_MS, makeRunFolder, makeRunTenant } from './ground.ts';
import type { Violation } from './invariants.ts';
import { type Checkpoint, judgeListener, type ListenerRun, OWN, VALUES } from './listener-invariants.ts';
import { type ListenerPlan, SIDES, type Side, type SideLabels } from './listener-plans.ts';
import type { ListenerStage } from './listener-workloads/acts.ts';
import { performListener, TOKEN_REMEMBERED_MS } from './listener-workloads.ts';
import { type Census, type Seen, startCensus } from './object-history.ts';
import { type Proxy, startProxy } from './proxy.ts';
import { type Cast, startCast } from './run-processes.ts';
import { NotConverged } from './workloads/stage.ts';

/** Whose Roles the chart makes for the agent, from which those of each run are copied. */
export const RIGHTS_NAMESPACE = 'listener-rights';
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
const PATIENCE_MS = 45_000;
const QUIET_MS = 2000;
const LONGEST_UNREST_MS = 20_000;
/** After the setting's time: a reconcile on a busy machine. */
const SLACK_MS = 4000;

export interface ListenerBench {
  readonly hub: Cluster;
  readonly hubCensus: Census;
  readonly remote: Cluster;
  readonly remoteCensus: Census;
}

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

interface Agent {
  kill(): void;
  stop(): Promise<void>;
  /** How often it was started. */
  starts(): number;
  kills(): number;
  readonly log: string;
}

let serial = 0;

async function runListener(
  plan: ListenerPlan,
  { hub, hubCensus, remote, remoteCensus }: ListenerBench,
): Promise<{ run: ListenerRun; labels: SideLabels; fired: boolean; told: string }> {
  serial += 1;
  const tenant = `lsn-${process.pid}-${serial}`;
  const [place, agentNamespace] = [`${tenant}-place`, `${tenant}-agent`];
  const { fault, seed, workload } = plan;
  const isShort = SHORT_SILENCE.has(workload);
  const seeds = [seed, isShort && 'SHORT_SILENCE', fault.kind === 'watch-half-open' && 'SHORT_IDLE'].filter(
    (one) => typeof one === 'string',
  );
  const silentAfterSeconds = isShort ? SHORT_SILENT_AFTER_S : SILENT_AFTER_S;
  const proxies = new Map<Side, Proxy>();
  const agents: Agent[] = [];
  let cast: Cast | undefined;
  for (const side of SIDES) {
    const { server, ca } = side === 'remote' ? remote : hub;
    // oxlint-disable-next-line no-await-in-loop -- three of them
    const proxy = await startProxy({
      server,
      ca,
      fault: side === plan.side ? fault : { kind: 'none' },
      leaseMs: LEASE_MS,
      ...(side === 'hub' && { leaseNamespace: tenant }),
      actors: ['a'],
      kill: (_, signal) => (side === 'hub' ? cast?.kill('a', signal) : agents[0]?.kill()),
      pause: () => undefined,
      atWrite: () => Promise.resolve(),
    });
    proxies.set(side, proxy);
  }
  const proxyOf = (side: Side): Proxy => proxies.get(side) as Proxy;
  const traces = SIDES.map((side) => proxyOf(side).trace);

  await makeRunTenant(hub, tenant);
  const skewed = (side: Side): boolean => fault.kind === 'clock-skew' && plan.side === side;
  const starting = (side: Side): { main?: string; imports: string[]; env: Record<string, string> } => ({
    imports: [
      ...(seeds.length > 0 ? [join(import.meta.dirname, 'mutant.ts')] : []),
      ...(skewed(side) ? [join(import.meta.dirname, 'skew.ts')] : []),
    ],
    env: {
      ...(seeds.length > 0 && { SEEDED_BUGS: seeds.join() }),
      ...(skewed(side) && { SKEW_MS: String(fault.ms) }),
    },
  });
  const main = seeds.length > 0 ? undefined : await bundledDavit(hub);
  const folder = await makeRunFolder(hub, { namespace: tenant, authority: proxyOf('hub').ca });
  const { directory } = folder;
  const keys = await folder.keysOf('davit-controller');
  const { caFile } = keys;
  for (const side of SIDES) proxyOf(side).enter('enrol');
  cast = await startCast(['a'], {
    cluster: hub,
    proxy: proxyOf('hub'),
    namespace: tenant,
    // Role bindings and admission policies name the controller's account there.
    leaseNamespace: DAVIT_NAMESPACE,
    settings: { listeners: { enabled: true, silentAfterSeconds } },
    directory,
    keys,
    leaseMs: LEASE_MS,
    ...(main !== undefined && { main }),
    ...starting('hub'),
    letItEnd: false,
  });

  async function startAgent(cluster: Cluster, where: string, server: string, side: Side): Promise<Agent> {
    const files = join(directory, where);
    await mkdir(files, { recursive: true });
    const config = join(files, 'kubeconfig');
    const text = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server, 'certificate-authority': caFile } }],
      users: [{ name: 'u', user: { token: await cluster.tokenFor(DAVIT_NAMESPACE, LISTENER_AGENT) } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    });
    await writeFile(config, text, { mode: 0o600 });
    const { imports, env } = starting(side);
    const log = join(hub.logsDir, `${where}.log`);
    let kills = 0;
    const process = supervise({
      args: [
        ...imports.flatMap((file) => ['--import', file]),
        main ?? join(import.meta.dirname, '../../../src/main.ts'),
        'listener',
      ],
      env: {
        DAVIT_KUBECONFIG: config,
        DAVIT_NAMESPACE: where,
        DAVIT_LISTENER_NAMESPACES: place,
        DAVIT_HEALTH_PORT: '0',
        DAVIT_LEASE_MS: String(LEASE_MS),
        DAVIT_BACKOFF_MS: '20',
        DAVIT_LOG_LEVEL: 'debug',
        NODE_COMPILE_CACHE: join(hub.runDir, 'compile-cache'),
        ...env,
      },
      log,
      onLine: () => ({}),
    });
    return {
      kill() {
        kills += 1;
        process.kill('SIGKILL');
      },
      stop: () => process.stop(),
      starts: process.starts,
      kills: () => kills,
      log,
    };
  }

  /** The part of a cluster that an agent serves, and where it finds the hub. */
  async function enrol(cluster: Cluster, listener: ApiObject, hubNamespace: string, where: string): Promise<void> {
    const uid = listener.metadata.uid ?? '';
    const labels = { 'davit.dev/tenant': 'true', [LISTENER_LABEL]: uid };
    await cluster.api.call('POST', '/api/v1/namespaces', { metadata: { name: place, labels } });
    await cluster.api.call('POST', '/api/v1/namespaces', { metadata: { name: where } });
    await copyRights(cluster.api, 'davit-listener-tenant', RIGHTS_NAMESPACE, place);
    await copyRights(cluster.api, 'davit-listener', DAVIT_NAMESPACE, where);
    const asked = `/api/v1/namespaces/${hubNamespace}/serviceaccounts/${LISTENER_AGENT}/token`;
    const { status } = await api.call<{ status: { token: string } }>('POST', asked, {
      spec: { expirationSeconds: 3600, boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: LISTENER_TOKEN } },
    });
    const link = proxyOf('link');
    await cluster.api.call('POST', `/api/v1/namespaces/${where}/secrets`, {
      metadata: { name: HUB_SECRET },
      stringData: { server: link.urlFor('a'), ca: link.ca, namespace: hubNamespace, token: status.token },
    });
  }

  const api = patient(hub.api);
  const checkpoints: Checkpoint[] = [];
  const deletions = new Map<string, number>();
  const abandoned = new Set<string>();
  const spoken: { silence?: ListenerRun['silence']; revoked?: ListenerRun['revoked'] } = {};
  let hubNamespace = '';
  let isAway = false;
  let expectedEnds = 0;
  const stage: ListenerStage = {
    api,
    remote: remote.api,
    tenant,
    place,
    hubNamespace: () => hubNamespace,
    onHub: () => [...hubCensus.current(tenant), ...hubCensus.current(hubNamespace)],
    onRemote: () => remoteCensus.current(place),
    async until(what, holds) {
      const end = performance.now() + PATIENCE_MS + (fault.kind === 'slow' ? 20_000 : 0);
      while (!holds()) {
        if (performance.now() > end) throw new NotConverged(`${what}, not in ${PATIENCE_MS / 1000} s`);
        // oxlint-disable-next-line no-await-in-loop -- it needs time
        await sleep(20);
      }
    },
    enter(phase) {
      for (const side of SIDES) proxyOf(side).enter(phase);
    },
    async ended(phase) {
      // Two watches tell of two clusters.
      await sleep(300);
      checkpoints.push({ phase, hub: stage.onHub(), remote: stage.onRemote() });
    },
    deleted: (uid) => void deletions.set(uid, performance.now()),
    abandoned: (uid) => void abandoned.add(uid),
    async enrol(listener, namespace) {
      hubNamespace = namespace;
      await stage.join();
      await enrol(remote, listener, namespace, agentNamespace);
      await remote.api.call('POST', `/api/v1/namespaces/${place}/secrets`, secret(OWN, VALUES.remoteOwn));
      agents.push(await startAgent(remote, agentNamespace, proxyOf('remote').urlFor('a'), 'link'));
    },
    async leave() {
      isAway = true;
      await agents[0]?.stop();
    },
    async comeBack() {
      if (!isAway) return;
      agents.unshift(await startAgent(remote, agentNamespace, proxyOf('remote').urlFor('a'), 'link'));
    },
    async clone(listener) {
      const where = `${tenant}-clone`;
      await enrol(hub, listener, hubNamespace, where);
      // Its own API server is the hub's, which it reaches without a proxy's faults.
      await writeFile(caFile, `${proxyOf('hub').ca}\n${hub.ca}`);
      const agent = await startAgent(hub, where, hub.server, 'link');
      agents.push(agent);
      return () => agent.stop();
    },
    cut() {
      const from = performance.now();
      proxyOf('link').cutLink();
      return () => {
        spoken.silence = { from, to: performance.now(), allowedMs: silentAfterSeconds * 1000 + SLACK_MS };
        proxyOf('link').mendLink();
      };
    },
    async join() {
      await api.call('POST', `/api/v1/namespaces/${hubNamespace}/secrets`, { metadata: { name: LISTENER_TOKEN } });
    },
    async revoke() {
      await api.call('DELETE', `/api/v1/namespaces/${hubNamespace}/secrets/${LISTENER_TOKEN}`);
      spoken.revoked = { at: performance.now(), forgottenAfterMs: TOKEN_REMEMBERED_MS };
    },
    async restoreAfter(change) {
      await hub.controlPlane.snapshot();
      await change();
      await hub.controlPlane.restore();
      // Both processes that watch the hub end themselves when they see that time has gone back.
      expectedEnds += 3;
      await hubCensus.restart();
    },
  };

  let stuck: string | undefined;
  let restless: string | undefined;
  try {
    await performListener(workload, stage);
    restless = await comesToRest(traces);
  } catch (error) {
    if (!(error instanceof NotConverged)) throw error;
    stuck = error.message;
  } finally {
    await Promise.all([cast.stop(), ...agents.map((agent) => agent.stop())]);
    for (const proxy of proxies.values()) proxy.close();
  }
  const starts = cast.starts() + agents.reduce((sum, agent) => sum + agent.starts(), 0);
  const kills = cast.kills() + agents.reduce((sum, agent) => sum + agent.kills(), 0);
  const logs = [...new Set([...cast.logs, ...agents.map(({ log }) => log)])];
  const told = await Promise.all(logs.map((log) => readFile(log, 'utf8').catch(() => '')));
  const [hubTrace, linkTrace, remoteTrace] = traces.map((trace) => trace.writes) as [
    Proxy['trace']['writes'],
    Proxy['trace']['writes'],
    Proxy['trace']['writes'],
  ];
  const run: ListenerRun = {
    plan,
    tenant,
    hubNamespace,
    place,
    checkpoints,
    hubHistory: [...hubCensus.history(tenant), ...hubCensus.history(hubNamespace)],
    remoteHistory: remoteCensus.history(place),
    cloned: hubCensus.history(place),
    deletions,
    abandoned,
    ...spoken,
    linkWrites: linkTrace,
    remoteWrites: remoteTrace,
    // The agent's own token goes where the hub's address is.
    bodies: [...hubTrace, ...linkTrace, ...remoteTrace],
    log: told.join(''),
    stuck,
    restless,
    accidents: Math.max(0, starts - 1 - agents.length - kills - expectedEnds),
  };
  const labels = { hub: labelsOf(hubTrace), link: labelsOf(linkTrace), remote: labelsOf(remoteTrace) };
  await folder.remove();
  await putToRest(hub.api, hubCensus, tenant, hubNamespace);
  await putToRest(remote.api, remoteCensus, place, agentNamespace);
  return { run, labels, fired: traces.some(({ fired }) => fired), told: logs.join(' ') };
}

function labelsOf(writes: readonly { readonly label: string }[]): readonly string[] {
  return writes.map(({ label }) => label);
}

function secret(name: string, value: string): object {
  return { metadata: { name }, stringData: { key: value } };
}

/** What the chart grants in one namespace, in another. */
async function copyRights(api: ApiClient, name: string, from: string, to: string): Promise<void> {
  const rbac = (namespace: string): string => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  for (const kind of ['roles', 'rolebindings']) {
    // oxlint-disable-next-line no-await-in-loop -- two of them
    const { metadata: _, ...rest } = await api.call<ApiObject>('GET', `${rbac(from)}/${kind}/${name}`);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await api.call('POST', `${rbac(to)}/${kind}`, { ...rest, metadata: { name } });
  }
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
    // oxlint-disable-next-line no-await-in-loop -- it needs time
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
      // oxlint-disable-next-line no-await-in-loop -- there are few
      await release(api, `${kind.toLowerCase()}s`, object);
    }
    // oxlint-disable-next-line no-await-in-loop -- two of them
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
