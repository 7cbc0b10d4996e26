// Bugs that the explorer must see, each with the bound that shows it: ten of its own, and those of the fault harness that a bound
// can express. `from` must be in the file exactly once, after Node has stripped the types.

import { CAST_EXPRESSED, CAST_SEEDS, type Seeded } from './cast-seeds.ts';

function bug(bound: string, file: string, from: string, to: string): Seeded {
  return { bound, replacements: [{ file, from, to }] };
}

export const EXPLORER_SEEDS: Readonly<Record<string, Seeded>> = {
  ...CAST_SEEDS,
  'READY asks for no ready pod': bug(
    'rollouts',
    'src/decide/assess/workloads.ts',
    "return (deploymentOf(observed, 'server')?.status?.availableReplicas ?? 0) > 0;",
    'return true;',
  ),

  'a revision without an image rolls': bug(
    'builds',
    'src/controller/app-deployment/plan-children.ts',
    "const isWaiting = !isBuilt && (running ?? deploymentOf(observed, 'server')) !== undefined;",
    'const isWaiting = false; if (!isBuilt) return { ...plan(made(latest, digests).filter(({ kind }) => !WORKLOAD_KINDS.has(kind)), observed), lost: [] };',
  ),
  'volumes are pruned': bug(
    'data',
    'src/decide/children/plan.ts',
    "'NetworkPolicy',",
    "'NetworkPolicy', 'PersistentVolumeClaim',",
  ),

  'every child is applied in every pass': bug(
    'life',
    'src/decide/children/plan.ts',
    'return digest === wanted.metadata.annotations?.[APPLIED_ANNOTATION] && !hasDrifted(wanted, actual);',
    'return digest === undefined && !hasDrifted(wanted, actual);',
  ),
  'numbers that somebody changed are not repaired': bug(
    'rollouts',
    'src/decide/drift.ts',
    'if (wanted === undefined || wanted === actual) return false;',
    "if (wanted === undefined || typeof wanted === 'number' || wanted === actual) return false;",
  ),

  'a paused record is reconciled': bug(
    'rollouts',
    'src/controller/app-deployment/reconciler.ts',
    "if (assessed.policy.is !== 'pass' || assessed.paused !== undefined || !runsHere(observed.record))",
    "if (assessed.policy.is !== 'pass' || !runsHere(observed.record))",
  ),
  'no build has a turn while another waits': bug(
    'turns',
    'src/decide/build/turns.ts',
    'const [revision] = fewest < perTenant ? waiting.splice(next, 1) : [];',
    'const [revision] = fewest < perTenant && waiting.length < 2 ? waiting.splice(next, 1) : [];',
  ),
  'an overtaken revision keeps its state': bug(
    'rollouts',
    'src/decide/revision-status.ts',
    'const { build, ...status } = revision.status ?? {};',
    'const { build, ...status } = revision.status ?? {}; if (status.state) return status;',
  ),

  'claims are left after a teardown': bug(
    'life',
    'src/decide/children/teardown.ts',
    "const keepsDatabase = record.spec.databaseDeletionPolicy === 'Retain';",
    'const keepsDatabase = true;',
  ),

  'a host goes to whoever asks last': bug(
    'addresses',
    'src/decide/host-ownership.ts',
    'if (holding.length > 0) return first(host, holding);',
    'return asking;',
  ),

  'a refused child is forgotten': bug(
    'refusals',
    'src/decide/status.ts',
    "const failure = refusals.find(({ reason }) => reason !== 'RequestFailed') ?? refusals[0];",
    'const failure = undefined;',
  ),

  'autoscalers are never pruned': bug(
    'autoscaling',
    'src/decide/children/plan.ts',
    'if (!prunes.has(child.kind) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;',
    "if (child.kind === 'HorizontalPodAutoscaler' || child.kind === 'ScaledObject' || !prunes.has(child.kind) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;",
  ),
};

/** Bugs of the fault harness that a bound can show. */
export const EXPRESSED: Readonly<Record<string, string>> = {
  ...CAST_EXPRESSED,
  'a workload is ready before its rollout has finished': 'rollouts',
  "a child's outdated observedGeneration is accepted": 'rollouts',
  'an existing password is regenerated': 'data',
  'a lost password is regenerated': 'data',
  'a lost volume is replaced by an empty one': 'data',
  'a rollout before the migration': 'migrations',
  'a migration that failed is ignored': 'migrations',
  'no finalizer is added': 'life',
  'the finalizer is removed before the teardown': 'life',
  'a failed build keeps its turn': 'turns',
  'credentials are kept after the build': 'builds',
  'Jobs of deleted builds are not collected': 'builds',
};
