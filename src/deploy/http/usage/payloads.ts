// What the parts of a deployment use over time, and what happened meanwhile.

import { z } from 'zod';
import { id, time } from '../../../api/payload-fields.ts';
import { OPERATION_ACTIONS } from '../../../kinds/operation-phases.ts';
import { Amounts } from '../events/payloads.ts';
import { MOST_POINTS, WINDOWS, type Window } from './queries.ts';

/** Most marks of each kind: the newest. */
export const MOST_MARKS = 50;

export const UsageQuery = z.object({
  window: z
    .enum(Object.keys(WINDOWS) as [Window, ...Window[]])
    .default('1h')
    .describe('How far back. Without a Prometheus there is the last hour at most.'),
});

const points = z
  .array(z.tuple([z.int(), z.number()]))
  .max(MOST_POINTS)
  .describe('Seconds since 1970, a multiple of step_seconds, and the value. Times without a measurement are left out.');

const PartUsage = z.object({
  part: z.string().describe('server, queue, orchestrator, executor, the name of a worker, postgres or redis.'),
  wanted: z
    .int()
    .nullable()
    .describe('Number of pods that it should have now. null: unknown, for example while it follows its load.'),
  now: z
    .object({ pods: z.int(), ready: z.int(), restarts: z.int().describe('Restarts of their containers.') })
    .nullable()
    .describe('Its pods now, and how many are ready. null: the caller may not list pods.'),
  request: Amounts.describe('What one of its pods requests.'),
  limit: Amounts.describe('What one of its pods may use at most.'),
  cpu: points.meta({ title: 'CPU cores of all its pods together' }),
  memory_mb: points.meta({ title: 'Megabytes (MiB) of its fullest pod' }),
  ready: points.meta({ title: 'Ready pods' }),
  restarts: points.meta({ title: 'Restarts of the containers of its pods at that time' }),
});
export type PartUsage = z.output<typeof PartUsage>;

const Crash = z.object({
  at: time,
  part: z.string(),
  pod: z.string(),
  container: z.string(),
  reason: z.string().nullable().describe('Cause, such as OOMKilled or Error.'),
  exit_code: z.int(),
});

const Operation = z.object({
  name: z.string(),
  action: z.enum(OPERATION_ACTIONS),
  at: time.describe('When its work started.'),
  ended_at: time.nullable(),
});

export const Usage = z
  .object({
    source: z
      .enum(['prometheus', 'metrics-server'])
      .nullable()
      .describe('Source of the measurements. null: there are none, and missing has the cause.'),
    since: time.nullable().describe('Time of the first measurement. null: there are none.'),
    missing: z.string().nullable().describe('What is missing for more measurements, and what to do. null: nothing.'),
    start: time.describe('First time of the window.'),
    end: time.describe('Last time of the window.'),
    step_seconds: z.int().describe('Seconds between two times of the window.'),
    parts: z.array(PartUsage),
    revisions: z.array(z.object({ id, at: time })).describe('Revisions that were created in the window, newest first.'),
    crashes: z
      .array(Crash)
      .describe(
        'The last failed exit of each container of the current pods, newest first. Empty for callers who may not list pods.',
      ),
    operations: z
      .array(Operation)
      .describe('Operations on the databases, newest first. Empty for callers who may not list them.'),
  })
  .meta({
    id: 'DeploymentUsage',
  });
export type Usage = z.output<typeof Usage>;
