// Whether a move is still the one that a run of `kubectl davit database` makes: its mark in the record, and the database that it has led to.
// Pure, and imports no zod at run time.

import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { MOVING_ANNOTATION, MOVING_BY_ANNOTATION } from '../../schema/meta.ts';
import { quoted } from '../../schema/text.ts';
import { type DatabaseOfRecord, databaseOf, databaseText, moveIn, moveNamed } from './database-move.ts';
import { begunIn, type Moving, scaleWords, stateWords } from './moving-database.ts';
import { moverOf, requesterOf } from './requester.ts';

/** The annotations of a move that was begun, as they are. */
export interface MoveMark {
  readonly said: string | undefined;
  readonly by: string | undefined;
}

export function moveMarkOf({ metadata: { annotations } }: AppDeployment): MoveMark {
  return { said: annotations?.[MOVING_ANNOTATION], by: annotations?.[MOVING_BY_ANNOTATION] };
}

/**
 * Why a run that has left this mark in the record, or has found it there, changes nothing more of it, and what to do: for people. Undefined
 * where the record still has it. `own`: its revisions, newest first. `moving`: how the record was before.
 */
export function strayedMark(
  record: AppDeployment,
  own: readonly AppRevision[],
  { mark, moving }: { readonly mark: MoveMark; readonly moving: Moving },
): string | undefined {
  const now = moveMarkOf(record);
  if (now.said === mark.said && now.by === mark.by) return undefined;
  const { name } = record.metadata;
  const { has, takeBack } = stateWords(record, own);
  if (isTakenBack(record, own, moving)) {
    const by = requesterOf(record);
    return `The move was taken back${by === undefined ? '' : ` by ${by}`}: ${has}, as before the move. Nothing was lost. If the move is still wanted, run the command again.`;
  }
  const begun = begunIn(record);
  const mover = begun && moverOf(record, begun.moving.stoppedAt);
  const by = mover === undefined ? ', and nothing proves by whom' : `, begun by ${mover}`;
  const what = begun
    ? `it has a mark that this run did not write: ${begun.moving.move}${by}.`
    : now.said === undefined
      ? `somebody has taken away annotation ${MOVING_ANNOTATION}, which says that the move was begun.`
      : `annotation ${MOVING_ANNOTATION} is not what this run wrote: ${quoted(now.said, 200)}.`;
  const next = begun
    ? `Ask who has begun that. To end it: kubectl davit database back ${name}`
    : `${takeBack} If nobody else moves it, set the scale that it should have (kubectl davit scale ${name} --replicas N). Then run the command again, if the move is still wanted.`;
  return `This run goes no further: ${what} ${has}; before the move it was ${scaleWords(moving)}.${lastChange(record)} ${next.trim()}`;
}

/** Whether a record without a mark asks for no move any more, and has the scale and the database of before. */
function isTakenBack(record: AppDeployment, own: readonly AppRevision[], moving: Moving): boolean {
  const { said, by } = moveMarkOf(record);
  const { minScale, maxScale } = record.spec.sourceConfig.resourceSpec ?? {};
  const from = moveIn(moving.move)?.from;
  const now = own[0] && databaseOf(own[0]);
  return (
    said === undefined &&
    by === undefined &&
    minScale === moving.minScale &&
    maxScale === moving.maxScale &&
    from !== undefined &&
    now !== undefined &&
    databaseText(now) === databaseText(from) &&
    moveNamed(record, own) === undefined
  );
}

/**
 * Why a move to this database was no success, although the record is ready: it is on another one, and what to do: for people. Undefined where
 * it is on this one. `own`: the record's revisions, newest first.
 */
export function otherDatabase(
  record: AppDeployment,
  own: readonly AppRevision[],
  database: DatabaseOfRecord,
): string | undefined {
  const { name } = record.metadata;
  const now = own[0] && databaseOf(own[0]);
  if (now !== undefined && databaseText(now) === databaseText(database)) return undefined;
  const is = now ? `on ${databaseText(now)}` : 'on none that Davit made';
  return `${name} is not on database ${databaseText(database)} any more: it is ${is}.${lastChange(record)} The data of ${databaseText(database)} is kept. To see what it has: kubectl davit status ${name}. To go back to the database of before its last move: kubectl davit database back ${name}`;
}

function lastChange(record: AppDeployment): string {
  const username = requesterOf(record);
  return username === undefined ? '' : ` ${username} has changed it last.`;
}
