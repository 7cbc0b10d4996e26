// What people do on a hub to a deployment that a listener's cluster runs, phase by phase.

import type { ApiClient, ApiObject } from '../../cluster/api-client.ts';
import { ApiError, pause } from '../../cluster/api-client.ts';
import { OWN, VALUES } from './listener-invariants.ts';
import type { ListenerWorkload } from './listener-plans.ts';
import type { Seen, Sighting } from './object-history.ts';
import { IMAGES, RECORD } from './workloads/stage.ts';

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

const MERGE = 'application/merge-patch+json';
const LISTENER = 'edge';
/** API servers remember that a token is good. */
export const TOKEN_REMEMBERED_MS = 15_000;

export async function performListener(workload: ListenerWorkload, stage: ListenerStage): Promise<void> {
  const { api, tenant, place, until } = stage;
  const davit = `/apis/davit.dev/v1alpha1/namespaces/${tenant}`;
  const records = `${davit}/appdeployments`;
  let asked: Seen | undefined;

  const find = (on: readonly Sighting[], kind: string, name: string): Seen | undefined =>
    on.find((one) => one.kind === kind && one.object.metadata.name === name)?.object;
  const record = (): Seen | undefined => find(stage.onHub(), 'AppDeployment', RECORD);
  const listenerNow = (): Seen | undefined => find(stage.onHub(), 'Listener', LISTENER);
  const has = (object: Seen | undefined, type: string, status: string, reason?: string): boolean =>
    ((object?.status?.conditions ?? []) as { type: string; status: string; reason: string }[]).some(
      (one) => one.type === type && one.status === status && (reason === undefined || one.reason === reason),
    );
  const untilReady = (what: string): Promise<void> =>
    until(`${what}: Ready at the newest generation`, () => {
      const found = record();
      return (
        found?.metadata.uid === asked?.metadata.uid &&
        found?.status?.observedGeneration === asked?.metadata.generation &&
        has(found, 'Ready', 'True')
      );
    });

  async function enrol(): Promise<ApiObject> {
    stage.enter('enrol');
    const listener = await api.call<ApiObject>('POST', `${davit}/listeners`, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'Listener',
      metadata: { name: LISTENER },
      spec: { namespaces: [place] },
    });
    const hubNamespace = `davit-lsn-${listener.metadata.uid?.slice(0, 8)}`;
    const isThere = async (path: string): Promise<boolean> => {
      try {
        await api.call('GET', path);
        return true;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return false;
        throw error;
      }
    };
    const wanted = [
      `/apis/coordination.k8s.io/v1/namespaces/${hubNamespace}/leases/davit-listener`,
      `/api/v1/namespaces/${hubNamespace}/serviceaccounts/davit-listener`,
    ];
    const end = performance.now() + 30_000;
    for (const path of wanted) {
      // oxlint-disable-next-line no-await-in-loop -- it needs time
      while (!(await isThere(path)) && performance.now() < end) await pause(50);
    }
    await until('enrol: the Listener names its namespace', () => listenerNow()?.status?.namespace === hubNamespace);
    await stage.enrol(listener, hubNamespace);
    await stage.remote.call('POST', `/apis/davit.dev/v1alpha1/namespaces/${place}/appdeployments`, {
      ...aRecord(OWN),
      metadata: { name: OWN, annotations: { 'davit.dev/paused': 'true' } },
    });
    await until('enrol: connected', () => has(listenerNow(), 'Connected', 'True'));
    // oxlint-disable-next-line no-await-in-loop -- three of them
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
  async function post(listener: ApiObject, imageUri: string = IMAGES[0]): Promise<void> {
    asked = await api.call<Seen>('POST', records, {
      ...aRecord(RECORD, imageUri),
      spec: {
        ...aRecord(RECORD, imageUri).spec,
        sourceConfig: { listenerId: listener.metadata.uid, listenerConfig: { k8sNamespace: place } },
        secrets: [{ name: 'KEY', secretName: 'values-1', secretKey: 'key' }],
        secretReferences: [{ name: 'OWN', secretName: OWN, secretKey: 'key' }],
      },
    });
  }
  async function change(spec: object): Promise<void> {
    asked = await api.call<Seen>('PATCH', `${records}/${RECORD}`, { spec }, MERGE);
  }
  async function remove(): Promise<void> {
    stage.deleted(asked?.metadata.uid ?? '');
    await api.call('DELETE', `${records}/${RECORD}`);
  }
  const toImage = (image: string): object => ({ sourceRevisionConfig: { imageUri: image } });
  const copies = (): readonly Seen[] =>
    stage
      .onRemote()
      .filter(({ kind, object }) => kind === 'AppDeployment' && object.metadata.name === RECORD)
      .map(({ object }) => object);
  const works = (): readonly Sighting[] => stage.onHub().filter(({ kind }) => kind === 'ListenerWork');

  const listener = await enrol();
  if (workload === 'listener-taken') {
    await stage.remote.call('POST', `/apis/davit.dev/v1alpha1/namespaces/${place}/appdeployments`, {
      ...aRecord(RECORD),
      metadata: { name: RECORD, annotations: { 'davit.dev/paused': 'true', 'test/foreign': 'true' } },
    });
    stage.enter('create');
    await post(listener);
    return until('create: NameConflict', () => has(record(), 'Stalled', 'True', 'NameConflict'));
  }
  stage.enter('create');
  await post(listener);
  await untilReady('create');
  await stage.ended('create');

  switch (workload) {
    case 'listener-life': {
      stage.enter('change');
      await change({ ...toImage(IMAGES[1]), secrets: [{ name: 'KEY', secretName: 'values-2', secretKey: 'key' }] });
      await untilReady('change');
      await stage.ended('change');
      stage.enter('delete');
      await remove();
      await until('delete: gone on both sides', () => record() === undefined && copies().length === 0);
      await until('delete: its work is gone', () => works().length === 0);
      await stage.ended('delete');
      stage.enter('remade');
      await post(listener, IMAGES[1]);
      await untilReady('remade');
      return stage.ended('remade');
    }
    case 'listener-cut': {
      stage.enter('cut');
      const mend = stage.cut();
      await change(toImage(IMAGES[1]));
      await until('cut: UNKNOWN', () => record()?.status?.state === 'UNKNOWN');
      await until('cut: ListenerSilent', () => has(record(), 'Ready', 'Unknown', 'ListenerSilent'));
      // Longer than the deadline, so that what is said after it counts.
      await pause(6000);
      mend();
      await untilReady('healed');
      return stage.ended('healed');
    }
    case 'listener-away': {
      await stage.leave();
      stage.enter('away');
      const { uid = '' } = asked?.metadata ?? {};
      await remove();
      await until('away: AWAITING_DELETE', () => record()?.status?.state === 'AWAITING_DELETE');
      await pause(1000);
      stage.abandoned(uid);
      const annotations = { 'davit.dev/abandon-remote': uid };
      await api.call('PATCH', `${records}/${RECORD}`, { metadata: { annotations } }, MERGE);
      await until('away: the name is free', () => record() === undefined);
      await post(listener, IMAGES[1]);
      await pause(1000);
      await stage.comeBack();
      await untilReady('away');
      await until('away: the tombstone is gone', () => works().length === 1);
      return stage.ended('away');
    }
    case 'listener-clone': {
      stage.enter('clone');
      const end = await stage.clone(listener);
      await until('clone: reported', () => has(listenerNow(), 'Connected', 'False', 'AnotherCluster'));
      await change(toImage(IMAGES[1]));
      await pause(2000);
      await end();
      await until('clone: connected again', () => has(listenerNow(), 'Connected', 'True'));
      await untilReady('clone');
      return stage.ended('clone');
    }
    case 'listener-revoked': {
      stage.enter('revoked');
      await stage.revoke();
      await until('revoked: silent', () => has(listenerNow(), 'Connected', 'False', 'Silent'));
      await until('revoked: UNKNOWN', () => record()?.status?.state === 'UNKNOWN');
      await change(toImage(IMAGES[1]));
      // Longer than API servers remember a token; a Secret of the same name must not revive it.
      await pause(TOKEN_REMEMBERED_MS);
      await stage.join();
      await pause(5000);
      return;
    }
    case 'listener-restored': {
      stage.enter('restored');
      await stage.restoreAfter(async () => {
        await change(toImage(IMAGES[1]));
        await untilReady('before the restore');
      });
      await until('restored: HubChanged', () => has(record(), 'Stalled', 'True', 'HubChanged'));
      return;
    }
    default:
      workload satisfies never;
  }
}

function aRecord(
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
