// From the state that landed last to this one, and back, on one API server with records that run: no pod is restarted, no
// revision is made, and the records are READY all the time. test/suites/e2e/install does it by Helm with real pods.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Cluster } from '../../cluster/cluster.ts';
import { type Platform, type PlatformOptions, startPlatform, type Values } from '../../support/platform.ts';
import { eventually } from '../../support/running-davit.ts';
import { type SampleImages, startSampleCluster } from '../../support/sample-cluster.ts';
import { LANDED, landedSource } from '../../support/upgrade/landed.ts';
import { allReady, lasting, namedByRecords, recordsToUpgrade, statesIn } from '../../support/upgrade/records.ts';

const run = promisify(execFile);
const TEAM = 'upgraded';

let cluster: Cluster;
let images: SampleImages;
let platform: Platform | undefined;
let landed: string;

beforeAll(async () => {
  landed = await landedSource();
  ({ cluster, images } = await startSampleCluster({ pods: 'off', auditLog: true, progress: () => undefined }));
}, 900_000);
afterAll(async () => {
  await platform?.stop();
  await cluster?.stop();
}, 60_000);

const kubectl = (args: readonly string[], input?: object): Promise<string> =>
  cluster.kubectl(args, input && { input: JSON.stringify(input) });

interface Running {
  /** How often its controller has gone over a record without an error. */
  readonly passes: () => Promise<number>;
}

async function start(options: PlatformOptions & { readonly values?: Values }): Promise<Running> {
  await platform?.stop();
  const port = await freePort();
  platform = await startPlatform(cluster, {
    parts: ['controller'],
    env: { DAVIT_HEALTH_PORT: String(port) },
    values: { 'settings.images.postgres': images.postgres, 'settings.images.redis': images.redis },
    ...options,
  });
  return {
    passes: async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
      const text = await answer.text();
      if (!answer.ok) throw new Error(`/metrics answered ${answer.status}: ${text}`);
      const counts = text.matchAll(
        /^davit_reconcile_total\{controller="appdeployments",result="(?:done|requeued)"\} (\d+)$/gm,
      );
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

const names = (): string[] => recordsToUpgrade(TEAM, images).map(({ metadata }) => metadata.name);

const states = (): Promise<string[]> => statesIn(TEAM, kubectl);

interface Audited {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string; readonly name?: string };
}

/** What the controller has written in the tenant's namespace so far; events and dry runs are no changes. */
async function writes(): Promise<string[]> {
  const lines = (await readFile(cluster.auditLog ?? '', 'utf8')).split('\n').filter((line) => line !== '');
  return lines
    .map((line) => JSON.parse(line) as Audited)
    .filter(({ stage, user }) => stage === 'ResponseComplete' && user.username.endsWith(':davit-controller'))
    .filter(({ verb, requestURI }) => !['get', 'list', 'watch'].includes(verb) && !requestURI.includes('dryRun='))
    .filter(({ objectRef }) => objectRef?.namespace === TEAM && objectRef.resource !== 'events')
    .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource} ${objectRef?.name}`);
}

/** Until the controller has gone over every record, and has been at rest for a while. */
async function settled({ passes }: Running): Promise<void> {
  await eventually(async () => expect(await passes()).toBeGreaterThanOrEqual(names().length));
  let seen = -1;
  for (let now = await passes(); now !== seen; now = await passes()) {
    seen = now;
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

let before: readonly string[];

it('without the released commit in the history a message says what to do', async () => {
  const clone = await mkdtemp(join(tmpdir(), 'davit-clone-'));
  try {
    await run('git', ['init', '--quiet', clone]);
    await expect(landedSource(LANDED, clone)).rejects.toThrow(`git fetch origin ${LANDED}`);
  } finally {
    await rm(clone, { recursive: true, force: true });
  }
});

it('records come up with the released version', async () => {
  await start({ source: landed });
  await (platform as Platform).makeTenant(TEAM);
  await kubectl(['apply', '-f', '-'], namedByRecords(TEAM));
  for (const record of recordsToUpgrade(TEAM, images)) await kubectl(['apply', '-f', '-'], record);
  await eventually(async () => expect(await states()).toEqual(allReady(names())), 200_000);
  // The autoscaler's first report comes up to 15 s later and changes a status, which is no effect of an upgrade.
  const reason = '{.status.conditions[?(@.type=="AutoscalingReady")].reason}';
  await eventually(async () => {
    const now = await kubectl(['get', 'appd', 'everything', '-n', TEAM, '-o', `jsonpath=${reason}`]);
    expect(now).not.toBe('NotObserved');
  });
  before = await lasting((args) => kubectl(args), TEAM);
  const kinds = ['Deployment', 'StatefulSet', 'Pod', 'AppRevision', 'ReplicaSet', 'PersistentVolumeClaim', 'Secret'];
  expect(kinds.filter((kind) => !before.some((line) => line.startsWith(`${kind} `)))).toEqual([]);
}, 300_000);

it('an upgrade to this version, also with other settings, restarts nothing and creates no revision', async () => {
  const sent = (await writes()).length;
  // Every setting that new revisions take something from.
  const running = await start({
    values: {
      'settings.images.postgres': images.postgres,
      'settings.images.redis': images.redis,
      'settings.images.pullPolicy': 'Always',
      'settings.images.pullSecrets': ['mirror'],
      'settings.pods.progressDeadlineSeconds': 700,
      'settings.pods.port': 9000,
      'settings.pods.healthPath': '/healthy',
      'settings.tracing.otlpEndpoint': 'http://collector.observability:4318',
      'settings.deploymentType': 'prod',
      'settings.autoscaling.cpuPercent': 50,
      'settings.placement.server': { nodeSelector: { pool: 'apps' } },
      'settings.placement.postgres': { nodeSelector: { pool: 'data' } },
    },
  });
  await settled(running);
  expect(await lasting((args) => kubectl(args), TEAM)).toEqual(before);
  expect(await states()).toEqual(allReady(names()));
  const written = (await writes()).slice(sent);
  process.stderr.write(`  an upgrade with ${names().length} records wrote: ${written.join(', ') || 'nothing'}\n`);
  // At most one apply for each child, and one status for each record and revision, where a rendering is another.
  expect(new Set(written).size).toBe(written.length);
}, 120_000);

it('a revision created after the upgrade uses the current settings, and only its record restarts', async () => {
  await kubectl(['patch', 'appd', 'external', '-n', TEAM, '--type=merge', '-p', '{"spec":{"revisionSerial":1}}']);
  await eventually(async () => {
    const path = '{.spec.template.spec.containers[0].ports[0].containerPort}';
    expect(await kubectl(['get', 'deployment', 'external', '-n', TEAM, '-o', `jsonpath=${path}`])).toBe('9000');
  });
  const others = (lines: readonly string[]): string[] =>
    lines.filter((line) => !/^\S+ external/.test(line)).map((line) => line);
  expect(others(await lasting((args) => kubectl(args), TEAM))).toEqual(others(before));
  // What is compared from here on; no node of the label that it asks for is there, and what ran runs.
  before = others(before);
}, 60_000);

it('a downgrade to the released version restarts nothing either', async () => {
  const running = await start({ source: landed });
  await settled(running);
  const now = await lasting((args) => kubectl(args), TEAM);
  expect(now.filter((line) => !/^\S+ external/.test(line))).toEqual(before);
  const held = (await states()).filter((line) => !line.startsWith('external'));
  expect(held).toEqual(allReady(names()).filter((line) => !line.startsWith('external')));
}, 120_000);
