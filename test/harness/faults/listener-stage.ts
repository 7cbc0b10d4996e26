// What the workloads of listeners are played on: two clusters, the three connections between them, and the agents of a run.

import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { LISTENER_TOKEN } from '../../../src/kinds/listener-names.ts';
import { patient } from '../../cluster/api-client.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { type Agent, type AgentOptions, type Enrolment, enrol, startAgent } from './listener-agent.ts';
import { type Checkpoint, type ListenerRun, OWN, VALUES } from './listener-invariants.ts';
import { type ListenerPlan, SIDES, type Side } from './listener-plans.ts';
import type { ListenerStage } from './listener-workloads/acts.ts';
import { TOKEN_REMEMBERED_MS } from './listener-workloads.ts';
import type { Census } from './object-history.ts';
import type { Proxy } from './proxy.ts';
import { NotConverged } from './workloads/stage.ts';

const PATIENCE_MS = 45_000;
/** After the setting's time: a reconcile on a busy machine. */
const SLACK_MS = 4000;

export interface ListenerBench {
  readonly hub: Cluster;
  readonly hubCensus: Census;
  readonly remote: Cluster;
  readonly remoteCensus: Census;
}

/** What a run stands on. */
export interface ListenerGround extends Pick<AgentOptions, 'main' | 'imports' | 'env' | 'caFile' | 'directory'> {
  readonly plan: ListenerPlan;
  readonly bench: ListenerBench;
  /** The namespaces of the tenant on the hub, of the copies, and of the agent. */
  readonly tenant: string;
  readonly place: string;
  readonly agentNamespace: string;
  readonly silentAfterSeconds: number;
  proxyOf(side: Side): Proxy;
}

/** What has happened in a run by now. */
export interface Diary {
  hubNamespace: string;
  /** The agent of the listener's cluster that runs now comes first. */
  readonly agents: Agent[];
  readonly checkpoints: Checkpoint[];
  readonly deletions: Map<string, number>;
  readonly abandoned: Set<string>;
  silence?: ListenerRun['silence'];
  revoked?: ListenerRun['revoked'];
  /** How many processes end themselves, as they should. */
  expectedEnds: number;
}

export function emptyDiary(): Diary {
  return {
    hubNamespace: '',
    agents: [],
    checkpoints: [],
    deletions: new Map(),
    abandoned: new Set(),
    expectedEnds: 0,
  };
}

export function makeListenerStage(ground: ListenerGround, diary: Diary): ListenerStage {
  const { plan, bench, tenant, place, proxyOf } = ground;
  const { hubCensus, remoteCensus } = bench;
  const onHub: ListenerStage['onHub'] = () => [...hubCensus.current(tenant), ...hubCensus.current(diary.hubNamespace)];
  const onRemote: ListenerStage['onRemote'] = () => remoteCensus.current(place);
  return {
    api: patient(bench.hub.api),
    remote: bench.remote.api,
    tenant,
    place,
    hubNamespace: () => diary.hubNamespace,
    onHub,
    onRemote,
    async until(what, holds) {
      const end = performance.now() + PATIENCE_MS + (plan.fault.kind === 'slow' ? 20_000 : 0);
      while (!holds()) {
        if (performance.now() > end) throw new NotConverged(`${what}, not in ${PATIENCE_MS / 1000} s`);
        await sleep(20);
      }
    },
    enter(phase) {
      for (const side of SIDES) proxyOf(side).enter(phase);
    },
    async ended(phase) {
      // Two watches tell of two clusters.
      await sleep(300);
      diary.checkpoints.push({ phase, hub: onHub(), remote: onRemote() });
    },
    deleted: (uid) => void diary.deletions.set(uid, performance.now()),
    abandoned: (uid) => void diary.abandoned.add(uid),
    ...agentActs(ground, diary),
    ...hubActs(ground, diary),
  };
}

/** Agents come and go. */
function agentActs(
  ground: ListenerGround,
  diary: Diary,
): Pick<ListenerStage, 'enrol' | 'leave' | 'comeBack' | 'clone'> {
  const { bench, tenant, place, agentNamespace, caFile, proxyOf } = ground;
  const { hub, remote } = bench;
  let isAway = false;
  const enrolment = (where: string): Omit<Enrolment, 'listener'> => ({
    hubApi: patient(hub.api),
    hubNamespace: diary.hubNamespace,
    link: proxyOf('link'),
    place,
    where,
  });
  const start = (cluster: Cluster, where: string, server: string): Promise<Agent> =>
    startAgent({ ...ground, cluster, where, server, hub });
  const startOwn = (): Promise<Agent> => start(remote, agentNamespace, proxyOf('remote').urlFor('a'));

  return {
    async enrol(listener, namespace) {
      diary.hubNamespace = namespace;
      await join(ground, diary);
      await enrol(remote, { ...enrolment(agentNamespace), listener });
      const own = { metadata: { name: OWN }, stringData: { key: VALUES.remoteOwn } };
      await remote.api.call('POST', `/api/v1/namespaces/${place}/secrets`, own);
      diary.agents.push(await startOwn());
    },
    async leave() {
      isAway = true;
      await diary.agents[0]?.stop();
    },
    async comeBack() {
      if (isAway) diary.agents.unshift(await startOwn());
    },
    async clone(listener) {
      const where = `${tenant}-clone`;
      await enrol(hub, { ...enrolment(where), listener });
      // Its own API server is the hub's, which it reaches without a proxy's faults.
      await writeFile(caFile, `${proxyOf('hub').ca}\n${hub.ca}`);
      const agent = await start(hub, where, hub.server);
      diary.agents.push(agent);
      return () => agent.stop();
    },
  };
}

/** The hub is not reached, knows an agent no more, or goes back in time. */
function hubActs(
  ground: ListenerGround,
  diary: Diary,
): Pick<ListenerStage, 'cut' | 'join' | 'revoke' | 'restoreAfter'> {
  const { bench, silentAfterSeconds, proxyOf } = ground;
  const { hub, hubCensus } = bench;
  return {
    cut() {
      const from = performance.now();
      proxyOf('link').cutLink();
      return () => {
        diary.silence = { from, to: performance.now(), allowedMs: silentAfterSeconds * 1000 + SLACK_MS };
        proxyOf('link').mendLink();
      };
    },
    join: () => join(ground, diary),
    async revoke() {
      const token = `/api/v1/namespaces/${diary.hubNamespace}/secrets/${LISTENER_TOKEN}`;
      await patient(hub.api).call('DELETE', token);
      diary.revoked = { at: performance.now(), forgottenAfterMs: TOKEN_REMEMBERED_MS };
    },
    async restoreAfter(change) {
      await hub.controlPlane.snapshot();
      await change();
      await hub.controlPlane.restore();
      // Both processes that watch the hub end themselves when they see that time has gone back.
      diary.expectedEnds += 3;
      await hubCensus.restart();
    },
  };
}

async function join({ bench }: ListenerGround, { hubNamespace }: Diary): Promise<void> {
  const secrets = `/api/v1/namespaces/${hubNamespace}/secrets`;
  await patient(bench.hub.api).call('POST', secrets, { metadata: { name: LISTENER_TOKEN } });
}
