// What each step of a move writes in the record, as a merge patch, and whether the next database is there. Pure, and imports no zod at run
// time.

import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import {
  MOVE_DATABASE_ANNOTATION,
  MOVE_DATABASE_BY_ANNOTATION,
  MOVING_ANNOTATION,
  MOVING_BY_ANNOTATION,
} from '../../schema/meta.ts';
import { moveText } from './database-move.ts';
import { type BegunMove, isForsaken, type Moving, stageOf } from './moving-database.ts';
import { claimOfChange, claimOfMove, claimOfMoveRequest } from './requester.ts';

/** A merge patch, of which null removes. */
export interface MoveChange {
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly spec: object;
}

type Claims = Readonly<Record<string, string>>;

/**
 * What the caller claims in a write that asks for a move, and changes something of the record: Davit makes none that is nobody's. `refused`: why
 * he can claim nothing.
 */
export function claimsOfMover(
  record: AppDeployment,
  username: string | undefined,
): { readonly claims: Claims } | { readonly refused: string } {
  const claim = username === undefined ? undefined : claimOfMoveRequest(record, username);
  if (username === undefined || claim === undefined)
    return {
      refused: `Nothing was changed: a database is moved for somebody who is known, and kubectl auth whoami tells ${username === undefined ? 'no username' : 'a username that cannot be shown'}.`,
    };
  return { claims: { ...claim, ...claimOfChange(record, username) } };
}

const NOT_MOVING = { [MOVING_ANNOTATION]: null, [MOVING_BY_ANNOTATION]: null } as const;

/** Both annotations of a move that was begun, which are written in one patch: one alone says nothing. */
function markWith(
  record: AppDeployment,
  moving: Moving,
  username: string | undefined,
): Readonly<Record<string, string | null>> {
  const claim = username === undefined ? undefined : claimOfMove(record, moving.stoppedAt, username);
  return { ...NOT_MOVING, [MOVING_ANNOTATION]: JSON.stringify(moving), ...claim };
}

/** The first step: no pod of the record is to run. */
export function stoppingChange(record: AppDeployment, moving: Moving, username: string | undefined): MoveChange {
  return {
    annotations: markWith(record, moving, username),
    spec: { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } },
  };
}

/** The one write by which the move is asked for. `backup`: what is loaded into the next database. */
export function askingChange(
  { move, moving }: BegunMove,
  { backup, claims }: { readonly backup: string | undefined; readonly claims: Claims },
): MoveChange {
  const { to } = move;
  const { instances } = moving;
  return {
    annotations: {
      [MOVE_DATABASE_ANNOTATION]: moveText({ ...move, ...(backup !== undefined && { backup }) }),
      ...claims,
    },
    spec: {
      sourceConfig: {
        // The request needs a generation of its own, whatever else it changes. Without a minimum the scale stays 0.
        resourceSpec: { minScale: null },
        database: {
          driver: to.driver,
          // Only one driver has them.
          ...(instances !== undefined && to.driver !== 'cloudnative-pg' && { instances: null }),
        },
      },
    },
  };
}

/** The last step: the record has its scale again. */
export function finishingChange(moving: Moving): MoveChange {
  return { annotations: NOT_MOVING, spec: { sourceConfig: { resourceSpec: scaleToHave(moving) } } };
}

/** The record is as it was before the move, which is not made. */
export function endingChange({ moving }: Pick<BegunMove, 'moving'>): MoveChange {
  const database = { driver: moving.driver ?? null, instances: moving.instances ?? null };
  return {
    annotations: { ...NOT_MOVING, [MOVE_DATABASE_ANNOTATION]: null, [MOVE_DATABASE_BY_ANNOTATION]: null },
    spec: { sourceConfig: { resourceSpec: scaleToHave(moving), database } },
  };
}

function scaleToHave({
  minScale = null,
  maxScale = null,
}: Partial<Record<'minScale' | 'maxScale', number | null>>): object {
  return { minScale, maxScale };
}

/** Whether a merge patch changes anything. */
export function isChangedBy(object: unknown, patch: object): boolean {
  return Object.entries(patch).some(([key, value]) => {
    const before = (object as Readonly<Record<string, unknown>> | undefined)?.[key];
    if (value === null) return before !== undefined;
    if (Array.isArray(value)) return JSON.stringify(before) !== JSON.stringify(value);
    return typeof value === 'object' ? isChangedBy(before, value as object) : before !== value;
  });
}

/**
 * `loaded`: a revision has the next database, and that has its data. `empty`: a revision has it. `forsaken`: Davit will not make it.
 */
export type NextDatabase = 'loaded' | 'empty' | 'forsaken' | 'awaited';

/** How far the next database is after the move was asked for. `own`: the record's revisions, newest first, read after it. */
export function nextDatabaseOf(
  record: AppDeployment,
  own: readonly AppRevision[],
  { move, moving }: BegunMove,
): NextDatabase {
  const { status, metadata } = record;
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const isThere = stageOf(record, own, move) === 'there';
  const isOfIt = (status?.databaseNumber ?? 0) === move.to.number;
  const hasData = moving.isBack || status?.databaseRestore?.restoredAt !== undefined;
  if (isSeen && isThere && isOfIt && hasData) return 'loaded';
  if (isSeen && isForsaken(record, own, move)) return 'forsaken';
  return isThere ? 'empty' : 'awaited';
}
