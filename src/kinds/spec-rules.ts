// The rules of a record's spec between several fields, as functions: the CRD has the same as CEL beside the schema of each field. A
// davit.yaml is judged by all of them, because no API server reads it. The HTTP API judges only what the API server's answer cannot name.

import { asArray, asObject, isSet } from '../runtime/json-value.ts';
import { AppDeploymentSpec, INSIDE_REPOSITORY_MESSAGE, NO_LOCK_MESSAGE, REFERENCES_MESSAGE } from './app-deployment.ts';
import {
  ARCHIVE_DRIVER_MESSAGE,
  ARCHIVE_ELSEWHERE_MESSAGE,
  ARCHIVE_OR_BACKUP_MESSAGE,
  ARCHIVE_RESTORE_MESSAGE,
  AT_OR_BACKUP_MESSAGE,
  BACKUP_SCHEDULES,
  ONE_POD_MESSAGE,
} from './database.ts';
import { findingsOf } from './findings.ts';
import {
  EXTERNAL_POSTGRES_VARIABLE,
  EXTERNAL_VARIABLES,
  PLATFORM_VARIABLES,
  ROLES,
  STORE_FIELDS,
  STORE_PARTS,
} from './meta.ts';
import { NO_COMMAND_MESSAGE } from './migrate.ts';
import { SIZED_RESOURCE_MESSAGE } from './placement.ts';
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
import { ORDERED_MEASURES, ORDERED_PAIRS } from './resource-spec.ts';
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
import { SOURCE_FIELDS, SOURCE_RULES, SOURCES, uses } from './source-rules.ts';
import { PACE_OF_BACKUPS, scheduleBreaches } from './tasks.ts';
import {
  asWorkers,
  MOST_WORKERS,
  SINGLETON_MESSAGE,
  WORKER_COMMAND_MESSAGE,
  WORKER_CONTAINER_MESSAGE,
  workerNameProblem,
  workerPairMessage,
} from './workers.ts';

type Parts = Readonly<Record<string, unknown>>;
type Path = readonly (string | number)[];

/** A breach: its path in the spec, and the message. */
export interface SpecBreach {
  readonly at: Path;
  readonly message: string;
}

/** A limit must not be below its request. */
function* sizeBreaches(spec: Parts): Generator<SpecBreach> {
  for (const [low, high] of ORDERED_PAIRS) {
    const [lowest, highest] = [spec[low], spec[high]];
    if (typeof lowest === 'number' && typeof highest === 'number' && highest < lowest)
      yield { at: [high], message: `${high} must not be below ${low}` };
  }
}

/** Volumes, mounts and containers among themselves. The pod policy (pod-policy.ts) has further rules for them. */
function* podBreaches(spec: Parts): Generator<SpecBreach> {
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

function* taskBreaches(tasks: readonly unknown[]): Generator<SpecBreach> {
  yield* duplicates(tasks, []);
  for (const [index, task] of tasks.map(asObject).entries())
    for (const { at, message } of scheduleBreaches(task)) yield { at: [index, at], message };
}

function* databaseBreaches(database: Parts): Generator<SpecBreach> {
  const { backup, archive, restore, driver, instances } = database;
  const fields = { schedules: BACKUP_SCHEDULES, pace: PACE_OF_BACKUPS };
  for (const { at, message } of scheduleBreaches(asObject(backup), fields)) yield { at: ['backup', at], message };
  for (const { at, message } of scheduleBreaches(asObject(archive), { pace: PACE_OF_BACKUPS }))
    yield { at: ['archive', at], message };
  for (const { at, message } of restoreBreaches(asObject(restore))) yield { at: ['restore', ...at], message };
  if (!isSet(driver) || driver === 'cloudnative-pg') return;
  if (typeof instances === 'number' && instances > 1) yield { at: ['instances'], message: ONE_POD_MESSAGE };
  if (isSet(archive) && asObject(archive)['enabled'] !== false)
    yield { at: ['archive'], message: ARCHIVE_DRIVER_MESSAGE };
  if (asObject(restore)['archive'] === true) yield { at: ['restore'], message: ARCHIVE_RESTORE_MESSAGE };
}

export function* restoreBreaches({ at, backup, archive, namespace }: Parts): Generator<SpecBreach> {
  if (isSet(at) && isSet(backup)) yield { at: ['backup'], message: AT_OR_BACKUP_MESSAGE };
  if (archive === true && isSet(backup)) yield { at: ['archive'], message: ARCHIVE_OR_BACKUP_MESSAGE };
  if (archive === true && isSet(namespace)) yield { at: ['archive'], message: ARCHIVE_ELSEWHERE_MESSAGE };
}

/** Fields that do not apply to the source, and paths that leave the repository. */
function* sourceBreaches(spec: Parts): Generator<SpecBreach> {
  const source = SOURCES.find((one) => one === spec['source']);
  for (const field of ['workflowConfigPath', 'davitFile']) {
    const path = asObject(spec['sourceRevisionConfig'])[field];
    if (typeof path === 'string' && path.split('/').includes('..'))
      yield { at: ['sourceRevisionConfig', field], message: INSIDE_REPOSITORY_MESSAGE };
  }
  if (source === undefined) return;
  for (const { where, field } of SOURCE_FIELDS)
    if (!SOURCE_RULES[source].fields.includes(field) && isSet(asObject(spec[where])[field]))
      yield { at: [where, field], message: `${field} does not apply to source ${source}` };
  if (!uses(source, 'references') && asArray(spec['secretReferences']).length > 0)
    yield { at: ['secretReferences'], message: REFERENCES_MESSAGE };
}

/** Names of plain variables. `variables`: the names of the record's secrets and secret references. */
function* plainNameBreaches(env: unknown, variables: ReadonlySet<unknown>, runtime: Parts): Generator<SpecBreach> {
  const envNames = asObject(runtime['envNames']);
  for (const [index, { name }] of asArray(env).map(asObject).entries()) {
    if (typeof name !== 'string') continue;
    const wrong = (message: string): SpecBreach => ({ at: [index, 'name'], message });
    if (PLATFORM_VARIABLES.some((variable) => variable === name)) yield wrong(RESERVED_NAMES_MESSAGE);
    if (SELECTING_VARIABLES.includes(name)) yield wrong(PLAIN_STORE_MESSAGE);
    else if (variables.has(name)) yield wrong(PLAIN_AND_SECRET_MESSAGE);
    if (Object.hasOwn(envNames, name)) yield wrong(PLAIN_AND_NAMED_MESSAGE);
  }
}

function* plainVariableBreaches(env: unknown): Generator<SpecBreach> {
  const list = asArray(env).map(asObject);
  yield* duplicates(list, []);
  // As the API server counts: characters, and not UTF-16 units.
  const lengths = list.map(({ value }) => (typeof value === 'string' ? Array.from(value).length : 0));
  if (lengths.reduce((sum, length) => sum + length, 0) > LARGEST_PLAIN_VALUES)
    yield { at: [], message: PLAIN_VALUES_MESSAGE };
}

/** Fields of a runtime, of its parts and of each worker. */
function* runtimeBreaches(runtime: Parts, variables: ReadonlySet<unknown>): Generator<SpecBreach> {
  for (const name of [...ROLES, 'migrate', 'queueDepth']) yield* breachesOfPart([name], asObject(runtime[name]));
  for (const [name, worker] of Object.entries(asWorkers(runtime))) yield* workerBreaches(['workers', name], worker);
  const { migrate, queueDepth, postgresUriScheme: scheme } = runtime;
  if (isSet(queueDepth) && !isSet(asObject(queueDepth)['query']))
    yield { at: ['queueDepth', 'query'], message: 'is required' };
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
  const seen = new Set<unknown>();
  for (const [index, name] of asArray(runtime['without']).entries()) {
    if (seen.has(name)) yield { at: ['without', index], message: 'this name appears twice' };
    seen.add(name);
  }
}

/** Keys of envNames. */
function* envNameBreaches(runtime: Parts, variables: ReadonlySet<unknown>): Generator<SpecBreach> {
  const missing = STORE_PARTS.filter((part) => doesWithout(part, runtime as Runtime));
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
}

/** Names of workers. A container of a pod has the name of its part. */
function* workerNameBreaches(runtime: Parts, resourceSpec: unknown): Generator<SpecBreach> {
  const { sidecars, initContainers } = asObject(resourceSpec);
  const containers = new Set([...asArray(sidecars), ...asArray(initContainers)].map((one) => asObject(one)['name']));
  const names = Object.keys(asWorkers(runtime));
  if (names.length > MOST_WORKERS) yield { at: ['workers'], message: `must have at most ${MOST_WORKERS} workers` };
  for (const name of names) {
    const problem = workerNameProblem(name);
    if (problem !== undefined) yield { at: ['workers', name], message: problem };
    if (containers.has(name)) yield { at: ['workers', name], message: WORKER_CONTAINER_MESSAGE };
  }
}

function* workerBreaches(at: Path, worker: Parts): Generator<SpecBreach> {
  yield* breachesOfPart(at, worker);
  if (!isSet(worker['command']) && !isSet(worker['args'])) yield { at, message: WORKER_COMMAND_MESSAGE };
  for (const pair of ORDERED_MEASURES) {
    const [lowest, highest] = [worker[pair[0]], worker[pair[1]]];
    if (typeof lowest === 'number' && typeof highest === 'number' && highest < lowest)
      yield { at: [...at, pair[1]], message: workerPairMessage(pair) };
  }
  const isLarge = Math.max(Number(worker['minScale'] ?? 0), Number(worker['maxScale'] ?? 0)) > 1;
  if (worker['singleton'] === true && isLarge) yield { at: [...at, 'singleton'], message: SINGLETON_MESSAGE };
}

function* breachesOfPart(at: Path, part: Parts): Generator<SpecBreach> {
  if (isSet(part['healthPath']) && isSet(part['healthCommand']))
    yield { at: [...at, 'healthCommand'], message: HEALTH_MESSAGE };
  yield* heartbeatBreaches(at, part);
  const { resources } = asObject(part['placement']);
  if (['cpu', 'memory'].some((name) => Object.hasOwn(asObject(resources), name)))
    yield { at: [...at, 'placement', 'resources'], message: SIZED_RESOURCE_MESSAGE };
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

/** Rules of elements of lists and of keys of maps. CEL judges the whole list, so that the API server's answer does not name the element. */
export function* elementBreaches(spec: Parts): Generator<SpecBreach> {
  const { resourceSpec, runtime, env } = asObject(spec['sourceConfig']);
  const names = variablesOf(spec);
  yield* below('runtime', workerNameBreaches(asObject(runtime), resourceSpec));
  yield* below('runtime', envNameBreaches(asObject(runtime), names));
  yield* below('env', plainNameBreaches(env, names, asObject(runtime)));
}

/** All other rules. The API server's answer names the field. */
function* fieldBreaches(spec: Parts): Generator<SpecBreach> {
  const { access, resourceSpec, runtime, env, tasks, database } = asObject(spec['sourceConfig']);
  yield* sourceBreaches(spec);
  const { lock } = asObject(access);
  if (isSet(lock) && !asArray(asObject(resourceSpec)['sidecars']).some((one) => asObject(one)['name'] === lock))
    yield { at: ['sourceConfig', 'access', 'lock'], message: NO_LOCK_MESSAGE };
  yield* below('resourceSpec', sizeBreaches(asObject(resourceSpec)));
  yield* below('resourceSpec', podBreaches(asObject(resourceSpec)));
  yield* below('runtime', runtimeBreaches(asObject(runtime), variablesOf(spec)));
  yield* below('env', plainVariableBreaches(env));
  yield* below('tasks', taskBreaches(asArray(tasks)));
  yield* below('database', databaseBreaches(asObject(database)));
}

/** The pod policy is judged elsewhere (pod-policy.ts). */
export function* ruleBreaches(spec: Parts): Generator<SpecBreach> {
  yield* fieldBreaches(spec);
  yield* elementBreaches(spec);
}

/**
 * Everything in a record together with a pushed file that the API server would refuse of a new record. What the server takes is never
 * among it, so what zod alone refuses is left out.
 */
export function* specBreaches(spec: Readonly<AppDeploymentSpec>): Generator<SpecBreach> {
  const parsed = AppDeploymentSpec.safeParse(spec, { reportInput: true });
  for (const issue of parsed.error?.issues ?? [])
    if (!isTakenByServer(issue)) yield* findingsOf(issue, []).map(({ loc, msg }) => ({ at: loc, message: msg }));
  yield* ruleBreaches(asObject(spec));
}

function variablesOf({ secrets, secretReferences }: Parts): ReadonlySet<unknown> {
  return new Set([...asArray(secrets), ...asArray(secretReferences)].map((variable) => asObject(variable)['name']));
}

type Issue = Parameters<typeof findingsOf>[0];

/** The server counts characters, and zod UTF-16 code units; and it bounds no key of a map. */
function isTakenByServer(issue: Issue): boolean {
  if (issue.code === 'too_big' && issue.origin === 'string' && typeof issue.input === 'string')
    return Array.from(issue.input).length <= Number(issue.maximum);
  return issue.code === 'invalid_key' && issue.issues.every(({ code }) => code !== 'invalid_format');
}

function* below(field: string, breaches: Iterable<SpecBreach>): Generator<SpecBreach> {
  for (const { at, message } of breaches) yield { at: ['sourceConfig', field, ...at], message };
}
