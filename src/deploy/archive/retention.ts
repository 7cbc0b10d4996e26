// Retention: which backups a run deletes from the store after its own backup is there. Pure.

import { backupsAmong, byHandKey, type Found, isFileOf, manifestKey, type Owner, timeOf } from './archive.ts';

const DAY_MS = 86_400_000;

export interface Retention {
  /** Number of scheduled backups that are left. */
  readonly keep: number;
  /** Days for which one is kept, also beyond that number. */
  readonly keepDays?: number | undefined;
  /** Name of the backup that was verified last: until another one is, only of this one is it known that it can be restored. */
  readonly verified?: string | undefined;
}

/**
 * The scheduled backups that are neither among the newest `keep` nor younger than `keepDays`. Those by hand are neither counted nor
 * deleted; `made`, which this run has sent, is kept whatever its time. `complete`: those of one life of a deployment, the newest first.
 */
function expiredBackups(
  complete: readonly Found[],
  { keep, keepDays, verified }: Retention,
  { made, now }: { readonly made: string; readonly now: Date },
): readonly Found[] {
  const scheduled = complete.filter(({ isByHand }) => !isByHand);
  const others = scheduled.filter(({ name }) => name !== made);
  const kept = others.length < scheduled.length ? keep - 1 : keep;
  const since = keepDays === undefined ? Infinity : now.getTime() - keepDays * DAY_MS;
  return others.slice(kept).filter(({ name }) => name !== verified && (timeOf(name) ?? since) < since);
}

/** How long what is not complete may be a backup that is still being sent. */
const UNFINISHED_MS = 3 * 86_400_000;

/**
 * The keys of one life to delete, in this order: those of backups that retention does not keep, each with its manifest first, and those of
 * backups that are not complete and that nothing can be sending any more. `made`: the backup that was sent just now. Other keys are left alone.
 */
export function expiredKeys(
  owner: Owner,
  keys: readonly string[],
  { made, now, ...retention }: Retention & { readonly made: string; readonly now: Date },
): readonly string[] {
  const own = backupsAmong(keys, owner).filter((one) => one.owner.uid === owner.uid);
  const old = expiredBackups(
    own.filter(({ isComplete }) => isComplete),
    retention,
    { made, now },
  );
  const abandoned = own.filter(
    ({ name, isComplete }) =>
      !isComplete && name !== made && now.getTime() - (timeOf(name) ?? Infinity) > UNFINISHED_MS,
  );
  return [...old, ...abandoned].flatMap(({ name, owner: of }) => [
    ...keys.filter((key) => key === manifestKey(of, name)),
    ...keys.filter((key) => isFileOf(of, name, key)),
    ...keys.filter((key) => key === byHandKey(of, name)),
  ]);
}
