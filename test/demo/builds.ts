// What the demo builds: a deployment from a folder that is uploaded and, where there is a code host, one from a small repository.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { CodeHost, PlatformThatBuilds } from '../support/build-platform.ts';
import { call, type Deployment, type Stage } from './api-calls.ts';
import { type DemoCluster, DemoError } from './demo-cluster.ts';

const run = promisify(execFile);

export const FROM_REPOSITORY = 'from-repository';
export const FROM_FOLDER = 'from-folder';
const DEPLOYED_WITHIN_MS = 420_000;
/** As much of the demo as builds need. */
export type BuildingStage = Pick<Stage, 'platform' | 'tenant' | 'stopping'> & {
  readonly cluster: Pick<DemoCluster, 'directory'>;
};

const ENDED_BADLY = ['CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED'];

/** A small server that needs no stores: one of three deployments on one machine, beside those that a user creates. */
const SMALL = {
  resource_spec: { cpu: 0.02, memory_mb: 64 },
  runtime: { database: 'none', redis: 'none' },
};

const server = (text: string): string => `import http.server
import os

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"${text}\\n")

# What a runtime would serve.
graph = Handler

if __name__ == "__main__":
    http.server.HTTPServer(("", int(os.environ.get("PORT", "8000"))), Handler).serve_forever()
`;

export async function buildDeployments(
  stage: BuildingStage,
  { codeHost, baseImages }: PlatformThatBuilds,
  say: (line: string) => void,
): Promise<void> {
  if (codeHost) await buildRepository(stage, codeHost, baseImages.python, say);
  await buildFolder(stage, say);
}

async function buildRepository(
  stage: BuildingStage,
  { gitea, integrationId }: CodeHost,
  base: string,
  say: (line: string) => void,
): Promise<void> {
  const repository = (await gitea.makeRepository(FROM_REPOSITORY)).replace(/\.git$/, '');
  await gitea.commit(FROM_REPOSITORY, {
    'app.py': server('built from a repository'),
    Dockerfile: `FROM ${base}\nWORKDIR /app\nCOPY app.py .\nRUN python -m py_compile app.py\nUSER 65532:65532\nCMD ["python", "app.py"]\n`,
  });
  say(`Creating deployment ${FROM_REPOSITORY} of ${repository}`);
  const created = await call(stage, 'POST', '/v2/deployments', {
    name: FROM_REPOSITORY,
    source: 'codehost',
    source_config: { integration_id: integrationId, repo_url: repository, ...SMALL },
    source_revision_config: { repo_ref: 'main', workflow_config_path: 'Dockerfile' },
    secrets: [],
  });
  await untilDeployed(stage, FROM_REPOSITORY, created, say);
}

export async function buildFolder(stage: BuildingStage, say: (line: string) => void): Promise<void> {
  const files = { 'app.py': server('built from a folder'), 'langgraph.json': JSON.stringify(configuration(), null, 2) };
  await deployFolder(stage, { name: FROM_FOLDER, files, config: SMALL }, say);
}

interface Folder {
  readonly name: string;
  /** By their names; langgraph.json is among them. */
  readonly files: Readonly<Record<string, string>>;
  readonly config: object;
}

/** Creates a deployment of source internal_source, and resolves when what its folder has is deployed. */
export async function deployFolder(
  stage: BuildingStage,
  { name, files, config }: Folder,
  say: (line: string) => void,
): Promise<void> {
  const folder = join(stage.cluster.directory, name);
  await mkdir(folder, { recursive: true });
  await Promise.all(Object.entries(files).map(([file, text]) => writeFile(join(folder, file), text)));
  say(`Creating deployment ${name} of ${folder}`);
  const created = await call(stage, 'POST', '/v2/deployments', {
    name,
    source: 'internal_source',
    source_config: config,
    source_revision_config: {},
    secrets: [],
  });
  const path = await upload(stage, created, folder);
  const changed = await call(stage, 'PATCH', `/v2/deployments/${created.id}`, {
    source_revision_config: { source_tarball_path: path, workflow_config_path: 'langgraph.json' },
  });
  await untilDeployed(stage, name, changed, say);
}

/** A folder without pyproject.toml is copied to /deps/outer-NAME/src. */
function configuration(): object {
  return {
    dependencies: ['.'],
    graphs: { agent: './app.py:graph' },
    dockerfile_lines: [`CMD ["python", "/deps/outer-${FROM_FOLDER}/src/app.py"]`],
  };
}

/** What the record names the upload by. */
async function upload(stage: BuildingStage, { id }: Deployment, folder: string): Promise<string> {
  const archive = join(await mkdtemp(join(stage.cluster.directory, 'upload-')), 'source.tar.gz');
  await run('tar', ['-C', folder, '-czf', archive, '.']);
  const { upload_url, object_path, upload_headers } = await call<{
    upload_url: string;
    object_path: string;
    upload_headers: Record<string, string>;
  }>(stage, 'POST', `/v2/deployments/${id}/upload-url`, { supports_upload_headers: true });
  const body = await readFile(archive);
  const answer = await fetch(upload_url, { method: 'PUT', headers: upload_headers, body });
  if (!answer.ok) throw new DemoError(`The upload of ${folder} failed: ${answer.status} ${await answer.text()}`);
  return object_path;
}

interface Revision {
  readonly status: string;
  readonly status_message?: string | null;
}

async function untilDeployed(
  stage: BuildingStage,
  name: string,
  { id }: Deployment,
  say: (line: string) => void,
): Promise<void> {
  let shown = '';
  for (const end = Date.now() + DEPLOYED_WITHIN_MS; Date.now() < end; await sleep(500)) {
    if (stage.stopping.aborted) throw new DemoError('Stopped.');
    const { latest_revision_id: latest } = await call(stage, 'GET', `/v2/deployments/${id}`);
    if (latest === undefined || latest === null) continue;
    const path = `/v2/deployments/${id}/revisions/${latest}`;
    const { status, status_message: message } = await call<Revision>(stage, 'GET', path);
    if (status !== shown) say(`Deployment ${name} is ${status}`);
    shown = status;
    if (status === 'DEPLOYED') return;
    if (ENDED_BADLY.includes(status)) throw new DemoError(`Deployment ${name} is ${status}: ${message ?? ''}`);
  }
  throw new DemoError(`Deployment ${name} was not DEPLOYED within ${DEPLOYED_WITHIN_MS / 1000} s; it was ${shown}.`);
}
