// Rules of schedules.

import type { FieldError } from '../../lib/http/http-error.ts';
import { asArray, asObject } from '../../lib/json-value.ts';
import type { Draft } from '../../organization/facade/validation.ts';
import { backupBreaches, taskBreaches } from '../../schema/spec-rules.ts';

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
