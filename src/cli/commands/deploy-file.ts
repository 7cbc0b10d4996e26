// What davit.yaml adds to a deploy: which file is read, and what it changed.

import { join } from 'node:path';
import {
  changeTo,
  DEFAULT_SOURCE,
  type DeploymentFile,
  requestOf,
  withoutNull,
} from '../../deployments/http/deployment-file.ts';
import { changeLine, objectChanges } from '../../deployments/record/revision-diff.ts';
import { FILE_NAME } from '../../schema/source-files.ts';
import { readDeploymentFile } from '../folder/deployment-file.ts';
import { withFields } from '../folder/set-fields.ts';
import { type Flags, InvalidFile, Misuse } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import type { Deployment } from './build-log.ts';

/**
 * The file that the flags select, by default that of the folder, with the fields that --set sets. Without a folder it is of an image.
 * Throws Misuse and InvalidFile.
 */
export async function selectedFile(folder: string | undefined, flags: Flags): Promise<DeploymentFile | undefined> {
  const named = flags.text('file');
  if (named !== undefined && flags.has('no-file')) throw new Misuse('--file and --no-file exclude each other.');
  const path = named ?? (folder === undefined ? undefined : join(folder, FILE_NAME));
  const read = flags.has('no-file') || path === undefined ? undefined : await readDeploymentFile(path);
  if (read === undefined && named !== undefined) throw new Misuse(`There is no file ${named}.`);
  if (read !== undefined && named !== undefined && Object.keys(read).length === 0)
    throw new InvalidFile(
      `${path} is empty: it has no field such as "name: shop". ${PROGRAM} init FOLDER writes one, ${PROGRAM} export NAME prints that of a deployment.`,
    );
  const file = withFields(read, flags.texts('set'));
  const source = file?.source ?? DEFAULT_SOURCE;
  if (folder === undefined && file?.source && file.source !== IMAGE_SOURCE)
    throw new InvalidFile(
      `${path ?? '--set'}: source is ${file.source}, and deploy --image deploys ${IMAGE_SOURCE}. Remove source.`,
    );
  if (folder !== undefined && source !== DEFAULT_SOURCE)
    throw new InvalidFile(
      `${path}: source is ${source}, and deploy uploads a folder, which is ${DEFAULT_SOURCE}. ${source === IMAGE_SOURCE ? `To deploy ${file?.image_uri ? 'its image_uri' : 'an image'}: ${PROGRAM} deploy${file?.image_uri ? '' : ' --image IMAGE'} --file ${path}. To upload the folder, where the platform builds, remove source.` : 'Remove source, or change that deployment by the HTTP API or kubectl.'}`,
    );
  return file;
}

/** What deploys an image. */
export const IMAGE_SOURCE = 'external_docker';

/** The deployment's fields as a request gives them. The upload is named separately. `there`: the deployment that it changes. */
export function configOf(file: DeploymentFile | undefined, there?: Deployment): Readonly<Record<string, unknown>> {
  const { source_config: config } = requestOf(file ?? {});
  return there ? changeTo(config, there.source_config) : config;
}

/** One line for each field that differs, apart from the upload. Values in force are compared, with defaults. */
export function changedLines(before: Deployment, after: Deployment): string[] {
  return objectChanges(comparable(before), comparable(after)).map(
    (change) => `Changed ${change.field}: ${changeLine(change)}`,
  );
}

function comparable({ source_config: config, source_revision_config: revision }: Deployment): object {
  return withoutNull({ workflow_config_path: revision.workflow_config_path, ...config }) as object;
}
