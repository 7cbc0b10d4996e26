// What `kubectl davit database` says of a move: the commands that go on with it, and its beginning and end. Pure.

import {
  type DatabaseMove,
  databaseText,
  postgresVersionOf,
  wasNeverLoaded,
} from '../deployments/record/database-move.ts';
import { type BegunMove, scaleWords } from '../deployments/record/moving-database.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import { PROGRAM } from './program.ts';

/** As of the command line, after `database`. */
export const UPGRADE = 'upgrade NAME';

/** To another database of its driver. */
export function isUpgrade({ from, to }: DatabaseMove): boolean {
  return from.driver === to.driver;
}

/** The command that goes on with it. */
export function commandOf(name: string, { move, moving }: BegunMove): string {
  const onward = isUpgrade(move) ? UPGRADE : `move NAME --driver ${move.to.driver}`;
  return `${PROGRAM} database ${(moving.isBack ? 'back NAME' : onward).replace('NAME', name)}`;
}

/** The command that ends it. */
export function commandBack(name: string): string {
  return `${PROGRAM} database back ${name}`;
}

/** A move that the caller has not begun. `mover`: who has; undefined where nothing proves it. */
export function strangeMoveWords(
  { metadata: { name } }: AppDeployment,
  { moving }: BegunMove,
  mover: string | undefined,
): string {
  const { driver } = moving;
  const by = mover === undefined ? ', and nothing proves by whom' : ` by ${mover}`;
  return `A move of ${name} was begun${by}: ${moving.move}, on ${moving.stoppedAt}. It leaves ${name} with a scale of ${scaleWords(moving)}, and ends with driver ${driver ?? 'as the platform sets it'} if it is given up.`;
}

/** A move is in the way of another one. `strange`: that somebody else has begun it. */
export function otherMoveWords(name: string, begun: BegunMove, strange: string | undefined): string {
  const { isBack, move: text } = begun.moving;
  const more = strange === undefined ? '' : ' --go-on';
  const finish = isBack ? 'finish it' : `finish it by ${commandOf(name, begun)}${more}, or end it`;
  const what = strange === undefined ? `A move of ${name} was begun: ${text}. F` : `${strange} If that is right, f`;
  return `${what}${finish.slice(1)}: ${commandBack(name)}${more}`;
}

/** The time of a command is over while the deployment is stopped. `words`: what it waited for. */
export function tooLateWords(name: string, words: string): string {
  return `The time is over. ${words}\n${name} is stopped. To go on, run the command again. To end the move: ${commandBack(name)}`;
}

/** Whatever has ended a command after the pods were stopped. */
export function stoppedWords(name: string): string {
  return `${name} is stopped, and nothing of it serves. When the cause is mended, run the command again. To end the move, and start it as it was: ${commandBack(name)}`;
}

interface EndedMove {
  readonly name: string;
  readonly move: DatabaseMove;
  /** Newest first. */
  readonly revisions: readonly AppRevision[];
  /** Flags that suggested commands repeat, each after a space. */
  readonly suggested: string;
}

/** What is left after a move that was made. */
export function leftWords({ name, move: { from }, revisions, suggested }: EndedMove): string {
  const left = wasNeverLoaded(revisions, from.number)
    ? `Database ${databaseText(from)} is left, into which nothing was loaded.`
    : `What it was moved from is kept: ${databaseText(from)}. To go back to it: ${commandBack(name)}${suggested}.`;
  return `${left} To delete it: ${PROGRAM} database forget-old ${name}${suggested}`;
}

/** The end of a move that was made, for people and for programs. `backup`: what the next database began with; null on the way back. */
export function movedWords(
  { name, move: { to }, revisions }: Omit<EndedMove, 'suggested'>,
  { seconds, backup }: { readonly seconds: number; readonly backup: string | null },
): { readonly says: string; readonly result: Readonly<Record<string, unknown>> } {
  const postgresVersion = postgresVersionOf(revisions[0]);
  const withVersion = postgresVersion === undefined ? '' : `, with PostgreSQL ${postgresVersion}`;
  const database = databaseText(to);
  return {
    says: `${name} is on database ${database}${withVersion}. Nothing served for ${durationText(seconds)}.`,
    result: { name, database, backup, postgresVersion: postgresVersion ?? null, downtimeSeconds: seconds },
  };
}

export function durationText(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
