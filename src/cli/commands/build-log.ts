// Reads deployments, revisions and their logs over the HTTP API, and prints the log of a build.

import { setTimeout as sleep } from 'node:timers/promises';
import type { DeploymentEvents } from '../../deploy/http/events/payloads.ts';
import type { Deployment } from '../../deploy/http/payloads.ts';
import type { Revision } from '../../deploy/http/revisions/payloads.ts';
import type { RevisionState } from '../../kinds/app-revision.ts';
import { REVISION_STATES } from '../../kinds/revision-states.ts';
import { mayBeBuilt } from '../../kinds/source-rules.ts';
import type { DeployLogs, LogLine } from '../../logs/payloads.ts';
import { NoDeployment, noDeployment } from '../line/not-found.ts';
import { PROGRAM } from '../line/program.ts';
import { type HttpApi, undefinedIf } from '../transport/http-api.ts';
import { Failure } from '../transport/kubectl.ts';

/** The states of a revision whose build has not ended. */
const BUILDING: ReadonlySet<RevisionState> = new Set(
  REVISION_STATES.slice(0, REVISION_STATES.indexOf('AWAITING_DEPLOY')),
);
const LINES_OF_PAGE = 1000;

export function isBuilding({ status }: Pick<Revision, 'status'>): boolean {
  return BUILDING.has(status);
}

/** Undefined if there is none of that name. `T`: what of the answer is read. */
export async function findDeployment<T = Deployment>(api: HttpApi, name: string): Promise<T | undefined> {
  const path = `/v2/deployments?name=${encodeURIComponent(name)}`;
  const { resources } = await api.call<{ readonly resources: readonly T[] }>('GET', path);
  return resources[0];
}

/** The most that an answer lists. */
export const PAGE = 100;

/** Throws NoDeployment if there is none of that name. */
export async function needDeployment<T = Deployment>(api: HttpApi, name: string): Promise<T> {
  const found = await findDeployment<T>(api, name);
  if (found) return found;
  const path = `/v2/deployments?limit=${PAGE}`;
  const { resources } = await api.call<{ readonly resources: readonly { readonly name: string }[] }>('GET', path);
  throw new NoDeployment(
    noDeployment(
      name,
      api.namespace,
      resources.map((one) => one.name),
    ),
  );
}

/** All deployments of the tenant, by name. `T`: what is read of each. */
export async function readDeployments<T extends { readonly name: string }>(api: HttpApi): Promise<readonly T[]> {
  const all: T[] = [];
  for (let isLast = false; !isLast; ) {
    const path = `/v2/deployments?limit=${PAGE}&offset=${all.length}`;
    const { resources } = await api.call<{ readonly resources: readonly T[] }>('GET', path);
    all.push(...resources);
    // A page of large records has fewer.
    isLast = resources.length === 0;
  }
  return all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Newest first. */
export async function readRevisions(api: HttpApi, deploymentId: string, limit: number): Promise<readonly Revision[]> {
  const path = `/v2/deployments/${deploymentId}/revisions?limit=${limit}`;
  return (await api.patiently<{ readonly resources: readonly Revision[] }>('GET', path)).resources;
}

export function readRevision(api: HttpApi, deploymentId: string, revisionId: string): Promise<Revision> {
  return api.patiently('GET', `/v2/deployments/${deploymentId}/revisions/${revisionId}`);
}

interface LogOptions {
  /** Which lines of those at the path. */
  readonly query?: object;
  /** Additional fields of the first request only. */
  readonly begin?: object;
  /** Says, once, that lines may be missing. */
  readonly warn?: (line: string) => void;
}

/** A log from its beginning, or from where `begin` says: each call resolves to the lines that are new. */
export function openLog(api: HttpApi, path: string, { query, begin, warn }: LogOptions = {}): () => Promise<LogLine[]> {
  /** Null: it has ended. */
  let position: string | null | undefined;
  let isFirst = true;
  let isWhole = true;
  return async () => {
    const lines: LogLine[] = [];
    for (let hasMore = true; hasMore && position !== null; ) {
      const own = { ...query, ...(isFirst && begin), ...(position !== undefined && { position }) };
      const page = await api.patiently<DeployLogs>('POST', path, { ...own, order: 'asc', limit: LINES_OF_PAGE });
      lines.push(...page.logs);
      position = page.position;
      hasMore = page.next_offset !== null;
      if (isWhole && page.truncated)
        warn?.('Lines may be missing: reading ended at a limit, or a node did not answer.');
      isWhole &&= !page.truncated;
    }
    isFirst = false;
    return lines;
  };
}

/** Opens the log of one build. `isQuiet`: prints only steps of the build, without the plan and the lookup of the cache. */
export function openBuildLog(
  api: HttpApi,
  deploymentId: string,
  revisionId: string,
  isQuiet = false,
): () => Promise<string[]> {
  const more = openLog(api, `/v1/projects/${deploymentId}/revisions/${revisionId}/build_logs`);
  let cacheStep = '';
  function isNoise({ container, message }: LogLine): boolean {
    const step = /^#\d+ /.exec(message)?.[0] ?? '';
    if (message.startsWith('importing cache manifest', step.length)) cacheStep = step;
    return container === 'plan' || (step !== '' && step === cacheStep);
  }
  return async () => (await more()).filter((line) => !isQuiet || !isNoise(line)).map(({ message }) => message);
}

/** Lines of a log that are printed after a failure. */
export const LAST_LINES = 20;

/** So many lines are looked through for those of the pods that failed. */
const LINES_READ = 200;

/** What is reported of the pods, and the events. Undefined where the caller may not list events. */
export function readEvents(
  api: HttpApi,
  deploymentId: string,
  how: 'call' | 'patiently' = 'call',
): Promise<DeploymentEvents | undefined> {
  return api[how]<DeploymentEvents>('GET', `/v2/deployments/${deploymentId}/events`).catch(undefinedIf(403));
}

/**
 * The last lines that the pods of a revision wrote, oldest first, without those of pods that are ready. Empty if there are none or they
 * cannot be read.
 */
export async function lastLines(api: HttpApi, deploymentId: string, revisionId: string): Promise<string[]> {
  const path = `/v1/projects/${deploymentId}/revisions/${revisionId}/deploy_logs`;
  try {
    const [{ logs }, reported] = await Promise.all([
      api.call<DeployLogs>('POST', path, { order: 'desc', limit: LINES_READ }),
      readEvents(api, deploymentId),
    ]);
    const ready = (reported?.pods ?? []).filter((pod) => pod.ready).map(({ name }) => name);
    const wanted = logs.filter(({ pod }) => pod === null || !ready.includes(pod)).slice(0, LAST_LINES);
    return wanted.map(({ pod, message }) => (pod ? `[${pod}] ${message}` : message)).toReversed();
  } catch (error) {
    // Why it failed is known without them.
    if (error instanceof Failure) return [];
    throw error;
  }
}

export interface BuildLogOptions {
  /** A revision's name or the beginning of its id; the newest one if absent. */
  readonly revision?: string | undefined;
  readonly follow: boolean;
  /** Number of lines to begin with; all if absent. */
  readonly tail?: number | undefined;
  readonly say: (line: string) => void;
  readonly everyMs?: number;
}

/** There is nothing to print: no build, or one that has written nothing. */
export class NoBuildLog extends Failure {}

/** Prints the log of a build and, if it is followed, continues until the build has ended. Throws NoBuildLog. */
export async function printBuildLog(api: HttpApi, name: string, options: BuildLogOptions): Promise<void> {
  const { follow, tail, say, everyMs = 1000 } = options;
  const deployment = await needDeployment(api, name);
  const { id, name: called } = await revisionOf(api, deployment, options.revision);
  const more = openBuildLog(api, deployment.id, id);
  let printed = 0;
  for (;;) {
    // Asked before the log, so that the log is whole when the build has ended.
    const revision = await readRevision(api, deployment.id, id);
    const lines = await more();
    for (const line of printed === 0 && tail !== undefined ? lines.slice(Math.max(0, lines.length - tail)) : lines)
      say(line);
    printed += lines.length;
    if (!follow || !isBuilding(revision)) {
      if (printed === 0) throw new NoBuildLog(noLogOf(deployment, called, revision));
      return;
    }
    await sleep(everyMs);
  }
}

function noLogOf(
  { name, source }: Deployment,
  revision: string,
  { status, status_message: message }: Revision,
): string {
  if (!mayBeBuilt(source))
    return `${name} has no build: it runs an image that is built elsewhere (source ${source}). The logs of its pods: ${PROGRAM} logs ${name}`;
  return `Revision ${revision} of ${name} has no build log. It is ${status}. ${message ?? ''}`.trim();
}

async function revisionOf(api: HttpApi, { id, name }: Deployment, wanted: string | undefined): Promise<Revision> {
  const revisions = await readRevisions(api, id, wanted === undefined ? 1 : 100);
  if (wanted !== undefined) return matching(revisions, wanted);
  const [newest] = revisions;
  if (newest === undefined) throw new Failure(`${name} has no revision yet.`);
  return newest;
}

type Named = Pick<Revision, 'id' | 'name' | 'status'>;

/** The revision of a name or of the beginning of an id. Throws Failure with the existing ones if none or several match. */
export function matching<One extends Named>(revisions: readonly One[], wanted: string): One {
  const [one, another] = revisions.filter(({ name, id }) => name === wanted || id.startsWith(wanted.toLowerCase()));
  if (one && !another) return one;
  const known = revisions.map(({ name, status }) => `${name} ${status}`).join(', ');
  throw new Failure(`${one ? 'More than one' : 'No'} revision matches "${wanted}". Revisions: ${known || 'none'}.`);
}
