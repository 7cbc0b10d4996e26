// The tasks of a deployment as the API takes and gives them.

import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { fromSnake, payloadShape, responseShape, toSnake } from '../../lib/http/casing.ts';
import type { FieldError } from '../../lib/http/http-error.ts';
import { asArray, asObject } from '../../lib/json-value.ts';
import type { Draft } from '../../organization/facade/validation.ts';
import { backupBreaches, taskBreaches } from '../../schema/spec-rules.ts';
import { Task } from '../../schema/tasks.ts';

const { name, command } = Task.shape;

const TaskPayload = z
  .object({ ...payloadShape(Task.shape), name, command })
  .meta({ id: 'TaskRequest', description: 'A command that runs in a pod of its own, on a schedule or when asked.' });
export const TaskPayloads = z.array(TaskPayload).max(20);
type TaskPayloads = z.output<typeof TaskPayloads>;

const TaskResponse = z
  .object({ ...responseShape(Task.shape), name, command })
  .meta({ id: 'Task', description: 'A task as the record has it; null where unset.' });
export const TaskResponses = z.array(TaskResponse);

export function presentTasks(tasks: readonly Task[] | undefined): z.output<typeof TaskResponses> | null {
  return tasks?.map((task) => ({ ...toSnake(Task.shape, task), name: task.name, command: task.command })) ?? null;
}

export function tasksFrom(sent: Readonly<TaskPayloads> | null | undefined): Task[] {
  return (sent ?? []).map((task) => fromSnake(Task.shape, task) as Task);
}

/** A list replaces the previous one. The very same where the result means the same. */
export function patchedTasks(
  before: Task[] | undefined,
  sent: Readonly<TaskPayloads> | null | undefined,
): Task[] | undefined {
  if (sent === undefined || sent === null) return before;
  const after = tasksFrom(sent);
  if (isDeepStrictEqual(after, before ?? [])) return before;
  return after.length > 0 ? after : undefined;
}

/** The rules of tasks and of backups: both have a schedule. */
export function* scheduleRule(draft: Draft): Generator<FieldError> {
  const { tasks, database } = asObject(draft['source_config']);
  const breaches = [
    ...[...taskBreaches(asArray(tasks), 'time_zone')].map(({ at, message }) => ({ at: ['tasks', ...at], message })),
    ...[...backupBreaches(asObject(database), 'time_zone', 'prove_schedule')].map(({ at, message }) => ({
      at: ['database', ...at],
      message,
    })),
  ];
  for (const { at, message } of breaches) yield { loc: ['source_config', ...at], msg: message, type: 'value_error' };
}
