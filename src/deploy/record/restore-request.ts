// Which backup a record asks for, in one form: a Job of another request is of no use any more.

import type { DatabaseRestore } from '../../kinds/database.ts';

export function restoreRequestOf({ from, namespace, at, backup }: Readonly<DatabaseRestore>): string {
  return JSON.stringify({ from, namespace, at, backup });
}

/** Which backup `davit backup fetch` takes. */
export function fetchOptionsOf({ from, at, backup }: Readonly<DatabaseRestore>): string[] {
  return [
    `--deployment=${from}`,
    ...(backup === undefined ? [] : [`--backup=${backup}`]),
    ...(at === undefined ? [] : [`--at=${at}`]),
  ];
}
