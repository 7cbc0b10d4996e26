// An operation on the database of a deployment: begun over the HTTP API, and followed to its end. It does not need the command: whoever
// presses Ctrl-C leaves it working.

import type { CreateOperation, OperationResponse } from '../../databases/http/payloads.ts';
import { ENDED_PHASES } from '../../kinds/operation-phases.ts';
import type { Context } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { Failure, TimedOut } from '../transport/kubectl.ts';
import { needDeployment } from './build-log.ts';

const EVERY_MS = 1000;

/** Resolves to the operation that has succeeded. Throws Failure with what failed, and TimedOut; the operation continues then. */
export async function carryOut(context: Context, name: string, request: CreateOperation): Promise<OperationResponse> {
  const { clock, flags, warn } = context;
  const api = await context.api();
  const path = `/v2/deployments/${(await needDeployment(api, name)).id}/operations`;
  let operation = await api.call<OperationResponse>('POST', path, request);
  const { name: own } = operation;
  warn(`Operation ${own} was created.`);
  context.onInterrupt(
    () => `Operation ${own} continues. To cancel it: ${['kubectl delete dsop', own, ...context.cluster].join(' ')}`,
  );
  const hint = `${PROGRAM} status ${name}`;
  const seconds = flags.number('timeout') ?? Infinity;
  const end = clock.now() + seconds * 1000;
  let said: string | null = null;
  while (!ENDED_PHASES.has(operation.phase)) {
    if (operation.message !== null && operation.message !== said) warn(operation.message);
    said = operation.message;
    if (clock.now() >= end) {
      const outcome = { result: 'undecided', reason: null, message: null, hint } as const;
      throw new TimedOut(`Operation ${own} has not ended after ${seconds} s. It continues.`, outcome);
    }
    await clock.sleep(EVERY_MS);
    operation = await api.patiently<OperationResponse>('GET', `${path}/${own}`);
  }
  const { phase, reason, message } = operation;
  if (phase === 'Succeeded') return operation;
  throw new Failure(message ?? `Operation ${own} failed.`, { result: 'failed', reason, message, hint });
}
