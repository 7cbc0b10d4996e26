// The database of a record is moved to the next one of its driver and back. One move is given up, one is withdrawn, and one is cut short by
// the record's deletion. No server is behind any of the databases: the stand-in says what the Job that loads a backup would report.

import {
  ADOPT_DATABASE_ANNOTATION,
  MOVE_DATABASE_ANNOTATION,
  MOVE_DATABASE_BY_ANNOTATION,
} from '../../../../src/schema/meta.ts';
import { FORGOTTEN } from '../database-invariants.ts';
import type { Acts } from './acts.ts';
import { NEVER } from './backups.ts';
import { childIn, hasCondition, IMAGES, MERGE, NotConverged, RECORD, recordIn, type Stage, until } from './stage.ts';

export const MOVABLE = { sourceConfig: { database: { driver: 'pod', backup: { schedule: NEVER } } } };

const LOADED = '20260202T020000Z-0000000a';
const DAMAGED = '20260203T020000Z-0000dead';
const ENDLESS = '20260204T020000Z-0000beef';
const [FIRST, SECOND, THIRD] = [`${RECORD}--postgres`, `${RECORD}---pg1`, `${RECORD}---pg2`];

export async function moves(acts: Acts): Promise<void> {
  const { stage } = acts;
  await stopped(acts, 'moves');
  // No value of the record changes: the serial makes the generation that the next revision needs.
  await asks(acts, `pod/0 to pod/1 with ${LOADED}`, { revisionSerial: 2 });
  await isOn(stage, 'moves: loaded', 1, true);
  await started(acts, 'moves: on the next one', SECOND);
  await stopped(acts, 'moves: back');
  await asks(acts, 'pod/1 to pod/0');
  await isOn(stage, 'moves: back', 0, false);
  await started(acts, 'moves: back on the first one', FIRST);
  await forget(acts, SECOND);
  await acts.change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
}

/** One is asked for too early and withdrawn, one cannot be loaded and is given up; under Retain, one is cut short by the deletion. */
export async function movesKept(acts: Acts): Promise<void> {
  const { stage, change, untilReady, again, api, paths } = acts;
  await asks(acts, `pod/0 to pod/1 with ${LOADED}`, { databaseDeletionPolicy: 'Retain' });
  await until(stage, 'moves-kept: DatabaseMoveWaits', () => hasCondition(stage, 'Stalled', 'DatabaseMoveWaits'));
  await asks(acts, null);
  await untilReady('moves-kept: withdrawn');
  await stopped(acts, 'moves-kept');
  await asks(acts, `pod/0 to pod/1 with ${DAMAGED}`);
  await until(stage, 'moves-kept: RestoreFailed', () => hasCondition(stage, 'Stalled', 'RestoreFailed'));
  await asks(acts, 'pod/1 to pod/0', { revisionSerial: 2 });
  await isOn(stage, 'moves-kept: given up', 0, false);
  await started(acts, 'moves-kept: on the first one', FIRST);
  await stopped(acts, 'moves-kept: once more');
  await asks(acts, `pod/0 to pod/2 with ${ENDLESS}`);
  await until(stage, 'moves-kept: a Job that loads', () => isLoading(stage, THIRD));
  const { uid = '' } = recordIn(stage)?.metadata ?? {};
  const before = dataOf(stage);
  await api.call('DELETE', `${paths.records}/${RECORD}`);
  await until(stage, 'moves-kept: deleted', () => recordIn(stage) === undefined);
  await again({ [ADOPT_DATABASE_ANNOTATION]: uid });
  await untilReady('moves-kept: another deployment of the name');
  usesDatabase(stage, 'moves-kept: what has the data was adopted', FIRST);
  if (dataOf(stage) !== before)
    throw new NotConverged(`moves-kept: retained were ${before}, and there are ${dataOf(stage)}`);
  await change({ databaseDeletionPolicy: 'Delete' });
}

/** Volumes and passwords, with their uids. */
function dataOf({ census, namespace }: Stage): string {
  return census
    .current(namespace)
    .filter(({ kind }) => kind === 'PersistentVolumeClaim' || kind === 'Secret')
    .filter(({ object }) => [FIRST, SECOND, THIRD].includes(object.metadata.name))
    .map(({ kind, object: { metadata } }) => `${kind} ${metadata.name} ${metadata.uid}`)
    .toSorted()
    .join(', ');
}

/** The record is deleted while the backup is loaded into its next database. */
export async function movesDeleted(acts: Acts): Promise<void> {
  const { stage, api, paths } = acts;
  await asks(acts, `pod/0 to pod/1 with ${ENDLESS}`);
  await until(stage, 'moves-deleted: a Job that loads', () => isLoading(stage, SECOND));
  await api.call('DELETE', `${paths.records}/${RECORD}`);
  await until(stage, 'moves-deleted: gone', () => recordIn(stage) === undefined);
}

interface Review {
  readonly status: { readonly userInfo: { readonly username: string } };
}
const REVIEW = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };

/**
 * The annotation, who asks and the driver in one write, as kubectl makes it. Of those of one driver it needs a change, and without a minimum a
 * scale of 0 stays.
 */
async function asks({ api, change, asked }: Acts, move: string | null, spec: object = {}): Promise<void> {
  const { uid, generation = 0 } = asked()?.metadata ?? {};
  const { status } = await api.call<Review>('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', REVIEW);
  await change(
    { sourceConfig: { database: { driver: 'pod' }, resourceSpec: { minScale: null } }, ...spec },
    {
      [MOVE_DATABASE_ANNOTATION]: move,
      [MOVE_DATABASE_BY_ANNOTATION]: move === null ? null : `${uid} ${generation + 1} ${status.userInfo.username}`,
    },
  );
}

/** A scale of 0 is in force, and no pod is left. */
export async function stopped({ stage, change, asked }: Acts, what = 'stopping'): Promise<void> {
  await change({ sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } });
  await until(stage, `${what}: stopped`, () => {
    const isSeen = recordIn(stage)?.status?.observedGeneration === asked()?.metadata.generation;
    const isLeft = stage.census
      .current(stage.namespace)
      .some(({ kind, object }) => kind === 'Pod' && object.metadata.labels?.['davit.dev/component'] === 'server');
    return isSeen && !isLeft && hasCondition(stage, 'Ready', 'ScaledToZero');
  });
}

async function isOn(stage: Stage, what: string, number: number, isLoaded: boolean): Promise<void> {
  await until(stage, what, () => {
    const { databaseNumber = 0, observedGeneration } = recordIn(stage)?.status ?? {};
    return (
      databaseNumber === number &&
      observedGeneration === recordIn(stage)?.metadata.generation &&
      hasCondition(stage, 'Ready', 'ScaledToZero') &&
      hasCondition(stage, 'DatabaseRestored', 'Restored') === isLoaded
    );
  });
}

async function started({ stage, change, untilReady }: Acts, what: string, database: string): Promise<void> {
  await change({ sourceConfig: { resourceSpec: { minScale: null, maxScale: null } } });
  await untilReady(what);
  usesDatabase(stage, what, database);
}

/** Throws NotConverged if the pods of the main service have the password of another database. */
function usesDatabase(stage: Stage, what: string, database: string): void {
  const pods = childIn(stage, 'Deployment', RECORD)?.spec.template;
  if (!JSON.stringify(pods).includes(`"name":"${database}"`))
    throw new NotConverged(`${what}: the pods do not use ${database}`);
}

/** As `kubectl davit database forget-old` does. */
async function forget({ stage, api, namespace, paths }: Acts, name: string): Promise<void> {
  const volume = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`;
  for (const path of [volume, `${paths.secrets}/${name}`]) {
    // oxlint-disable-next-line no-await-in-loop -- two of them
    await api.call('PATCH', path, { metadata: { annotations: { [FORGOTTEN]: 'yes' } } }, MERGE);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await api.call('DELETE', path);
  }
  await until(stage, `moves: ${name} is forgotten`, () =>
    ['PersistentVolumeClaim', 'Secret'].every((kind) => childIn(stage, kind, name) === undefined),
  );
}

function isLoading(stage: Stage, database: string): boolean {
  const job = childIn(stage, 'Job', `${database}-restore`);
  return job?.status?.active === 1;
}
