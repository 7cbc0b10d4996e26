// An operation on the database of a deployment: begun over the HTTP API, and followed to its end. It does not need the command: whoever
// presses Ctrl-C leaves it working.

import type { DatabaseOfRecord } from '../../deployments/record/database-move.ts';
import { ENDED_PHASES, type OperationAction, type OperationPhase } from '../../schema/operation-phases.ts';
import type { Context } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { timeLimit } from '../line/time-limit.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { Failure } from '../transport/kubectl.ts';
import { type Deployment, needDeployment } from './build-log.ts';

export interface Operation {
  readonly name: string;
  readonly phase: OperationPhase;
  readonly reason: string | null;
  readonly message: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly work: string | null;
  readonly downtime_seconds: number | null;
  readonly move: {
    readonly from: DatabaseOfRecord;
    readonly to: DatabaseOfRecord;
    readonly backup: string | null;
  } | null;
  readonly backup: {
    readonly name: string | null;
    readonly taken_at: string;
    readonly size_bytes: number | null;
  } | null;
}

export interface OperationRequest {
  readonly action: OperationAction;
  readonly backup?: { readonly archive: true };
  readonly restore?: { readonly backup: string; readonly from?: string };
  readonly delete_previous?: { readonly number: number };
}

const EVERY_MS = 1000;

/** Resolves to the operation that has succeeded. Throws Failure with what failed, and TimedOut; the operation continues then. */
export async function carryOut(context: Context, name: string, request: OperationRequest): Promise<Operation> {
  const api = await context.api();
  const deployment = await needDeployment(api, name);
  const path = `/v2/deployments/${deployment.id}/operations`;
  const begun = await api.call<Operation>('POST', path, request);
  const cancel = `kubectl delete dsop ${begun.name}${context.suggested}`;
  context.warn(`Operation ${begun.name} was created.`);
  context.onInterrupt(() => `Operation ${begun.name} continues. To cancel it: ${cancel}`);
  const ended = await untilEnded(context, api, { path: `${path}/${begun.name}`, begun, deployment });
  if (ended.phase === 'Succeeded') return ended;
  throw new Failure(`${ended.message ?? `Operation ${begun.name} failed.`}`, {
    result: 'failed',
    reason: ended.reason,
    message: ended.message,
    hint: `${PROGRAM} status ${name}`,
  });
}

interface Followed {
  readonly path: string;
  readonly begun: Operation;
  readonly deployment: Deployment;
}

async function untilEnded(context: Context, api: HttpApi, { path, begun, deployment }: Followed): Promise<Operation> {
  const { clock, warn } = context;
  const limit = timeLimit(context, {
    message: (seconds) => `Operation ${begun.name} has not ended after ${seconds} s. It continues.`,
    hint: `${PROGRAM} status ${deployment.name}`,
  });
  let said: string | null = null;
  for (let operation = begun; ; ) {
    if (ENDED_PHASES.has(operation.phase)) return operation;
    if (operation.message !== null && operation.message !== said) warn(operation.message);
    said = operation.message;
    if (limit && clock.now() >= limit.until) throw limit.over();
    // oxlint-disable-next-line no-await-in-loop -- the time between two questions
    await clock.sleep(EVERY_MS);
    // oxlint-disable-next-line no-await-in-loop -- until it has ended
    operation = await api.patiently<Operation>('GET', path);
  }
}
