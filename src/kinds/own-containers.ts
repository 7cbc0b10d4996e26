// What people call the containers of Davit's own Jobs: the step that each does, in place of a name that nobody has chosen.

import {
  CHECK_CONTAINER,
  COMPARE_CONTAINER,
  DUMP_CONTAINER,
  FETCH_CONTAINER,
  MIGRATION_CONTAINER,
  RESTORE_CONTAINER,
  SERVER_CONTAINER,
  TASK_CONTAINER,
  UPLOAD_CONTAINER,
} from './meta.ts';

/** The steps of backups, restores and verifications. They run no image of the record. */
const DATABASE_STEPS: Readonly<Record<string, string>> = {
  [DUMP_CONTAINER]: 'the dump of the database',
  [UPLOAD_CONTAINER]: 'the upload of the backup',
  [CHECK_CONTAINER]: 'the check that the database is empty',
  [FETCH_CONTAINER]: 'the fetch of the backup',
  [RESTORE_CONTAINER]: 'the load of the backup',
  [SERVER_CONTAINER]: 'the server of the verification',
  [COMPARE_CONTAINER]: 'the comparison of the verification',
};

const STEPS: Readonly<Record<string, string>> = {
  ...DATABASE_STEPS,
  [MIGRATION_CONTAINER]: 'the command of the migration',
  [TASK_CONTAINER]: 'the command',
};

/** `container server`, or the step of Davit's own container: `the fetch of the backup`. */
export function containerText(name: string): string {
  return Object.hasOwn(STEPS, name) ? (STEPS[name] ?? name) : `container ${name}`;
}

/** The name of a container at the beginning of a sentence. */
export function containerSubject(name: string): string {
  const text = containerText(name);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The beginning of a sentence about its end: `Container server exited`, or `The fetch of the backup failed`. */
export function containerEnded(name: string): string {
  return `${containerSubject(name)} ${Object.hasOwn(STEPS, name) ? 'failed' : 'exited'}`;
}

/** Whether no revision of the record would change what it does. */
export function isDatabaseStep(name: string): boolean {
  return Object.hasOwn(DATABASE_STEPS, name);
}
