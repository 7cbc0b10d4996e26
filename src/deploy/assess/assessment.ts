// All that is wrong with a record, judged once a pass: it decides what may be done, and what is reported of the record.

import { isFailure } from '../../kinds/app-deployment-conditions.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import type { StorePart } from '../../kinds/meta.ts';
import { COPIES, holds } from '../../kinds/operation-phases.ts';
import type { Settings } from '../../kinds/settings.ts';
import { partsOf } from '../record/parts.ts';
import { rollingBack } from '../record/revision-request.ts';
import { type AddressOutcome, type AskedAddress, checkAddress, requestedAddress } from './address.ts';
import { checkAutoscaling, checkHonored } from './autoscaling.ts';
import { checkBackup } from './backup.ts';
import { type Entry, fail } from './entry.ts';
import { checkUnmigrated } from './migration.ts';
import { type ActionFailure, childOf, isServing, type Observed } from './observed.ts';
import { pausedBy } from './pause.ts';
import { checkDeployed, checkPolicy, inForce } from './policy.ts';
import { checkReferences } from './references.ts';
import { checkRestore } from './restore.ts';
import { rolloutOf } from './rollout.ts';
import { checkStore } from './stores.ts';
import { checkVerification } from './verification.ts';
import { checkArchive } from './wal-archive.ts';
import { checkHeld, checkUnstarted, checkWorkloads, heldRevision, keptFor, revisionOfStore } from './workloads.ts';

/** What is judged before anything is done: the record, and what it names. */
export interface Preconditions {
  /** Why the record is not changed (pause.ts). */
  readonly paused: string | undefined;
  readonly policy: Entry;
  /** Whether what serves may be applied, also where the policy refuses the record. */
  readonly mayApply: boolean;
  readonly references: Entry;
  readonly asked: AskedAddress;
}

/** The preconditions, and what runs after the pass. */
export interface Assessment extends Preconditions {
  readonly database: Entry;
  readonly redis: Entry;
  readonly workloads: Entry;
  /** Why nothing serves, if that does not come of the latest revision: the one that should serve is down. */
  readonly down?: Entry;
  /** The workloads, and the record's own stores in their newest template. */
  readonly rollout: Entry;
  readonly autoscaling: Entry;
  readonly honored: Entry;
  readonly address: Entry;
  /** Undefined if the record asks for no backups. */
  readonly backup: Entry | undefined;
  /** Undefined if the record asks for no archive. */
  readonly archive: Entry | undefined;
  /** Undefined if verification is off. */
  readonly verification: Entry | undefined;
  /** Undefined if the record does not begin with a backup. */
  readonly restore?: Entry | undefined;
  /** Which operation has stopped the deployment, unless its database has a trouble that the operation does not end. */
  readonly operation?: Entry;
}

export function checkPreconditions(observed: Observed, settings: Settings): Preconditions {
  const policy = checkPolicy(observed, settings);
  return {
    paused: pausedBy(observed.record, settings),
    policy,
    mayApply: policy.is === 'pass' || mayRepair(observed, settings),
    references: checkReferences(observed),
    asked: requestedAddress(observed, settings.address),
  };
}

/** What a pass has come to. */
export interface Outcome {
  /** The newest revision; undefined where the record has none (yet). */
  readonly latest: AppRevision | undefined;
  readonly address: AddressOutcome;
  readonly failures: readonly ActionFailure[];
}

/** `observed`: the record and its children after the pass. */
export function assess(
  observed: Observed,
  preconditions: Preconditions,
  { latest, address: outcome, failures }: Outcome,
): Assessment {
  const address = checkAddress(observed, outcome, failures);
  const backup = checkBackup(observed, latest, failures);
  const verification = checkVerification(observed, backup, failures);
  const archive = checkArchive(observed, latest, failures);
  if (!latest) return { ...preconditions, ...nothingRuns(failures), address, backup, archive, verification };
  const storeOf = (part: StorePart, revision: AppRevision): Entry => checkStore(part, observed, revision, failures);
  // The pods of the latest revision wait for its stores alone.
  const awaited = { postgres: storeOf('postgres', latest), redis: storeOf('redis', latest) };
  const workloads = checkWorkloads(observed, latest, Object.values(awaited), failures);
  // What serves may need a store that the latest revision does without. The rollout of the latest one does not wait for that store.
  const serving = (part: StorePart): Entry => {
    const revision = revisionOfStore(part, observed, latest);
    if (revision === latest) return awaited[part];
    const entry = storeOf(part, revision);
    return entry.is === 'stalled' ? { ...entry, is: 'fail' } : entry;
  };
  const [database, redis] = [serving('postgres'), serving('redis')];
  const operation = heldByOperation(observed, database);
  const rollout = rolloutOf(latest, { workloads, database, redis }, failures);
  const held = isServing(observed)
    ? unreachable(observed, preconditions)
    : checkHeld(observed, latest, [database, redis], failures);
  return {
    ...preconditions,
    database: operation ?? database,
    ...(operation && { operation }),
    redis,
    workloads,
    ...(held && held.is !== 'pass' && { down: held }),
    rollout: checkUnmigrated(observed, latest) ?? checkUnstarted(observed, latest, rollout) ?? rollout,
    autoscaling: checkAutoscaling(observed, latest),
    honored: checkHonored(observed, latest),
    address,
    backup,
    archive,
    verification,
    restore: checkRestore(observed, latest, failures),
  };
}

/** `database`: what is wrong with the database that the record has. */
function heldByOperation({ operation, names }: Observed, database: Entry): Entry | undefined {
  if (!operation || !holds(operation)) return undefined;
  const { metadata, spec, status } = operation;
  // Whatever is wrong with a database that is being left.
  const isLeft = status?.move?.from.number === names.databaseNumber && !COPIES.has(spec.action);
  if (database.is === 'stalled' && !isLeft) return undefined;
  const { message = '' } = conditionOf(status?.conditions, 'Complete') ?? {};
  const trouble = !isLeft && database.is === 'fail' && isFailure(database.reason) ? ` ${database.message}` : '';
  return fail('OperationRunning', `${spec.action} ${metadata.name} has stopped the deployment. ${message}${trouble}`);
}

/** A person has deleted the Service of pods that run, and Davit may not make it again. */
function unreachable(observed: Observed, { paused, mayApply }: Preconditions): Entry | undefined {
  const name = observed.names.service;
  if ((paused === undefined && mayApply) || childOf(observed, 'Service', name)) return undefined;
  return fail('Progressing', `Service ${name} is missing, so no traffic reaches the pods of the server.`);
}

export const WAITING_FOR_IMAGE = 'The deployment has no image or source yet. Push an image, or upload its source.';

function nothingRuns([failure]: readonly ActionFailure[]): Omit<
  Assessment,
  keyof Preconditions | 'address' | 'backup' | 'archive' | 'verification'
> {
  const waiting = failure ? fail(failure.reason, failure.message) : fail('WaitingForImage', WAITING_FOR_IMAGE);
  return {
    database: waiting,
    redis: waiting,
    workloads: waiting,
    rollout: waiting,
    autoscaling: waiting,
    honored: waiting,
  };
}

/** The pods that serve must break no rule themselves, or Davit would make pods that the platform refuses. */
function mayRepair(observed: Observed, settings: Settings): boolean {
  const { record, revisions } = observed;
  const [newest] = revisions;
  if (newest === undefined) return false;
  // A pass makes pods of the newest revision, or of the one that serves until the newest can be rolled out.
  const kept = partsOf(newest.spec.resolved).map((part) => keptFor(part, observed, newest));
  return [...new Set([newest, heldRevision(observed, newest), ...kept])].every(
    (made) => !made || !checkDeployed({ ...observed, record: asItRuns(record, made) }, settings),
  );
}

/** The record as it would be if it asked for this revision, at the scale in force. */
function asItRuns(record: Observed['record'], { spec: made }: AppRevision): Observed['record'] {
  const spec = rollingBack(record.spec, made);
  // With the values of its file.
  const { runtime = {}, resourceSpec = {} } = made.requested;
  return {
    ...record,
    spec: {
      ...spec,
      source: made.source,
      sourceConfig: inForce(record, { ...spec.sourceConfig, runtime, resourceSpec }),
    },
  };
}
