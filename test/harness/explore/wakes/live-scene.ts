// A scene over a server in memory that lives on: its objects change in place, and their watches tell of it.

import { LISTENERS } from '../../../../src/kinds/listener.ts';
import { LEASES } from '../../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../../src/runtime/kube/client.ts';
import {
  type FakeKube,
  makeFakeKube,
  makeObjectStore,
  type ObjectStore,
  type Stored,
} from '../../../support/fake-kube/fake-kube.ts';
import type { JsonObject } from '../../../support/fake-kube/field-sets.ts';
import type { Bound } from '../bound.ts';
import { RESOURCES } from '../passes.ts';
import { MARKS, type Scene, sceneOver } from '../scene.ts';
import { idOf } from '../working-copy.ts';

/** They change although nothing happens. */
const BEATING: ReadonlySet<unknown> = new Set([LEASES, LISTENERS, MARKS]);

export interface LiveScene {
  readonly scene: Scene;
  readonly kube: FakeKube;
  /** What there is now, whatever happens afterwards. */
  snapshot(): Scene;
  /** Other than before if anything has changed but a Lease or a Listener, whose status has the time of a heartbeat. */
  version(): string;
}

export function openLiveScene(bound: Bound, clock: { readonly ms: number }): LiveScene {
  const store = makeObjectStore();
  let secrets = 0;
  const kube: FakeKube = makeFakeKube({
    now: () => clock.ms,
    store,
    admit(resource, object, before) {
      // Passwords are those of their creation, and not of their name.
      const data = object['data'] as JsonObject | undefined;
      const isPassword = resource.kind === 'Secret' && /--(postgres|redis|-pg\d+)$/.test(nameIn(object));
      if (!isPassword) bound.admission?.admit?.(resource, object, before, scene);
      else if (before === undefined)
        for (const key of Object.keys(data ?? {}))
          (data as JsonObject)[key] = Buffer.from(`password ${(secrets += 1)} of ${nameIn(object)}`).toString('base64');
    },
  });
  const scene = over(kube, store);
  const version = (): string => {
    const of = [...store.values()].filter(({ resource }) => !BEATING.has(resource));
    return `${of.length} ${Math.max(...of.map(({ object }) => Number(object.metadata.resourceVersion)))}`;
  };
  return { scene, kube, version, snapshot: () => over(kube, copyOf(store)) };
}

const nameIn = (object: JsonObject): string => (object as unknown as KubeObject).metadata.name;

function copyOf(store: ObjectStore): ObjectStore {
  return makeObjectStore(new Map([...store.values()].map((one) => [idOf(one.resource, one.object.metadata), one])));
}

function over(kube: FakeKube, store: ObjectStore): Scene {
  const backups: (readonly Stored[])[] = [];
  const inside = (namespace: string): readonly Stored[] => RESOURCES.flatMap((one) => [...store.of(one, namespace)]);
  const backedUp = (namespace: string): readonly Stored[] =>
    inside(namespace).filter(({ resource }) => resource !== MARKS);
  return {
    ...sceneOver(kube, store),
    inside,
    backUp: (namespace) => String(backups.push(backedUp(namespace)) - 1),
    // As of an etcd: resourceVersions and generations are those of then, and no watch tells of it.
    restore(namespace, backup) {
      for (const { resource, object } of backedUp(namespace)) store.delete(idOf(resource, object.metadata));
      for (const one of backups[Number(backup)] ?? []) store.set(idOf(one.resource, one.object.metadata), one);
    },
    cached: (resource, namespace): readonly KubeObject[] => [...store.of(resource, namespace)].map((one) => one.object),
  };
}
