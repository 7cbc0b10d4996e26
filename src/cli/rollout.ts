// Follows a revision until it is ready or has failed, over the HTTP API.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Revision } from '../deployments/http/revisions/payloads.ts';
import { NOT_PROCESSED } from '../schema/api-sentences.ts';
import type { RevisionState } from '../schema/app-revision.ts';
import { isPart } from '../schema/worker-parts.ts';
import { conditionIn, type Deployment, isBuilding, lastLines, openBuildLog, readRevision } from './build-log.ts';
import { makeCrashCount, type PodExits, saysCrash } from './crash-loop.ts';
import { type HttpApi, Refused } from './http-api.ts';
import { Failure, ignoreFailure, TimedOut } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { withShortIds } from './short-ids.ts';
import { servesMeanwhile, wordsOnBlocked } from './wait.ts';

export interface RolloutOptions {
  readonly timeoutMs: number;
  /** Flags that suggested commands repeat, each after a space. */
  readonly suggested: string;
  readonly say: (line: string) => void;
  readonly everyMs?: number;
}

const FAILED: Readonly<Partial<Record<RevisionState, string>>> = {
  CREATE_FAILED: 'could not be created',
  BUILD_FAILED: 'could not be built',
  DEPLOY_FAILED: 'could not be deployed',
  SKIPPED: 'was skipped',
  INTERRUPTED: 'was interrupted',
};
/** A condition that blocks the deployment is final after this time; one from before the change may only be not observed again. */
const STALLED_MS = { new: 10_000, old: 60_000 };

export interface Change {
  /** The deployment as the change answered it. */
  readonly before: Deployment;
  readonly revision: string;
  /** The revision's name. */
  readonly called: string;
}

/** Resolves to the ready deployment. Prints each state and the log of the build. Throws Failure with what failed, and TimedOut. */
export async function untilReady(api: HttpApi, change: Change, options: RolloutOptions): Promise<Deployment> {
  const { before, revision: id } = change;
  const { say, timeoutMs, suggested, everyMs = 1000 } = options;
  const end = Date.now() + timeoutMs;
  const printBuild = buildPrinter(api, change, say);
  const stalled = stalledFor(stalledMessage(before));
  const exitsAgain = crashCounter(() => podsOfParts(api, before.id));
  let last = '';
  /** Prints what differs from the line before of the same kind. */
  const printer = (): ((line: string) => void) => {
    let printed = '';
    return (whole) => {
      const line = withShortIds(whole);
      if (line !== printed) say(line);
      printed = line;
      last = line;
    };
  };
  const [ofRevision, ofDeployment] = [printer(), printer()];
  let wasDeployed = false;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- until it is ready
    const revision = await readRevision(api, before.id, id);
    const { status, status_message: message } = revision;
    const hasFailed = FAILED[status] !== undefined;
    // The failure has its message.
    ofRevision(message === null || hasFailed ? status : `${status}  ${message}`);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await printBuild(revision);
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (hasFailed) throw await failed(api, change, revision, say);
    if (status !== 'BUILDING') {
      // oxlint-disable-next-line no-await-in-loop -- as above
      const deployment = await api.patiently<Deployment>('GET', `/v2/deployments/${before.id}?secrets=names`);
      if ((status === 'DEPLOYED' || isAtZero(deployment, id)) && isDone(deployment, id)) return deployment;
      // oxlint-disable-next-line no-await-in-loop -- as above
      const isCrashing = status === 'DEPLOYED' && (await exitsAgain(deployment));
      // oxlint-disable-next-line no-await-in-loop -- ends the loop
      if (isCrashing) throw await crashed(api, change, deployment, say);
      const blocked = stalledMessage(deployment);
      // The revision has the message of a block only where it was observed after the change.
      if (stalled(blocked, blocked === message))
        throw new Failure(wordsOnBlocked(before.name, blocked), {
          result: 'failed',
          reason: conditionIn(deployment, 'Stalled')?.reason ?? null,
          message: blocked ?? null,
          hint: `${PROGRAM} status ${before.name}`,
        });
      // At first it may be the one from before the revision was deployed.
      if (wasDeployed) ofDeployment(`${deployment.status}  ${deployment.status_message}`);
      wasDeployed = status === 'DEPLOYED';
    }
    const active = before.active_revision_id;
    const earlier = active === null || active === id ? '' : `${servesMeanwhile(before.name)}${suggested}`;
    if (Date.now() >= end)
      throw new TimedOut(
        `${before.name} is not ready after ${timeoutMs / 1000} s. ${last}\nIt goes on. To wait for it: ${PROGRAM} wait ${before.name}${suggested}${earlier}`,
        { result: 'undecided', reason: status, message: last, hint: `${PROGRAM} wait ${before.name}` },
      );
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(everyMs);
  }
}

/** Prints the new lines of the build's log, until the build has ended. Without the right to read it, prints that once. */
function buildPrinter(
  api: HttpApi,
  { before, revision: id }: Change,
  say: (line: string) => void,
): (revision: Revision) => Promise<void> {
  const more = openBuildLog(api, before.id, id, true);
  let canRead = true;
  return async (revision) => {
    if (!canRead) return;
    try {
      for (const line of await more()) say(line);
      canRead = isBuilding(revision);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      say(`The log of the build cannot be read: ${error.message}`);
      canRead = false;
    }
  };
}

/** So many answers of the deployment go by from one list of its pods to the next. */
const LOOKS_BETWEEN = 5;

/** Whether a container of a deployed revision exits again and again, which Davit leaves to Kubernetes. */
function crashCounter(pods: () => Promise<readonly SeenPod[]>): (deployment: Deployment) => Promise<boolean> {
  const counts = makeCrashCount();
  let looks = 0;
  return async ({ conditions, status_message: message }) => {
    if (message === NOT_PROCESSED || !saysCrash(conditions)) return false;
    looks += 1;
    return looks % LOOKS_BETWEEN === 1 && counts(exitsSeen(await pods()));
  };
}

interface SeenPod {
  readonly name: string;
  readonly part: string;
  readonly ready: boolean;
  readonly restarts: number;
  readonly created_at: string | null;
}

/** None for a caller who may not list pods. */
async function podsOfParts(api: HttpApi, id: string): Promise<readonly SeenPod[]> {
  const found = await api
    .call<{ readonly pods: readonly SeenPod[] | null }>('GET', `/v2/deployments/${id}/events`)
    .catch(ignoreFailure);
  return (found?.pods ?? []).filter(({ part }) => isPart(part));
}

/** A restart follows an exit. */
function exitsSeen(pods: readonly SeenPod[]): readonly PodExits[] {
  return pods
    .filter(({ ready }) => !ready)
    .map(({ name, created_at: made, restarts }) => ({ pod: `${name} ${made}`, exits: restarts }));
}

/** The failure to throw. Prints the last lines of the revision's pods first. */
async function crashed(
  api: HttpApi,
  { before: { id, name }, revision }: Change,
  deployment: Deployment,
  say: (line: string) => void,
): Promise<Failure> {
  for (const line of await lastLines(api, id, revision)) say(line);
  const { status_message: message } = deployment;
  return new Failure(wordsOnBlocked(name, message), {
    result: 'failed',
    reason: conditionIn(deployment, 'Ready')?.reason ?? null,
    message,
    hint: `${PROGRAM} status ${name}`,
  });
}

/** The failure to throw. Prints the last lines of the revision's pods first, where it was rolled out. */
async function failed(
  api: HttpApi,
  { before, revision: id, called }: Change,
  { status, status_message: message }: Revision,
  say: (line: string) => void,
): Promise<Failure> {
  if (status === 'DEPLOY_FAILED') for (const line of await lastLines(api, before.id, id)) say(line);
  return new Failure(`Revision ${called} of ${before.name} ${FAILED[status]}. ${message ?? ''}`.trim(), {
    result: 'failed',
    reason: (await reasonOf(api, before.id, id)) ?? status,
    message,
    hint: `${PROGRAM} ${status === 'BUILD_FAILED' ? `logs ${before.name} --build` : `status ${before.name}`}`,
  });
}

/** That of condition Ready, where it is about the revision and can be read. */
async function reasonOf(api: HttpApi, deploymentId: string, revision: string): Promise<string | undefined> {
  try {
    const deployment = await api.call<Deployment>('GET', `/v2/deployments/${deploymentId}?secrets=names`);
    const ready = conditionIn(deployment, 'Ready');
    return deployment.latest_revision_id === revision && ready?.status !== 'True' ? ready?.reason : undefined;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function isDone({ status, ...deployment }: Deployment, revision: string): boolean {
  // The change may be one of the scale alone: the revision is deployed already, and the rest is from before.
  if (deployment.status_message === NOT_PROCESSED) return false;
  // A newer revision may have taken its place already.
  const { active_revision_id: active, latest_revision_id: latest } = deployment;
  return status === 'UNUSED' || (status === 'READY' && (active === revision || latest !== revision));
}

/** Whether the revision was accepted while nothing is to run: it is DEPLOYED when its first pod has started. */
function isAtZero(deployment: Deployment, revision: string): boolean {
  const ready = conditionIn(deployment, 'Ready');
  return deployment.latest_revision_id === revision && ready?.status === 'True' && ready.reason === 'ScaledToZero';
}

function stalledMessage(deployment: Deployment): string | undefined {
  const stalled = conditionIn(deployment, 'Stalled');
  return stalled?.status === 'True' ? stalled.message : undefined;
}

/** Whether one message has been reported for so long that it is final. `isObserved`: it is about the change. */
function stalledFor(before: string | undefined): (message: string | undefined, isObserved: boolean) => boolean {
  let since = 0;
  let last: string | undefined;
  return (message, isObserved) => {
    if (message !== last) since = Date.now();
    last = message;
    return (
      message !== undefined &&
      Date.now() - since >= (message === before && !isObserved ? STALLED_MS.old : STALLED_MS.new)
    );
  };
}
