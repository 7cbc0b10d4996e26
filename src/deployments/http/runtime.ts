// The runtime of a deployment as the API takes and gives it. Fields have the API's names, below preStop Kubernetes' own; keys of
// env_names are the record's.

import { z } from 'zod';
import { fromSnake, payloadShape, responseShape, snake, toSnake } from '../../lib/http/casing.ts';
import type { FieldError } from '../../lib/http/http-error.ts';
import { asArray, asObject, ownValue } from '../../lib/json-value.ts';
import type { Draft } from '../../organization/facade/validation.ts';
import { Migrate } from '../../schema/migrate.ts';
import { QueueDepth } from '../../schema/queue-depth.ts';
import { RUNTIME_PARTS, Runtime } from '../../schema/runtime.ts';
import { RuntimePart } from '../../schema/runtime-part.ts';
import { runtimeBreaches } from '../../schema/spec-rules.ts';
import { RuntimeWorker, Workers } from '../../schema/workers.ts';

const WORKERS_WORDS = Workers.meta()?.description ?? '';

const PartPayload = z.object(payloadShape(RuntimePart.shape)).meta({
  id: 'RuntimePartRequest',
  description: 'How one part is run. In a PATCH merged field by field: null sets a field back.',
});
const MigratePayload = z.object(payloadShape(Migrate.shape)).meta({
  id: 'MigrateRequest',
  description: 'What runs before a rollout. In a PATCH merged field by field: null sets a field back.',
});
const QueueDepthPayload = z.object(payloadShape(QueueDepth.shape)).meta({
  id: 'QueueDepthRequest',
  description: 'What the queue workers follow. In a PATCH merged field by field: null sets a field back.',
});
const WorkerPayload = z.object(payloadShape(RuntimeWorker.shape)).meta({
  id: 'RuntimeWorkerRequest',
  description:
    'A named worker. In a PATCH merged field by field: null sets a field back, and null instead of it removes it.',
});
export const RuntimePayload = z
  .object({
    ...payloadShape(Runtime.shape),
    server: PartPayload.nullish(),
    queue: PartPayload.nullish(),
    orchestrator: PartPayload.nullish(),
    executor: PartPayload.nullish(),
    workers: z.record(z.string(), WorkerPayload.nullable()).nullish().describe(WORKERS_WORDS),
    migrate: MigratePayload.nullish(),
    queue_depth: QueueDepthPayload.nullish(),
  })
  .meta({
    id: 'RuntimeRequest',
    description:
      'How the image is run; every field may be left out (docs/runtime.md). In a PATCH merged field by field, and each part likewise: what is left out stays as it is, null sets a field back to its default. A list or a map takes the place of the one before; an empty one takes it away.',
  });
type RuntimePayload = z.output<typeof RuntimePayload>;

const PartResponse = z
  .object(responseShape(RuntimePart.shape))
  .meta({ id: 'RuntimePart', description: 'How one part is run; null where unset.' });
const WorkerResponse = z
  .object(responseShape(RuntimeWorker.shape))
  .meta({ id: 'RuntimeWorker', description: 'A named worker, as the record says it; null where unset.' });
const MigrateResponse = z
  .object(responseShape(Migrate.shape))
  .meta({ id: 'Migrate', description: 'What runs before a rollout; null where unset.' });
const QueueDepthResponse = z
  .object(responseShape(QueueDepth.shape))
  .meta({ id: 'QueueDepth', description: 'What the queue workers follow; null where unset.' });
export const RuntimeResponse = z
  .object({
    ...responseShape(Runtime.shape),
    server: PartResponse.nullable(),
    queue: PartResponse.nullable(),
    orchestrator: PartResponse.nullable(),
    executor: PartResponse.nullable(),
    workers: z.record(z.string(), WorkerResponse).nullable().describe(WORKERS_WORDS),
    migrate: MigrateResponse.nullable(),
    queue_depth: QueueDepthResponse.nullable(),
  })
  .meta({ id: 'Runtime', description: 'How the image is run, as the record says it; null where unset.' });
type RuntimeResponse = z.output<typeof RuntimeResponse>;

const PARTS = Object.entries(RUNTIME_PARTS);

export function presentRuntime(runtime: Readonly<Runtime> | undefined): RuntimeResponse | null {
  if (runtime === undefined) return null;
  const parts = PARTS.map(([name, shape]) => {
    const part = (runtime as Readonly<Record<string, object | undefined>>)[name];
    return [snake(name), part ? toSnake(shape, part) : null];
  });
  const workers = Object.entries(runtime.workers ?? {}).map(([name, worker]) => [
    name,
    toSnake(RuntimeWorker.shape, worker),
  ]);
  return {
    ...toSnake(Runtime.shape, runtime),
    ...Object.fromEntries(parts),
    workers: runtime.workers ? Object.fromEntries(workers) : null,
  } as RuntimeResponse;
}

/**
 * `before` with what was sent: field by field, and field by field within a part. null takes a field away, and so does an
 * empty list, map or part. Undefined where nothing is left.
 */
export function mergedRuntime(
  before: Readonly<Runtime> | undefined,
  sent: Readonly<RuntimePayload> | null | undefined,
): Runtime | undefined {
  const after: Record<string, unknown> = { ...before };
  for (const [field, leaf] of Object.entries(sent ?? {})) {
    const name = Object.keys(Runtime.shape).find((one) => snake(one) === field);
    if (name === undefined) continue;
    const shape = RUNTIME_PARTS[name];
    const value: unknown =
      name === 'workers'
        ? mergedWorkers(asObject(after[name]), leaf)
        : shape
          ? mergedPart(shape, asObject(after[name]), leaf)
          : leaf;
    if (isNothing(value)) delete after[name];
    else after[name] = value;
  }
  return isNothing(after) ? undefined : (after as Runtime);
}

/** `before` with what was sent, field by field. null instead of it removes it. */
export function mergedPart(shape: (typeof RUNTIME_PARTS)[string], before: object, sent: unknown): unknown {
  if (sent === null) return undefined;
  const given = asObject(sent);
  const kept = Object.entries(before).filter(([name]) => given[snake(name)] === undefined);
  const merged = { ...Object.fromEntries(kept), ...fromSnake(shape, given) };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => !isNothing(value)));
}

/** A worker that is not sent stays, and null removes one. */
function mergedWorkers(before: Readonly<Record<string, unknown>>, sent: unknown): unknown {
  if (sent === null) return undefined;
  const given = asObject(sent);
  const changed = Object.entries(given).flatMap(([name, worker]) => {
    const merged = mergedPart(RuntimeWorker.shape, asObject(ownValue(before, name)), worker);
    // An empty one stays, so that the rules say what it lacks.
    return merged === undefined ? [] : [[name, merged] as const];
  });
  const kept = Object.entries(before).filter(([name]) => !Object.hasOwn(given, name));
  return Object.fromEntries([...kept, ...changed]);
}

/** The workers of a request under the custom resource's names. Fields may have wrong types. */
export function workersFromSnake(workers: unknown): Readonly<Record<string, object>> {
  const present = Object.entries(asObject(workers)).filter(([, worker]) => worker !== null);
  return Object.fromEntries(present.map(([name, worker]) => [name, fromSnake(RuntimeWorker.shape, asObject(worker))]));
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** What the schema does not say of a runtime and its names, in the words of the CRD. */
export function* runtimeRule(draft: Draft): Generator<FieldError> {
  const sent = asObject(asObject(draft['source_config'])['runtime']);
  const runtime: Record<string, unknown> = fromSnake(Runtime.shape, sent);
  for (const [name, shape] of PARTS) if (name in runtime) runtime[name] = fromSnake(shape, asObject(runtime[name]));
  if ('workers' in runtime) runtime['workers'] = workersFromSnake(runtime['workers']);
  const depth = runtime['queueDepth'];
  if (depth !== undefined && asObject(depth)['query'] === undefined)
    yield { ...runtimeFinding(['queueDepth', 'query'], 'is required'), type: 'missing' };
  const variables = [...asArray(draft['secrets']), ...asArray(draft['secret_references'])];
  const names = new Set(variables.map((variable) => asObject(variable)['name']));
  for (const { at, message } of runtimeBreaches(runtime, names)) yield runtimeFinding(at, message);
}

function runtimeFinding(at: readonly (string | number)[], msg: string): FieldError {
  const [field, ...rest] = at.map((step, place) => {
    const isGiven = at[0] === 'envNames' || (at[0] === 'workers' && place === 1);
    return isGiven || typeof step === 'number' ? step : snake(step);
  });
  return { loc: ['source_config', 'runtime', snake(String(field)), ...rest], msg, type: 'value_error' };
}
