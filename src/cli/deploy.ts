// Deploys a folder: packs and uploads it to an internal_source deployment, which is created if there is none, and follows the build
// until the deployment is ready.

import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { revisionNames } from '../deployments/record/names.ts';
import type { RevisionState } from '../schema/app-revision.ts';
import { type Deployment, findDeployment, isBuilding, openBuildLog, readRevision, readRevisions } from './build-log.ts';
import { type HttpApi, Refused } from './http-api.ts';
import { Failure } from './kubectl.ts';
import { pack, type Source, sizeOf } from './pack.ts';

export interface DeployOptions {
  readonly source: Source;
  /** By default made of the folder's name. */
  readonly name?: string | undefined;
  readonly installCommand?: string | undefined;
  readonly buildCommand?: string | undefined;
  /** Time for everything after the upload. */
  readonly timeoutMs: number;
  /** Flags that suggested commands repeat, each after a space. */
  readonly suggested: string;
  readonly say: (line: string) => void;
  readonly everyMs?: number;
}

/** How far a deploy is, for whoever ends it early. */
export interface DeployProgress {
  /** Name of the deployment, if this deploy has created it. */
  created?: string;
  /** Absent until a revision was asked for. */
  name?: string;
  revision?: string;
}

interface UploadUrl {
  readonly upload_url: string;
  readonly object_path: string;
  readonly upload_headers: Readonly<Record<string, string>>;
  readonly max_bytes: number;
}

const FAILED: Readonly<Partial<Record<RevisionState, string>>> = {
  CREATE_FAILED: 'could not be created',
  BUILD_FAILED: 'could not be built',
  DEPLOY_FAILED: 'could not be deployed',
  SKIPPED: 'was skipped',
  INTERRUPTED: 'was interrupted',
};
/** A condition that blocks the deployment is final after this time; one from before the change may only be not observed again. */
const STALLED_MS = { new: 10_000, old: 60_000 };

/** Resolves to the ready deployment. Throws Failure with what failed. `progress` is written as it goes on. */
export async function deploy(api: HttpApi, options: DeployOptions, progress: DeployProgress): Promise<Deployment> {
  const { source, say } = options;
  const name = options.name ?? nameOf(source.folder);
  await needBuilds(api);
  const { id } = await findOrCreate(api, { name, say }, progress);
  const objectPath = await upload(api, id, source, say);
  progress.name = name;
  const changed = await api.call<Deployment>('PATCH', `/v2/deployments/${id}`, changeOf(objectPath, options));
  const revision = changed.latest_revision_id;
  if (revision === null) throw new Failure(`${name} has no revision of the upload: ${changed.status_message}`);
  progress.revision = revision;
  const older = (await readRevisions(api, id, 100)).map((one) => one.id).filter((one) => one !== revision);
  const [called = ''] = revisionNames(name, [revision, ...older]);
  say(`Revision ${called}.`);
  return untilReady(api, { before: changed, revision, called }, options);
}

/** Where the deployment is reached. `suggested`: flags for a suggested command, each after a space. */
export function addressOf(
  { name, source_config: config, internal_url: internal }: Deployment,
  suggested: string,
): string {
  if (config.custom_url !== null) return config.custom_url;
  if (internal === null) return `It has no address. See: kubectl davit status ${name}${suggested}`;
  return `In the cluster: ${internal}   From here: kubectl davit open ${name}${suggested}`;
}

/** The API says if it is too long. */
function nameOf(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^[-0-9]+|-$/g, '');
  if (name !== '') return name;
  throw new Failure(`The name of the folder ${folder} gives no name for a deployment. Choose one with --name.`);
}

interface Offer {
  readonly builds?: { readonly available: boolean; readonly registry: string | null };
}

/** Throws Failure where the platform builds nothing: a deployment that waits for ever is not created. */
async function needBuilds(api: HttpApi): Promise<void> {
  let builds: Offer['builds'];
  try {
    ({ builds } = await api.call<Offer>('GET', '/v2/platform'));
  } catch (error) {
    // An older Davit has no answer, and a caller may have the right to deploy alone.
    if (error instanceof Refused && (error.status === 403 || error.status === 404)) return;
    throw error;
  }
  if (builds?.available !== false) return;
  const missing =
    builds.registry === null
      ? 'registry (setting builds.registry)'
      : 'image of a builder (setting builds.images.builder)';
  throw new Failure(
    `This platform builds nothing: it has no ${missing}. Deploy an image instead, by a deployment of source external_docker, or have the platform team configure it. Nothing was created.`,
  );
}

async function findOrCreate(
  api: HttpApi,
  { name, say }: { readonly name: string; readonly say: DeployOptions['say'] },
  progress: DeployProgress,
): Promise<Deployment> {
  const found = await findDeployment(api, name);
  if (found === undefined) {
    const made = await api.call<Deployment>('POST', '/v2/deployments', {
      name,
      source: 'internal_source',
      source_config: {},
      source_revision_config: {},
      secrets: [],
    });
    progress.created = name;
    say(`Created deployment ${name}.`);
    return made;
  }
  if (found.source !== 'internal_source')
    throw new Failure(
      `Deployment ${name} has source ${found.source}. Only internal_source takes uploads: choose another name with --name.`,
    );
  if (found.status === 'AWAITING_DELETE')
    throw new Failure(`Deployment ${name} is being deleted. Deploy when it is gone.`);
  return found;
}

/** Resolves to the path that names the upload. */
async function upload(api: HttpApi, id: string, source: Source, say: (line: string) => void): Promise<string> {
  const path = `/v2/deployments/${id}/upload-url`;
  const target = await api.call<UploadUrl>('POST', path, { supports_upload_headers: true });
  const packed = await pack(source, target.max_bytes);
  try {
    say(`Uploading ${source.entries.length} files of ${source.folder}, ${sizeOf(packed.size)} packed.`);
    await api.upload(target.upload_url, target.upload_headers, packed);
  } finally {
    await packed.remove();
  }
  return target.object_path;
}

function changeOf(objectPath: string, { source, installCommand, buildCommand }: DeployOptions): object {
  const commands = {
    ...(installCommand !== undefined && { install_command: installCommand }),
    ...(buildCommand !== undefined && { build_command: buildCommand }),
  };
  return {
    revision_source: 'internal_source',
    source_revision_config: { source_tarball_path: objectPath, workflow_config_path: source.config },
    ...(Object.keys(commands).length > 0 && { source_config: commands }),
  };
}

interface Change {
  /** The deployment as the change answered it. */
  readonly before: Deployment;
  readonly revision: string;
  /** The revision's name. */
  readonly called: string;
}

async function untilReady(
  api: HttpApi,
  { before, revision: id, called }: Change,
  options: DeployOptions,
): Promise<Deployment> {
  const { say, timeoutMs, suggested, everyMs = 1000 } = options;
  const end = Date.now() + timeoutMs;
  const more = openBuildLog(api, before.id, id);
  const stalled = stalledFor(stalledMessage(before));
  let canRead = true;
  let said = '';
  const once = (line: string): void => {
    if (line !== said) say(line);
    said = line;
  };
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- until it is ready
    const revision = await readRevision(api, before.id, id);
    const { status, status_message: message } = revision;
    once(message === null ? status : `${status}  ${message}`);
    if (canRead) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- as above
        for (const line of await more()) say(line);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        say(`The log of the build cannot be read: ${error.message}`);
        canRead = false;
      }
      canRead &&= isBuilding(revision);
    }
    const failure = FAILED[status];
    if (failure !== undefined)
      throw new Failure(`Revision ${called} of ${before.name} ${failure}. ${message ?? ''}`.trim());
    if (status !== 'BUILDING') {
      // oxlint-disable-next-line no-await-in-loop -- as above
      const deployment = await api.patiently<Deployment>('GET', `/v2/deployments/${before.id}?secrets=names`);
      if (status === 'DEPLOYED' && isDone(deployment, id)) return deployment;
      const blocked = stalledMessage(deployment);
      if (stalled(blocked)) throw new Failure(`${before.name} needs a change by a person. ${blocked}`);
      if (status === 'DEPLOYED') once(`${deployment.status}  ${deployment.status_message}`);
    }
    if (Date.now() >= end)
      throw new Failure(
        `${before.name} is not ready after ${timeoutMs / 1000} s: ${said}\nIt goes on. To wait for it: kubectl davit wait ${before.name}${suggested}`,
      );
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(everyMs);
  }
}

function isDone({ status, ...deployment }: Deployment, revision: string): boolean {
  // A newer revision may have taken its place already.
  const { active_revision_id: active, latest_revision_id: latest } = deployment;
  return status === 'UNUSED' || (status === 'READY' && (active === revision || latest !== revision));
}

function stalledMessage({ conditions }: Deployment): string | undefined {
  return conditions.find(({ type, status }) => type === 'Stalled' && status === 'True')?.message;
}

/** Whether one message has been told for so long that it is final. */
function stalledFor(before: string | undefined): (message: string | undefined) => boolean {
  let since = 0;
  let last: string | undefined;
  return (message) => {
    if (message !== last) since = Date.now();
    last = message;
    return message !== undefined && Date.now() - since >= (message === before ? STALLED_MS.old : STALLED_MS.new);
  };
}
