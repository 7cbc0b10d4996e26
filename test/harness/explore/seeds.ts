// Bugs that the explorer must see, each with the bound that shows it: its own, and those of the fault harness that a bound
// can express. `from` must be in the file exactly once, after Node has stripped the types.

import { CAST_EXPRESSED, CAST_SEEDS, type Seeded } from './cast-seeds.ts';
import { DAY, REST } from './wakes/labels.ts';

function bug(bound: string, file: string, from: string, to: string): Seeded {
  return { bound, replacements: [{ file, from, to }] };
}

const ASKED = [REST, 'somebody asks for action Restore of shop in team'];
const RECORD = 'Davit reconciles appdeployments team/shop';
const OPERATION = 'Davit reconciles operations team/shop-one';
/** What it takes until the backup is loaded or not, some of it more often than needed. */
const LOADING = Array.from({ length: 8 }, () => [
  OPERATION,
  RECORD,
  'the controller of Deployment shop sees its scale in team',
  'the pods of StatefulSet shop---pg1 are created in team',
  'the pods of StatefulSet shop---pg1 become ready in team',
  'Job shop---pg1-restore fails in team',
]).flat();

export const EXPLORER_SEEDS: Readonly<Record<string, Seeded>> = {
  ...CAST_SEEDS,
  'READY asks for no ready pod': bug(
    'rollouts',
    'src/deploy/assess/observed.ts',
    "return availableOf(observed, 'server') > 0;",
    'return true;',
  ),

  'a revision without an image rolls': bug(
    'builds',
    'src/deploy/plan-children.ts',
    'const { mayRoll, mayMigrateFirst, preparing } = stageOf(wanted, running);',
    'const { mayRoll, mayMigrateFirst, preparing } = stageOf(wanted, running); if (imageOf(latest) === undefined) return { ...plan(render(latest, digests).filter(({ kind }) => !WORKLOAD_KINDS.has(kind)), observed), lost: [] };',
  ),
  'a commit gets the values of the file of an earlier one': bug(
    'files',
    'src/deploy/record/wanted-revision.ts',
    'const earlier = own.find((one) => commit && commitOf(one) === commit.commit && one.spec.file?.path === path);',
    'const earlier = own.find((one) => one.spec.file?.path === path);',
  ),
  'a commit whose file is wrong is built': bug(
    'files',
    'src/build/step.ts',
    'const { failure } = revision.spec.file ?? {};',
    'const failure = undefined;',
  ),
  'volumes are pruned': bug(
    'data',
    'src/deploy/plan/plan.ts',
    "'NetworkPolicy',",
    "'NetworkPolicy', 'PersistentVolumeClaim',",
  ),

  'every child is applied in every pass': bug(
    'life',
    'src/deploy/plan/plan.ts',
    'return digest === wanted.metadata.annotations?.[APPLIED_ANNOTATION] && !hasDrifted(wanted, actual);',
    'return digest === undefined && !hasDrifted(wanted, actual);',
  ),
  'numbers that somebody changed are not repaired': bug(
    'rollouts',
    'src/deploy/plan/drift.ts',
    'if (wanted === undefined || wanted === actual) return false;',
    "if (wanted === undefined || typeof wanted === 'number' || wanted === actual) return false;",
  ),

  'a paused record is reconciled': bug(
    'rollouts',
    'src/deploy/reconcile.ts',
    'if (!mayApply || paused !== undefined || !runsHere(observed.record))',
    'if (!mayApply || !runsHere(observed.record))',
  ),
  'no build has a turn while another waits': bug(
    'turns',
    'src/build/turns.ts',
    'const [revision] = fewest < perTenant ? waiting.splice(next, 1) : [];',
    'const [revision] = fewest < perTenant && waiting.length < 2 ? waiting.splice(next, 1) : [];',
  ),
  'an overtaken revision keeps its state': bug(
    'rollouts',
    'src/deploy/revision-status.ts',
    'const { build, ...status } = revision.status ?? {};',
    'const { build, ...status } = revision.status ?? {}; if (status.state) return status;',
  ),

  'a retained Cluster is deleted': bug(
    'clusters',
    'src/deploy/plan/teardown.ts',
    "keepsDatabase(observed) && object.kind === 'Cluster';",
    "!keepsDatabase(observed) && object.kind === 'Cluster';",
  ),
  'a Cluster is taken from another record': bug(
    'clusters',
    'src/deploy/plan/adoption.ts',
    'if (observed.record.metadata.annotations?.[ADOPT_DATABASE_ANNOTATION] !== from)',
    "if (claim?.kind !== 'Cluster' && observed.record.metadata.annotations?.[ADOPT_DATABASE_ANNOTATION] !== from)",
  ),
  'a lost Cluster is replaced by an empty one': bug(
    'clusters',
    'src/deploy/assess/database-volume.ts',
    'if (dataHolderOf(observed)) return false;',
    'if (dataHolderOf(observed) || isInCluster(observed)) return false;',
  ),
  'a database that is moved begins empty': bug(
    'moves',
    'src/deploy/record/database-move.ts',
    'return { from, ...(namespace !== undefined && { namespace }), backup };',
    'return undefined;',
  ),
  'passwords are pruned': bug(
    'data',
    'src/deploy/plan/plan.ts',
    'if (!prunes.has(kind) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;',
    "if ((!prunes.has(kind) && kind !== 'Secret') || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;",
  ),
  'a move waits for no pod': bug(
    'moves',
    'src/databases/move-step.ts',
    'if (!isSeen(observed) || running !== undefined) {',
    'if (!isSeen(observed)) {',
  ),
  'a pod is started between stop and switch': bug(
    'moves',
    'src/kinds/operation-phases.ts',
    "move !== undefined && phase !== 'Starting'",
    "move !== undefined && phase === 'Stopping'",
  ),
  'a scale is left at zero': {
    ...bug('moves', 'src/deploy/observe.ts', 'isBegun(one) && !isEnded(one) &&', 'isBegun(one) &&'),
    way: [...ASKED, REST, DAY],
  },
  'a rollback keeps that an operation runs nothing': {
    ...bug(
      'moves',
      'src/deploy/in-force.ts',
      'if (!holds(operation)) return revisions;',
      'if (record) return revisions;',
    ),
    way: [...ASKED, ...LOADING.slice(0, 18), 'somebody rolls shop by 1 back in team', REST],
  },
  'a database in use is deleted': bug(
    'moves',
    'src/databases/decide-move.ts',
    'if (newest && databaseNumberOf(newest) === number)',
    'if (!newest)',
  ),
  'a cancelled operation is carried out': {
    ...bug(
      'moves',
      'src/databases/move-step.ts',
      "if (phase === 'Loading') return goesBack(observed, move, CANCELLED);",
      "if (phase === 'Loading') return undefined;",
    ),
    way: [...ASKED, ...LOADING.slice(0, 18), 'somebody deletes operation shop-one in team', REST],
  },
  'an operation that failed is carried out': {
    ...bug(
      'moves',
      'src/databases/move-step.ts',
      "if (restored?.reason === 'RestoreFailed') {",
      "if (restored?.reason === 'Nothing') {",
    ),
    way: [...ASKED, ...LOADING, REST, DAY],
  },
  'two operations work at once': {
    bound: 'moves',
    replacements: [
      { file: 'src/databases/step.ts', from: 'if (!isFirst) return waitsForEarlier(observed);', to: '' },
      { file: 'src/databases/reconciler.ts', from: 'seen.isFirst && isOpen &&', to: 'isOpen &&' },
    ],
  },
  'Retain keeps the first database alone': bug(
    'moves',
    'src/deploy/plan/teardown.ts',
    'HOLDS_DATA.has(kind) && databaseNumberIn(metadata.name, name) !== undefined;',
    'HOLDS_DATA.has(kind) && databaseNumberIn(metadata.name, name) === 0;',
  ),
  'whoever wrote last asked for the revision': bug(
    'authors',
    'src/deploy/record/requester.ts',
    'return metadata.generation === deployed + 1 ? requesterOf(record) : undefined;',
    'return requesterOf(record);',
  ),
  'what waits for its revision is taken to be in the one before': bug(
    'authors',
    'src/deploy/record/latest-generation.ts',
    'const known = isAll ? generation : before;',
    'const known = generation;',
  ),
  'a change after one of the scale has no author': bug(
    'authors',
    'src/deploy/record/latest-generation.ts',
    'return known === undefined ? {} : { latestRevisionGeneration: known };',
    'return {};',
  ),
  'whoever interrupted a build before interrupts the next one': bug(
    'authors',
    'src/deploy/record/requester.ts',
    'return subject === uid && of === annotations?.[INTERRUPT_ANNOTATION]?.toLowerCase() ? username : undefined;',
    'return subject === uid ? username : undefined;',
  ),
  'claims are left after a teardown': bug(
    'life',
    'src/deploy/assess/observed.ts',
    "return (record.spec.databaseDeletionPolicy ?? deletionDefault) !== 'Delete';",
    'return true;',
  ),

  'a host goes to whoever asks last': bug(
    'addresses',
    'src/deploy/assess/host-ownership.ts',
    'if (holding.length > 0) return first(host, holding);',
    'return asking;',
  ),

  'a store goes while a run needs it': bug(
    'tasks',
    'src/deploy/plan/plan.ts',
    "`${TASK} ${podsIdOf(one, 'server')}`,",
    '',
  ),
  'a request to rebuild is lost beside a change of sizes': bug(
    'pushes',
    'src/deploy/record/kept-build.ts',
    '  if (rebuilds) return { migrated: false };\n',
    '',
  ),
  'changes that are taken back unseen deploy the newest commit': bug(
    'pushes',
    'src/deploy/record/needs-revision.ts',
    'return isUndone ? { ...asking, rollbackTo: newest.spec.id } : asking;',
    'return asking;',
  ),
  'a run that has ended goes on in the status': bug(
    'tasks',
    'src/deploy/assess/task-runs.ts',
    "if (before !== undefined && before.state !== 'Running') return before;",
    'if (before !== undefined) return before;',
  ),
  'a task goes on at a scale of zero': bug(
    'tasks',
    'src/deploy/children/task.ts',
    'suspend: revision.spec.resolved.server.maxScale === 0,',
    'suspend: false,',
  ),

  'a backup is claimed of a run that failed': bug(
    'backups',
    'src/deploy/assess/database-jobs.ts',
    'ended?.exitCode !== 0) return [];',
    "ended === undefined || (component !== 'backup' && ended.exitCode !== 0)) return [];",
  ),
  'a verification outlives a later failure': bug(
    'backups',
    'src/deploy/assess/verification.ts',
    '  lastVerificationFailed,\n',
    '',
  ),
  'a verification is claimed of a run that failed': bug(
    'backups',
    'src/deploy/assess/database-jobs.ts',
    'ended?.exitCode !== 0) return [];',
    "ended === undefined || (component !== 'verify' && ended.exitCode !== 0)) return [];",
  ),
  'a verification is content with any backup': bug(
    'backups',
    'src/deploy/children/database/verification.ts',
    '...(known === undefined ? [] : [`--known=${known}`]),',
    '',
  ),

  'retention may delete the last verified backup': bug(
    'backups',
    'src/deploy/children/database/backup.ts',
    '...(databaseVerification?.name === undefined ? [] : [`--verified=${databaseVerification.name}`]),',
    '',
  ),

  'an external store answers as long as any pod has connected': bug(
    'external',
    'src/deploy/assess/stores.ts',
    '  aPodIsLate,\n',
    '',
  ),
  'what serves is forgotten while a pod waits for an external store': bug(
    'external',
    'src/deploy/assess/stores.ts',
    'return isOfPods && isServing(observed) ? { ...entry, serving: true } : entry;',
    'return entry;',
  ),
  'pods that serve are said never to have connected': bug(
    'external',
    'src/deploy/assess/stores.ts',
    "return isServing(observed) ? ' The running pods connected earlier.' : '';",
    "return '';",
  ),

  'a refused child is forgotten': bug(
    'refusals',
    'src/deploy/status.ts',
    "const failure = refusals.find(({ reason }) => reason !== 'RequestFailed') ?? refusals[0];",
    'const failure = undefined;',
  ),

  'a revision at zero is started before its migration': bug(
    'migrations',
    'src/deploy/assess/workloads.ts',
    'if (running && (running.status?.failure || !mayRun(observed, running)))',
    'if (running?.spec.id === latest.spec.id && !mayRun(observed, running))',
  ),

  'a store that a migration waits for is never Stalled': bug(
    'refusals',
    'src/deploy/assess/stores.ts',
    'isDeployed ? patience?.exhausted : patience?.overdue;',
    'isDeployed ? patience?.exhausted : undefined;',
  ),

  'a rollout that begins is Stalled': bug(
    'rollouts',
    'src/deploy/assess/workloads.ts',
    "return fail('Progressing', `${what} is starting.`);",
    "return stalled('Progressing', `${what} is starting.`);",
  ),

  'a singleton starts beside the last pod that its worker had': bug(
    'workers',
    'src/deploy/plan/plan.ts',
    'if (actual === undefined && waitsForPods(wanted, observed)) continue;',
    '',
  ),
  'a worker that is gone keeps its workload': bug(
    'workers',
    'src/deploy/plan/plan.ts',
    'if (!prunes.has(kind) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;',
    'if (!prunes.has(kind) || isOfPart(child) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;',
  ),
  'the rollout of a singleton has no deadline': bug(
    'workers',
    'src/deploy/assess/workloads.ts',
    "observed.patience?.overdue.has('WorkloadsReady')",
    'false',
  ),

  'an unwanted autoscaler stays while another child is refused': bug(
    'whole',
    'src/deploy/cluster/apply.ts',
    'SCALING_KINDS.has(kind);',
    'SCALING_KINDS.has(kind) && false;',
  ),
  'exits of a new revision do not count': bug(
    'whole',
    'src/deploy/assess/workloads.ts',
    '  rolloutPaused,\n  crashed,\n',
    '  rolloutPaused,\n',
  ),
  'a running Redis gets another password': bug(
    'whole',
    'src/deploy/plan/passwords.ts',
    'return locked !== undefined && isOurs(locked, observed);',
    "return store === 'postgres' && locked !== undefined && isOurs(locked, observed);",
  ),
  'autoscalers are never pruned': bug(
    'autoscaling',
    'src/deploy/plan/plan.ts',
    'if (!prunes.has(kind) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;',
    "if (child.kind === 'HorizontalPodAutoscaler' || child.kind === 'ScaledObject' || !prunes.has(kind) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;",
  ),
};

/** Bugs of the fault harness that a bound can show. */
export const EXPRESSED: Readonly<Record<string, string>> = {
  ...CAST_EXPRESSED,
  'tasks follow the newest revision': 'tasks',
  'a workload is ready before its rollout has finished': 'rollouts',
  "a child's outdated observedGeneration is accepted": 'rollouts',
  'an existing password is regenerated': 'data',
  'a lost password is regenerated': 'data',
  'a lost volume is replaced by an empty one': 'data',
  'a rollout before the migration': 'migrations',
  'a migration that failed is ignored': 'migrations',
  'no finalizer is added': 'life',
  'the finalizer is removed before the teardown': 'life',
  'a failed build keeps its turn': 'builds',
  'credentials are kept after the build': 'builds',
  'Jobs of deleted builds are not collected': 'builds',
};
