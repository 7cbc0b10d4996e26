// What davit.yaml adds to a deploy: which file is read, the secrets that it needs, and what it changed.

import { join } from 'node:path';
import { DEFAULT_SOURCE, type DeploymentFile, requestOf, withoutUnset } from '../deployments/http/deployment-file.ts';
import { changeLine, objectChanges } from '../deployments/record/revision-diff.ts';
import { FILE_NAME } from '../schema/source-files.ts';
import type { Deployment } from './build-log.ts';
import { type Flags, InvalidFile, Misuse } from './command.ts';
import { readDeploymentFile } from './deployment-file.ts';
import { Failure } from './kubectl.ts';
import { PROGRAM } from './program.ts';

/** The file that the flags select: by default that of the folder, if there is one. Throws Misuse, InvalidFile and Failure. */
export async function selectedFile(folder: string, flags: Flags): Promise<DeploymentFile | undefined> {
  const named = flags.text('file');
  if (named !== undefined && flags.has('no-file')) throw new Misuse('--file and --no-file exclude each other.');
  if (flags.has('no-file')) return undefined;
  const path = named ?? join(folder, FILE_NAME);
  const file = await readDeploymentFile(path);
  if (file === undefined && named !== undefined) throw new Failure(`There is no file ${named}.`);
  const source = file?.source ?? DEFAULT_SOURCE;
  if (source !== DEFAULT_SOURCE)
    throw new InvalidFile(
      `${path}: source is ${source}, and deploy uploads a folder, which is ${DEFAULT_SOURCE}. Remove source, or change that deployment by the HTTP API or kubectl.`,
    );
  return file;
}

/** The deployment's fields as a request gives them. The upload is named separately. */
export function configOf(file: DeploymentFile | undefined): Readonly<Record<string, unknown>> {
  return requestOf(file ?? {}).source_config;
}

/** Throws Failure if the file names secrets that the deployment lacks. */
export function needSecrets(file: DeploymentFile | undefined, deployment: Deployment, suggested: string): void {
  if (!file?.secrets) return;
  const there = new Set(deployment.secrets.map(({ name }) => name));
  const missing = file.secrets.filter((name) => !there.has(name));
  if (missing.length === 0) return;
  const { name } = deployment;
  const commands = missing.map((key) => `  ${PROGRAM} secrets ${name} set ${key}${suggested}`);
  throw new Failure(
    [`${name} lacks secrets that its file names. Nothing was uploaded. Set them, then deploy again:`, ...commands].join(
      '\n',
    ),
  );
}

/** One line for each field that differs, apart from the upload. Values in force are compared, with defaults. */
export function changedLines(before: Deployment, after: Deployment): string[] {
  return objectChanges(comparable(before), comparable(after)).map(
    (change) => `Changed ${change.field}: ${changeLine(change)}`,
  );
}

function comparable({ source_config: config, source_revision_config: revision }: Deployment): object {
  return withoutUnset({ workflow_config_path: revision.workflow_config_path, ...config }) as object;
}
