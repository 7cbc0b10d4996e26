// Which running pods a new revision replaces: a part whose pods would be the same, but for their id, shares them.

import type { AppRevision, Resolved } from '../../kinds/app-revision.ts';
import {
  COMPONENT_LABEL,
  REVISION_LABEL,
  STORE_PARTS,
  STORE_REVISION_ANNOTATION,
  type StorePart,
} from '../../kinds/meta.ts';
import { isWorker } from '../../kinds/worker-parts.ts';
import { ownValue, sameJson } from '../../runtime/json-value.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import {
  isOfPart,
  type Observed,
  type ObservedChildren,
  type ObservedRecord,
  storeObjectOf,
  type Workload,
  workloadOf,
} from '../assess/observed.ts';
import { isReadyPod, podsOf } from '../assess/pod-failures.ts';
import { isRoleRolled } from '../assess/rolled-parts.ts';
import { isOwn } from '../assess/stores.ts';
import { partsOf } from '../record/parts.ts';
import { sameRevision } from '../record/requested.ts';
import { imageOf } from '../record/revision-image.ts';
import { asksToRebuild } from '../record/revision-request.ts';
import { activeRevision } from '../record/revisions.ts';
import { podsIdOf } from '../record/shared-pods.ts';
import { hasDrifted } from './drift.ts';
import { type Action, NOTHING_PRUNED, plan } from './plan.ts';

/** By part, or by store. */
type Ids = Readonly<Record<string, string>>;

/**
 * `draft`, with the ids of the running pods that are its own too: under these ids the template of their part would not be changed for
 * it. Only pods of the active revision that are all ready are shared, also beside those of a rollout that has not ended: with its
 * template again, a Deployment keeps their ReplicaSet. It is decided once, when the revision is made. Who asks for
 * a new revision and changes nothing wants new pods, so that a tag is pulled again. `render`: the children of a
 * revision, with their digests.
 */
export function sharingPods(
  observed: Observed,
  draft: AppRevision,
  render: (revision: AppRevision) => readonly KubeObject[],
): AppRevision {
  const active = activeRevision(observed.revisions);
  if (!active || !isComparable(active, draft) || isAskedAgain(observed, draft) || !needsNoMigration(draft))
    return draft;
  const replaced = (role: string): boolean => isBeingReplaced(observed, active, role);
  const roles = partsOf(draft.spec.resolved).filter((role) => isRoleRolled(observed, active, role) || replaced(role));
  const ready: Ids = Object.fromEntries(roles.map((role) => [role, podsIdOf(active, role)]));
  const children = render(withIds(draft, { ...ready, ...idsOfStores(observed) }));
  const { actions } = plan(children, observed, NOTHING_PRUNED);
  const before = render(active);
  const shared = roles.filter((role) => {
    const template = templateIn(children, observed, role);
    if (!sameJson(template, templateIn(before, observed, role))) return false;
    return replaced(role) || !hasDrifted(template, templateIn(observed.children, observed, role));
  });
  if (shared.length === 0) return draft;
  return withShared(draft, Object.fromEntries(shared.map((role) => [role, podsIdOf(active, role)])), {
    ...idsOfStores(observed),
    ...Object.fromEntries(changedStores(actions).map((part) => [part, draft.spec.id])),
  });
}

function isComparable(active: AppRevision, draft: AppRevision): boolean {
  return (
    imageOf(active) !== undefined &&
    imageOf(draft) !== undefined &&
    // The templates are compared, so an upgrade alone makes no other pods. Nothing can be rendered of a version that is not known.
    active.spec.resolved.contract <= draft.spec.resolved.contract &&
    STORE_PARTS.every((part) => isOwn(part, active) === isOwn(part, draft))
  );
}

function isAskedAgain({ record, revisions }: ObservedRecord, { spec }: AppRevision): boolean {
  const [newest] = revisions;
  if (asksToRebuild(record.spec, revisions)) return true;
  return spec.rollbackTo === undefined && newest !== undefined && sameRevision(spec.requested, newest.spec.requested);
}

function needsNoMigration({ spec: { requested, resolved } }: AppRevision): boolean {
  return !requested.runtime?.migrate || resolved.migrated === true;
}

/** Whether the Deployment has the template of another revision, while pods of the active one are there and all of them ready. */
function isBeingReplaced(observed: Observed, active: AppRevision, role: string): boolean {
  const id = podsIdOf(active, role);
  const template = workloadOf(observed, role)?.spec?.template;
  const pods = podsOf(observed, role, id).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return (
    template !== undefined &&
    template.metadata?.labels?.[REVISION_LABEL] !== id &&
    pods.length > 0 &&
    pods.every(isReadyPod)
  );
}

/** The template of a part, with the kind of its workload: pods of another kind are not kept. */
function templateIn(children: readonly KubeObject[], { names }: ObservedChildren, part: string): object | undefined {
  const found = children.find((child) => isOfPart(child) && child.metadata.name === names.part(part));
  return found && { kind: found.kind, template: (found as Workload).spec?.template };
}

function idsOfStores(observed: ObservedChildren): Ids {
  const named = STORE_PARTS.flatMap((part) => {
    const id = storeObjectOf(observed, part)?.metadata.annotations?.[STORE_REVISION_ANNOTATION];
    return id === undefined ? [] : [[part, id] as const];
  });
  return Object.fromEntries(named);
}

const STORE_KINDS: ReadonlySet<string> = new Set(['StatefulSet', 'PersistentVolumeClaim', 'Cluster']);

/** Stores whose settings or volume are changed. */
function changedStores(actions: readonly Action[]): readonly StorePart[] {
  const changed = actions
    .filter(({ object: { kind } }) => STORE_KINDS.has(kind))
    .map(({ object }) => object.metadata.labels?.[COMPONENT_LABEL]);
  return STORE_PARTS.filter((part) => changed.includes(part));
}

/** In the form of earlier versions of Davit where they know it: the pods of all parts are of one revision. */
function withShared(draft: AppRevision, shared: Ids, stores: Ids): AppRevision {
  const ids = partsOf(draft.spec.resolved).map((part) => ownValue(shared, part));
  const [podsOf] = ids;
  const isOne = podsOf !== undefined && ids.every((id) => id === podsOf) && Object.keys(stores).length === 0;
  if (!isOne) return withIds(draft, { ...shared, ...stores });
  return { ...draft, spec: { ...draft.spec, resolved: { ...draft.spec.resolved, podsOf } } };
}

function withIds(draft: AppRevision, ids: Ids): AppRevision {
  const [parts, workers] = [false, true].map((isNamed) =>
    Object.fromEntries(Object.entries(ids).filter(([part]) => isWorker(part) === isNamed)),
  );
  const resolved: Resolved = {
    ...draft.spec.resolved,
    podsOfParts: { ...parts },
    ...(Object.keys(workers ?? {}).length > 0 && { podsOfWorkers: { ...workers } }),
  };
  return { ...draft, spec: { ...draft.spec, resolved } };
}
