// Does PostgreSQL answer, and does Redis? The record's own ones are asked of their StatefulSet and its pods; external ones
// of the init containers that wait for them.

import type { ConditionType } from '../../api/app-deployment-conditions.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import { conditionOf } from '../../api/conditions.ts';
import {
  EXTERNAL_POSTGRES_VARIABLE,
  EXTERNAL_REDIS_VARIABLE,
  IMAGE_COMPONENTS,
  type StorePart,
  WAIT_FOR_DATABASE,
  WAIT_FOR_REDIS,
} from '../../api/meta.ts';
import {
  type ActionFailure,
  deploymentOf,
  failureAt,
  isOurs,
  type Observed,
  type Pod,
  statefulSetOf,
  volumeClaimOf,
  type Workload,
} from '../observed.ts';
import { howToRelease } from '../terminating-pods.ts';
import { volumeTrouble } from './database-volume.ts';
import { type Entry, fail, firstOf, pass, stalled } from './entry.ts';
import { hasPassed, podFailure, podsOf } from './pod-failures.ts';

interface StoreKind {
  readonly what: string;
  readonly condition: ConditionType;
  /** Names an external one. */
  readonly variable: string;
  /** The init container that waits for it. */
  readonly waits: string;
}

const STORES: Readonly<Record<StorePart, StoreKind>> = {
  postgres: {
    what: 'PostgreSQL',
    condition: 'DatabaseReady',
    variable: EXTERNAL_POSTGRES_VARIABLE,
    waits: WAIT_FOR_DATABASE,
  },
  redis: { what: 'Redis', condition: 'RedisReady', variable: EXTERNAL_REDIS_VARIABLE, waits: WAIT_FOR_REDIS },
};

interface Seen extends StoreKind {
  readonly part: StorePart;
  /** Name of the StatefulSet and of PostgreSQL's volume. */
  readonly name: string;
  readonly observed: Observed;
  readonly revision: AppRevision;
  readonly set: Workload | undefined;
  readonly failures: readonly ActionFailure[];
}

type Check = (seen: Seen) => Entry | undefined;

const OWN_CHECKS: readonly Check[] = [
  volumeUnusable,
  ownAnswers,
  setRefused,
  notMade,
  podsFail,
  podStuck,
  restarting,
  stoppedAnswering,
];
const EXTERNAL_CHECKS: readonly Check[] = [notNeeded, aPodHasPassed, servesOn, notTried];

/** `failures`: what came of the last try. */
export function checkStore(
  part: StorePart,
  observed: Observed,
  revision: AppRevision,
  failures: readonly ActionFailure[] = [],
): Entry {
  const seen: Seen = {
    ...STORES[part],
    part,
    name: observed.names[part],
    observed,
    revision,
    set: statefulSetOf(observed, part),
    failures,
  };
  const { what, variable, waits } = seen;
  if (isOwn(part, revision))
    return firstOf(OWN_CHECKS, seen) ?? fail('Starting', `${what} was started and has not answered yet.`);
  return (
    firstOf(EXTERNAL_CHECKS, seen) ??
    fail(
      'NotAnswering',
      `The ${what} in ${variable} does not answer. Check its address, password and network, and the log of init container ${waits}.`,
    )
  );
}

export function isOwn(part: StorePart, { spec: { resolved } }: AppRevision): boolean {
  return resolved[part] !== undefined;
}

/** Whether the record's own store answers, in its newest template. */
export function ownStoreAnswers(part: StorePart, observed: Observed): boolean {
  const set = statefulSetOf(observed, part);
  return set !== undefined && isReady(set) && !isRolling(set) && !(part === 'postgres' && volumeTrouble(observed));
}

function isReady(set: Workload | undefined): boolean {
  return (set?.status?.readyReplicas ?? 0) > 0;
}

/** What answers is still, or may be, of older settings. */
function isRolling({ metadata, status = {} }: Workload): boolean {
  const { observedGeneration = 0, currentRevision, updateRevision, updatedReplicas = 0 } = status;
  if (observedGeneration < (metadata.generation ?? 1) || currentRevision !== updateRevision) return true;
  // A correction makes both the older one again, while the pod is still of the one between.
  return updateRevision !== undefined && updatedReplicas === 0;
}

function volumeUnusable({ part, observed, failures }: Seen): Entry | undefined {
  const trouble =
    part === 'postgres'
      ? (volumeTrouble(observed) ?? failures.find(({ reason }) => reason === 'VolumeMissing'))
      : undefined;
  return trouble && stalled(trouble.reason, trouble.message);
}

function ownAnswers({ part, observed, what }: Seen): Entry | undefined {
  return ownStoreAnswers(part, observed) ? pass('Answering', `${what} answers.`) : undefined;
}

function setRefused({ name, failures }: Seen): Entry | undefined {
  const failure = failureAt({ kind: 'StatefulSet', name }, failures);
  return failure && fail(failure.reason, failure.message);
}

function notMade({ set, what }: Seen): Entry | undefined {
  return set ? undefined : fail('NotObserved', `${what} has not been created yet.`);
}

function podsFail({ part, observed, what }: Seen): Entry | undefined {
  const failure = podFailure(podsOf(observed, part));
  return failure && fail(failure.reason, `${what}: ${failure.message}`);
}

function podStuck({ part, observed, what }: Seen): Entry | undefined {
  const overdue = podsOf(observed, part).find((pod) => pod.overdue);
  return overdue && stalled('PodStuckTerminating', `${what}: ${howToRelease(overdue)}`);
}

function restarting({ set, what }: Seen): Entry | undefined {
  return isReady(set) ? fail('Starting', `${what} is restarting with its new settings.`) : undefined;
}

function stoppedAnswering({ observed, condition, what, name }: Seen): Entry | undefined {
  const before = conditionOf(observed.record.status?.conditions, condition);
  const answered = before?.status === 'True' || before?.reason === 'NotAnswering';
  return answered ? fail('NotAnswering', `${what} no longer answers. Check pod ${name}-0.`) : undefined;
}

function notNeeded({ revision, what }: Seen): Entry | undefined {
  const runsNothing = revision.spec.resolved.server.maxScale === 0;
  return runsNothing ? pass('NotNeeded', `No running part needs ${what}.`) : undefined;
}

function aPodHasPassed(seen: Seen): Entry | undefined {
  return hasPassed(podsWithImage(seen), seen.waits) ? answers(seen) : undefined;
}

// Old pods that serve are proof enough while the new revision's pods still start.
function servesOn(seen: Seen): Entry | undefined {
  const { observed, condition } = seen;
  const workload = deploymentOf(observed, 'server');
  const before = conditionOf(observed.record.status?.conditions, condition);
  return before?.status === 'True' && (workload?.status?.availableReplicas ?? 0) > 0 ? answers(seen) : undefined;
}

function notTried(seen: Seen): Entry | undefined {
  if (podsWithImage(seen).length > 0) return undefined;
  return fail('NotObserved', `No pod has connected to the ${seen.what} in ${seen.variable} yet.`);
}

function podsWithImage({ observed, revision }: Seen): readonly Pod[] {
  return IMAGE_COMPONENTS.flatMap((component) => podsOf(observed, component, revision.spec.id));
}

function answers(seen: Seen): Entry {
  return pass('Answering', `The ${seen.what} that ${seen.variable} names answers.${keptVolume(seen)}`);
}

// A switch to an external database deletes nothing; who looks should know that there is something to go back to.
function keptVolume({ observed, part, name }: Seen): string {
  const claim = part === 'postgres' ? volumeClaimOf(observed) : undefined;
  if (!claim || !isOurs(claim, observed)) return '';
  return ` The record's own volume, ${name}, is kept.`;
}
