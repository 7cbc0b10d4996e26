// What the cluster reports of a deployment: the events of its objects, and its pods.

import { z } from 'zod';
import { time } from '../../../api/payload-fields.ts';

/** Most events of an answer. */
export const MOST_EVENTS = 100;
/** Most of them about runs of commands, tasks and backups, unless there are too few others. */
export const MOST_EVENTS_OF_RUNS = 20;
/** Most pods of an answer. */
export const MOST_PODS = 100;

const DeploymentEvent = z.object({
  type: z.string().describe('Normal or Warning.'),
  reason: z.string().describe('Cause, as one word for programs.'),
  message: z.string().describe('What happened, as text for people.'),
  object: z.string().describe('Kind and name of the object, such as Pod/shop-5f4d7c9b8-x2x7k.'),
  count: z.int().min(1).describe('How often it happened.'),
  last_at: time
    .nullable()
    .describe(
      'When it last happened. For a time in the future, it is the time at which the API server received the event.',
    ),
  over: z
    .boolean()
    .describe(
      'Whether it is a warning that no longer matters: its pod, or the deployment whose failure it is, has become ready since and still is, or it concerns a run that was started by hand.',
    ),
});
export type DeploymentEvent = z.output<typeof DeploymentEvent>;

const LastExit = z.object({
  container: z.string().describe('Container that exited.'),
  exit_code: z.int().describe('Its exit code.'),
  reason: z.string().nullable().describe('Cause, such as OOMKilled or Error.'),
  at: time.nullable().describe('When it exited.'),
});

export const Amounts = z.object({
  cpu: z.number().nullable().describe('CPU cores. null: unknown, or without a limit.'),
  memory_mb: z.int().nullable().describe('Megabytes (MiB). null: unknown, or without a limit.'),
});

const DeploymentPod = z.object({
  name: z.string().describe('Name of the pod.'),
  part: z.string().describe('server, queue, orchestrator, executor, migrate, task, postgres or redis.'),
  revision_id: z.string().nullable().describe('Revision that it runs. null for PostgreSQL and Redis.'),
  started_for_revision_id: z
    .string()
    .nullable()
    .describe(
      'Revision for which it was started, as its label davit.dev/revision has it: an earlier one where a later revision has the same pod template.',
    ),
  made_by: z
    .string()
    .nullable()
    .describe(
      'Kind and name of what made it, such as ReplicaSet/shop-5f4d7c9b8. null: a person did, as with kubectl debug.',
    ),
  phase: z.string().describe('Pending, Running, Succeeded, Failed or Unknown.'),
  ending: z.boolean().describe('Whether it is being deleted.'),
  ready: z.boolean().describe('Whether it is ready.'),
  restarts: z.int().min(0).describe('How often its containers were restarted.'),
  problem: z
    .object({
      reason: z.string().describe('A code for programs. docs/reasons.md lists them.'),
      message: z.string().describe('What is wrong and what to do.'),
    })
    .nullable()
    .describe('The problem of the pod. null: no problem is known.'),
  last_exit: LastExit.nullable().describe('The newest exit of a container that was restarted or has ended.'),
  usage: Amounts.nullable().describe(
    'What its containers use now. null where the cluster serves no metrics of pods (metrics.k8s.io), has none of this pod yet, or the caller may not list them.',
  ),
  limits: Amounts.describe('What they may use at most.'),
  created_at: time.nullable(),
});
export type DeploymentPod = z.output<typeof DeploymentPod>;

export const DeploymentEvents = z
  .object({
    resources: z
      .array(DeploymentEvent)
      .describe(
        `Newest first, at most ${MOST_EVENTS}, of which at most ${MOST_EVENTS_OF_RUNS} are about runs of commands, tasks and backups, if there are enough others. Those of pods are missing for callers who may not list pods. The API server keeps events for an hour.`,
      ),
    pods: z
      .array(DeploymentPod)
      .nullable()
      .describe(
        `Its pods, those with a problem first, then the newest, at most ${MOST_PODS}. null for callers who may not list pods.`,
      ),
    truncated: z
      .boolean()
      .describe('Whether the namespace has more events than were read, so that some may be missing.'),
  })
  .meta({
    id: 'DeploymentEvents',
  });
export type DeploymentEvents = z.output<typeof DeploymentEvents>;
