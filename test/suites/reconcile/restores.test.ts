// A database that begins with a backup: one Job, before the first pod and the migration, and never a second load.

import { describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import type { DatabaseRestore, DatabaseRestoreStatus } from '../../../src/kinds/database.ts';
import { RESTORE, RESTORE_REQUEST_ANNOTATION } from '../../../src/kinds/meta.ts';
import type { Runtime } from '../../../src/kinds/runtime.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, JOBS, NAMESPACES, NETWORK_POLICIES, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, deleteRecord, edit, putRecord, record, says } from '../../kit/memory/record.ts';
import { endJobs, makeWorkloadsReady, putRestorePod } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, crashed, crashPoints, putStoreCredentials, takeDown } from './harness.ts';

const SETTINGS = Settings.parse({
  backups: {
    default: { enabled: false },
    store: { endpoint: 'https://s3.example', bucket: 'backups' },
    image: 'registry.example/davit:1',
  },
});
const NAME = 'shop---restore';
const REPORT = {
  from: 'old',
  name: '20260201T020000Z-0000000a',
  takenAt: '2026-02-01T02:00:00Z',
  sizeBytes: 5_000_000,
};

interface Job extends KubeObject {
  readonly spec: {
    readonly backoffLimit: number;
    readonly podFailurePolicy: object;
    readonly template: {
      readonly spec: {
        readonly initContainers: readonly { readonly name: string; readonly args?: readonly string[] }[];
        readonly containers: readonly { readonly name: string }[];
      };
    };
  };
}

const asking = (restore: DatabaseRestore = { from: 'old' }, runtime?: Runtime): object => ({
  sourceConfig: { database: { restore }, ...(runtime && { runtime }) },
});
const jobs = (kube: FakeKube): Job[] => kube.objects<Job>(JOBS).filter(({ metadata }) => metadata.name === NAME);
const servers = (kube: FakeKube): number => kube.objects(DEPLOYMENTS).length;
const reported = (kube: FakeKube): DatabaseRestoreStatus | undefined => record(kube).status?.databaseRestore;
const message = (kube: FakeKube, type = 'DatabaseRestored'): string => conditionIn(kube, type)?.message ?? '';

/** A record whose stores answer, and whose Jobs do what the test says. */
async function begun(spec: object = asking(), settings = SETTINGS, kube = aServer()): Promise<MemoryController> {
  putStoreCredentials(kube);
  putRecord(kube, spec);
  const controller = await aController(kube, settings);
  await passes(controller);
  return controller;
}

async function passes({ kube, reconcile }: MemoryController, count = 4): Promise<void> {
  for (let pass = 0; pass < count; pass += 1) {
    await reconcile();
    await makeWorkloadsReady(kube);
  }
}

/** The pod of the Job has ended so. */
function ends(kube: FakeKube, exitCode: number, words: string | object): void {
  const [job] = jobs(kube);
  if (!job) throw new Error('no Job');
  putRestorePod(kube, job.metadata, { exitCode, message: typeof words === 'string' ? words : JSON.stringify(words) });
}

async function failed(kube: FakeKube, at: string, words: string): Promise<void> {
  ends(kube, 4, words);
  await endJobs(kube, { type: 'Failed', status: 'True', lastTransitionTime: at, message: 'Pod failed' });
}

/** Deleted by somebody, with its pod. */
async function removeJob(kube: FakeKube): Promise<void> {
  const uid = jobs(kube)[0]?.metadata.uid ?? '';
  await kube.remove(JOBS, { namespace: 'team', name: NAME }, { uid });
  const pod = { namespace: 'team', name: `${NAME}-pod` };
  if (kube.objects(PODS).some(({ metadata }) => metadata.name === pod.name)) kube.erase(PODS, pod);
}

it('takes backups of its own namespace alone, and of an earlier one of the name by an annotation', async () => {
  const tenants = async (annotations: Readonly<Record<string, string>>, namespace?: string): Promise<unknown> => {
    const kube = aServer();
    const [team] = kube.objects(NAMESPACES);
    if (!team) throw new Error('no namespace');
    kube.seed(NAMESPACES, { ...team, metadata: { ...team.metadata, uid: 'now', annotations } });
    await begun(asking({ from: 'old', ...(namespace !== undefined && { namespace }) }), SETTINGS, kube);
    const fetch = jobs(kube)[0]?.spec.template.spec.initContainers[1];
    return fetch?.args?.filter((arg) => arg.startsWith('--tenant'));
  };
  expect(await tenants({}, 'team')).toEqual(['--tenant=now']);
  const allowed = { 'davit.dev/backups-of': 'other/1, team/2 team/3' };
  expect(await tenants(allowed)).toEqual(['--tenant=now']);
  expect(await tenants(allowed, 'team')).toEqual(['--tenant=now', '--tenant=2', '--tenant=3']);
});

describe('a backup of another namespace', () => {
  const TEAM = 'team-uid';
  /** Deployment shop of namespace team asks for a backup of deployment old of namespace prod. */
  async function foreign(annotations?: Readonly<Record<string, string>>): Promise<MemoryController> {
    const kube = aServer();
    for (const [name, uid] of [
      ['team', TEAM],
      ['prod', 'prod-uid'],
    ] as const)
      kube.seed(NAMESPACES, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name, uid, labels: { 'davit.dev/tenant': 'true' } },
      });
    if (annotations) putRecord(kube, {}, { namespace: 'prod', name: 'old', uid: 'old-uid', annotations });
    return begun(asking({ from: 'old', namespace: 'prod' }), SETTINGS, kube);
  }
  const consent = { 'davit.dev/backups-for': `team/${TEAM}` };
  const OLD = { namespace: 'prod', name: 'old' };
  const setConsent = (kube: FakeKube, annotations: object | null): Promise<unknown> =>
    kube.mergePatch(APP_DEPLOYMENTS, OLD, { metadata: { annotations } }, { fieldManager: 'person' });
  const REFUSED =
    'A backup of old in namespace prod cannot be loaded into namespace team: that deployment does not exist, or does not allow it. A person who may get the volumes of namespace prod can allow it: kubectl annotate appd old -n prod davit.dev/backups-for=team/team-uid';

  it.each([
    ['there is no such deployment', undefined],
    ['it does not consent', {}],
    ['it consents to an earlier namespace of the name', { 'davit.dev/backups-for': 'team/earlier' }],
  ])('is not loaded, with the same words, where %s', async (_what, annotations) => {
    const { kube } = await foreign(annotations);
    expect([jobs(kube), servers(kube), says(kube, 'DatabaseRestored')]).toEqual([[], 0, 'False RestoreNotPossible']);
    expect([says(kube, 'Stalled'), message(kube)]).toEqual(['True RestoreNotPossible', REFUSED]);
  });

  it('is loaded where it consents: of that deployment alone, from its folder, with the own key', async () => {
    const controller = await foreign(consent);
    const { kube } = controller;
    const pod = jobs(kube)[0]?.spec.template.spec;
    expect(pod?.initContainers[1]?.args).toEqual(
      expect.arrayContaining(['--namespace=prod', '--deployment=old', '--tenant=prod-uid/old-uid']),
    );
    expect(jobs(kube)[0]?.metadata.namespace).toBe('team');
    expect(message(kube)).toMatch(/^A backup of prod\/old is being loaded\./);
    ends(kube, 0, REPORT);
    await passes(controller);
    expect(message(kube)).toMatch(/^The database began with backup \S+ of prod\/old, /);
  });

  it('is not loaded after the consent was taken back, unless that has begun', async () => {
    const controller = await foreign(consent);
    const { kube } = controller;
    await setConsent(kube, null);
    await passes(controller);
    expect([jobs(kube).length, says(kube, 'DatabaseRestored')]).toEqual([1, 'False Restoring']);
    await removeJob(kube);
    await passes(controller);
    expect([jobs(kube).length, says(kube, 'DatabaseRestored')]).toEqual([0, 'False RestoreNotPossible']);
    await setConsent(kube, consent);
    await passes(controller);
    expect(jobs(kube)).toHaveLength(1);
  });

  const asDriver = (kube: FakeKube, namespace: string): Promise<unknown> =>
    kube.mergePatch(
      APP_DEPLOYMENTS,
      { namespace, name: 'old' },
      { status: { databaseDriver: 'cloudnative-pg' } },
      { fieldManager: 'controller', subresource: 'status' },
    );
  it.each<[string, 'prod' | 'team', (kube: FakeKube) => unknown]>([
    ['has another driver', 'prod', (kube) => asDriver(kube, 'prod')],
    ['of its own namespace has another driver', 'team', (kube) => asDriver(kube, 'team')],
    ['is deleted', 'prod', (kube) => kube.remove(APP_DEPLOYMENTS, OLD, { uid: 'old-uid' })],
    [
      'is no longer of a tenant',
      'prod',
      (kube) =>
        kube.mergePatch(NAMESPACES, { name: 'prod' }, { metadata: { labels: null } } as object, { fieldManager: 'a' }),
    ],
  ])('is judged again when its deployment %s', async (_what, namespace, change) => {
    const { kube, wake, reconcile } = await foreign(consent);
    putRecord(kube, {}, { namespace: 'team', name: 'old', finalizers: ['davit.dev/teardown'] });
    putRecord(
      kube,
      {},
      { namespace: 'prod', name: 'old', uid: 'old-uid', annotations: consent, finalizers: ['davit.dev/teardown'] },
    );
    if (namespace === 'team')
      await edit(kube, { spec: { sourceConfig: { database: { restore: { namespace: null } } } } });
    await reconcile('team/none');
    const woken = wake();
    await woken.take();
    await change(kube);
    expect(await woken.take()).toContain('team/shop');
  });

  it('is not loaded into a database of another driver', async () => {
    const { kube, ...controller } = await foreign(consent);
    await removeJob(kube);
    const writing = { fieldManager: 'controller', subresource: 'status' } as const;
    await kube.mergePatch(APP_DEPLOYMENTS, OLD, { status: { databaseDriver: 'cloudnative-pg' } }, writing);
    await passes({ kube, ...controller });
    expect([jobs(kube).length, message(kube)]).toEqual([
      0,
      expect.stringMatching(
        /^The database of prod\/old has driver cloudnative-pg, but this one has driver pod/,
      ) as string,
    ]);
  });
});

describe('a record that begins with a backup', () => {
  it('waits for it with its pods, and serves afterwards', async () => {
    const controller = await begun(asking({ from: 'old', at: '2026-02-02T00:00:00Z' }));
    const { kube } = controller;
    const [job, ...more] = jobs(kube);
    expect([more, servers(kube)]).toEqual([[], 0]);
    expect([says(kube, 'DatabaseRestored'), says(kube, 'Ready'), says(kube, 'Stalled')]).toEqual([
      'False Restoring',
      'False Restoring',
      'False Settled',
    ]);
    expect(job?.spec).toMatchObject({
      backoffLimit: 5,
      podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { values: [4] } }, { action: 'Ignore' }] },
    });
    const pod = job?.spec.template.spec;
    const names = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])].map(({ name }) => name);
    expect(names).toEqual(['davit-check', 'davit-fetch', 'davit-restore']);
    const fetch = pod?.initContainers[1];
    expect(fetch?.args).toEqual(
      expect.arrayContaining(['fetch', '--namespace=team', '--deployment=old', '--at=2026-02-02T00:00:00Z']),
    );
    // The password and the credentials are in no container together.
    expect(JSON.stringify(fetch)).not.toContain('PGPASSWORD');
    expect(JSON.stringify([pod?.initContainers[0], pod?.containers])).not.toContain('"store"');
    expect(JSON.stringify(kube.objects(NETWORK_POLICIES))).toContain('"restore"');

    await converge(controller);
    expect(reported(kube)).toEqual({ ...REPORT, restoredAt: expect.any(String) as string });
    expect([says(kube, 'DatabaseRestored'), says(kube, 'Ready'), servers(kube)]).toEqual([
      'True Restored',
      'True Serving',
      1,
    ]);
    expect(message(kube)).toBe(
      'The database began with backup 20260201T020000Z-0000000a of old, which has the state of 2026-02-01T02:00:00Z (4.8 MiB).',
    );
    expect(jobs(kube)).toEqual([]);
    controller.writes();
    await converge(controller);
    expect(controller.writes()).toEqual([]);
  });

  it('migrates what was loaded', async () => {
    const controller = await begun(asking({ from: 'old' }, { migrate: { command: ['up'] } }));
    const { kube } = controller;
    expect(kube.objects(JOBS).map(({ metadata }) => metadata.name)).toEqual([NAME]);
    ends(kube, 0, REPORT);
    await passes(controller, 2);
    expect(kube.objects(JOBS).some(({ metadata }) => metadata.name.startsWith('shop--migrate-'))).toBe(true);
    expect(servers(kube)).toBe(0);
    await converge(controller);
    expect(says(kube, 'Ready')).toBe('True Serving');
  });

  it('has it loaded also at a scale of zero', async () => {
    const spec = {
      sourceConfig: { database: { restore: { from: 'old' } }, resourceSpec: { minScale: 0, maxScale: 0 } },
    };
    const { kube, ...controller } = await begun(spec);
    expect([jobs(kube).length, says(kube, 'Ready')]).toEqual([1, 'False Restoring']);
    await converge({ kube, ...controller });
    expect([says(kube, 'Ready'), says(kube, 'DatabaseRestored')]).toEqual(['True ScaledToZero', 'True Restored']);
  });

  it('is never loaded again, whatever is asked for and whatever becomes of the database', async () => {
    const { kube, ...controller } = await aConverged(asking(), withCredentials(), SETTINGS);
    for (const restore of [{ from: 'other' }, { from: 'old', backup: '20260101T000000Z-00000000' }, null]) {
      await edit(kube, { spec: { sourceConfig: { database: { restore } } } });
      await passes({ kube, ...controller });
      expect([jobs(kube), reported(kube)?.from, says(kube, 'Ready')]).toEqual([[], 'old', 'True Serving']);
    }
    expect(conditionIn(kube, 'DatabaseRestored')).toBeUndefined();
  });

  it('survives a controller that dies at any of its writes', async () => {
    for (const at of crashPoints(40)) {
      for (const when of ['failOn', 'failAfter'] as const) {
        const controller = await begun();
        const { kube } = controller;
        ends(kube, 0, REPORT);
        const writes = await crashed(controller, { when, at });
        const next = await aController(kube, SETTINGS);
        await converge(next);
        expect([jobs(kube), reported(kube)?.name, says(kube, 'Ready')]).toEqual([[], REPORT.name, 'True Serving']);
        if (writes < at) return;
      }
    }
  });
});

function withCredentials(): FakeKube {
  const kube = aServer();
  putStoreCredentials(kube);
  return kube;
}

describe('a restore that does not come about', () => {
  it('is Stalled with its last words, and is tried again when its Job is deleted', async () => {
    const controller = await begun();
    const { kube } = controller;
    await failed(kube, '2026-02-02T02:05:00Z', 'There is no complete backup. There is none.');
    await passes(controller);
    expect([says(kube, 'DatabaseRestored'), says(kube, 'Stalled'), servers(kube)]).toEqual([
      'False RestoreFailed',
      'True RestoreFailed',
      0,
    ]);
    expect(message(kube)).toContain(
      'No backup of old was loaded. The load of the backup failed (Error, exit code 4): There is no complete backup. There is none. Correct',
    );
    expect(message(kube)).toContain(`kubectl delete job ${NAME} -n team`);
    expect(reported(kube)).toMatchObject({ lastFailureAt: '2026-02-02T02:05:00Z' });
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);

    await removeJob(kube);
    await passes(controller);
    expect([jobs(kube).length, says(kube, 'Ready')]).toEqual([1, 'False Restoring']);
    await converge(controller);
    expect([says(kube, 'Ready'), reported(kube)?.name]).toEqual(['True Serving', REPORT.name]);
  });

  it('is tried again while the deletion of its Job is refused', async () => {
    const controller = await begun();
    const { kube } = controller;
    await failed(kube, '2026-02-02T02:05:00Z', 'There is no complete backup.');
    await passes(controller);
    await edit(kube, { spec: asking({ from: 'other' }) });
    kube.failOn(({ verb, kind }) =>
      verb === 'delete' && kind === 'Job' ? new Forbidden('forbidden', { serverMessage: 'no Job goes' }) : undefined,
    );
    await expect(controller.reconcile()).rejects.toThrow('no Job goes');
  });

  it('is made again for another backup, and given up without one, when its pods have ended', async () => {
    const controller = await begun();
    const { kube } = controller;
    const [first] = jobs(kube);
    putRestorePod(kube, first?.metadata ?? { name: '' });
    await edit(kube, { spec: asking({ from: 'other' }) });
    await passes(controller, 1);
    expect(says(kube, 'Ready')).toBe('False Restoring');
    await passes(controller);
    // A pod that goes on might still load the other one.
    expect([jobs(kube), servers(kube)]).toEqual([[], 0]);
    kube.erase(PODS, { namespace: 'team', name: `${NAME}-pod` });
    await passes(controller);
    expect(jobs(kube)[0]?.metadata.annotations?.[RESTORE_REQUEST_ANNOTATION]).toBe('{"from":"other"}');

    await edit(kube, { spec: { sourceConfig: { database: null } } });
    await passes(controller, 1);
    await passes(controller);
    expect([jobs(kube), says(kube, 'Ready'), reported(kube)]).toEqual([[], 'True Serving', undefined]);
  });

  it('goes on while its Job tries again, with the words of the last try', async () => {
    const controller = await begun();
    const { kube } = controller;
    ends(kube, 1, 'The store refused GET: 403');
    await passes(controller);
    expect([says(kube, 'DatabaseRestored'), says(kube, 'Stalled')]).toEqual(['False Restoring', 'False Settled']);
    expect(message(kube)).toMatch(
      /Davit is trying again\. The load of the backup failed .*The store refused GET: 403\.$/,
    );
  });

  it.each([
    ['without a report', ''],
    ['with a report that is none', '{"from":"old"}'],
  ])('is not believed %s: the Job is made again', async (_what, words) => {
    const controller = await begun();
    const { kube } = controller;
    const before = jobs(kube)[0]?.metadata.uid;
    ends(kube, 0, words);
    await endJobs(kube, { type: 'Complete', status: 'True' });
    await passes(controller, 1);
    expect([reported(kube)?.restoredAt, servers(kube)]).toEqual([undefined, 0]);
    kube.collectGarbage();
    await passes(controller);
    expect(jobs(kube)[0]?.metadata.uid).not.toBe(before);
    await converge(controller);
    expect(says(kube, 'Ready')).toBe('True Serving');
  });

  it('is not believed of a pod of another life or of another Job', async () => {
    const { kube, ...controller } = await begun();
    const [job] = jobs(kube);
    const labels = { ...job?.metadata.labels };
    const report = { exitCode: 0, message: JSON.stringify(REPORT) };
    putRestorePod(kube, { name: NAME, labels: { ...labels, 'davit.dev/deployment-uid': 'another' } }, report);
    putRestorePod(kube, { name: `${NAME}-x1y2z`, labels }, report);
    await passes({ kube, ...controller });
    expect([reported(kube), servers(kube)]).toEqual([undefined, 0]);
  });

  it.each([
    [
      'has no store',
      Settings.parse({}),
      asking(),
      'BackupStoreMissing',
      /Ask the platform team to set settings\.backups\.store/,
    ],
    [
      'has a database of its own nowhere',
      SETTINGS,
      asking({ from: 'old' }, { database: 'none' }),
      'RestoreNotPossible',
      /has no PostgreSQL of its own/,
    ],
  ])('is Stalled where the record %s', async (_what, settings, spec, reason, words) => {
    const { kube } = await begun(spec, settings);
    expect([says(kube, 'DatabaseRestored'), says(kube, 'Stalled'), jobs(kube), servers(kube)]).toEqual([
      `False ${reason}`,
      `True ${reason}`,
      [],
      0,
    ]);
    expect(message(kube)).toMatch(words);
  });

  it('waits for the credentials, and begins when they are there', async () => {
    const kube = aServer();
    putRecord(kube, asking());
    const controller = await aController(kube, SETTINGS);
    await passes(controller);
    expect([says(kube, 'Ready'), jobs(kube)]).toEqual(['False BackupCredentialsMissing', []]);
    const woken = controller.wake();
    await woken.take();
    putStoreCredentials(kube);
    expect(await woken.take()).toEqual(['team/shop']);
    woken.stop();
    await passes(controller);
    expect([says(kube, 'Ready'), jobs(kube).length]).toEqual(['False Restoring', 1]);
  });

  it('names a Job of another that is in the way', async () => {
    const kube = aServer();
    kube.seed(JOBS, { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: NAME, namespace: 'team' } });
    const { kube: server } = await begun(asking(), SETTINGS, kube);
    expect(says(server, 'DatabaseRestored')).toBe('False NameConflict');
    expect(servers(server)).toBe(0);
  });

  it('tells of a pod that cannot begin', async () => {
    const controller = await begun();
    const { kube } = controller;
    const [job] = jobs(kube);
    kube.seed(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${NAME}-pod`,
        namespace: 'team',
        labels: { ...job?.metadata.labels },
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: NAME, uid: 'u', controller: true }],
      },
      status: {
        phase: 'Pending',
        initContainerStatuses: [
          {
            name: 'davit-fetch',
            image: 'registry.example/davit:1',
            state: { waiting: { reason: 'ImagePullBackOff' } },
          },
        ],
      },
    } as KubeObject);
    await passes(controller);
    expect(says(kube, 'DatabaseRestored')).toBe('False ImagePullFailed');
    expect(message(kube)).toMatch(/^The restore cannot begin\. Image registry\.example\/davit:1/);
  });
});

it('goes with its record', async () => {
  const { kube, ...controller } = await begun();
  expect(jobs(kube)[0]?.metadata.labels).toMatchObject({ 'davit.dev/component': RESTORE });
  await deleteRecord(kube);
  await takeDown({ kube, ...controller });
  expect(jobs(kube)).toEqual([]);
});
