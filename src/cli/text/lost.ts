// A deployment that is deleted or lost: what it was is not known any more, but its backups are still in their store.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { NoDeployment } from '../line/not-found.ts';
import { PROGRAM } from '../line/program.ts';
import { Failure } from '../transport/kubectl.ts';

/** What of a deployment decides how another one begins with its backups. */
type Lost = Pick<AppDeployment['spec'], 'source'> & {
  /** The image of a deployment that is given one. */
  readonly image?: string | undefined;
  readonly driver?: string | undefined;
  /** It has an archive. */
  readonly hasArchive?: boolean;
};

const HOW = 'docs/databases.md, "A deployment that is lost"';

/** A command that creates a deployment with the newest backup of the one of this name. `was`: absent where what it was is not known. */
export function beginningWith(name: string, was: Lost = { source: 'external_docker' }): string {
  const { source, image = 'IMAGE', driver, hasArchive = false } = was;
  const what = source === 'external_docker' ? `--image ${image}` : source === 'internal_source' ? 'FOLDER' : undefined;
  if (what === undefined)
    return `create a deployment with source_config.database {"backup": {}, "restore": {"from": "${name}"}} (${HOW})`;
  // Words that YAML does not take for a text.
  const from = /^(?:true|false|null)$/.test(name) ? `"${name}"` : name;
  const asked = [
    ...(driver === undefined ? [] : [`driver: ${driver}`]),
    ...(hasArchive ? ['archive: {}'] : ['backup: {}']),
    `restore: {from: ${from}${hasArchive ? ', archive: true' : ''}}`,
  ];
  return `${PROGRAM} deploy ${what} --name ${name} --set 'database={${asked.join(', ')}}'`;
}

/** For a request for the deployment of this name: where there is none, the Failure also says where its data may be. */
export function lost(name: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof NoDeployment)) throw error;
    throw new Failure(
      [
        error.message,
        `If ${name} was deleted or lost, its backups are still in the store. To begin with the newest, under the same name or another: ${beginningWith(name)}`,
        `--file FILE gives the new deployment the settings of ${name}, as ${PROGRAM} export prints them (${HOW}).`,
      ].join('\n'),
    );
  };
}
