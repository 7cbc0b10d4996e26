// Which revision a rollback takes. Pure.

import type { AppRevision } from '../../kinds/app-revision.ts';
import { differences } from './revision-diff.ts';

/** Id of the revision to which it went back. A later change leaves the field of an earlier rollback in the record. */
export function wentBackTo({ spec: { rollbackTo } }: AppRevision, before: AppRevision | undefined): string | undefined {
  return rollbackTo === before?.spec.rollbackTo ? undefined : rollbackTo?.toLowerCase();
}

/**
 * The last deployed revision before the newest that has other values. After a rollback it is one before that to which it went: twice in
 * a row never comes back to what was left. `none`: why there is no such revision. `revisions`: newest first.
 */
export function rollbackTarget(
  name: string,
  revisions: readonly AppRevision[],
): { readonly target: AppRevision } | { readonly none: string } {
  const [newest, previous] = revisions;
  if (newest === undefined) return { none: `${name} has no revision yet.` };
  const last = wentBackTo(newest, previous);
  const at = last === undefined ? -1 : revisions.findIndex(({ spec }) => spec.id === last);
  const deployed = revisions.filter(({ status }) => status?.state === 'DEPLOYED');
  const earlier = deployed.filter((one) => revisions.indexOf(one) > Math.max(at, 0));
  const isOther = (one: AppRevision): boolean => differences(newest, one).length > 0;
  const target = earlier.find(isOther);
  if (target) return { target };
  const cause =
    earlier.length > 0
      ? 'Every earlier revision that was deployed has the same values as the newest one.'
      : `No ${at > 0 ? 'revision before the target of the last rollback' : 'earlier revision'} was deployed.`;
  const others = deployed.filter(isOther).map(({ metadata }) => metadata.name);
  const choice =
    others.length > 0
      ? `Revisions with other values: ${others.join(', ')}. To choose one`
      : 'Deploy a corrected revision, or choose one that failed';
  return { none: `${cause} ${choice}: kubectl davit rollback ${name} --to REVISION` };
}
