// The steps that a state of a bound allows, and what each of them leads to.

import { canBuild } from '../../../src/deploy/record/build-source.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../../src/kinds/datastore-operation.ts';
import { JOBS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import type { Bound, Step } from './bound.ts';
import { BUILDS } from './build-events.ts';
import { type Event, wordsOf } from './event.ts';
import type { Cost } from './groups.ts';
import type { Machine } from './machine.ts';
import type { Controllers } from './pass-seen.ts';
import type { Scene } from './scene.ts';
import type { Registry, State } from './world.ts';

/** What all parts of a world share. */
export interface Ground {
  readonly bound: Bound;
  readonly registry: Registry;
  readonly machine: Machine;
}

/** What a label stands for: an event, or a pass of a controller. */
export interface Taking {
  readonly event?: Event;
  readonly namespace: string;
  readonly subject: string;
  readonly controller?: Controllers;
}

/** In labels, in the order in which they are tried. */
export interface Steps {
  /** Keys that the controllers' queues may hold for one namespace. */
  keysAt(namespace: string, state: State): readonly string[];
  /** Events of one namespace that happen automatically. */
  calmAt(namespace: string, state: State): readonly string[];
  eventsAt(namespace: string, state: State): readonly string[];
  /** Keys that belong to no tenant. */
  readonly organization: readonly string[];
  keys(state: State): readonly string[];
  calm(state: State): readonly string[];
  events(state: State): readonly string[];
  /** Throws for a label that no state has allowed yet. */
  takingOf(label: string): Taking;
  costOf(label: string): Cost;
  take(state: State, label: string): Promise<readonly Step[]>;
}

/** Namespaces in which something happens: those of tenants, and that of the builds. */
export function placesOf({ settings, namespaces }: Bound): readonly string[] {
  return [...namespaces, ...(canBuild(settings) ? [BUILDS] : [])];
}

export function makeSteps({ bound, machine }: Ground): Steps {
  const { namespaces } = bound;
  const takings = new Map<string, Taking>();
  const remember = (words: string, taking: Taking): string => {
    if (!takings.has(words)) takings.set(words, taking);
    return words;
  };
  const pass = (controller: Controllers, namespace: string, subject: string): string =>
    remember(`Davit reconciles ${controller} ${namespace}/${subject}`, { controller, namespace, subject });
  const happenings = (scene: Scene, namespace: string, which: (event: Event) => boolean): string[] =>
    bound.events
      .filter(which)
      .flatMap((event) =>
        event
          .subjects(scene, namespace)
          .map((subject) => remember(wordsOf(event, namespace, subject), { event, namespace, subject })),
      );
  const organization = canBuild(bound.settings) ? [pass('organization', 'CodeHostIntegration', 'git')] : [];

  const steps: Steps = {
    keysAt: (namespace, state) =>
      machine.ask(`keys ${namespace}`, state, (scene) =>
        keysIn(bound, scene, namespace).map(([controller, subject]) => pass(controller, namespace, subject)),
      ),
    calmAt: (namespace, state) =>
      machine.ask(`calm ${namespace}`, state, (scene) => happenings(scene, namespace, ({ calm }) => calm === true)),
    eventsAt: (namespace, state) =>
      machine.ask(`all ${namespace}`, state, (scene) => happenings(scene, namespace, () => true)),
    organization,
    keys: (state) => [...organization, ...namespaces.flatMap((namespace) => steps.keysAt(namespace, state))],
    calm: (state) => placesOf(bound).flatMap((namespace) => steps.calmAt(namespace, state)),
    events: (state) => placesOf(bound).flatMap((namespace) => steps.eventsAt(namespace, state)),
    takingOf(label) {
      const taking = takings.get(label);
      if (!taking) throw new Error(`nothing is called: ${label}`);
      return taking;
    },
    costOf: (label) => costOf(takings.get(label)?.event),
    async take(state, label) {
      const { event, namespace, subject, controller } = steps.takingOf(label);
      if (controller) return reconciled(machine, state, label, controller, `${namespace}/${subject}`);
      if (!event) return [];
      const next = await machine.act(label, state, (scene) => event.happen(scene, namespace, subject));
      return [{ state: next, label, broken: [], isAct: costOf(event) !== 'nothing' }];
    },
  };
  return steps;
}

function costOf(event: Event | undefined): Cost {
  if (event?.by === 'people') return 'people';
  return event !== undefined && event.calm !== true ? 'trouble' : 'nothing';
}

function keysIn(
  { cast, settings }: Bound,
  scene: Scene,
  namespace: string,
): readonly (readonly [controller: Controllers, subject: string])[] {
  if (cast) return cast.keys(scene, namespace);
  const records = scene
    .all<AppDeployment>(APP_DEPLOYMENTS, namespace)
    .map(({ metadata }) => ['records', metadata.name] as const);
  const operations = scene
    .all<DatastoreOperation>(DATASTORE_OPERATIONS, namespace)
    .map(({ metadata }) => ['operations', metadata.name] as const);
  if (!canBuild(settings)) return [...records, ...operations];
  const revisions = scene
    .all<AppRevision>(APP_REVISIONS, namespace)
    .filter(({ spec }) => spec.requested.sourceRevisionConfig.imageUri === undefined);
  const jobs = scene
    .all<KubeObject>(JOBS, BUILDS)
    .filter(({ metadata }) => metadata.labels?.['davit.dev/build-tenant'] === namespace)
    .map(({ metadata }) => metadata.labels?.['davit.dev/build'] ?? '');
  const ids = new Set([...revisions.map(({ spec }) => spec.id.toLowerCase()), ...jobs]);
  return [...records, ...[...ids].map((id) => ['builds', id] as const)];
}

/** A pass that comes to its end, and those in which the controller crashes after one of its writes. */
async function reconciled(
  machine: Machine,
  before: State,
  label: string,
  controller: Controllers,
  key: string,
): Promise<readonly Step[]> {
  const { state, value, between } = await machine.pass(controller, key, before);
  const written = value.said.filter((words) => !words.endsWith(')'));
  const crashes = between.map((after, index) => ({
    state: after,
    label: `${label}, and crashes after ${index + 1} writes, the last of them ${written[index]}`,
    broken: [],
    isAct: false,
  }));
  return [{ state, label, broken: value.broken, isAct: false }, ...crashes];
}
