// A deployment that is deleted or lost: what it was is not known any more, but its backups are still in their store.

import { Failure } from './kubectl.ts';
import { PROGRAM } from './program.ts';

/** How a new deployment begins with the backups of the one of this name. */
export function beginningWith(name: string): string {
  return `source_config.database.restore.from "${name}" (docs/database-backups.md, "A deployment that is lost")`;
}

/** For a request for the deployment of this name: a Failure because there is none also says where its data may be. */
export function lost(name: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof Failure) || !error.message.includes('NotFound')) throw error;
    throw new Failure(
      [
        error.message,
        `If ${name} was deleted or lost, its backups are still in their store. To list them, where OTHER is a deployment with backups: ${PROGRAM} backups OTHER --from ${name}`,
        `To begin with the newest: create a deployment, of the same name or another, with ${beginningWith(name)}.`,
      ].join('\n'),
    );
  };
}
