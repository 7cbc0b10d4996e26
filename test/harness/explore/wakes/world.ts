// A world that lives on: events happen in it, and only keys that are woken or due are reconciled, by processes that remember.

import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../../../../src/kinds/code-host-integration.ts';
import type { Settings } from '../../../../src/kinds/settings.ts';
import { CodeHostFailed, Unavailable } from '../../../../src/runtime/errors.ts';
import { LEASES } from '../../../../src/runtime/kube/api-resources.ts';
import type { Bound } from '../bound.ts';
import { BUILDS } from '../build-events.ts';
import { wordsOf } from '../event.ts';
import { STAND_INS } from '../listener-events.ts';
import {
  CLUSTER,
  canRenew,
  HUB,
  holdsLease,
  hubClient,
  IN_CLUSTER,
  leaseOf,
  link,
  ON_HUB,
  reachesHub,
  SHOPS,
  setLink,
  TEAM,
  takeLease,
} from '../listener-world.ts';
import type { Broken, Controllers } from '../pass-seen.ts';
import { contentAt, headOf } from '../passes.ts';
import { judgePass, judgeRest } from '../properties.ts';
import { LATER, NOW } from '../scene.ts';
import { type Actor, aDavit, anAgent, type Clock } from './actors.ts';
import { DAY, REST } from './labels.ts';
import { openLiveScene } from './live-scene.ts';
import { judgeWakes } from './properties.ts';

/** What can happen, in words. */
export interface Labels {
  readonly woken: readonly string[];
  readonly calm: readonly string[];
  readonly acts: readonly string[];
}

export interface LiveWorld {
  labels(): Promise<Labels>;
  /** Whether it could happen. */
  take(label: string): Promise<boolean>;
  /** What was broken so far. */
  readonly broken: readonly Broken[];
  readonly passes: () => number;
  stop(): void;
}

const MINUTE = 'a minute passes';
/** After a label of a key: its caches have not seen the event before. */
export const BEHIND = ', whose caches are behind';
export const CRASH = ', and crashes after its first write';
const RESTART = ' restarts';
const AGENT = 'the agent';
const LEASE = `${AGENT} takes its Lease`;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** What is due within this time happens before a world is at rest: the longest retry is after five minutes. */
const SOON_MS = 310_000;
const LONGEST_WAY = 600;
const COMMIT = 'a revision is of the commit that was asked for';
const CONTROLLERS: Readonly<Record<string, Controllers>> = { appdeployments: 'records' };

/** `say` gets each pass with what it wrote, and each automatic event. */
// oxlint-disable-next-line max-lines-per-function -- one state, in the parts that read from top to bottom
export async function makeLiveWorld(bound: Bound, say: (line: string) => void = () => undefined): Promise<LiveWorld> {
  const clock: Clock = { ms: NOW };
  const live = openLiveScene(bound, clock);
  const { scene, kube } = live;
  const broken: Broken[] = [];
  const actors = new Map<string, Actor>();
  let passes = 0;
  const isOfListener = bound.namespaces.includes(HUB);

  const isDown = (): boolean => scene.mark('', 'code host') === 'down';
  const answer = <Value>(value: () => Value): Promise<Value> =>
    isDown()
      ? Promise.reject(new CodeHostFailed('unreachable', 'The code host does not answer.'))
      : Promise.resolve(value());
  const codeHosts = {
    commit: () => answer(() => ({ commit: headOf(scene) })),
    file: (_account: unknown, _repository: string, at: { readonly commit: string }) =>
      answer(() => contentAt(at.commit)),
    token: () => answer(() => 'token'),
    status: () => Promise.resolve(),
  };
  const davits: Readonly<Record<string, Settings>> = !isOfListener
    ? { Davit: bound.settings }
    : {
        "the hub's Davit": { ...ON_HUB, namespaces: [TEAM, HUB] },
        ...(!bound.events.includes(STAND_INS[0] as never) && { Davit: { ...IN_CLUSTER, namespaces: [SHOPS] } }),
      };
  const start = (name: string): Promise<Actor> =>
    name === AGENT ? anAgent(live, clock) : aDavit(name, live, clock, davits[name] as Settings, codeHosts);

  async function restart(name: string): Promise<void> {
    actors.get(name)?.stop();
    actors.set(name, await start(name));
  }
  const settled = (): Promise<unknown> => Promise.all([...actors.values()].map((actor) => actor.settled()));

  /** The agent and the hub's controller are what the marks of the link say of them. */
  async function followMarks(heardBefore: string | undefined): Promise<void> {
    if (!isOfListener) return;
    if (link(scene, 'epoch') === undefined && actors.has(AGENT)) {
      actors.get(AGENT)?.stop();
      actors.delete(AGENT);
    }
    const heard = link(scene, 'heard');
    if (heard === heardBefore) return;
    if (heard === 'not yet') await restart("the hub's Davit");
    if (heard === 'recently') renew();
    if (heard === 'nothing') pass(ON_HUB.listeners.silentAfterSeconds * 1000);
  }
  function renew(): void {
    const lease = leaseOf(scene);
    const spec = { ...lease?.spec, renewTime: new Date((clock.ms += 1)).toISOString() };
    if (lease && canRenew(scene)) scene.change(LEASES, lease, { spec });
  }
  function pass(ms: number): void {
    clock.ms += ms;
    if (isOfListener) renew();
  }

  /** What the pass wrote. `isSure`: whether it has seen everything, so that it can be judged. */
  async function reconcile(actor: Actor, id: string, isSure: boolean, crashes = false): Promise<string[]> {
    const before = isSure ? live.snapshot() : undefined;
    const gone = new Unavailable('The process is gone.');
    let isGone = false;
    kube.failOn((request) => (isGone ? gone : bound.refuse?.(scene, request)));
    kube.failAfter(({ dryRun }) => (crashes && dryRun !== true ? ((isGone = true), gone) : undefined));
    kube.clearWrites();
    const error = await actor.run(id);
    kube.failOn(undefined);
    kube.failAfter(undefined);
    passes += 1;
    const writes = kube.writes.filter(({ dryRun }) => dryRun !== true);
    const [name = '', key = ''] = id.split(' ');
    const controller = CONTROLLERS[name] ?? (name as Controllers);
    if (before) {
      const seen = { before, after: scene, key: name === 'works' ? `${HUB}/${key}` : key, controller, writes, error };
      broken.push(...(bound.cast ? bound.cast.judgePass(seen) : judgePass(seen, bound.settings)));
    }
    const isRewritten = (namespace = ''): boolean => scene.mark(namespace, 'webhook') === 'rewrites';
    const wrote = writes
      .filter((one) => one.error === undefined && !(one.kind === 'StatefulSet' && isRewritten(one.ref.namespace)))
      .map(({ verb, kind, ref, subresource }) => `${verb} ${kind} ${ref.name}${subresource ? `/${subresource}` : ''}`);
    say(`    ${labelOf(actor, id)}: ${wrote.join(', ') || 'nothing'}${error ? ` (${error.message})` : ''}`);
    return wrote;
  }

  const labelOf = ({ name }: Actor, id: string): string => `${name} reconciles ${id}`;
  const dueBy = (until: number): { actor: Actor; id: string; at: number }[] =>
    [...actors.values()]
      .flatMap((actor) => [...actor.due].map(([id, at]) => ({ actor, id, at })))
      .filter(({ at }) => at <= until)
      .toSorted((a, b) => a.at - b.at);
  const events = (which: (event: Bound['events'][number]) => boolean) =>
    [...bound.namespaces, BUILDS].flatMap((namespace) =>
      bound.events
        .filter(which)
        .flatMap((event) =>
          event
            .subjects(scene, namespace)
            .map((subject) => ({ label: wordsOf(event, namespace, subject), event, namespace, subject })),
        ),
    );
  const canTakeLease = (): boolean =>
    isOfListener && leaseOf(scene) !== undefined && reachesHub(scene) && !holdsLease(scene);
  const calm = (): string[] => [
    ...(canTakeLease() ? [LEASE] : []),
    ...events((event) => event.calm === true).map(({ label }) => label),
  ];

  async function happen(label: string): Promise<boolean> {
    if (label === LEASE) {
      const epoch = canTakeLease() ? await takeLease(hubClient(scene), CLUSTER) : undefined;
      if (epoch === undefined) return false;
      setLink(scene, 'epoch', String(epoch));
      if (!actors.has(AGENT)) await restart(AGENT);
      renew();
      setLink(scene, 'heard', 'recently');
      return true;
    }
    const found = events(() => true).find((one) => one.label === label);
    if (!found) return false;
    say(`  ${label}`);
    const heard = isOfListener ? link(scene, 'heard') : undefined;
    const head = headOf(scene);
    // Nobody acts twice within a second: it is the resolution of creationTimestamp.
    if (found.event.by === 'people') pass(1000);
    await found.event.happen(scene, found.namespace, found.subject);
    if (headOf(scene) !== head) tellOfPush();
    await followMarks(heard);
    return true;
  }

  /** A signed webhook. */
  function tellOfPush(): void {
    for (const integration of scene.everywhere<CodeHostIntegration>(CODE_HOST_INTEGRATIONS)) {
      const pushes = [{ repository: 'team/shop', at: new Date((clock.ms += 1)).toISOString() }];
      scene.change(CODE_HOST_INTEGRATIONS, integration, { status: { pushes } });
    }
  }

  async function settle(): Promise<void> {
    let [version, until] = ['', 0];
    for (let steps = 0; steps < LONGEST_WAY; steps += 1) {
      await settled();
      if (live.version() !== version) [version, until] = [live.version(), clock.ms + SOON_MS];
      const [woken] = dueBy(clock.ms);
      const [next] = woken ? [] : calm();
      const [soon] = woken ? [woken] : next === undefined ? dueBy(until) : [];
      if (!soon && next === undefined) return;
      if (soon && soon.at > clock.ms) pass(soon.at - clock.ms);
      if (soon) await reconcile(soon.actor, soon.id, true);
      else await happen(next as string);
    }
    const onward = [...dueBy(clock.ms + SOON_MS).map(({ actor, id }) => labelOf(actor, id)), ...calm()];
    broken.push({ property: 'rest is reached', message: `It goes round: ${onward.join(', ')}.` });
  }

  /** Every key that a process which has just started would reconcile writes nothing, by the one that runs and by the new one. */
  async function judgeKeys(actor: Actor): Promise<void> {
    // An agent that starts while the link is cut has no keys.
    if (actor.name === AGENT && !reachesHub(scene)) return;
    const fresh = await start(actor.name);
    await fresh.settled();
    const keys = [...fresh.due.keys()];
    for (const [one, property] of [
      [actor, 'at rest no key would write if it was woken'],
      [fresh, 'at rest a restart writes nothing'],
    ] as const) {
      for (let turns = 0; keys.length > 0 && turns < 100; turns += 1) {
        const id = turns < keys.length ? keys[turns] : dueOf(one);
        if (id === undefined) break;
        const wrote = await reconcile(one, id, false);
        await one.settled();
        if (wrote.length > 0) {
          broken.push({ property, message: `${labelOf(one, id)}: ${wrote.join(', ')}` });
          break;
        }
      }
      if (broken.length > 0) break;
    }
    fresh.stop();
  }
  const dueOf = ({ due }: Actor): string | undefined => [...due].find(([, at]) => at <= clock.ms)?.[0];

  async function rest(): Promise<void> {
    await settle();
    if (broken.length > 0) return;
    // Which commit is asked for is not known while the code host is down.
    const isKnown = ({ property }: Broken): boolean => !isDown() || property !== COMMIT;
    for (const namespace of bound.namespaces)
      broken.push(
        ...(bound.cast?.judgeRest(scene, namespace, false) ?? judgeRest(scene, namespace, bound.settings)).filter(
          isKnown,
        ),
        ...judgeWakes(scene, namespace),
      );
    for (const actor of actors.values()) if (broken.length === 0) await judgeKeys(actor);
  }

  async function take(label: string): Promise<boolean> {
    if (label === REST) return rest().then(() => true);
    if (label === DAY) {
      pass(DAY_MS);
      scene.setMark('', LATER, 'a day');
      return rest().then(() => true);
    }
    if (label === MINUTE) {
      pass(MINUTE_MS);
      return true;
    }
    const restarted = [...actors.keys()].find((name) => label === `${name}${RESTART}`);
    if (restarted !== undefined) return restart(restarted).then(() => true);
    const plain = label.replace(BEHIND, '').replace(CRASH, '');
    const found = dueBy(clock.ms).find(({ actor, id }) => plain === labelOf(actor, id));
    if (!found) return happen(label);
    const { actor, id } = found;
    await reconcile(actor, id, plain === label, label.endsWith(CRASH));
    if (label.endsWith(CRASH)) await restart(actor.name);
    return true;
  }

  bound.begin(scene);
  for (const name of Object.keys(davits)) await restart(name);
  return {
    broken,
    take: async (label) => {
      if (!label.endsWith(BEHIND)) await settled();
      return take(label);
    },
    async labels() {
      await settled();
      return {
        woken: dueBy(clock.ms).map(({ actor, id }) => labelOf(actor, id)),
        calm: calm(),
        acts: [
          ...events((event) => event.calm !== true).map(({ label }) => label),
          ...[...actors.keys()].filter((name) => name !== AGENT).map((name) => `${name}${RESTART}`),
          MINUTE,
        ],
      };
    },
    passes: () => passes,
    stop: () => actors.forEach((actor) => actor.stop()),
  };
}
