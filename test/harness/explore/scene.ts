// One step of the world on the in-memory API server, over a working copy of a state.

import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import { type FakeKube, makeFakeKube, type ObjectStore } from '../../support/fake-kube/fake-kube.ts';
import type { JsonObject } from '../../support/fake-kube/field-sets.ts';
import { idOf, makeWorkingCopy, type Trace, type WorkingCopy } from './working-copy.ts';
import type { Column, Registry, State } from './world.ts';

/** The time of all states. */
export const NOW = Date.parse('2026-02-02T02:02:02Z');

/** The mark of a state in which everything automatic has happened, a day later. */
export const LATER = 'later';
export const timeOf = (scene: Scene): number => (scene.mark('', LATER) === undefined ? NOW : NOW + 86_400_000);

/** The mark of a record that was deleted while its data was to be retained. */
export const retainedMark = (record: string): string => `retained ${record}`;

/** Facts of the world that are no objects of Kubernetes: a full quota, the head of a branch, where data lives. */
export const MARKS: Resource = {
  group: 'explore',
  version: 'v1',
  kind: 'Mark',
  plural: 'marks',
  namespaced: true,
};
export interface Mark extends KubeObject {
  readonly value: string;
}

export interface Scene {
  readonly kube: FakeKube;
  get<T extends KubeObject>(resource: Resource, namespace: string, name: string): T | undefined;
  all<T extends KubeObject>(resource: Resource, namespace: string): readonly T[];
  everywhere<T extends KubeObject>(resource: Resource): readonly T[];
  /** Everything in a namespace. */
  inside(namespace: string): readonly { readonly resource: Resource; readonly object: KubeObject }[];
  /** Writes the object as it is, as if by its controller. */
  put(resource: Resource, object: KubeObject, manager?: string): void;
  /** Changes fields of the object, as its controller does. Undefined takes a field away. */
  change(resource: Resource, object: KubeObject, fields: object): void;
  erase(resource: Resource, object: KubeObject): void;
  mark(namespace: string, name: string): string | undefined;
  setMark(namespace: string, name: string, value: string | undefined): void;
  /** A word for all that a namespace holds now, marks excepted, and its way back. */
  backUp(namespace: string): string;
  restore(namespace: string, backup: string): void;
  /** The watch cache's version of a group. */
  cached(resource: Resource, namespace: string): readonly KubeObject[];
}

let version = 1000;

export interface Admission {
  readonly admit?: (resource: Resource, object: JsonObject, before: KubeObject | undefined, scene: Scene) => void;
}

export function openScene(
  registry: Registry,
  before: State,
  { admit }: Admission = {},
  stepwise = false,
): { readonly scene: Scene; close(): Trace } {
  const copy = makeWorkingCopy(registry, before);
  const kube = makeFakeKube({
    now: () => NOW,
    version,
    store: copy.store,
    uidOf: copy.uidOf,
    ...(admit && { admit: (resource, object, existing) => admit(resource, object, existing, scene) }),
  });
  if (stepwise)
    kube.failAfter(({ dryRun }) => {
      if (dryRun !== true) copy.noteBetween();
      return undefined;
    });
  const scene = sceneOf(kube, copy, registry);
  return {
    scene,
    close() {
      version = Number(kube.resourceVersion());
      return copy.trace();
    },
  };
}

function sceneOf(kube: FakeKube, copy: WorkingCopy, registry: Registry): Scene {
  const { store, objectsIn, numbersOf, bringBack } = copy;
  const backedUp = (namespace: string): readonly Column[] =>
    registry.columnsIn(namespace).filter(({ resource }) => resource.kind !== MARKS.kind);
  return {
    ...sceneOver(kube, store),
    inside: (namespace) => registry.columnsIn(namespace).flatMap(objectsIn),
    backUp: (namespace) => JSON.stringify(numbersOf(backedUp(namespace))),
    restore: (namespace, backup) => bringBack(backedUp(namespace), JSON.parse(backup) as readonly number[]),
    cached(resource, namespace) {
      const behind = this.mark(namespace, 'behind')?.split(' ');
      const objects = new Map(this.all(resource, namespace).map((one) => [idOf(resource, one.metadata), one]));
      if (behind && `${resource.group}/${resource.plural}` === behind[0]?.split('/').slice(0, 2).join('/')) {
        const old = registry.entry(Number(behind[1]));
        if ('object' in old) objects.set(behind[0] ?? '', old.object);
        else objects.delete(behind[0] ?? '');
      }
      return [...objects.values()];
    },
  };
}

/** What a scene says of a server in memory whose objects are in this store, and does there. */
export function sceneOver(kube: FakeKube, store: ObjectStore): Omit<Scene, 'inside' | 'backUp' | 'restore' | 'cached'> {
  return {
    kube,
    get: (resource, namespace, name) => store.get(idOf(resource, { namespace, name }))?.object as never,
    all: (resource, namespace) => [...store.of(resource, namespace)].map(({ object }) => object) as never,
    everywhere: (resource) => [...store.of(resource)].map(({ object }) => object) as never,
    put: (resource, object, manager = 'cluster') => void kube.seed(resource, object, manager),
    change(resource, object, fields) {
      const {
        resourceVersion: _version,
        generation: _generation,
        managedFields: _fields,
        ...metadata
      } = object.metadata;
      kube.seed(resource, merged({ ...object, metadata }, fields) as KubeObject, 'cluster');
    },
    erase: (resource, { metadata: { namespace, name } }) =>
      kube.erase(resource, { ...(namespace !== undefined && { namespace }), name }),
    mark: (namespace, name) => (store.get(idOf(MARKS, { namespace, name }))?.object as Mark | undefined)?.value,
    setMark(namespace, name, value) {
      const ref = { namespace, name };
      if (value !== undefined) kube.seed<Mark>(MARKS, { apiVersion: 'explore/v1', kind: 'Mark', metadata: ref, value });
      else if (store.has(idOf(MARKS, ref))) kube.erase(MARKS, ref);
    },
  };
}

/** As by a merge patch: undefined and null take a field away. */
export function merged(value: unknown, fields: unknown): unknown {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return fields;
  const into = { ...(typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}) } as Record<
    string,
    unknown
  >;
  for (const [name, part] of Object.entries(fields)) {
    if (part === undefined || part === null) delete into[name];
    else into[name] = merged(into[name], part);
  }
  return into;
}
