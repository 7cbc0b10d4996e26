// The tasks of a deployment with their last runs.

import { z } from 'zod';
import { time } from '../../../api/payload-fields.ts';
import { nextRunText } from '../../../kinds/next-run.ts';
import { DNS_LABEL_PATTERN, text } from '../../../kinds/primitives.ts';
import { Task, TaskRun, TaskStatus } from '../../../kinds/tasks.ts';
import { toSnake } from '../../../runtime/http/casing.ts';
import { response } from '../components.ts';
import { DeploymentPath } from '../payloads.ts';

export const TaskPath = DeploymentPath.extend({
  task_name: Task.shape.name.describe('Name of a task of the active revision.'),
});

export const TaskRunResponse = response(TaskRun).meta({
  id: 'TaskRun',
  description: 'A run of a task. null: not known, or not yet.',
});
export type TaskRunResponse = z.output<typeof TaskRunResponse>;

export const RunPath = DeploymentPath.extend({
  run_name: text(63).regex(new RegExp(DNS_LABEL_PATTERN)).describe('Name of its Job.'),
});

export const RunResponse = TaskRunResponse.extend({
  pod: z.string().nullable().describe('Pod in which its command has begun, and whose log it is. null: not yet.'),
}).meta({
  id: 'Run',
  description: 'A run of a command or a task.',
});
export type RunResponse = z.output<typeof RunResponse>;

const timeout = Task.shape.timeoutSeconds.unwrap().nullish();

export const RunTaskBody = z
  .object({ timeout_seconds: timeout.describe('Seconds after which it is stopped. Default: the time of the task.') })
  .meta({ id: 'RunTask', examples: [{}] });

export const RunCommandBody = z
  .object({
    command: Task.shape.command
      .refine(([program]) => program !== '', { error: 'must begin with the name of a program', path: [0] })
      .describe('The command with its arguments. No shell reads it.'),
    timeout_seconds: timeout.describe('Seconds after which it is stopped. Default: 3600.'),
  })
  .meta({ id: 'RunCommand', examples: [{ command: ['python', 'manage.py', 'clearsessions'] }] });

const TaskStatusResponse = z
  .object({
    ...response(TaskStatus).shape,
    next_run_at: time
      .nullable()
      .describe(
        'When its next run is due, computed from the schedule, in UTC if it has no time zone. null if no run begins, and for @every.',
      ),
    runs: z.array(TaskRunResponse).describe(TaskStatus.shape.runs.description ?? ''),
  })
  .meta({ id: 'TaskStatus' });

export const TaskStatusList = z
  .object({
    resources: z.array(TaskStatusResponse).describe('The tasks of the active revision, in the order of the record.'),
  })
  .meta({
    id: 'TaskStatusList',
  });
export type TaskStatusList = z.output<typeof TaskStatusList>;

/** `now` in milliseconds. */
export function presentTaskRuns(tasks: readonly TaskStatus[] = [], now: number): TaskStatusList {
  return {
    resources: tasks.map((task) => ({
      ...toSnake(TaskStatus, task),
      next_run_at: nextRunText(task, now) ?? null,
    })),
  };
}

export function presentTaskRun(run: TaskRun): TaskRunResponse {
  return toSnake(TaskRun, run);
}
