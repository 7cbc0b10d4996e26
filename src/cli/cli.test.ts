// What kubectl-davit makes of what kubectl answers.

import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { AppDeployment } from '../api/app-deployment.ts';
import type { AppRevision } from '../api/app-revision.ts';
import type { Pod, Workload } from '../decide/observed.ts';
import { Failure, type Kubectl, makeKubectl } from './kubectl.ts';
import { chosen, rollBack } from './rollback.ts';
import { treeOf } from './tree.ts';
import { verdictOn, waitUntilReady } from './wait.ts';

const uid = '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11';
const time = '2026-01-01T00:00:00Z';

interface Said {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message?: string;
}

function record(conditions: readonly Said[] = [], more: object = {}): AppDeployment {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'shop', namespace: 'team', uid, generation: 2, resourceVersion: '7' },
    spec: {
      source: 'external_docker',
      sourceConfig: { customUrl: 'https://shop.example.com' },
      sourceRevisionConfig: { imageUri: 'app:2' },
      secrets: [],
      revisionSerial: 2,
      databaseDeletionPolicy: 'Delete',
      tracingProjectDeletionPolicy: 'Retain',
    },
    status: {
      state: 'READY',
      observedGeneration: 2,
      activeRevisionId: id(1),
      conditions: conditions.map((one) => ({ message: '', lastTransitionTime: time, ...one })),
    },
    ...more,
  };
}

function id(serial: number): string {
  return `${String(serial).repeat(8)}-0000-5000-8000-000000000000`;
}

function revision(serial: number, state: 'DEPLOYED' | 'DEPLOY_FAILED', message = ''): AppRevision {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppRevision',
    metadata: { name: `shop--${id(serial).slice(0, 8)}`, namespace: 'team' },
    spec: {
      id: id(serial),
      deploymentName: 'shop',
      deploymentUid: uid,
      deploymentGeneration: serial,
      revisionSerial: serial,
      source: 'external_docker',
      requested: { sourceRevisionConfig: { imageUri: `app:${serial}` }, secrets: [], secretReferences: [] },
      resolved: { image: `app:${serial}` } as AppRevision['spec']['resolved'],
    },
    status: { state, message },
  };
}

const bad = revision(2, 'DEPLOY_FAILED', 'Container server exited (Error, exit code 3).');
const good = revision(1, 'DEPLOYED', 'Every pod runs this revision.');

describe('status', () => {
  const labels = { 'davit.dev/deployment': 'shop', 'davit.dev/component': 'server' };
  const workload: Workload = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop', labels },
    spec: { replicas: 2 },
    status: { readyReplicas: 1 },
  };
  const database: Workload = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'shop--postgres', labels: { ...labels, 'davit.dev/component': 'postgres' } },
    spec: { replicas: 1 },
    status: {},
  };
  const crashed: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'shop-2', labels: { ...labels, 'davit.dev/revision': id(2) } },
    status: {
      containerStatuses: [
        {
          name: 'server',
          ready: false,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { exitCode: 3, reason: 'Error', message: 'no licence' } },
        },
      ],
    },
  };
  const serving: Pod = {
    ...crashed,
    metadata: { name: 'shop-1', labels: { ...labels, 'davit.dev/revision': id(1) } },
    status: { containerStatuses: [{ name: 'server', ready: true, state: { running: {} } }] },
  };

  it('draws every part, with reasons where something is wrong', () => {
    const broken = record([
      { type: 'Ready', status: 'False', reason: 'ContainerCrashed', message: 'Container server ended.' },
      { type: 'DatabaseReady', status: 'True', reason: 'Answering', message: 'PostgreSQL answers.' },
      { type: 'Stalled', status: 'True', reason: 'ContainerCrashed' },
    ]);
    const tree = treeOf({
      record: broken,
      revisions: [bad, good],
      workloads: [database, workload],
      pods: [crashed, serving],
    });
    expect(tree.join('\n')).toBe(`team/shop  READY
  !! Ready: ContainerCrashed. Container server ended.
├─ conditions
│  └─ ok DatabaseReady: Answering
├─ revisions
│  ├─ shop--22222222  DEPLOY_FAILED  app:2. Container server exited (Error, exit code 3).
│  └─ shop--11111111  DEPLOYED, active  app:1
├─ server  Deployment shop  1/2 ready
│  ├─ shop-1  ready  revision 11111111
│  └─ shop-2  not ready  revision 22222222  !! ContainerCrashed. Container server exited (Error, exit code 3): no licence. Read its log, and deploy a corrected revision.
└─ postgres  StatefulSet shop--postgres  0/1 ready`);
  });

  it('says that nobody has looked yet', () => {
    const { status: _none, ...fresh } = record();
    expect(treeOf({ record: fresh, revisions: [], workloads: [], pods: [] })).toEqual([
      'team/shop  not observed yet',
      '  Davit has not observed its latest change yet.',
    ]);
  });

  it('counts old revisions instead of listing them', () => {
    const many = [9, 8, 7, 6, 5, 4, 3].map((serial) => revision(serial, 'DEPLOYED'));
    const tree = treeOf({ record: record(), revisions: many, workloads: [], pods: [] });
    expect(tree.at(-1)).toMatch(/and 2 older$/);
  });
});

describe('wait', () => {
  it.each([
    ['ready', record([{ type: 'Ready', status: 'True', reason: 'Serving' }]), 'ready'],
    ['rolling', record([{ type: 'Ready', status: 'False', reason: 'Progressing' }]), 'waiting'],
    ['stalled', record([{ type: 'Stalled', status: 'True', reason: 'ImagePullFailed' }]), 'stalled'],
    [
      'ready, but of an older generation',
      record([{ type: 'Ready', status: 'True', reason: 'Serving' }], {
        metadata: { name: 'shop', uid, generation: 3 },
      }),
      'waiting',
    ],
    ['without a status', record([], { status: undefined }), 'waiting'],
    ['leaving', record([], { metadata: { name: 'shop', uid, deletionTimestamp: time } }), 'stalled'],
  ])('a record that is %s', (_name, given, is) => {
    expect(verdictOn(given).is).toBe(is);
  });

  it('says each thing once, and ends when it is ready', async () => {
    const rolling = record([{ type: 'Ready', status: 'False', reason: 'Progressing', message: '1 of 2.' }]);
    const answers = [rolling, rolling, record([{ type: 'Ready', status: 'True', reason: 'Serving' }])];
    const said: string[] = [];
    const kubectl: Kubectl = async () => JSON.stringify(answers.shift());
    await waitUntilReady(kubectl, 'shop', { timeoutMs: 5000, say: (line) => said.push(line), everyMs: 1 });
    expect(said).toEqual(['Progressing. 1 of 2.', 'Ready: Serving']);
  });

  it('gives up after its time', async () => {
    const kubectl: Kubectl = async () => JSON.stringify(record());
    const waiting = waitUntilReady(kubectl, 'shop', { timeoutMs: 0, say: () => undefined, everyMs: 1 });
    await expect(waiting).rejects.toThrow('shop is not ready after 0 s.');
  });
});

describe('rollback', () => {
  it.each([
    ['the last good one before the newest', [bad, good], undefined, good],
    ['by name', [bad, good], 'shop--22222222', bad],
    ['by the beginning of its id', [bad, good], '1111', good],
  ])('takes %s', (_name, revisions, to, wanted) => {
    expect(chosen(revisions, to)).toBe(wanted);
  });

  it.each([
    ['none was ever deployed', [bad], undefined, 'No earlier revision has been deployed'],
    ['there is none of that name', [bad, good], 'nope', 'No revision matches "nope". Revisions: shop--22222222'],
    ['more than one is meant', [good, { ...good }], '1', 'More than one revision'],
    ['there is none at all', [], undefined, 'none exists'],
  ])('refuses when %s', (_name, revisions, to, words) => {
    expect(() => chosen(revisions, to)).toThrow(words);
  });

  it('writes the old values and a new serial under what it read, again after a conflict', async () => {
    const sent: { readonly args: readonly string[]; readonly object: AppDeployment }[] = [];
    const kubectl: Kubectl = async (args, input) => {
      if (args[0] === 'replace') {
        sent.push({ args, object: JSON.parse(input ?? '') as AppDeployment });
        if (sent.length === 1) throw new Failure('Error from server (Conflict): changed meanwhile');
        return '';
      }
      return JSON.stringify(args[1] === 'appdeployments.davit.dev' ? record() : { items: [good, bad] });
    };
    expect(await rollBack(kubectl, 'shop', undefined)).toMatch(
      /^shop is being rolled back to shop--11111111 \(app:1\) as shop--/,
    );
    expect(sent).toHaveLength(2);
    expect(sent[1]?.object).toMatchObject({
      metadata: { resourceVersion: '7' },
      spec: {
        sourceRevisionConfig: { imageUri: 'app:1' },
        revisionSerial: 3,
        rollbackTo: id(1),
        sourceConfig: { customUrl: 'https://shop.example.com' },
      },
    });
  });
});

describe('kubectl', () => {
  it('passes the cluster flags, and throws its words', async () => {
    const node = makeKubectl(['-e', 'console.error("refused"); process.exit(1)', '--'], process.execPath);
    await expect(node(['get'])).rejects.toThrow(new Failure('refused'));
  });

  it('says so when it is not there', async () => {
    await expect(makeKubectl([], 'no-such-kubectl')(['get'])).rejects.toThrow(/no-such-kubectl could not be started/);
  });
});

describe('the command', () => {
  /** Runs it with a kubectl that answers whatever it is asked; `reads` false: nobody reads what it says. */
  async function davit(
    args: readonly string[],
    { reads = true, answer = '{}' } = {},
  ): Promise<[number | null, string]> {
    const folder = await mkdtemp(join(tmpdir(), 'davit-cli-'));
    await writeFile(join(folder, 'answer'), answer);
    await writeFile(join(folder, 'kubectl'), `#!/bin/sh\ncat ${join(folder, 'answer')}\n`);
    await chmod(join(folder, 'kubectl'), 0o755);
    const program = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
      env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (!reads) program.stdout.destroy();
    const [code, said] = await Promise.all([
      new Promise<number | null>((resolve) => program.once('close', resolve)),
      text(program.stderr),
    ]);
    await rm(folder, { recursive: true });
    return [code, said];
  }

  it('names the components that there are', async () => {
    const [code, said] = await davit(['logs', 'shop', '--component', 'foo']);
    expect([code, said.split('\n')[0]]).toEqual([
      2,
      '--component must be one of server, queue, orchestrator, executor, redis, postgres, not "foo".',
    ]);
  });

  it('ends in silence when nobody reads any more', async () => {
    expect(await davit(['help'], { reads: false })).toEqual([141, '']);
  });
});
