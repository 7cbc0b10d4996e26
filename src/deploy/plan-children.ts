// Plans the children of a revision: which of them may be applied now, after a dry run of their pods.

import type { AppRevision } from '../kinds/app-revision.ts';
import { APPLIED_ANNOTATION, COMPONENT_LABEL, STORE_PARTS, type StorePart } from '../kinds/meta.ts';
import type { Settings } from '../kinds/settings.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { archiveOriginOf, awaitsArchive } from './assess/archive-restore.ts';
import { isMigrated, mayMigrate, migratingBefore } from './assess/migration.ts';
import { type ActionFailure, isOfPart, type Observed, workersAmong, workloadOf } from './assess/observed.ts';
import { mayStartPods } from './assess/pod-starts.ts';
import { isRestored } from './assess/restore.ts';
import { awaitsServer, isRolled } from './assess/rolled-parts.ts';
import { canMakeBaseBackups, mayArchive } from './assess/wal-archive.ts';
import { heldRevision, keptFor } from './assess/workloads.ts';
import type { PodContracts } from './children/contracts/contract.ts';
import { desiredChildren } from './children/desired.ts';
import type { Inputs } from './children/inputs.ts';
import type { Cluster } from './cluster/cluster.ts';
import { type Action, NOTHING_PRUNED, type Plan, PRUNED_KINDS, plan, SCALING_KINDS } from './plan/plan.ts';
import { podsToTry, withoutRefused } from './plan/pod-dry-run.ts';
import { keepingResized } from './plan/pod-resize.ts';
import { handedOver } from './plan/replicas-handover.ts';
import { digestsOfHeld, type Rotation } from './plan/rotation.ts';
import { tenantOf } from './record/backup-consent.ts';
import { partsOf } from './record/parts.ts';
import { imageOf } from './record/revision-image.ts';
import { type DryRunResult, dryRunPods, tryAhead } from './send-dry-runs.ts';

export interface PlanningOptions {
  readonly home: Cluster;
  readonly settings: Settings;
  readonly now: () => Date;
  /** The known versions of the pod contract. */
  readonly contracts: PodContracts;
}

/** What the makers of children of `revision` need. */
export function inputsOf(
  observed: Observed,
  revision: AppRevision,
  secretDigests: Rotation['digests'],
  { settings }: Pick<PlanningOptions, 'settings'>,
  host?: string,
): Inputs {
  const { record } = observed;
  const { backupSource, clusterId } = observed;
  return {
    record,
    revision,
    tenantId: tenantOf(record, observed.tenantId),
    ...(clusterId !== undefined && { clusterId }),
    ...(backupSource && !('refused' in backupSource) && { backupSource }),
    settings,
    secretDigests,
    autoscaled: handedOver(observed, revision),
    // Old pods keep their database until they end, also where their worker is gone from the record.
    otherWorkers: workersAmong(observed.pods),
    keda: observed.keda === true,
    ...(observed.archives && { archives: archivesFor(observed) }),
    ...(awaitsArchive(observed) && { awaitsArchive: true }),
    ...(host !== undefined && { host }),
  };
}

function archivesFor(observed: Observed): NonNullable<Inputs['archives']> {
  const origin = archiveOriginOf(observed);
  return { hasKeys: mayArchive(observed), isRunning: canMakeBaseBackups(observed), ...(origin && { origin }) };
}

/** All children of `revision`, whether they exist or not. `host` is the record's host. */
export function childrenOf(
  observed: Observed,
  revision: AppRevision,
  secretDigests: Rotation['digests'],
  options: Pick<PlanningOptions, 'settings' | 'contracts'>,
  host?: string,
): readonly KubeObject[] {
  const inputs = inputsOf(observed, revision, secretDigests, options, host);
  return keepingResized(desiredChildren(inputs, options.contracts), observed);
}

/**
 * Dry-runs the revision's pods while the revision is being created, which saves one sequential request. If the pods differ
 * when they are needed, they are dry-run again.
 */
export async function prefetchDryRuns(
  observed: Observed,
  draft: AppRevision,
  digests: Rotation['digests'],
  options: PlanningOptions,
): Promise<readonly DryRunResult[]> {
  const { home, now } = options;
  const planned = plan(childrenOf(observed, draft, digests, options), observed, NOTHING_PRUNED);
  return tryAhead(podsToTry(planned, [], observed, now()), home);
}

/** The workloads of parts (plan.ts), and the kinds that determine their number of pods and disruptions. */
const WORKLOAD_KINDS: ReadonlySet<string> = new Set(['Deployment', ...SCALING_KINDS]);

export interface Wanted {
  readonly observed: Observed;
  readonly latest: AppRevision;
  /** Whether all Secrets and keys that its pods reference exist. */
  readonly isComplete: boolean;
  /** Failures of the passwords and volumes of the stores among these children. Creates passwords that never existed. */
  readonly guard: (stores: readonly StorePart[]) => Promise<readonly ActionFailure[]>;
  readonly digests: Rotation['digests'];
  /** The children of a revision, whether they exist or not. */
  readonly render: (revision: AppRevision, digests: Rotation['digests']) => readonly KubeObject[];
  /** Results of pods that were dry-run before. */
  readonly dryRuns: readonly DryRunResult[];
}

/** The plan, and whether the migration of the latest revision has to start when it has been executed. */
export interface AllowedPlan extends Plan {
  readonly migrates?: boolean;
  /** Failures of the passwords and volumes of its stores. */
  readonly lost: readonly ActionFailure[];
}

/**
 * The plan for the latest revision. While its migration is due or running, or the backup that its database begins with is not loaded, workloads stay those of the running revision, with the
 * stores of the revision that migrates. While a referenced object is missing, or the API server rejects its pods, the children stay
 * those of the running revision: pods that cannot start would replace running ones.
 */
export async function planAllowed(wanted: Wanted, { home, now, contracts }: PlanningOptions): Promise<AllowedPlan> {
  const { observed, latest, guard, digests, render, dryRuns } = wanted;
  const running = heldRevision(observed, latest);
  // Rarely needed, and expensive to render. Children of a newer version of Davit are not changed.
  const rendered = new Map<string, readonly KubeObject[]>();
  const renderEarlier = (revision: AppRevision): readonly KubeObject[] => {
    const { id, resolved } = revision.spec;
    if (!contracts.has(resolved.contract)) return [];
    const children = rendered.get(id) ?? render(revision, digestsOfHeld(observed, revision));
    rendered.set(id, children);
    return children;
  };
  // The running revision may be in its own first rollout still.
  const held = (): readonly KubeObject[] | undefined =>
    running && serverFirst(renderEarlier(running), observed, running, renderEarlier);
  const { mayRoll, mayMigrateFirst, preparing } = stageOf(wanted, running);
  // The stores of a first revision may start meanwhile.
  const whole = mayRoll ? render(latest, digests) : undefined;
  const desired = whole
    ? serverFirst(whole, observed, latest, renderEarlier)
    : (withStoresOf(preparing && render(preparing, digests), held()) ??
      render(latest, digests).filter((child) => !isOfPart(child) && !SCALING_KINDS.has(child.kind)));
  const planned = plan(desired, observed, prunesFor(observed, latest, mayRoll, held));
  // Those of the running revision as well, whatever the latest one wants: they hold the data that serves.
  const stores = storesAmong(desired);
  const lost = await guard(stores);
  if (!mayStartPods(lost)) return { ...planned, lost };
  // All pods of the rollout are tried before the migration and before the server's are replaced: a rejected one would come too late.
  const migrates = mayMigrateFirst && !planned.actions.some(renewsStore);
  const next = migrates ? render(latest, digests) : (whole ?? desired);
  // Those of parts that wait for their server are tried with its own, once.
  const isWhole = migrates || podsToTry(planned, desired, observed, now()).length > 0;
  const tried = isWhole && next !== desired ? plan(next, observed, NOTHING_PRUNED) : planned;
  // The pods of the active revision were accepted before, and the pods of the failed one may have used up a quota.
  const refusals = latest.status?.failure
    ? []
    : await dryRunPods(podsToTry(tried, next, observed, now()), home, dryRuns);
  if (refusals.length === 0) return { ...planned, lost, ...(migrates && { migrates }) };
  const kept = held() ?? [];
  const others = storesAmong(kept).filter((part) => !stores.includes(part));
  // A rotation rolls what serves, if the API server accepts its pods.
  const keeping = plan(kept, observed, scalersUnless(kept.length === 0));
  const keptRefused = await dryRunPods(podsToTry(keeping, kept, observed, now()), home, []);
  return {
    actions: withoutRefused(keeping.actions, keptRefused),
    refusals,
    lost: [...lost, ...(await guard(others))],
  };
}

/** How far the latest revision may go now. `preparing`: the revision whose stores may start or change, if any may. */
function stageOf(
  { observed, latest, isComplete }: Wanted,
  running: AppRevision | undefined,
): { readonly mayRoll: boolean; readonly mayMigrateFirst: boolean; readonly preparing: AppRevision | undefined } {
  const isBuilt = imageOf(latest) !== undefined;
  // What serves keeps serving while the image of the latest revision is being built, and when that has failed.
  const mayPrepare = isComplete && (isBuilt || (running ?? workloadOf(observed, 'server')) === undefined);
  const isBegun = isRestored(observed, latest);
  const hasFailed = latest.status?.failure !== undefined;
  return {
    mayRoll: isComplete && isBuilt && isBegun && isMigrated(observed, latest) && !hasFailed,
    mayMigrateFirst: mayPrepare && isBegun && mayMigrate(observed, latest),
    preparing: mayPrepare ? (migratingBefore(observed, latest) ?? latest) : undefined,
  };
}

/** The children without the parts that wait for their server; these keep what they run, with what scales it. */
function serverFirst(
  whole: readonly KubeObject[],
  observed: Observed,
  revision: AppRevision,
  renderEarlier: (revision: AppRevision) => readonly KubeObject[],
): readonly KubeObject[] {
  const parts = partsOf(revision.spec.resolved).filter((part) => awaitsServer(observed, revision, part));
  const kept = new Map(parts.map((part) => [part, keptFor(part, observed, revision)]));
  // Where nothing is kept, pods that are there have the scale of the record.
  const isWaiting = (child: KubeObject, part = ''): boolean =>
    kept.has(part) &&
    (isOfPart(child) ||
      (SCALING_KINDS.has(child.kind) && (kept.get(part) !== undefined || workloadOf(observed, part) === undefined)));
  const ready = whole.filter((child) => !isWaiting(child, partOf(child)));
  if (ready.length === whole.length) return whole;
  const earlier = [...kept].flatMap(([part, before]) =>
    before ? renderEarlier(before).filter((child) => partOf(child) === part && isWaiting(child, part)) : [],
  );
  return [...ready, ...earlier];
}

function partOf({ metadata }: KubeObject): string | undefined {
  return metadata.labels?.[COMPONENT_LABEL];
}

/**
 * The kinds of which nothing else is left: of a failed revision, the parts that the active one does not have. The scale is the
 * record's, also while the running revision is held.
 */
function prunesFor(
  observed: Observed,
  latest: AppRevision,
  mayRoll: boolean,
  held: () => readonly KubeObject[] | undefined,
): ReadonlySet<string> {
  if (mayRoll) return isRolled(observed, latest) ? PRUNED_KINDS : SCALING_KINDS;
  const goesBack = latest.status?.failure !== undefined && heldRevision(observed, latest) !== undefined;
  return goesBack ? WORKLOAD_KINDS : scalersUnless((held() ?? []).length === 0);
}

function scalersUnless(isUnknown: boolean): ReadonlySet<string> {
  return isUnknown ? NOTHING_PRUNED : SCALING_KINDS;
}

const RUNS_STORES: ReadonlySet<string> = new Set(['StatefulSet', 'Cluster']);

/** The own stores among these children. */
function storesAmong(children: readonly KubeObject[]): readonly StorePart[] {
  return STORE_PARTS.filter((part) => children.some((child) => RUNS_STORES.has(child.kind) && partOf(child) === part));
}

/** The held children, those of own stores as the revision that migrates wants them. Undefined if nothing is held. */
function withStoresOf(
  preparing: readonly KubeObject[] | undefined,
  held: readonly KubeObject[] | undefined,
): readonly KubeObject[] | undefined {
  if (held === undefined || preparing === undefined) return held;
  const stores = preparing.filter(isOfStore);
  const isReplaced = ({ kind, metadata: { name } }: KubeObject): boolean =>
    stores.some((store) => store.kind === kind && store.metadata.name === name);
  return [...stores, ...held.filter((child) => !isReplaced(child))];
}

function isOfStore(child: KubeObject): boolean {
  return STORE_PARTS.some((part) => part === partOf(child));
}

/** A new manifest of a store. What others have changed in it is judged by what an apply of it changes (changedStores). */
function renewsStore({ object, ...action }: Action): boolean {
  const there = action.do === 'apply' ? action.observed : undefined;
  const digest = object.metadata.annotations?.[APPLIED_ANNOTATION];
  return isOfStore(object) && there?.metadata.annotations?.[APPLIED_ANNOTATION] !== digest;
}

/**
 * Names of the StatefulSets and Clusters that these actions have changed. An apply changes nothing where a webhook rewrites each one to
 * what is there.
 */
export function changedSets(actions: readonly Action[], { caches }: Cluster): ReadonlySet<string> {
  const sets = actions.filter(({ object }) => RUNS_STORES.has(object.kind));
  const changed = sets.filter((action) => {
    const { namespace = '', name } = action.object.metadata;
    const now = caches.children.get(action.object.kind)?.get({ namespace, name });
    const before = action.do === 'apply' ? action.observed : undefined;
    return before === undefined || now?.metadata.generation !== before.metadata.generation;
  });
  return new Set(changed.map(({ object }) => object.metadata.name));
}
