// Extensions that Davit makes in a new database, as its superuser.

import { OWNER } from '../../record/database-driver.ts';

/**
 * One statement of SQL, in the new database. The extensions become the application's: a dump that it loads sets their comments, which only
 * their owner may. Nobody can connect meanwhile. It has no $$, which Kubernetes makes $ in a command.
 */
export function makeExtensions(extensions: readonly string[], { user } = OWNER): string {
  const made = extensions.map((name) => `create extension "${name}";`).join(' ');
  return `do 'begin alter role ${user} superuser; set role ${user}; ${made} reset role; alter role ${user} nosuperuser; end'`;
}
