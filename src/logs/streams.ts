// Logs that are followed: what there is, then each line when it is written, as an event stream.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BuildContext } from '../builds/http/registry/platform.ts';
import { runsHere } from '../deployments/record/listener-assignment.ts';
import { deploymentNotFound, type FieldError, HttpError, tooManyLogs } from '../lib/http/http-error.ts';
import type { EventStream } from '../organization/facade/event-stream.ts';
import { warningsOf } from '../organization/facade/field-validation.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { isUnderWay } from '../schema/build.ts';
import type { LogBudget } from './budget.ts';
import { type BuildToRead, buildPods, readBuildLog } from './build-log.ts';
import { type FirstLines, firstEvents, readFirstLines, startBefore } from './first-lines.ts';
import { type Following, followPods } from './follow.ts';
import { BUILD_WRITERS } from './kept-log.ts';
import { buildOf, findTarget } from './page-reader.ts';
import type { DeployLogsQuery } from './payloads.ts';
import { podIdsIn, podsOf } from './pods.ts';
import { type Positions, positionsOf, startAt } from './positions.ts';
import { type LogSender, makeLogSender } from './sender.ts';

/** For the document: the events of such streams. */
export const LOG_EVENTS =
  '`log` with a line, oldest first, and each new line when it is written; `truncated` where not all is read; then `gone` or `end`. `limit` is how many of the last lines it begins with, unless there is a `start_time`. `end_time`, `offset` and `order: desc` are refused.';
export const BUILD_LOG_EVENTS =
  '`log` with a line, from the first one on, and each new line while the build runs; `truncated` where not all is read; then `gone` or `end`, with the reason `complete` when the build is over. `limit` counts for nothing. `end_time`, `offset` and `order: desc` are refused.';

/** What is followed. */
interface Target {
  readonly id: string;
  readonly revisionId?: string;
  readonly query: DeployLogsQuery;
  /** Aborts when the caller goes away before the stream begins. */
  readonly signal: AbortSignal;
}

/** Each refuses as the request without a stream would. */
export interface LogStreams {
  ofPods(request: FastifyRequest, reply: FastifyReply, target: Target): Promise<FastifyReply>;
  ofBuild(
    request: FastifyRequest,
    reply: FastifyReply,
    target: Target & { readonly revisionId: string },
  ): Promise<FastifyReply>;
}

interface StreamOfLogs {
  readonly kind: 'deploy_logs' | 'build_logs';
  readonly id: string;
  readonly record: AppDeployment;
  readonly query: DeployLogsQuery;
  readonly positions: Positions;
  readonly first?: FirstLines;
  /** Reads what there is to read; resolves when all is taken. */
  readonly read: (reading: {
    readonly stream: EventStream;
    readonly sender: LogSender;
    readonly following: Pick<Following, 'stream' | 'sender' | 'positions' | 'budget' | 'tenant' | 'onChange'>;
  }) => Promise<void>;
}

interface Ground extends BuildContext {
  readonly budget: LogBudget;
}

export function makeLogStreams(context: BuildContext, budget: LogBudget): LogStreams {
  const ground = { ...context, budget };
  return {
    ofPods: (request, reply, target) => streamDeployLogs(ground, request, reply, target),
    ofBuild: (request, reply, target) => streamBuildLogs(ground, request, reply, target),
  };
}

function streamLogs(
  { auth, deployments, streams, budget }: Ground,
  request: FastifyRequest,
  reply: FastifyReply,
  options: StreamOfLogs,
): FastifyReply {
  const { kind, id, record, query, positions, first, read } = options;
  const { tenant } = auth.admitted(request);
  const { reviewMs } = streams.limits;
  const mayGet = auth.as('get');
  async function right(again: FastifyRequest): Promise<void> {
    await mayGet(again);
    const { caller, tenant: now } = auth.admitted(again);
    await auth.needLogs(caller, now);
  }
  async function run(stream: EventStream): Promise<void> {
    const warnings = warningsOf(request);
    if (warnings.length > 0) await stream.send({ event: 'warnings', data: JSON.stringify(warnings) });
    const sender = makeLogSender({ stream, positions, query, reviewMs });
    if (first !== undefined) await stream.send(...firstEvents(first, positions));
    const onChange = (listener: () => void): (() => void) =>
      deployments.changes.ofRecord(tenant.namespace, record.metadata.name, listener);
    const following = { stream, sender, positions, budget, tenant: tenant.namespace, onChange };
    await Promise.all([read({ stream, sender, following }).finally(sender.close), sender.run()]);
    if (deployments.inCache(tenant, id) === undefined)
      stream.end('gone', { event: 'gone', data: JSON.stringify({ detail: deploymentNotFound(id) }) });
  }
  return streams.open(request, reply, { kind, right, run });
}

async function streamDeployLogs(
  ground: Ground,
  request: FastifyRequest,
  reply: FastifyReply,
  { id, revisionId, query, signal }: Target,
): Promise<FastifyReply> {
  refusePages(query);
  const { auth, deployments, budget } = ground;
  const admitted = auth.admitted(request);
  const record = await findTarget(deployments, admitted, id, revisionId);
  await auth.needLogs(admitted.caller, admitted.tenant);
  if (!runsHere(record)) throw new HttpError(409, NOT_FOLLOWED);
  const pods = podsOf(record, podIdsIn(deployments.revisionsOf(record), revisionId));
  const resumed =
    positionsOf(lastEventId(request)) ?? (query.start_time ? startAt(utcOf(query.start_time)) : undefined);
  const first = resumed
    ? undefined
    : await readFirstLines(admitted.caller.kube, pods, {
        query,
        budget,
        tenant: admitted.tenant.namespace,
        signal,
      });
  const positions = resumed ?? (first ? startBefore(first) : startAt(undefined));
  return streamLogs(ground, request, reply, {
    kind: 'deploy_logs',
    id,
    record,
    query,
    positions,
    ...(first && { first }),
    read: ({ following }) =>
      followPods({
        ...following,
        kube: admitted.caller.kube,
        pods,
        writerOf: (pod, container) => `${pod}/${container}`,
        fromStart: false,
        hasPage: first !== undefined,
        state: () => (deployments.inCache(admitted.tenant, id) === undefined ? 'gone' : 'goes on'),
      }),
  });
}

async function streamBuildLogs(
  ground: Ground,
  request: FastifyRequest,
  reply: FastifyReply,
  { id, revisionId, query }: Target & { readonly revisionId: string },
): Promise<FastifyReply> {
  refusePages(query);
  const { auth, deployments, kube, platform, budget } = ground;
  const { caller, tenant } = auth.admitted(request);
  const record = await findTarget(deployments, { caller, tenant }, id, revisionId);
  await auth.needLogs(caller, tenant);
  const revision = revisionId.toLowerCase();
  const positions =
    positionsOf(lastEventId(request)) ?? startAt(query.start_time ? utcOf(query.start_time) : undefined);
  const state = (): 'gone' | 'over' | 'goes on' => {
    const now = deployments.inCache(tenant, id);
    if (now === undefined) return 'gone';
    return isUnderWay(buildOf(deployments, now, revision)) ? 'goes on' : 'over';
  };
  // A caller may send positions of any number of writers, and each event would name them all.
  positions.keepOnly(new Set(BUILD_WRITERS));
  const build = { kube, platform, record, tenant, revision };
  return streamLogs(ground, request, reply, {
    kind: 'build_logs',
    id,
    record,
    query,
    positions,
    async read({ stream, sender, following }) {
      // A build has one pod, and what is kept of its log names no pod.
      const writerOf = (_pod: string, container: string): string => container;
      if (state() === 'goes on')
        await followPods({
          ...following,
          kube,
          pods: buildPods(build),
          writerOf,
          fromStart: true,
          hasPage: false,
          state,
        });
      if (state() !== 'over' || stream.signal.aborted) return;
      const now = deployments.inCache(tenant, id);
      const ended = { ...build, status: now && buildOf(deployments, now, revision) };
      const isCut = await readEndedBuild(budget, ended, { sender, signal: stream.signal });
      if (isCut)
        await stream.send({
          event: 'truncated',
          data: JSON.stringify({ detail: 'Not all of the log was read. Connect again with Last-Event-ID to go on.' }),
        });
    },
  });
}

/** What is kept of a build, or what its pods still have, but for lines that were sent while it ran. */
async function readEndedBuild(
  budget: LogBudget,
  build: BuildToRead,
  { sender, signal }: { readonly sender: LogSender; readonly signal: AbortSignal },
): Promise<boolean> {
  const tenant = build.tenant.namespace;
  const giveBack = await (budget.requests.take(tenant, signal) ?? tooManyLogs());
  const page = {
    enough: undefined,
    since: () => undefined,
    sink: (by: string) => sender.sink(by.split('/')[1] ?? by, by),
  };
  const pace = async (bytes: number): Promise<void> => {
    await budget.paceFollowed(bytes, signal);
    await sender.room();
  };
  try {
    const reading = { page, budget: { ...budget, pace }, tenant, signal, fromStart: true };
    return await readBuildLog(build, reading);
  } finally {
    giveBack();
  }
}

function lastEventId({ headers }: FastifyRequest): string | undefined {
  const id = headers['last-event-id'];
  return typeof id === 'string' ? id : undefined;
}

const NOT_FOLLOWED =
  "The logs of a deployment that a listener's cluster runs are not streamed. Request pages, without text/event-stream.";

/** A stream has no pages, and no end of its own. */
function refusePages({ order, offset, end_time, task }: DeployLogsQuery): void {
  const refused = (name: string, msg: string): FieldError => ({ loc: ['body', name], msg, type: 'value_error' });
  const findings = [
    ...(order === 'desc' ? [refused('order', 'must be asc in a stream, which tells the oldest line first')] : []),
    ...(offset ? [refused('offset', 'is of pages: a stream is resumed with Last-Event-ID')] : []),
    ...(task ? [refused('task', 'is of pages: the runs of a task are not followed')] : []),
    ...(end_time ? [refused('end_time', 'is of pages: a stream goes on')] : []),
  ];
  if (findings.length > 0) throw new HttpError(422, findings);
}

/** As lines have it. */
function utcOf(time: string): string {
  return new Date(time).toISOString().replace('Z', '000000Z');
}
