// Records that come and go, beside others of their name or of none.

import { ApiError, pause } from '../../../cluster/api-client.ts';
import { standInNode } from '../../../cluster/stand-in.ts';
import { isNamespaceGone, removeNamespace } from '../namespace-deletion.ts';
import type { Acts } from './acts.ts';
import {
  hasCondition,
  IMAGES,
  MERGE,
  NotConverged,
  RECORD,
  record,
  recordIn,
  type Scene,
  SECOND,
  type Stage,
  told,
  until,
} from './stage.ts';
import { referencesTo, SHARED } from './values.ts';

export async function pair({ stage, api, namespace, paths, change }: Acts): Promise<void> {
  await api.call('POST', paths.records, record(namespace, { secrets: referencesTo(1, SHARED) }, SECOND));
  await until(stage, 'pair: the second is Ready', () => hasCondition(stage, 'Ready', 'Serving', 'True', SECOND));
  await change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
  await api.call('DELETE', `${paths.records}/${SECOND}`);
  await until(stage, 'pair: the second is gone', () => recordIn(stage, SECOND) === undefined);
}

export async function undone({ stage, api, namespace, paths }: Acts): Promise<void> {
  // At once: it may be gone before the controller has put its finalizer on.
  await api.call('POST', paths.records, record(namespace, {}, SECOND));
  await api.call('DELETE', `${paths.records}/${SECOND}`);
  await until(stage, 'undone: the second is gone', () => {
    const wasSeen = stage.census.history(namespace).some(({ object }) => object.metadata.name === SECOND);
    return wasSeen && recordIn(stage, SECOND) === undefined;
  });
}

export async function held({ stage, api, paths }: Acts): Promise<void> {
  // As `kubectl debug --copy-to` makes one, and a pod that somebody's finalizer holds.
  await api.call('POST', paths.pods, copyOfPod(stage));
  const held = `${RECORD}--redis-0`;
  await api.call('PATCH', `${paths.pods}/${held}`, { metadata: { finalizers: ['example.com/holds'] } }, MERGE);
  await api.call('DELETE', `${paths.records}/${RECORD}`);
  await until(stage, 'held: the pod that is waited for is named', () =>
    told(stage).includes(`(pod ${held} on node ${standInNode})`),
  );
  await api.call('PATCH', `${paths.pods}/${held}`, { metadata: { finalizers: null } }, MERGE);
  await until(stage, 'held: gone', () => recordIn(stage) === undefined);
}

/** Deleted, and gone. */
export async function deleted({ stage, api, paths }: Acts): Promise<void> {
  await api.call('DELETE', `${paths.records}/${RECORD}`);
  await until(stage, 'deleted', () => recordIn(stage) === undefined);
}

export async function recreate(acts: Acts): Promise<void> {
  await deleted(acts);
  await createAgain(acts.create);
}

/** Its name is another's. */
export async function taken({ stage }: Acts): Promise<void> {
  await until(stage, 'create: NameConflict', () => hasCondition(stage, 'Stalled', 'NameConflict'));
}

/** Its namespace goes. */
export async function doomed({ stage, namespace }: Acts): Promise<void> {
  await until(stage, 'create: Ready, or on its way out', () => {
    const found = recordIn(stage);
    const wasSeen = stage.census.history(namespace).some(({ kind }) => kind === 'AppDeployment');
    const isLeaving = wasSeen && (found === undefined || found.metadata.deletionTimestamp !== undefined);
    return isLeaving || hasCondition(stage, 'Ready', 'Serving');
  });
  stage.enter('doomed');
  await stage.interlude?.();
  await untilNamespaceIsGone(stage);
}

async function createAgain(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    await pause(50);
    await createAgain(create);
  }
}

async function untilNamespaceIsGone(stage: Stage): Promise<void> {
  const { api, namespace, patienceMs } = stage;
  await removeNamespace(api, namespace).catch(() => undefined);
  // The namespace controller looks again after a while that grows.
  const end = performance.now() + 2 * patienceMs;
  for (;;) {
    if (await isNamespaceGone(api, namespace)) return;
    if (performance.now() > end)
      throw new NotConverged(`doomed: the namespace is not gone in ${(2 * patienceMs) / 1000} s`);
    await pause(100);
  }
}

/** The labels of the service's pod without that by which its ReplicaSet would take the copy for one of its own. */
function copyOfPod({ census, namespace }: Scene): object {
  const original = census
    .current(namespace)
    .find(({ kind, object }) => kind === 'Pod' && object.metadata.labels?.['davit.dev/component'] === 'server');
  const { 'pod-template-hash': _, ...labels } = original?.object.metadata.labels ?? {};
  return { metadata: { name: `${RECORD}-copy`, labels }, spec: { containers: [{ name: 'server', image: IMAGES[0] }] } };
}
