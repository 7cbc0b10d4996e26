// Revisions that share pods: a part whose pods would be those that run already, but for their id, keeps them.

import type { AppRevision, Resolved } from '../../kinds/app-revision.ts';
import { type ImageComponent, type StorePart, TASK } from '../../kinds/meta.ts';
import { isRole } from '../../kinds/worker-parts.ts';
import { ownValue } from '../../runtime/json-value.ts';

type Snapshot = { readonly spec: { readonly id: string; readonly resolved: Readonly<Resolved> } };

/** The id on the pods of a part of a revision: that of the revision for which they were started. */
export function podsIdOf({ spec }: Snapshot, part: ImageComponent): string {
  const { podsOf, podsOfParts = {}, podsOfWorkers = {} } = spec.resolved;
  const own = isRole(part) ? podsOfParts[part] : ownValue(podsOfWorkers, part);
  return own ?? podsOf ?? spec.id;
}

/** Whether the pods of a part were started for another revision, and are those of this one too. */
export function sharesPods(revision: Snapshot, part: ImageComponent): boolean {
  return podsIdOf(revision, part) !== revision.spec.id;
}

/**
 * The revision that runs on the pods of a part with this id: the active one if it does, otherwise the newest that does. Undefined where
 * none is known. `revisions`: newest first.
 */
export function revisionOnPods<T extends Snapshot>(
  revisions: readonly T[],
  activeId: string | null | undefined,
  { part, id }: { readonly part: ImageComponent; readonly id: string },
): T | undefined {
  const running = revisions.filter((revision) => podsIdOf(revision, part) === id);
  return running.find(({ spec }) => spec.id === activeId) ?? running[0];
}

/** Id of the revision that runs on pods with this id. `component`: that of the pods; a run has the template of the server, with its labels. */
export function revisionIdOnPods(
  revisions: readonly Snapshot[],
  activeId: string | null | undefined,
  { component, id }: { readonly component: string; readonly id: string },
): string {
  const part = component === TASK ? 'server' : component;
  return revisionOnPods(revisions, activeId, { part, id })?.spec.id ?? id;
}

/** The id on an own PostgreSQL or Redis: of the revision that changed it last. Undefined where the store need not say it. */
export function storeIdOf({ spec }: Pick<AppRevision, 'spec'>, part: StorePart): string | undefined {
  return spec.resolved.podsOfParts?.[part];
}
