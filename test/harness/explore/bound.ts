// A bound: a first state, the events that may happen in it, and how often. Its World says which steps a state allows, takes
// them, and brings states to rest.

import { canBuild } from '../../../src/deployments/record/build-source.ts';
import { JOBS } from '../../../src/lib/kube/api-resources.ts';
import type { KubeObject } from '../../../src/lib/kube/client.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/schema/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/schema/app-revision.ts';
import { conditionOf } from '../../../src/schema/conditions.ts';
import type { Settings } from '../../../src/schema/settings.ts';
import type { FakeRequest } from '../../support/fake-kube/fake-kube.ts';
import { BUILDS } from './build-events.ts';
import type { Cast } from './cast.ts';
import { type Cost, type Groups, makeComponents } from './components.ts';
import { type Event, wordsOf } from './event.ts';
import { type Broken, makeMachine } from './machine.ts';
import { mend } from './mending.ts';
import { type Controllers, RESOURCES } from './passes.ts';
import { hasLostData, judgePass, judgeRest, namesWhere, pictureOf } from './properties.ts';
import { type Admission, LATER, type Scene } from './scene.ts';
import { makeTurnsOfWriters, NO_TURNS } from './turns-of-writers.ts';
import { makeRegistry, type Registry, type State } from './world.ts';

export interface Bound {
  readonly name: string;
  readonly about: string;
  /** A property that the code is known to break here, which is to be mended. */
  readonly open?: string;
  /** How much of the time it gets, beside the 1 of others. */
  readonly share?: number;
  readonly settings: Settings;
  /** Namespaces of tenants, each with records of its own. */
  readonly namespaces: readonly string[];
  /** Makes the first state. */
  readonly begin: (scene: Scene) => void;
  /** Events on the way from what `begin` makes to the first state, in words; the state is brought to rest before and after each. */
  readonly history?: readonly string[];
  readonly events: readonly Event[];
  /** How many events of people, and how many troubles, there are on one way. */
  readonly people: number;
  readonly troubles: number;
  /** More steps than any way to rest has; 400 if absent. */
  readonly longestWay?: number;
  /** Whether the controller crashes between its writes. */
  readonly crashes?: true;
  /** Whether caches lag by one event. */
  readonly lags?: true;
  readonly refuse?: (scene: Scene, request: FakeRequest) => Error | undefined;
  readonly admission?: Admission;
  /** Who acts, and what must hold, where that is not the controller of one cluster. */
  readonly cast?: Cast;
}

export interface Step {
  readonly state: State;
  readonly label: string;
  readonly broken: readonly Broken[];
}

export interface Judged {
  readonly broken: readonly Broken[];
  readonly afterwards: readonly string[];
}

export interface World {
  readonly first: State;
  enabled(state: State): readonly string[];
  /** All steps from a state; `take` gets each state they lead to. */
  expand(state: State, take: (step: Step) => void): Promise<void>;
  step(state: State, label: string): Promise<readonly Step[]>;
  /** What is broken at rest, as the world is and when it was mended; nothing if the same rest was judged before. */
  judge(state: State): Promise<readonly Judged[]>;
  /** Every object, for people. */
  show(state: State): string;
  counts(): Readonly<Record<string, number>>;
}

interface Rest {
  readonly state: State;
  readonly broken: readonly Broken[];
}

const LONGEST_WAY = 400;

interface Taking {
  readonly event?: Event;
  readonly namespace: string;
  readonly subject: string;
  readonly controller?: Controllers;
}

const MENDED_IS_NEW = 'a mended record becomes what a new one is';
const READY_IS_NEW = 'what is Ready is what a new record becomes';
const isReadyAsMade = (record: AppDeployment, scene: Scene): boolean =>
  conditionOf(record.status?.conditions, 'Ready')?.status === 'True' &&
  scene.mark(record.metadata.namespace ?? '', 'webhook') !== 'rewrites';

/** Kinds whose caches may lag. */
const LAGGING = ['AppDeployment', 'AppRevision', 'Deployment', 'Pod', 'Secret', 'PersistentVolumeClaim', 'Job'];
const CATCH_UP = 'the caches have caught up';

export async function makeWorld(bound: Bound): Promise<World> {
  const { settings, namespaces, cast, longestWay = LONGEST_WAY } = bound;
  const people = namespaces.length + 1;
  const troubles = people + 1;
  const registry: Registry = makeRegistry((namespace) => namespaces.indexOf(namespace) + 1);
  // Now, so that whoever reads a whole namespace reads the same groups in the same order in every state.
  for (const namespace of [...namespaces, '', settings.organizationNamespace, settings.builds.namespace])
    for (const resource of RESOURCES) registry.columnOf(resource, namespace);
  const machine = makeMachine(registry, {
    settings,
    namespaces,
    refuse: bound.refuse ?? (() => undefined),
    admission: bound.admission ?? {},
    stepwise: bound.crashes === true,
    judge: (seen) => (cast ? cast.judgePass(seen) : judgePass(seen, settings)),
    cast,
  });
  const where = [...namespaces, ...(canBuild(settings) ? [BUILDS] : [])];
  const takings = new Map<string, Taking>();
  const rests = new Map<string, Rest>();
  const judgedRests = new Set<string>();
  const pictures = new Map<string, string>();

  function remember(words: string, taking: Taking): string {
    if (!takings.has(words)) takings.set(words, taking);
    return words;
  }
  function happenings(scene: Scene, namespace: string, which: (event: Event) => boolean): string[] {
    return bound.events
      .filter(which)
      .flatMap((event) =>
        event
          .subjects(scene, namespace)
          .map((subject) => remember(wordsOf(event, namespace, subject), { event, namespace, subject })),
      );
  }
  /** What the controller's queues may hold. */
  function keysIn(scene: Scene, namespace: string): string[] {
    const pass = (controller: Controllers, subject: string): string =>
      remember(`Davit reconciles ${controller} ${namespace}/${subject}`, { controller, namespace, subject });
    if (cast) return cast.keys(scene, namespace).map(([controller, subject]) => pass(controller, subject));
    const records = scene
      .all<AppDeployment>(APP_DEPLOYMENTS, namespace)
      .map(({ metadata }) => pass('records', metadata.name));
    if (!canBuild(settings)) return records;
    const revisions = scene
      .all<AppRevision>(APP_REVISIONS, namespace)
      .filter(({ spec }) => spec.requested.sourceRevisionConfig.imageUri === undefined);
    const jobs = scene
      .all<KubeObject>(JOBS, BUILDS)
      .filter(({ metadata }) => metadata.labels?.['davit.dev/build-tenant'] === namespace)
      .map(({ metadata }) => metadata.labels?.['davit.dev/build'] ?? '');
    const ids = new Set([...revisions.map(({ spec }) => spec.id.toLowerCase()), ...jobs]);
    return [...records, ...[...ids].map((id) => pass('builds', id))];
  }
  const ask = <Value>(question: string, state: State, answer: (scene: Scene) => Value): Value =>
    machine.ask(question, state, answer);
  const organization = canBuild(settings)
    ? [
        remember('Davit reconciles organization CodeHostIntegration/git', {
          controller: 'organization',
          namespace: 'CodeHostIntegration',
          subject: 'git',
        }),
      ]
    : [];
  const keysAt = (namespace: string, state: State): string[] =>
    ask(`keys ${namespace}`, state, (scene) => keysIn(scene, namespace));
  const calmAt = (namespace: string, state: State): string[] =>
    ask(`calm ${namespace}`, state, (scene) => happenings(scene, namespace, ({ calm }) => calm === true));
  const eventsAt = (namespace: string, state: State): string[] =>
    ask(`all ${namespace}`, state, (scene) => happenings(scene, namespace, () => true));
  const keysOf = (state: State): string[] => [
    ...organization,
    ...namespaces.flatMap((namespace) => keysAt(namespace, state)),
  ];
  const calmOf = (state: State): string[] => where.flatMap((namespace) => calmAt(namespace, state));
  const shared = where.slice(namespaces.length);
  const groups: Groups = {
    count: namespaces.length + 1,
    labels(group, state) {
      const namespace = namespaces[group - 1];
      return namespace === undefined
        ? [...organization, ...shared.flatMap((at) => eventsAt(at, state))]
        : [...keysAt(namespace, state), ...eventsAt(namespace, state)];
    },
    calm(group, state) {
      const namespace = namespaces[group - 1];
      return namespace === undefined
        ? [...organization, ...shared.flatMap((at) => calmAt(at, state))]
        : [...keysAt(namespace, state), ...calmAt(namespace, state)];
    },
    step: (state, label) => take(state, label),
    cost: (label) => costOf(takings.get(label)?.event),
    touched: () => machine.touched(),
    judgeWay: (group, way) => turnsOfWriters(way, namespaces.slice(group - 1, group)),
  };
  const turnsOfWriters = makeTurnsOfWriters(registry);
  const components = makeComponents(groups);
  const isTrouble = (event: Event): boolean => event.by !== 'people' && event.calm !== true;
  const costOf = (event: Event | undefined): Cost =>
    event?.by === 'people' ? 'people' : event !== undefined && isTrouble(event) ? 'trouble' : 'nothing';
  const isSpent = (cost: Cost, state: State): boolean =>
    (cost === 'people' && (state[people] ?? 0) >= bound.people) ||
    (cost === 'trouble' && (state[troubles] ?? 0) >= bound.troubles);

  async function take(state: State, label: string): Promise<readonly Step[]> {
    const taking = takings.get(label);
    if (!taking) throw new Error(`nothing is called: ${label}`);
    const { event, namespace, subject, controller } = taking;
    if (controller) {
      const done = await machine.pass(controller, `${namespace}/${subject}`, state);
      const { broken, said } = done.value;
      const written = said.filter((words) => !words.endsWith(')'));
      const crashes = done.between.map((after, index) => ({
        state: after,
        label: `${label}, and crashes after ${index + 1} writes, the last of them ${written[index]}`,
        broken: [],
      }));
      return [{ state: done.state, label, broken }, ...crashes];
    }
    if (!event) return [];
    return [
      { state: await machine.act(label, state, (scene) => event.happen(scene, namespace, subject)), label, broken: [] },
    ];
  }
  function spent(state: State, cost: Cost): State {
    const next = [...state];
    if (cost === 'people') next[people] = (next[people] ?? 0) + 1;
    if (cost === 'trouble') next[troubles] = (next[troubles] ?? 0) + 1;
    return next;
  }
  /** The same step when one cache has not seen what it changed. */
  async function withLag(before: State, { state, label }: Step, namespace: string): Promise<Step[]> {
    if (ask('behind', before, (scene) => scene.mark(namespace, 'behind') !== undefined)) return [];
    const lags: Step[] = [];
    for (const column of registry.columnsIn(namespace)) {
      const [old, now] = [registry.group(registry.read(before, column)), registry.group(registry.read(state, column))];
      if (old === now) continue;
      for (const id of new Set([...old.keys(), ...now.keys()])) {
        const entry = registry.entry(now.get(id) ?? old.get(id) ?? 0);
        if (old.get(id) === now.get(id) || !('object' in entry) || !LAGGING.includes(entry.object.kind)) continue;
        const value = `${id} ${old.get(id) ?? 0}`;
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const behind = await machine.act(`behind ${value}`, state, (scene) =>
          scene.setMark(namespace, 'behind', value),
        );
        lags.push({
          state: behind,
          label: `${label}; the cache does not show ${entry.object.kind} ${entry.object.metadata.name} as it is now`,
          broken: [],
        });
      }
    }
    return lags;
  }
  async function caughtUp(state: State): Promise<State> {
    let next = state;
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    for (const namespace of namespaces)
      next = await machine.act(`catch up ${namespace}`, next, (scene) => scene.setMark(namespace, 'behind', undefined));
    return next;
  }

  async function settle(from: State, then?: string[]): Promise<Rest> {
    const path: string[] = [];
    const way: State[] = [];
    const broken: Broken[] = [];
    let state = await caughtUp(from);
    let rest: Rest | undefined;
    for (let count = 0; rest === undefined; count += 1) {
      const at = state.slice(0, people).join();
      const known = then ? undefined : rests.get(at);
      if (known) rest = { ...known, broken: [...broken, ...known.broken] };
      else if (path.includes(at) || count > longestWay)
        rest = {
          state,
          broken: [
            ...broken,
            { property: 'rest is reached', message: `It goes round: ${(await onward(state)).join(', ')}.` },
          ],
        };
      else {
        path.push(at);
        way.push(state);
        // oxlint-disable-next-line no-await-in-loop -- one step after the other
        const next = await calmStep(state, broken, then);
        if (next) state = next;
        else rest = { state, broken };
      }
    }
    for (const at of path) rests.set(at, rest);
    const turns = turnsOfWriters([...way, rest.state], [...namespaces, BUILDS]);
    return turns.length > 0 ? { ...rest, broken: [...rest.broken, ...turns] } : rest;
  }
  /** One step towards rest; undefined at rest. */
  async function calmStep(state: State, broken: Broken[], then?: string[]): Promise<State | undefined> {
    for (const label of [...keysOf(state), ...calmOf(state)]) {
      // oxlint-disable-next-line no-await-in-loop -- one step after the other
      const [done] = await take(state, label);
      if (!done) continue;
      broken.push(...done.broken);
      if (done.state.every((place, index) => place === state[index])) continue;
      then?.push(label);
      return done.state;
    }
    return undefined;
  }
  async function onward(from: State): Promise<string[]> {
    const labels: string[] = [];
    let state = from;
    for (let count = 0; count < 12; count += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one step after the other
      const next = await calmStep(state, [], labels);
      if (!next) break;
      state = next;
    }
    return labels;
  }
  async function stillWrites(state: State): Promise<Broken[]> {
    const broken: Broken[] = [];
    for (const label of keysOf(state)) {
      const { controller, namespace, subject } = takings.get(label) as Taking;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { value } = await machine.pass(controller ?? 'records', `${namespace}/${subject}`, state);
      // An apply changes nothing where a webhook rewrites the object to what it is.
      const isRewritten = ask(
        `rewritten ${namespace}`,
        state,
        (scene) => scene.mark(namespace, 'webhook') === 'rewrites',
      );
      const wrote = value.said.filter(
        (words) =>
          !words.endsWith(')') &&
          !(isRewritten && words.startsWith('apply StatefulSet ')) &&
          cast?.writesAtRest?.(words) !== true,
      );
      if (wrote.length > 0) broken.push({ property: 'at rest nothing is written', message: wrote.join(', ') });
    }
    return broken;
  }
  async function judgeAt({ state, broken }: Rest, isMended = false): Promise<Broken[]> {
    const judged = namespaces.flatMap((namespace) =>
      cast
        ? ask(`rest ${isMended} ${namespace}`, state, (scene) => cast.judgeRest(scene, namespace, isMended))
        : ask(`rest ${namespace}`, state, (scene) => judgeRest(scene, namespace, settings)),
    );
    return [...broken, ...judged, ...(await stillWrites(state))];
  }
  /** What a new record of the same spec comes to. */
  async function freshPicture(record: AppDeployment): Promise<string> {
    const spec = `${record.metadata.namespace} ${JSON.stringify(record.spec)}`;
    const found = pictures.get(spec);
    if (found !== undefined) return found;
    const { namespace = '', name } = record.metadata;
    let state = await start();
    state = await machine.act(`fresh ${namespace}/${name} ${spec}`, state, (scene) => {
      const before = scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, name);
      if (before) scene.erase(APP_DEPLOYMENTS, before);
      const { rollbackTo: _rollback, ...plain } = record.spec;
      scene.put(
        APP_DEPLOYMENTS,
        { ...record, metadata: { namespace, name }, status: undefined, spec: plain } as unknown as KubeObject,
        'person',
      );
      void mend(scene, namespace);
    });
    const rest = await settle(state);
    const picture = ask(`picture ${namespace}`, rest.state, (scene) => pictureOf(scene, namespace));
    pictures.set(spec, picture);
    return picture;
  }
  /** What runs for each record that `which` selects is compared with what runs for a new one of its spec. */
  async function converges(
    state: State,
    property: string,
    which: (record: AppDeployment, scene: Scene) => boolean,
  ): Promise<Broken[]> {
    const broken: Broken[] = [];
    for (const namespace of cast ? [] : namespaces) {
      const [record, ...more] = ask(`records ${property} ${namespace}`, state, (scene) =>
        scene.all<AppDeployment>(APP_DEPLOYMENTS, namespace).filter((one) => which(one, scene)),
      );
      if (!record || more.length > 0 || record.metadata.deletionTimestamp !== undefined || canBuild(settings)) continue;
      if (hasLostData(record)) continue;
      const stuck = record.status?.conditions?.find(({ type, status }) => type === 'Stalled' && status === 'True');
      const picture = ask(`picture ${namespace}`, state, (scene) => pictureOf(scene, namespace));
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const fresh = await freshPicture(record);
      if (picture !== fresh)
        broken.push({
          property,
          message: differenceOf(picture, fresh, stuck?.message),
        });
    }
    return broken;
  }

  async function start(): Promise<State> {
    const empty: State = Array.from({ length: troubles + 1 }, () => 0);
    return machine.act('begin', empty, bound.begin);
  }
  async function firstState(): Promise<State> {
    let { state } = await settle(await start());
    for (const words of bound.history ?? []) {
      for (const namespace of where) eventsAt(namespace, state);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const [done] = await take(state, words);
      // oxlint-disable-next-line no-await-in-loop -- as above
      if (done) ({ state } = await settle(done.state));
    }
    return state;
  }

  /** Rest when as much time has passed as anything waits for. */
  async function muchLater(state: State): Promise<Rest> {
    return settle(await machine.act('a day passes', state, (scene) => scene.setMark('', LATER, 'a day')));
  }
  /** Whether a pass of a key of another namespace changes something. */
  async function goesOnBeside(namespace: string, state: State): Promise<boolean> {
    for (const other of namespaces) {
      for (const label of other === namespace ? [] : keysAt(other, state)) {
        const { controller, subject } = takings.get(label) as Taking;
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const { state: after } = await machine.pass(controller ?? 'records', `${other}/${subject}`, state);
        if (after.some((place, index) => place !== state[index])) return true;
      }
    }
    return false;
  }
  /** Of Stalled records, of which Davit has seen all there is, those that went on all the same: nobody has acted until `then`. */
  async function wronglyStalled(state: State, then: State): Promise<Broken[]> {
    const broken: Broken[] = [];
    for (const namespace of namespaces) {
      const stalled = (at: State): readonly string[] =>
        ask(`stalled ${namespace}`, at, (scene) => namesWhere(scene, namespace, 'Stalled'));
      for (const name of stalled(state)) {
        const isThere = ask(
          `there ${namespace}/${name}`,
          then,
          (scene) => scene.get(APP_DEPLOYMENTS, namespace, name) !== undefined,
        );
        if (
          isThere &&
          !ask(`ready ${namespace}`, then, (scene) => namesWhere(scene, namespace, 'Ready')).includes(name)
        )
          continue;
        // What another namespace has yet to do, such as to release a host, one pass of this record does not see.
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        if (await goesOnBeside(namespace, state)) continue;
        // oxlint-disable-next-line no-await-in-loop -- as above
        const { state: after } = await machine.pass('records', `${namespace}/${name}`, state);
        if (stalled(after).includes(name))
          broken.push({
            property: 'what is Stalled does not go on automatically',
            message: `${namespace}/${name} is Stalled, and is ${isThere ? 'Ready' : 'gone'} later, though nobody acts.`,
          });
      }
    }
    return broken;
  }

  async function mended(state: State): Promise<State> {
    let next = state;
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    for (const namespace of namespaces)
      next = await machine.act(`mend ${namespace}`, next, (scene) => (cast?.mend ?? mend)(scene, namespace));
    return next;
  }

  const world: World = {
    first: await firstState(),
    enabled(state) {
      const all = where.flatMap((namespace) => eventsAt(namespace, state));
      const behind = namespaces.some(
        (namespace) => ask(`behind ${namespace}`, state, (scene) => scene.mark(namespace, 'behind')) !== undefined,
      );
      return [
        ...keysOf(state),
        ...all.filter((label) => !isSpent(costOf(takings.get(label)?.event), state)),
        ...(behind ? [CATCH_UP] : []),
      ];
    },
    async step(state, label) {
      if (label === CATCH_UP) return [{ state: await caughtUp(state), label, broken: [] }];
      const taking = takings.get(label) as Taking;
      const done = await take(spent(state, costOf(taking.event)), label);
      if (bound.lags !== true || !taking.event) return done;
      const lags = await Promise.all(done.map((one) => withLag(state, one, taking.namespace)));
      return [...done, ...lags.flat()];
    },
    async expand(state, take) {
      // What a lag does is not part of a step, and so not of its outcome.
      if (bound.lags === true) {
        for (const label of world.enabled(state)) for (const step of await world.step(state, label)) take(step);
        return;
      }
      for (let group = 0; group <= namespaces.length; group += 1) {
        const found = components.steps(group, state);
        const steps = found instanceof Promise ? await found : found;
        const labels =
          steps ??
          groups
            .labels(group, state)
            .map((label) => ({ label, cost: costOf(takings.get(label)?.event), changes: undefined, broken: [] }));
        for (const { label, cost, changes, broken } of labels) {
          if (cost !== 'nothing' && isSpent(cost, state)) continue;
          if (changes === undefined) for (const step of await world.step(state, label)) take(step);
          else {
            const next = spent(state, cost) as number[];
            for (const [place, content] of changes) next[place] = content;
            take({ state: next, label, broken });
          }
        }
      }
    },
    async judge(state) {
      const rest = (bound.lags === true ? undefined : await components.rest(state)) ?? (await settle(state));
      const at = rest.state.slice(0, people).join();
      // Of this way alone, and not of where it ends.
      const turns = rest.broken.filter(({ property }) => property === NO_TURNS);
      // Where several act, one pass of a record does not see what the others have yet to do.
      if (bound.lags !== true && !cast) turns.push(...(await wronglyStalled(state, rest.state)));
      if (judgedRests.has(at)) return turns.length > 0 ? [{ broken: turns, afterwards: [] }] : [];
      judgedRests.add(at);
      const later = await muchLater(rest.state);
      const broken = [
        ...(await judgeAt(rest)),
        ...(await converges(rest.state, READY_IS_NEW, isReadyAsMade)),
        ...(await judgeAt(later)),
        ...(await wronglyStalled(rest.state, later.state)),
      ];
      const words = async (from: State): Promise<string[]> => {
        const then: string[] = [];
        await settle(from, then);
        return then;
      };
      broken.push(...turns.filter(({ property }) => property !== NO_TURNS));
      const judged: Judged[] = broken.length > 0 ? [{ broken, afterwards: await words(state) }] : [];
      let after = rest;
      // What one mending brings to light may need another.
      for (let times = 0; times < 2; times += 1) after = await settle(await mended(after.state));
      const missed = [...(await judgeAt(after, true)), ...(await converges(after.state, MENDED_IS_NEW, () => true))];
      const known = new Set(broken.map(({ message }) => message));
      const still = missed.filter(({ message }) => !known.has(message));
      if (still.length > 0)
        judged.push({ broken: still, afterwards: [...(await words(state)), 'the world is mended, twice'] });
      return judged;
    },
    show: (state) =>
      [...namespaces, '', BUILDS]
        .flatMap((namespace) =>
          machine.ask(`show ${namespace}`, state, (scene) =>
            scene.inside(namespace).map(({ object }) => JSON.stringify(object)),
          ),
        )
        .join('\n'),
    counts: () => ({ ...machine.counts(), ...registry.sizes(), rests: judgedRests.size }),
  };
  return world;
}

function differenceOf(a: string, b: string, stuck = ''): string {
  const [ours, fresh] = [new Set(a.split('\n')), new Set(b.split('\n'))];
  const name = (line: string): string => line.split(' ', 2).join(' ');
  const more = [...ours].filter((line) => !fresh.has(line));
  const less = [...fresh].filter((line) => !ours.has(line));
  const at = more[0] === undefined || less[0] === undefined ? '' : ` ${firstDifference(more[0], less[0])}`;
  return `It differs in ${more.map(name).join(', ') || 'nothing more'}; a new one has ${less.map(name).join(', ') || 'nothing more'}.${at} ${stuck}`;
}
function firstDifference(a: string, b: string): string {
  let at = 0;
  while (a[at] === b[at] && at < a.length) at += 1;
  return `${a.slice(Math.max(0, at - 40), at + 60)} | ${b.slice(Math.max(0, at - 40), at + 60)}`;
}
