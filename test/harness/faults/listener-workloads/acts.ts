// What the workloads of listeners do on the hub, and what they look for on both sides.

import type { ApiClient, ApiObject } from '../../../cluster/api-client.ts';
import { ApiError, pause } from '../../../cluster/api-client.ts';
import { OWN, VALUES } from '../listener-invariants.ts';
import type { Seen, Sighting } from '../object-history.ts';
import { IMAGES, MERGE, RECORD } from '../workloads/stage.ts';

export interface ListenerStage {
  /** Of the hub, and of the listener's cluster. */
  readonly api: ApiClient;
  readonly remote: ApiClient;
  readonly tenant: string;
  readonly place: string;
  hubNamespace(): string;
  /** What there is now. */
  onHub(): readonly Sighting[];
  onRemote(): readonly Sighting[];
  until(what: string, holds: () => boolean): Promise<void>;
  enter(phase: string): void;
  /** What there is now is judged. */
  ended(phase: string): Promise<void>;
  deleted(uid: string): void;
  abandoned(uid: string): void;
  /** Prepares the listener's cluster and starts the agent. */
  enrol(listener: ApiObject, hubNamespace: string): Promise<void>;
  /** Ends the agent, and starts it again. */
  leave(): Promise<void>;
  comeBack(): Promise<void>;
  /** Starts an agent of another cluster with the credentials of this one; the answer ends it. */
  clone(listener: ApiObject): Promise<() => Promise<void>>;
  /** Cuts the agent's link to the hub; the answer mends it. */
  cut(): () => void;
  /** Creates what the agent's tokens are bound to, as `kubectl davit listener join` does. */
  join(): Promise<void>;
  /** Deletes that. */
  revoke(): Promise<void>;
  /** Puts the hub's etcd back to where it was before `change`. */
  restoreAfter(change: () => Promise<void>): Promise<void>;
}

export interface ListenerActs {
  readonly stage: ListenerStage;
  readonly listener: ApiObject;
  post(imageUri?: string): Promise<void>;
  /** Merges into the record's spec. */
  change(spec: object): Promise<void>;
  annotate(annotations: Readonly<Record<string, string>>): Promise<void>;
  remove(): Promise<void>;
  /** The record as it was answered last. */
  asked(): Seen | undefined;
  untilReady(what: string): Promise<void>;
}

const LISTENER = 'edge';

export function makeListenerActs(stage: ListenerStage, listener: ApiObject): ListenerActs {
  const { api, tenant, place, until } = stage;
  const records = `${davitIn(tenant)}/appdeployments`;
  let asked: Seen | undefined;
  return {
    stage,
    listener,
    async post(imageUri = IMAGES[0]) {
      asked = await api.call<Seen>('POST', records, {
        ...aRecord(RECORD, imageUri),
        spec: {
          ...aRecord(RECORD, imageUri).spec,
          databaseDeletionPolicy: 'Delete',
          sourceConfig: { listenerId: listener.metadata.uid, listenerConfig: { k8sNamespace: place } },
          secrets: [{ name: 'KEY', secretName: 'values-1', secretKey: 'key' }],
          secretReferences: [{ name: 'OWN', secretName: OWN, secretKey: 'key' }],
        },
      });
    },
    async change(spec) {
      asked = await api.call<Seen>('PATCH', `${records}/${RECORD}`, { spec }, MERGE);
    },
    async annotate(annotations) {
      await api.call('PATCH', `${records}/${RECORD}`, { metadata: { annotations } }, MERGE);
    },
    async remove() {
      stage.deleted(asked?.metadata.uid ?? '');
      await api.call('DELETE', `${records}/${RECORD}`);
    },
    asked: () => asked,
    untilReady: (what) =>
      until(`${what}: Ready at the newest generation`, () => {
        const found = record(stage);
        return (
          found?.metadata.uid === asked?.metadata.uid &&
          found?.status?.observedGeneration === asked?.metadata.generation &&
          has(found, 'Ready', 'True')
        );
      }),
  };
}

/** The path of Davit's kinds in a namespace. */
export function davitIn(namespace: string): string {
  return `/apis/davit.dev/v1alpha1/namespaces/${namespace}`;
}

function find(on: readonly Sighting[], kind: string, name: string): Seen | undefined {
  return on.find((one) => one.kind === kind && one.object.metadata.name === name)?.object;
}

export function record(stage: ListenerStage): Seen | undefined {
  return find(stage.onHub(), 'AppDeployment', RECORD);
}

export function listenerNow(stage: ListenerStage): Seen | undefined {
  return find(stage.onHub(), 'Listener', LISTENER);
}

/** A condition. */
export function has(object: Seen | undefined, type: string, status: string, reason?: string): boolean {
  return ((object?.status?.conditions ?? []) as { type: string; status: string; reason: string }[]).some(
    (one) => one.type === type && one.status === status && (reason === undefined || one.reason === reason),
  );
}

/** Of the record, in the listener's cluster. */
export function copies(stage: ListenerStage): readonly Seen[] {
  return stage
    .onRemote()
    .filter(({ kind, object }) => kind === 'AppDeployment' && object.metadata.name === RECORD)
    .map(({ object }) => object);
}

export function works(stage: ListenerStage): readonly Sighting[] {
  return stage.onHub().filter(({ kind }) => kind === 'ListenerWork');
}

/** Makes the Listener, joins its cluster and waits until it is connected; with the Secrets that the record names. */
export async function enrol(stage: ListenerStage): Promise<ApiObject> {
  const { api, tenant, place, until } = stage;
  stage.enter('enrol');
  const listener = await api.call<ApiObject>('POST', `${davitIn(tenant)}/listeners`, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: LISTENER },
    spec: { namespaces: [place] },
  });
  const hubNamespace = `davit-lsn-${listener.metadata.uid?.slice(0, 8)}`;
  const wanted = [
    `/apis/coordination.k8s.io/v1/namespaces/${hubNamespace}/leases/davit-listener`,
    `/api/v1/namespaces/${hubNamespace}/serviceaccounts/davit-listener`,
  ];
  const end = performance.now() + 30_000;
  for (const path of wanted) {
    while (!(await isThere(api, path)) && performance.now() < end) await pause(50);
  }
  await until('enrol: the Listener names its namespace', () => listenerNow(stage)?.status?.namespace === hubNamespace);
  await stage.enrol(listener, hubNamespace);
  await stage.remote.call('POST', `${davitIn(place)}/appdeployments`, {
    ...aRecord(OWN),
    metadata: { name: OWN, annotations: { 'davit.dev/paused': 'true' } },
  });
  await until('enrol: connected', () => has(listenerNow(stage), 'Connected', 'True'));
  for (const [name, value] of [
    ['values-1', VALUES.first],
    ['values-2', VALUES.second],
    [OWN, VALUES.hubOwn],
  ] as const)
    await api.call('POST', `/api/v1/namespaces/${tenant}/secrets`, {
      metadata: { name },
      stringData: { key: value },
    });
  return listener;
}

async function isThere(api: ApiClient, path: string): Promise<boolean> {
  try {
    await api.call('GET', path);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

export function aRecord(
  name: string,
  imageUri: string = IMAGES[0],
): { readonly metadata: object; readonly spec: object } & object {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name },
    spec: { source: 'external_docker', sourceRevisionConfig: { imageUri } },
  } as { readonly metadata: object; readonly spec: object };
}
