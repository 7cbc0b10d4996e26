// The runtime of a deployment as the API takes and gives it. Fields have the API's names, below preStop Kubernetes' own; keys of
// env_names are the record's.

import { z } from 'zod';
import { asArray, asObject } from '../../api/json-value.ts';
import {
  EXTERNAL_POSTGRES_VARIABLE,
  EXTERNAL_VARIABLES,
  PLATFORM_VARIABLES,
  STORE_FIELDS,
  STORE_PARTS,
} from '../../api/meta.ts';
import {
  contradictionMessage,
  doesWithout,
  externalMessage,
  GRACE_MESSAGE,
  HEALTH_MESSAGE,
  Migrate,
  NO_COMMAND_MESSAGE,
  NO_QUEUE_MESSAGE,
  noStoreMessage,
  OWN_DATABASE_MESSAGE,
  OWN_STORE_VALUES,
  PLATFORM_NAME_MESSAGE,
  PRE_STOP_MESSAGE,
  QueueDepth,
  RUNTIME_PARTS,
  Runtime,
  RuntimePart,
  SECRET_NAME_MESSAGE,
  SELECTING_NAME_MESSAGE,
  STORE_VALUES,
} from '../../api/runtime.ts';
import { fromSnake, payloadShape, responseShape, snake, toSnake } from '../core/casing.ts';
import type { FieldError } from '../core/http-error.ts';
import type { Draft } from '../core/validation.ts';

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
export const RuntimePayload = z
  .object({
    ...payloadShape(Runtime.shape),
    server: PartPayload.nullish(),
    queue: PartPayload.nullish(),
    orchestrator: PartPayload.nullish(),
    executor: PartPayload.nullish(),
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
  return { ...toSnake(Runtime.shape, runtime), ...Object.fromEntries(parts) } as RuntimeResponse;
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
    const value: unknown = shape ? mergedPart(shape, asObject(after[name]), leaf) : leaf;
    if (isNothing(value)) delete after[name];
    else after[name] = value;
  }
  return isNothing(after) ? undefined : (after as Runtime);
}

function mergedPart(shape: (typeof RUNTIME_PARTS)[string], before: object, sent: unknown): unknown {
  if (sent === null) return undefined;
  const given = asObject(sent);
  const kept = Object.entries(before).filter(([name]) => given[snake(name)] === undefined);
  const merged = { ...Object.fromEntries(kept), ...fromSnake(shape, given) };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => !isNothing(value)));
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** What the schema does not say of a runtime and its names, in the words of the CRD. */
export function* runtimeRule(draft: Draft): Generator<FieldError> {
  const runtime = asObject(asObject(draft['source_config'])['runtime']);
  yield* partFindings(runtime);
  const { migrate } = runtime;
  if (isSet(migrate) && !isSet(asObject(migrate)['command']) && !isSet(asObject(migrate)['args']))
    yield finding(['migrate'], NO_COMMAND_MESSAGE);
  const secrets = new Set(
    [...asArray(draft['secrets']), ...asArray(draft['secret_references'])].map((one) => asObject(one)['name']),
  );
  const depth = runtime['queue_depth'];
  if (isSet(depth) && !isSet(asObject(depth)['query']))
    yield { ...finding(['queue_depth', 'query'], 'is required'), type: 'missing' };
  if (secrets.has(EXTERNAL_POSTGRES_VARIABLE) && isSet(depth)) yield finding(['queue_depth'], OWN_DATABASE_MESSAGE);
  const missing = STORE_PARTS.filter((part) => doesWithout(part, runtime as Runtime));
  if (missing.includes('postgres') && isSet(depth)) yield finding(['queue_depth'], NO_QUEUE_MESSAGE);
  for (const part of missing)
    if (secrets.has(EXTERNAL_VARIABLES[part])) yield finding([STORE_FIELDS[part]], contradictionMessage(part));
  const without = new Set(asArray(runtime['without']));
  for (const [name, value] of Object.entries(asObject(runtime['env_names']))) {
    const wrong = (msg: string): FieldError => finding(['env_names', name], msg);
    if (PLATFORM_VARIABLES.some((variable) => variable === name) && !without.has(name))
      yield wrong(PLATFORM_NAME_MESSAGE);
    if (Object.hasOwn(OWN_STORE_VALUES, name)) yield wrong(SELECTING_NAME_MESSAGE);
    else if (secrets.has(name)) yield wrong(SECRET_NAME_MESSAGE);
    for (const part of missing) if (STORE_VALUES[part].some((one) => one === value)) yield wrong(noStoreMessage(part));
    for (const [variable, values] of Object.entries(OWN_STORE_VALUES))
      if (secrets.has(variable) && values.some((one) => one === value)) yield wrong(externalMessage(variable));
  }
  const seen = new Set<unknown>();
  for (const [index, name] of asArray(runtime['without']).entries()) {
    if (seen.has(name)) yield finding(['without', index], 'this name was given before');
    seen.add(name);
  }
}

function* partFindings(runtime: Readonly<Record<string, unknown>>): Generator<FieldError> {
  for (const [name] of PARTS) {
    const part = asObject(runtime[name]);
    if (isSet(part['health_path']) && isSet(part['health_command']))
      yield finding([name, 'health_command'], HEALTH_MESSAGE);
    const hook = part['pre_stop'];
    if (!isSet(hook)) continue;
    const { sleep, exec } = asObject(hook);
    if ((sleep === undefined) === (exec === undefined)) yield finding([name, 'pre_stop'], PRE_STOP_MESSAGE);
    const grace = part['termination_grace_period_seconds'];
    const seconds = asObject(sleep)['seconds'];
    if (typeof grace === 'number' && typeof seconds === 'number' && seconds >= grace)
      yield finding([name, 'pre_stop'], GRACE_MESSAGE);
  }
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function finding(at: readonly (string | number)[], msg: string): FieldError {
  return { loc: ['source_config', 'runtime', ...at], msg, type: 'value_error' };
}
