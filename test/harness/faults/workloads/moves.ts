// The database of a record is restored and returned to. One restore fails, one is cancelled, and one is cut short by the record's deletion. No server is behind any of the databases: the stand-in says what the Job that loads a backup would report.

import type { DatastoreOperation } from '../../../../src/kinds/datastore-operation.ts';
import { ADOPT_DATABASE_ANNOTATION } from '../../../../src/kinds/meta.ts';
import type { Acts } from './acts.ts';
import { NEVER } from './backups.ts';
import { childIn, hasCondition, IMAGES, NotConverged, RECORD, recordIn, type Stage, until } from './stage.ts';

export const MOVABLE = { sourceConfig: { database: { driver: 'pod', backup: { schedule: NEVER } } } };

const LOADED = '20260202T020000Z-0000000a';
const DAMAGED = '20260203T020000Z-0000dead';
const ENDLESS = '20260204T020000Z-0000beef';
const [FIRST, SECOND, THIRD, FOURTH] = [`${RECORD}--postgres`, `${RECORD}---pg1`, `${RECORD}---pg2`, `${RECORD}---pg3`];

export async function moves(acts: Acts): Promise<void> {
  const { stage } = acts;
  const first = await asks(acts, 'restore', { action: 'Restore', restore: { backup: LOADED } });
  await ends(stage, 'moves: loaded', first, 'Succeeded');
  await serves(acts, 'moves: on the next one', SECOND);
  const back = await asks(acts, 'return', { action: 'Return' });
  await ends(stage, 'moves: back', back, 'Succeeded');
  await serves(acts, 'moves: back on the first one', FIRST);
  const deletion = await asks(acts, 'delete', { action: 'DeletePrevious', deletePrevious: { number: 1 } });
  await forgotten(stage, SECOND);
  await ends(stage, 'moves: deleted', deletion, 'Succeeded');
  await acts.change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
}

/** One cannot be loaded, one is cancelled while it loads; under Retain, one is cut short by the deletion. */
export async function movesKept(acts: Acts): Promise<void> {
  const { stage, change, untilReady, again, api, paths } = acts;
  await change({ databaseDeletionPolicy: 'Retain' });
  const damaged = await asks(acts, 'damaged', { action: 'Restore', restore: { backup: DAMAGED } });
  await ends(stage, 'moves-kept: RestoreFailed', damaged, 'Failed');
  await serves(acts, 'moves-kept: on the first one', FIRST);
  const cancelled = await asks(acts, 'cancelled', { action: 'Restore', restore: { backup: ENDLESS } });
  await until(stage, 'moves-kept: a Job that loads', () => isLoading(stage, THIRD));
  await api.call('DELETE', cancelled);
  await until(stage, 'moves-kept: cancelled', () => operationAt(stage, cancelled) === undefined);
  await serves(acts, 'moves-kept: after the cancellation', FIRST);
  await asks(acts, 'endless', { action: 'Restore', restore: { backup: ENDLESS } });
  await until(stage, 'moves-kept: another Job that loads', () => isLoading(stage, FOURTH));
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
    .filter(({ object }) => [FIRST, SECOND, THIRD, FOURTH].includes(object.metadata.name))
    .map(({ kind, object: { metadata } }) => `${kind} ${metadata.name} ${metadata.uid}`)
    .toSorted()
    .join(', ');
}

/** The record is deleted while the backup is loaded into its next database. */
export async function movesDeleted(acts: Acts): Promise<void> {
  const { stage, api, paths } = acts;
  await asks(acts, 'endless', { action: 'Restore', restore: { backup: ENDLESS } });
  await until(stage, 'moves-deleted: a Job that loads', () => isLoading(stage, SECOND));
  await api.call('DELETE', `${paths.records}/${RECORD}`);
  await until(stage, 'moves-deleted: gone', () => recordIn(stage) === undefined);
}

/** Returns the path of the operation. */
async function asks({ api, namespace }: Acts, name: string, spec: object): Promise<string> {
  const all = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/datastoreoperations`;
  await api.call('POST', all, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'DatastoreOperation',
    metadata: { name: `${RECORD}-${name}`, namespace },
    spec: { deployment: RECORD, ...spec },
  });
  return `${all}/${RECORD}-${name}`;
}

function operationAt(stage: Stage, path: string): DatastoreOperation | undefined {
  return childIn(stage, 'DatastoreOperation', path.slice(path.lastIndexOf('/') + 1)) as DatastoreOperation | undefined;
}

async function ends(stage: Stage, what: string, path: string, phase: string): Promise<void> {
  await until(stage, what, () => operationAt(stage, path)?.status?.phase === phase);
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

async function serves({ stage, untilReady }: Acts, what: string, database: string): Promise<void> {
  await untilReady(what);
  usesDatabase(stage, what, database);
}

/** Throws NotConverged if the pods of the main service have the password of another database. */
function usesDatabase(stage: Stage, what: string, database: string): void {
  const pods = childIn(stage, 'Deployment', RECORD)?.spec.template;
  if (!JSON.stringify(pods).includes(`"name":"${database}"`))
    throw new NotConverged(`${what}: the pods do not use ${database}`);
}

async function forgotten(stage: Stage, name: string): Promise<void> {
  await until(stage, `moves: ${name} is deleted`, () =>
    ['PersistentVolumeClaim', 'Secret'].every((kind) => childIn(stage, kind, name) === undefined),
  );
}

function isLoading(stage: Stage, database: string): boolean {
  const job = childIn(stage, 'Job', `${database}-restore`);
  return job?.status?.active === 1;
}
