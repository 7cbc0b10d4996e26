// Named workers: parts of a deployment beside the main service and the queue workers, each with a command, sizes, a scale and a
// health of its own. A worker's name is the name of its part, so it is none of the parts that Davit knows.

import { z } from 'zod';
import { asObject } from '../runtime/json-value.ts';
import { RESERVED_WORKERS } from './meta.ts';
import { NAME_PATTERN } from './name-patterns.ts';
import { type CelRule, celNames, celRules, DNS_LABEL_PATTERN } from './primitives.ts';
import { ORDERED_MEASURES, ResourceSpec } from './resource-spec.ts';
import { PART_RULES, RuntimePart } from './runtime-part.ts';

export const MOST_WORKERS = 10;

const WORKER_NAME_MAX_LENGTH = 40;

export const WORKER_NAME_MESSAGE = `the name of a worker has letters, digits and hyphens, begins with a letter and has at most ${WORKER_NAME_MAX_LENGTH} characters, without two hyphens in a row`;
export const RESERVED_WORKER_MESSAGE = `the name of a worker must not be one of ${RESERVED_WORKERS.join(', ')}`;
export const WORKER_COMMAND_MESSAGE =
  'set command or args: without them, the worker would run the same program as the server';
export const SINGLETON_MESSAGE =
  'a singleton has one pod: remove minScale and maxScale, or set maxScale to 0 to stop it';
export const WORKER_CONTAINER_MESSAGE = 'a sidecar or init container has the name of this worker: rename one of them';

export function workerPairMessage([low, high]: (typeof ORDERED_MEASURES)[number]): string {
  return `${high} must not be below ${low}`;
}

const { maxScale, executorCpu, executorCpuLimit, executorMemoryMb, executorMemoryLimitMb } = ResourceSpec.shape;
const Replicas = maxScale.unwrap();

export const RuntimeWorker = z
  .object({
    ...RuntimePart.shape,
    minScale: Replicas.describe('Minimum number of its pods. Default: 1, at most maxScale.').optional(),
    maxScale: Replicas.describe(
      'Maximum number of its pods. Above minScale, the number follows CPU and memory. 0 runs no pod. Default: 1, at least minScale.',
    ).optional(),
    singleton: z
      .boolean()
      .describe(
        'true: two of its pods never run at the same time. A new pod starts only after the old one has stopped, so no pod runs in between.',
      )
      .optional(),
    cpu: executorCpu.unwrap().describe('CPU requested by a pod, in cores (may be fractional).').optional(),
    cpuLimit: executorCpuLimit
      .unwrap()
      .describe('CPU limit of a pod, in cores; if absent, the larger of the default and twice the request.')
      .optional(),
    memoryMb: executorMemoryMb.unwrap().describe('Memory requested by a pod, in megabytes (MiB).').optional(),
    memoryLimitMb: executorMemoryLimitMb
      .unwrap()
      .describe(
        'Memory limit of a pod, in megabytes (MiB); if absent, the larger of the default and twice the request.',
      )
      .optional(),
  })
  .meta(
    celRules([
      ...PART_RULES,
      { rule: 'has(self.command) || has(self.args)', message: WORKER_COMMAND_MESSAGE },
      ...ORDERED_MEASURES.map((pair) => ({
        rule: `!has(self.${pair[0]}) || !has(self.${pair[1]}) || self.${pair[1]} >= self.${pair[0]}`,
        message: workerPairMessage(pair),
        fieldPath: `.${pair[1]}`,
      })),
      {
        rule: '!has(self.singleton) || !self.singleton || ((!has(self.minScale) || self.minScale <= 1) && (!has(self.maxScale) || self.maxScale <= 1))',
        message: SINGLETON_MESSAGE,
        fieldPath: '.singleton',
      },
    ]),
  );
export type RuntimeWorker = z.infer<typeof RuntimeWorker>;

const WorkerName = z.string().min(1).max(WORKER_NAME_MAX_LENGTH).regex(new RegExp(DNS_LABEL_PATTERN));

export const Workers = z
  .record(WorkerName, RuntimeWorker)
  .meta({ maxProperties: MOST_WORKERS })
  .describe(
    'Further parts that run the image, each with its name, in addition to the server and the queue workers. A change of one replaces only its own pods.',
  );

/** What is wrong with a name; undefined if nothing is. */
export function workerNameProblem(name: string): string | undefined {
  const isName = new RegExp(NAME_PATTERN).test(name) && name.length <= WORKER_NAME_MAX_LENGTH && !name.includes('--');
  if (!isName) return WORKER_NAME_MESSAGE;
  return RESERVED_WORKERS.includes(name) ? RESERVED_WORKER_MESSAGE : undefined;
}

/** Rules of the names, for the schema of a runtime. The schema of a map says nothing of its keys. */
export const WORKER_NAME_RULES: readonly CelRule[] = [
  {
    rule: `!has(self.workers) || self.workers.all(n, n.size() <= ${WORKER_NAME_MAX_LENGTH} && n.matches('${NAME_PATTERN}') && !n.contains('--'))`,
    message: WORKER_NAME_MESSAGE,
    fieldPath: '.workers',
  },
  {
    rule: `!has(self.workers) || self.workers.all(n, !(n in ${celNames(RESERVED_WORKERS)}))`,
    message: RESERVED_WORKER_MESSAGE,
    fieldPath: '.workers',
  },
];

/** A container has the name of its part, and those of a pod have different names. For the spec of a record. */
export const WORKER_CONTAINER_RULES: readonly CelRule[] = ['sidecars', 'initContainers'].map((list) => ({
  rule: `!has(self.sourceConfig.runtime) || !has(self.sourceConfig.runtime.workers) || !has(self.sourceConfig.resourceSpec) || !has(self.sourceConfig.resourceSpec.${list}) || !self.sourceConfig.resourceSpec.${list}.exists(c, c.name in self.sourceConfig.runtime.workers)`,
  message: WORKER_CONTAINER_MESSAGE,
  fieldPath: '.sourceConfig.runtime.workers',
}));

/** The workers of a runtime whose fields may have wrong types. */
export function asWorkers(runtime: unknown): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const entries = Object.entries(asObject(asObject(runtime)['workers']));
  return Object.fromEntries(entries.map(([name, worker]) => [name, asObject(worker)]));
}
