// The rules of a record's spec between several fields, as functions: the CRD has the same as CEL beside the schema of each field.
// The HTTP API answers with their breaches, and the controller reports them.

import { asArray, asObject, isSet } from '../lib/json-value.ts';
import { AppDeploymentSpec } from './app-deployment.ts';
import { type Finding, findingsOf } from './findings.ts';
import {
  EXTERNAL_POSTGRES_VARIABLE,
  EXTERNAL_VARIABLES,
  PLATFORM_VARIABLES,
  ROLES,
  STORE_FIELDS,
  STORE_PARTS,
} from './meta.ts';
import { NO_COMMAND_MESSAGE } from './migrate.ts';
import {
  LARGEST_PLAIN_VALUES,
  PLAIN_AND_NAMED_MESSAGE,
  PLAIN_AND_SECRET_MESSAGE,
  PLAIN_STORE_MESSAGE,
  PLAIN_VALUES_MESSAGE,
  RESERVED_NAMES_MESSAGE,
  SELECTING_VARIABLES,
} from './plain-variables.ts';
import {
  externalMessage,
  OWN_STORE_VALUES,
  PLATFORM_NAME_MESSAGE,
  SECRET_NAME_MESSAGE,
  SELECTING_NAME_MESSAGE,
  STORE_VALUES,
} from './platform-values.ts';
import { OWN_DATABASE_MESSAGE } from './queue-depth.ts';
import { ORDERED_PAIRS } from './resource-spec.ts';
import {
  contradictionMessage,
  doesWithout,
  EXTERNAL_SCHEME_MESSAGE,
  NO_QUEUE_MESSAGE,
  NO_SCHEME_MESSAGE,
  noStoreMessage,
  type Runtime,
} from './runtime.ts';
import {
  GRACE_MESSAGE,
  HEALTH_MESSAGE,
  HEARTBEAT_MESSAGE,
  NO_HEARTBEAT_MESSAGE,
  PRE_STOP_MESSAGE,
  RESTART_MESSAGE,
} from './runtime-part.ts';
import { PACE_OF_BACKUPS, scheduleBreaches } from './tasks.ts';
import {
  asWorkers,
  SINGLETON_MESSAGE,
  WORKER_COMMAND_MESSAGE,
  WORKER_CONTAINER_MESSAGE,
  WORKER_PAIRS,
  workerCountProblem,
  workerNameProblem,
  workerPairMessage,
} from './workers.ts';

type Parts = Readonly<Record<string, unknown>>;
type Path = readonly (string | number)[];

/** A breach: its path below `resourceSpec`, `runtime` or `env`, and the message. */
export interface SpecBreach {
  readonly at: Path;
  readonly message: string;
}

/** A limit must not be below its request. `named`: what the reader calls a field. */
export function* sizeBreaches(spec: Parts, named: (field: string) => string = (field) => field): Generator<SpecBreach> {
  for (const [low, high] of ORDERED_PAIRS) {
    const [lowest, highest] = [spec[low], spec[high]];
    if (typeof lowest === 'number' && typeof highest === 'number' && highest < lowest)
      yield { at: [high], message: `${named(high)} must not be below ${named(low)}` };
  }
}

/** Volumes, mounts and containers among themselves. The pod policy (pod-policy.ts) has further rules for them. */
export function* podBreaches(spec: Parts): Generator<SpecBreach> {
  yield* duplicates(asArray(spec['volumes']), ['volumes']);
  yield* duplicates(asArray(spec['imagePullSecrets']), ['imagePullSecrets']);
  yield* mountBreaches(spec['volumeMounts'], ['volumeMounts']);
  for (const field of ['initContainers', 'sidecars'] as const) {
    const containers = asArray(spec[field]);
    yield* duplicates(containers, [field]);
    for (const [index, container] of containers.map(asObject).entries()) {
      yield* mountBreaches(container['volumeMounts'], [field, index, 'volumeMounts']);
      yield* duplicates(asArray(container['env']), [field, index, 'env']);
    }
  }
}

function* mountBreaches(mounts: unknown, at: Path): Generator<SpecBreach> {
  yield* duplicates(asArray(mounts), at, 'mountPath');
  for (const [index, mount] of asArray(mounts).map(asObject).entries()) {
    if (typeof mount['mountPath'] === 'string' && mount['mountPath'].includes(':'))
      yield { at: [...at, index, 'mountPath'], message: 'mountPath must not contain a colon' };
    if (isSet(mount['subPath']) && isSet(mount['subPathExpr']))
      yield { at: [...at, index, 'subPathExpr'], message: 'set subPath or subPathExpr, not both' };
  }
}

/** `key`: the field that identifies an element of the list. */
export function* duplicates(list: readonly unknown[], at: Path, key = 'name'): Generator<SpecBreach> {
  const seen = new Set<unknown>();
  for (const [index, item] of list.entries()) {
    const value = asObject(item)[key];
    if (seen.has(value)) yield { at: [...at, index, key], message: `this ${key} is a duplicate` };
    if (isSet(value)) seen.add(value);
  }
}

export function* taskBreaches(tasks: readonly unknown[], timeZone = 'timeZone'): Generator<SpecBreach> {
  yield* duplicates(tasks, []);
  for (const [index, task] of tasks.map(asObject).entries())
    for (const { at, message } of scheduleBreaches(task, { timeZone })) yield { at: [index, at], message };
}

/** The last two: the names of these fields. */
export function* backupBreaches(
  database: Parts,
  timeZone = 'timeZone',
  proveSchedule = 'proveSchedule',
): Generator<SpecBreach> {
  const fields = { timeZone, schedules: ['schedule', proveSchedule], pace: PACE_OF_BACKUPS };
  for (const { at, message } of scheduleBreaches(asObject(database['backup']), fields))
    yield { at: ['backup', at], message };
  for (const { at, message } of scheduleBreaches(asObject(database['archive']), { pace: PACE_OF_BACKUPS }))
    yield { at: ['archive', at], message };
}

/**
 * What the schema does not say of plain variables, by its path below `env`. `variables`: the names of the record's secrets and
 * secret references.
 */
export function* plainVariableBreaches(
  env: unknown,
  variables: ReadonlySet<unknown>,
  runtime: Parts,
): Generator<SpecBreach> {
  const list = asArray(env).map(asObject);
  yield* duplicates(list, []);
  const envNames = asObject(runtime['envNames']);
  for (const [index, { name }] of list.entries()) {
    if (typeof name !== 'string') continue;
    const wrong = (message: string): SpecBreach => ({ at: [index, 'name'], message });
    if (PLATFORM_VARIABLES.some((variable) => variable === name)) yield wrong(RESERVED_NAMES_MESSAGE);
    if (SELECTING_VARIABLES.includes(name)) yield wrong(PLAIN_STORE_MESSAGE);
    else if (variables.has(name)) yield wrong(PLAIN_AND_SECRET_MESSAGE);
    if (Object.hasOwn(envNames, name)) yield wrong(PLAIN_AND_NAMED_MESSAGE);
  }
  // As the API server counts: characters, and not UTF-16 units.
  const lengths = list.map(({ value }) => (typeof value === 'string' ? Array.from(value).length : 0));
  if (lengths.reduce((sum, length) => sum + length, 0) > LARGEST_PLAIN_VALUES)
    yield { at: [], message: PLAIN_VALUES_MESSAGE };
}

/** What the schema does not say of a runtime. `variables`: the names of the record's secrets and secret references. */
export function* runtimeBreaches(runtime: Parts, variables: ReadonlySet<unknown>): Generator<SpecBreach> {
  yield* partBreaches(runtime);
  const { migrate, queueDepth, postgresUriScheme: scheme } = runtime;
  if (isSet(migrate) && !isSet(asObject(migrate)['command']) && !isSet(asObject(migrate)['args']))
    yield { at: ['migrate'], message: NO_COMMAND_MESSAGE };
  if (variables.has(EXTERNAL_POSTGRES_VARIABLE) && isSet(queueDepth))
    yield { at: ['queueDepth'], message: OWN_DATABASE_MESSAGE };
  if (variables.has(EXTERNAL_POSTGRES_VARIABLE) && isSet(scheme))
    yield { at: ['postgresUriScheme'], message: EXTERNAL_SCHEME_MESSAGE };
  const missing = STORE_PARTS.filter((part) => doesWithout(part, runtime as Runtime));
  if (missing.includes('postgres') && isSet(queueDepth)) yield { at: ['queueDepth'], message: NO_QUEUE_MESSAGE };
  if (missing.includes('postgres') && isSet(scheme)) yield { at: ['postgresUriScheme'], message: NO_SCHEME_MESSAGE };
  for (const part of missing)
    if (variables.has(EXTERNAL_VARIABLES[part]))
      yield { at: [STORE_FIELDS[part]], message: contradictionMessage(part) };
  const without = new Set(asArray(runtime['without']));
  for (const [name, value] of Object.entries(asObject(runtime['envNames']))) {
    const wrong = (message: string): SpecBreach => ({ at: ['envNames', name], message });
    if (PLATFORM_VARIABLES.some((variable) => variable === name) && !without.has(name))
      yield wrong(PLATFORM_NAME_MESSAGE);
    if (Object.hasOwn(OWN_STORE_VALUES, name)) yield wrong(SELECTING_NAME_MESSAGE);
    else if (variables.has(name)) yield wrong(SECRET_NAME_MESSAGE);
    for (const part of missing) if (STORE_VALUES[part].some((one) => one === value)) yield wrong(noStoreMessage(part));
    for (const [variable, values] of Object.entries(OWN_STORE_VALUES))
      if (variables.has(variable) && values.some((one) => one === value)) yield wrong(externalMessage(variable));
  }
  const seen = new Set<unknown>();
  for (const [index, name] of asArray(runtime['without']).entries()) {
    if (seen.has(name)) yield { at: ['without', index], message: 'this name was given before' };
    seen.add(name);
  }
}

function* partBreaches(runtime: Parts): Generator<SpecBreach> {
  for (const name of [...ROLES, 'migrate', 'queueDepth']) yield* breachesOfPart([name], asObject(runtime[name]));
  const workers = Object.entries(asWorkers(runtime));
  const tooMany = workerCountProblem(workers.length);
  if (tooMany !== undefined) yield { at: ['workers'], message: tooMany };
  for (const [name, worker] of workers) {
    const at = ['workers', name];
    const problem = workerNameProblem(name);
    if (problem !== undefined) yield { at, message: problem };
    yield* breachesOfPart(at, worker);
    if (!isSet(worker['command']) && !isSet(worker['args'])) yield { at, message: WORKER_COMMAND_MESSAGE };
    for (const pair of WORKER_PAIRS) {
      const [lowest, highest] = [worker[pair[0]], worker[pair[1]]];
      if (typeof lowest === 'number' && typeof highest === 'number' && highest < lowest)
        yield { at: [...at, pair[1]], message: workerPairMessage(pair) };
    }
    const isLarge = Math.max(Number(worker['minScale'] ?? 0), Number(worker['maxScale'] ?? 0)) > 1;
    if (worker['singleton'] === true && isLarge) yield { at: [...at, 'singleton'], message: SINGLETON_MESSAGE };
  }
}

function* breachesOfPart(at: Path, part: Parts): Generator<SpecBreach> {
  if (isSet(part['healthPath']) && isSet(part['healthCommand']))
    yield { at: [...at, 'healthCommand'], message: HEALTH_MESSAGE };
  yield* heartbeatBreaches(at, part);
  const hook = part['preStop'];
  if (!isSet(hook)) return;
  const { sleep, exec } = asObject(hook);
  if ((sleep === undefined) === (exec === undefined)) yield { at: [...at, 'preStop'], message: PRE_STOP_MESSAGE };
  const grace = part['terminationGracePeriodSeconds'];
  const seconds = asObject(sleep)['seconds'];
  if (typeof grace === 'number' && typeof seconds === 'number' && seconds >= grace)
    yield { at: [...at, 'preStop'], message: GRACE_MESSAGE };
}

function* heartbeatBreaches(at: Path, part: Parts): Generator<SpecBreach> {
  const [file, hasCommand] = [isSet(part['heartbeatFile']), isSet(part['healthCommand'])];
  if (file && (hasCommand || isSet(part['healthPath'])))
    yield { at: [...at, 'heartbeatFile'], message: HEARTBEAT_MESSAGE };
  if (isSet(part['heartbeatMaxAgeSeconds']) && !file)
    yield { at: [...at, 'heartbeatMaxAgeSeconds'], message: NO_HEARTBEAT_MESSAGE };
  if (part['healthRestart'] === true && !file && !hasCommand)
    yield { at: [...at, 'healthRestart'], message: RESTART_MESSAGE };
}

/** A container of a pod has the name of its part. `at` below `runtime`. */
export function* workerContainerBreaches(runtime: unknown, resourceSpec: unknown): Generator<SpecBreach> {
  const { sidecars, initContainers } = asObject(resourceSpec);
  const names = new Set([...asArray(sidecars), ...asArray(initContainers)].map((one) => asObject(one)['name']));
  for (const name of Object.keys(asWorkers(runtime)))
    if (names.has(name)) yield { at: ['workers', name], message: WORKER_CONTAINER_MESSAGE };
}

/**
 * Everything in a stored spec that the API server would refuse of a new record: it may be older than a rule. What the server takes
 * is never among it, so what zod alone refuses is left out. The pod policy is judged elsewhere (pod-policy.ts).
 */
export function* specBreaches(spec: Readonly<AppDeploymentSpec>): Generator<SpecBreach> {
  const parsed = AppDeploymentSpec.safeParse(spec, { reportInput: true });
  for (const issue of parsed.error?.issues ?? [])
    if (!isTakenByServer(issue)) yield* findingsOf(issue, []).map(asBreach);
  const { resourceSpec, runtime, env, tasks, database } = asObject(asObject(spec)['sourceConfig']);
  const variables = [...asArray(asObject(spec)['secrets']), ...asArray(asObject(spec)['secretReferences'])];
  const names = new Set(variables.map((variable) => asObject(variable)['name']));
  yield* below('resourceSpec', sizeBreaches(asObject(resourceSpec)));
  yield* below('resourceSpec', podBreaches(asObject(resourceSpec)));
  yield* below('runtime', runtimeBreaches(asObject(runtime), names));
  yield* below('runtime', workerContainerBreaches(runtime, resourceSpec));
  yield* below('tasks', taskBreaches(asArray(tasks)));
  yield* below('database', backupBreaches(asObject(database)));
  yield* below('env', plainVariableBreaches(env, names, asObject(runtime)));
}

type Issue = Parameters<typeof findingsOf>[0];

/** The server counts characters, and zod UTF-16 code units; and it bounds no key of a map. */
function isTakenByServer(issue: Issue): boolean {
  if (issue.code === 'too_big' && issue.origin === 'string' && typeof issue.input === 'string')
    return Array.from(issue.input).length <= Number(issue.maximum);
  return issue.code === 'invalid_key' && issue.issues.every(({ code }) => code !== 'invalid_format');
}

function asBreach({ loc, msg }: Finding): SpecBreach {
  return { at: loc, message: msg };
}

function* below(field: string, breaches: Iterable<SpecBreach>): Generator<SpecBreach> {
  for (const { at, message } of breaches) yield { at: ['sourceConfig', field, ...at], message };
}
