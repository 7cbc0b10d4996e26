// The published CLI (PyPI langgraph-cli) against the facade, as it is: what it sends is taken, and what it is answered it can
// read. test/suites/builds/clients.test.ts follows its builds to pods.

import { execFile } from 'node:child_process';
import { appendFile, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { type Serving, serve } from '../../../src/main/server.ts';
import { type FacadeWithRegistry, makeFacadeWithRegistry } from '../../support/facade-registry.ts';
import { ensurePublishedClient, publishedEnvironment } from '../../support/published-client.ts';
import { eventually } from '../../support/running-davit.ts';
import { type Facade, OTHER_TENANT, TENANT, TOKEN } from './facade.ts';

const root = join(import.meta.dirname, '../../..');
let program: string;
beforeAll(async () => {
  program = await ensurePublishedClient(() => undefined);
}, 300_000);

let setup: FacadeWithRegistry;
let facade: Facade;
let serving: Serving;
let folder: string;
beforeEach(async () => {
  setup = await makeFacadeWithRegistry();
  ({ facade } = setup);
  serving = await serve(facade.app, { host: '127.0.0.1', port: 0 });
  folder = await mkdtemp(join(tmpdir(), 'davit-published-'));
  await cp(join(root, 'docs/example'), folder, { recursive: true });
});
afterEach(async () => {
  await serving.close();
  await setup.close();
  await rm(folder, { recursive: true, force: true });
});

interface Ran {
  readonly code: number;
  readonly out: string;
}
function langgraph(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const env = publishedEnvironment({ home: folder, server: serving.url, token: TOKEN, tenant: TENANT.id });
  return new Promise((resolve) => {
    execFile(program, ['deploy', ...args], { cwd: folder, env: { ...env, ...more } }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr });
    });
  });
}
const UNATTENDED = ['--no-input', '--no-wait'] as const;
const upload = (...args: string[]): Promise<Ran> => langgraph(['--remote', '--name', 'shop', ...UNATTENDED, ...args]);
const id = (): string => facade.records.list()[0]?.metadata.uid ?? '';

describe('the published CLI', () => {
  it('creates a deployment of a folder and uploads it, with its commands and the variables of .env', async () => {
    await writeFile(join(folder, '.env'), 'API_KEY=canary\nPORT=1\n');
    const { code, out } = await upload('--json', '--install-command', 'pip --version', '--build-command', 'true');
    expect(code, out).toBe(0);
    const events = out.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : [])) as {
      event: string;
      message?: string;
    }[];
    expect(events.filter(({ event }) => event === 'step').map(({ message }) => message)).toEqual([
      "Looking up deployment 'shop'",
      "Creating deployment 'shop'",
      'Creating source archive',
      'Requesting upload URL',
      'Uploading source',
      'Triggering remote build',
    ]);
    expect(facade.records.list()).toMatchObject([
      {
        spec: {
          source: 'internal_source',
          sourceConfig: { deploymentType: 'dev', installCommand: 'pip --version', buildCommand: 'true' },
          sourceRevisionConfig: {
            sourceTarballPath: expect.stringMatching(/^uploads\/[0-9a-f]{32}$/) as string,
            workflowConfigPath: 'langgraph.json',
          },
          secrets: [{ name: 'API_KEY' }],
        },
      },
    ]);
  });

  it('finds the deployment again by its name and by its id, and uploads what changed', async () => {
    await upload();
    const before = facade.records.list()[0]?.spec;
    await appendFile(join(folder, 'app.py'), '# changed\n');
    const byName = await upload();
    expect(byName, byName.out).toMatchObject({ code: 0, out: expect.stringContaining('Found existing deployment') });
    const byId = await langgraph(['--remote', '--deployment-id', id(), ...UNATTENDED]);
    expect(byId, byId.out).toMatchObject({ code: 0, out: expect.stringContaining('Build triggered') });
    const records = facade.records.list();
    expect([records.length, records[0]?.spec.revisionSerial]).toEqual([1, (before?.revisionSerial ?? 0) + 2]);
  });

  it.each(['serverless', 'dedicated', 'dev', 'prod'])('creates one of type %s', async (type) => {
    const { code, out } = await upload('--deployment-type', type);
    expect(code, out).toBe(0);
  });

  it.each([
    ['DEPLOYED', 0, 'Deployment successful!\n   URL: https://shop.example'],
    ['BUILD_FAILED', 1, 'Deployment failed'],
  ] as const)('waits until the revision is %s', async (state, code, words) => {
    const waiting = langgraph(['--remote', '--name', 'shop', '--no-input']);
    await eventually(async () => expect(facade.records.list()[0]?.spec.revisionSerial).toBe(1));
    const [record] = facade.records.list();
    if (record === undefined) throw new Error('there is no record');
    facade.snapshot({ state, message: 'So it ended.' });
    const status = { observedGeneration: record.metadata.generation, conditions: [], url: 'https://shop.example' };
    facade.records.put({ ...record, status } as typeof record);
    expect(await waiting).toEqual({ code, out: expect.stringContaining(words) as string });
  });

  it('lists deployments and revisions, and deletes', async () => {
    expect(await langgraph(['list'])).toEqual({ code: 0, out: 'No deployments found.\n' });
    await upload();
    facade.snapshot({ state: 'DEPLOYED', message: 'The rollout of this revision has finished.' });
    expect(await langgraph(['list', '--json', '--name-contains', 'ho'])).toEqual({
      code: 0,
      out: `[{"id": "${id()}", "name": "shop"}]\n`,
    });
    const revisions = await langgraph(['revisions', 'list', id()]);
    expect(revisions.out).toMatch(/^[0-9a-f-]{36} {2}DEPLOYED {2}2026-01-01T00:00:00Z$/m);
    expect(await langgraph(['delete', '--force', id()])).toEqual({ code: 0, out: `Deleted deployment ${id()}.\n` });
    expect(
      facade.kube.objects(APP_DEPLOYMENTS).filter(({ metadata }) => metadata.deletionTimestamp === undefined),
    ).toEqual([]);
  });

  it('reads logs of pods and of builds, filtered in every way that it has', async () => {
    await upload();
    facade.snapshot({ state: 'DEPLOYED', message: 'The rollout of this revision has finished.' });
    const filters = ['--level', 'error', '--limit', '5', '-q', 'x', '--start-time', '2026-01-01T00:00:00Z'];
    const none = expect.stringContaining('No log entries found.') as string;
    for (const type of ['deploy', 'build'])
      for (const args of [
        ['--name', 'shop'],
        ['--deployment-id', id(), ...filters, '--end-time', '2026-01-02T00:00:00Z'],
      ])
        expect(await langgraph(['logs', '--type', type, ...args])).toEqual({ code: 0, out: none });
  });

  it("deploys an image of a registry that is not the platform's", async () => {
    const image = `registry.example/shop@sha256:${'a'.repeat(64)}`;
    const args = ['--image-uri', image, '--name', 'shop', '--image-pull-secret', 'mine', ...UNATTENDED];
    const { code, out } = await langgraph(args);
    expect(code, out).toBe(0);
    expect(facade.records.list()).toMatchObject([
      {
        spec: {
          source: 'external_docker',
          sourceConfig: { resourceSpec: { imagePullSecrets: [{ name: 'mine' }] } },
          sourceRevisionConfig: { imageUri: image },
        },
      },
    ]);
    const again = await langgraph(['--image-uri', image, '--name', 'shop', ...UNATTENDED]);
    expect(again, again.out).toMatchObject({ code: 0 });
    // A platform of its own kind says no, in words that the CLI passes on.
    const other = await upload();
    expect(other).toEqual({ code: 1, out: expect.stringContaining("only available for 'internal_source'") as string });
  });

  it('says that a workspace is missing', async () => {
    const several = await langgraph(['list', '--json'], { LANGSMITH_TENANT_ID: '' });
    expect(several).toEqual({ code: 1, out: expect.stringContaining('requires a workspace ID') as string });
  });

  it('says that there is no right', async () => {
    facade.kube.allow(({ namespace }) => namespace !== OTHER_TENANT.namespace);
    const refused = await langgraph(['list'], { LANGSMITH_TENANT_ID: OTHER_TENANT.id });
    expect(refused).toEqual({ code: 1, out: expect.stringContaining('X-Tenant-Id does not name a tenant') as string });
  });
});
