// `status`: the tree of one deployment, the list of all, and both as JSON.

import { describe, expect, it } from 'vitest';
import { aRecord, aRevision, UID } from '../../../test/support/builders.ts';
import { makeOwnCli, type OwnCli } from '../../../test/support/own-cli.ts';
import type { DeploymentEvent, DeploymentPod } from '../../deploy/http/events/payloads.ts';
import type { Deployment } from '../../deploy/http/payloads.ts';
import type { Revision } from '../../deploy/http/revisions/payloads.ts';
import { APP_DEPLOYMENTS } from '../../kinds/app-deployment.ts';
import { Forbidden } from '../../runtime/errors.ts';
import { EVENTS, PODS } from '../../runtime/kube/api-resources.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { type Parts, treeOf } from '../text/tree.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const idOf = (serial: number): string => `${String(serial).repeat(8)}-0000-5000-8000-000000000000`;

interface Said {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message?: string;
}

function deployment(conditions: readonly Said[] = [], more: object = {}): Deployment {
  return {
    name: 'shop',
    status: 'READY',
    phase: 'DEPLOYED',
    status_message: '',
    processed: true,
    conditions: conditions.map((one) => ({ message: '', ...one })),
    changed_by: null,
    internal_url: null,
    active_revision_id: idOf(1),
    databases_kept: [],
    source_config: { custom_url: null, resource_spec: { max_scale: 2 } },
    ...more,
  } as unknown as Deployment;
}

function revision(serial: number, status: Revision['status'], message: string | null = null): Revision {
  const name = `shop--${idOf(serial).slice(0, 8)}`;
  return { id: idOf(serial), name, status, status_message: message, image: `app:${serial}` } as unknown as Revision;
}

function pod(name: string, more: Partial<DeploymentPod> = {}): DeploymentPod {
  const nothing = { cpu: null, memory_mb: null };
  return {
    name,
    part: 'server',
    revision_id: null,
    started_for_revision_id: null,
    made_by: 'ReplicaSet/shop-5f4d',
    phase: 'Running',
    ending: false,
    ready: true,
    restarts: 0,
    problem: null,
    last_exit: null,
    usage: null,
    limits: nothing,
    created_at: null,
    ...more,
  };
}

function event(object: string, more: Partial<DeploymentEvent> = {}): DeploymentEvent {
  const at = '2026-01-01T00:00:00Z';
  return {
    type: 'Warning',
    reason: 'BackOff',
    message: 'It waits.',
    object,
    count: 1,
    last_at: at,
    over: false,
    ...more,
  };
}

function tree(parts: Partial<Parts> = {}): string[] {
  const none = { revisions: [], pods: [], events: [], hidden: [] };
  return treeOf({ deployment: deployment(), namespace: 'team', ...none, ...parts }, NOW);
}

const CRASHED = {
  reason: 'ContainerCrashed',
  message: 'Container server exited (Error, exit code 3): no licence. Read its log, and deploy a corrected revision.',
};

describe('the tree', () => {
  it('lists the databases that are kept', () => {
    const kept = deployment([], { databases_kept: [{ driver: 'pod', number: 0 }] });
    expect(tree({ deployment: kept, revisions: [], pods: [] })).toContain('  keeps databases  pod/0');
  });

  it('draws every part, with reasons where something is wrong', () => {
    const broken = deployment([
      { type: 'Ready', status: 'False', reason: 'ContainerCrashed', message: 'Container server ended.' },
      { type: 'DatabaseReady', status: 'True', reason: 'Answering', message: 'PostgreSQL answers.' },
      { type: 'Stalled', status: 'True', reason: 'ContainerCrashed' },
    ]);
    const lines = tree({
      deployment: broken,
      revisions: [
        revision(2, 'DEPLOY_FAILED', 'Container server exited (Error, exit code 3).'),
        revision(1, 'DEPLOYED', 'The rollout of this revision has finished.'),
      ],
      pods: [
        pod('shop-2', { ready: false, revision_id: idOf(2), started_for_revision_id: idOf(2), problem: CRASHED }),
        pod('shop--postgres-0', { part: 'postgres', ready: false }),
        pod('shop--run-1', { part: 'task' }),
        pod('shop-1', { revision_id: idOf(1), started_for_revision_id: idOf(1), restarts: 2 }),
        pod('shop--mail-1', { part: 'mail', ending: true }),
      ],
    });
    expect(lines.join('\n')).toBe(`team/shop  READY
  !! Ready: ContainerCrashed. Container server ended.
├─ conditions
│  └─ ok DatabaseReady: PostgreSQL answers.
├─ revisions
│  ├─ shop--22222222  DEPLOY_FAILED  app:2. Container server exited (Error, exit code 3).
│  └─ shop--11111111  DEPLOYED, active  app:1
├─ server  1/2 ready
│  ├─ shop-1  ready  revision 11111111  2 restarts
│  └─ shop-2  not ready  revision 22222222  !! ContainerCrashed. ${CRASHED.message}
├─ mail  1/1 ready
│  └─ shop--mail-1  ending
└─ postgres  0/1 ready
   └─ shop--postgres-0  not ready`);
  });

  it('names no namespace that is not known, and what the caller may not list', () => {
    expect(tree({ namespace: undefined, hidden: ['pods'] })).toEqual([
      'shop  READY',
      'Not shown: pods. You may not list them; ClusterRole view allows it.',
    ]);
  });

  it('has tasks in both cases, and of an older revision only the beginning of what was in its way', () => {
    const tasks = (status: 'True' | 'False', reason: string, message: string): Deployment =>
      deployment([{ type: 'TasksReady', status, reason, message }]);
    const words = 'A newer revision replaced this one before it was deployed. Until then: x'.padEnd(900, 'x');
    const [good, skipped] = [revision(1, 'DEPLOYED'), revision(2, 'SKIPPED', words)];
    const fine = tree({
      deployment: tasks('True', 'NoTaskFailed', "No task's last run failed."),
      revisions: [good, skipped],
    }).join('\n');
    expect(fine).toContain("ok TasksReady: No task's last run failed.\n");
    expect(fine).toMatch(/shop--22222222 {2}SKIPPED {2}app:2\. A newer revision .* Until then: x{80,90}…$/m);
    const failed = tree({
      deployment: tasks('False', 'TaskFailed', 'Task clean failed.'),
      revisions: [skipped, good],
    }).join('\n');
    expect(failed).toContain('!! TasksReady: TaskFailed. Task clean failed.\n');
    expect(failed).toContain(words);
  });

  it('lists at most twenty pods of a part, the troubled ones first, and counts those that it has not made', () => {
    const own = Array.from({ length: 24 }, (_one, at) => pod(`shop-a${at}`));
    const foreign = Array.from({ length: 150 }, (_one, at) =>
      pod(`foreign-${at}`, { made_by: null, problem: CRASHED }),
    );
    const lines = tree({ pods: [...foreign, ...own, pod('shop-z', { ready: false, problem: CRASHED })] });
    const under = lines.slice(lines.findIndex((line) => line.includes('server  24/25 ready')) + 1);
    expect(under).toHaveLength(22);
    expect(under.slice(-3)).toEqual([
      expect.stringContaining('shop-z  not ready  !! ContainerCrashed'),
      '   ├─ and 5 more',
      '   └─ and 150 with its labels that it has not created',
    ]);
  });

  it('shows what pods use where the cluster measures it, and for which revision they were started', () => {
    const limits = { cpu: 0.5, memory_mb: 512 };
    const ids = { revision_id: idOf(3), started_for_revision_id: idOf(1) };
    const lines = tree({
      pods: [pod('a', { limits, usage: { cpu: 0.012, memory_mb: 48 } }), pod('b', { limits, ...ids })],
    });
    expect(lines.slice(-2)).toEqual([
      '   ├─ a  ready  0.012 of 0.5 CPU, 48 of 512 MB',
      '   └─ b  ready  revision 33333333, started for 11111111',
    ]);
  });

  it('shows every condition that is not in order, and summaries that say something else than Ready', () => {
    const lines = tree({
      deployment: deployment([
        { type: 'Ready', status: 'True', reason: 'Serving' },
        { type: 'Available', status: 'False', reason: 'NotAnswering', message: 'PostgreSQL no longer answers.' },
        { type: 'Reconciling', status: 'False', reason: 'Settled' },
        { type: 'Stalled', status: 'True', reason: 'Paused', message: 'It is paused.' },
        { type: 'DatabaseReady', status: 'True', reason: 'PasswordMissing', message: 'Secret a is missing.' },
        { type: 'AutoscalingReady', status: 'False', reason: 'MetricsMissing', message: 'No metrics.' },
        { type: 'ResourceSpecHonored', status: 'False', reason: 'VolumeResizeFailed', message: 'It is full.' },
        { type: 'OfTheFuture', status: 'Unknown', reason: 'Perhaps' },
        { type: 'ReferencesResolved', status: 'True', reason: 'AllResolved' },
      ]),
    });
    expect(lines.slice(2)).toEqual([
      '└─ conditions',
      '   ├─ !! Available: NotAnswering. PostgreSQL no longer answers.',
      '   ├─ !! Stalled: Paused. It is paused.',
      '   ├─ ok ReferencesResolved: AllResolved',
      '   ├─ !! DatabaseReady: PasswordMissing. Secret a is missing.',
      '   ├─ !! AutoscalingReady: MetricsMissing. No metrics.',
      '   ├─ !! ResourceSpecHonored: VolumeResizeFailed. It is full.',
      '   └─ .. OfTheFuture: Perhaps',
    ]);
  });

  it('marks nothing as wrong that is under way, or as somebody wants it', () => {
    const message = 'The deployment has no image or source yet. Push one, or set image_uri.';
    const waiting = (type: string): Said => ({ type, status: 'False', reason: 'WaitingForImage', message });
    const lines = tree({
      deployment: deployment([
        waiting('Ready'),
        waiting('WorkloadsReady'),
        waiting('AutoscalingReady'),
        { type: 'DatabaseReady', status: 'False', reason: 'Starting', message: 'PostgreSQL was started.' },
        { type: 'PolicyAccepted', status: 'False', reason: 'NotATenant', message: 'No tenant.' },
      ]),
    });
    expect(lines.slice(1)).toEqual([
      `  .. Ready: WaitingForImage. ${message}`,
      '└─ conditions',
      '   ├─ !! PolicyAccepted: NotATenant. No tenant.',
      '   ├─ .. DatabaseReady: Starting. PostgreSQL was started.',
      '   └─ .. WorkloadsReady: WaitingForImage. See above.',
    ]);
  });

  it.each([
    ['BUILDING', 'team/shop  READY, latest revision BUILDING'],
    ['DEPLOYED', 'team/shop  READY'],
    [null, 'team/shop  READY'],
  ])('says what happens to the latest revision: %s', (phase, line) => {
    expect(tree({ deployment: deployment([], { phase }) })[0]).toBe(line);
  });

  it('counts old revisions instead of listing them', () => {
    const revisions = [9, 8, 7, 6, 5, 4, 3].map((serial) => revision(serial, 'DEPLOYED'));
    expect(tree({ revisions }).at(-1)).toMatch(/and 2 older$/);
  });

  it('lists what Davit says and warnings, and not each step of Kubernetes', () => {
    const events = [
      event('Pod/shop-1', { type: 'Normal', reason: 'Scheduled' }),
      event('Pod/shop-1', { count: 4 }),
      event('Pod/shop-1', { reason: 'Unhealthy', over: true }),
      event('AppDeployment/shop', { type: 'Normal', reason: 'Deployed' }),
      // Somebody has written it.
      event('Pod/shop-1', { reason: 'Bad\n0s  Pulled', message: 'of\r\nlines' }),
    ];
    expect(tree({ events }).slice(1)).toEqual([
      '└─ events',
      '   ├─ 60m  !! BackOff  Pod shop-1 (4 times): It waits.',
      '   ├─ 60m  over: Unhealthy  Pod shop-1: It waits.',
      '   ├─ 60m  Deployed  AppDeployment shop: It waits.',
      '   └─ 60m  !! Bad 0s Pulled  Pod shop-1: of lines',
    ]);
  });

  it('lists the newest events alone, and few of runs where there are others', () => {
    const pods = [pod('shop--run-1', { part: 'task' })];
    const shown = (names: readonly string[]): (string | undefined)[] =>
      tree({ pods, events: names.map((name) => event(`Pod/${name}`)) }).flatMap((line) =>
        line.includes('BackOff') ? [/Pod (\S+):/.exec(line)?.[1]] : [],
      );
    const many = (name: string): string[] => Array.from({ length: 20 }, () => name);
    expect(shown([...many('shop--run-1'), ...many('shop-1')])).toEqual([
      'shop--run-1',
      'shop--run-1',
      ...Array.from({ length: 6 }, () => 'shop-1'),
    ]);
    expect(shown(many('shop--run-1'))).toHaveLength(8);
  });
});

const SERVING = {
  state: 'READY' as const,
  observedGeneration: 1,
  activeRevisionId: aRevision(aRecord()).spec.id,
  latestRevisionId: aRevision(aRecord()).spec.id,
  image: 'registry.example/shop:1',
  url: 'https://shop.example',
};

/** Deployment `shop` with a pod and its event, as the API server has them. */
function stage(): OwnCli {
  const cli = makeOwnCli({ record: aRecord({}, { status: SERVING }), revisions: [aRevision(aRecord(), 'DEPLOYED')] });
  const labels = { 'davit.dev/deployment': 'shop', 'davit.dev/deployment-uid': UID, 'davit.dev/component': 'server' };
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop-5f4d', uid: 'r', controller: true };
  const aPod = (name: string, ownerReferences: object[]): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'team', uid: name, labels, ownerReferences },
      status: {
        phase: 'Running',
        containerStatuses: [
          {
            name: 'server',
            restartCount: 2,
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: { terminated: { exitCode: 3, reason: 'Error', message: 'no licence' } },
          },
        ],
      },
    }) as unknown as KubeObject;
  cli.kube.seed(PODS, aPod('shop-1', [owner]));
  cli.kube.seed(PODS, aPod('shop-1-debug', []));
  cli.kube.seed(EVENTS, {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'e', namespace: 'team', creationTimestamp: '2026-01-01T00:00:00Z' },
    type: 'Warning',
    reason: 'BackOff',
    note: 'Back-off.',
    regarding: { kind: 'Pod', name: 'shop-1', uid: 'shop-1' },
  } as KubeObject);
  return cli;
}

describe('status of one', () => {
  it('shows its addresses, pods with what is wrong, and events', async () => {
    const { code, out, err } = await stage().run(['status', 'shop']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^team\/shop {2}READY\n/);
    expect(out).toContain('\n  address  https://shop.example\n  in the cluster  http://shop.team.svc\n');
    expect(out).toMatch(/─ server {2}0\/1 ready\n.*─ shop-1 {2}not ready {2}2 restarts {2}!! ContainerCrashed\. /);
    expect(out).toContain('and 1 with its labels that it has not created');
    expect(out).toMatch(/└─ events\n {3}└─ \d+d {2}!! BackOff {2}Pod shop-1: Back-off\.$/);
  });

  it('is JSON', async () => {
    const { out } = await stage().run(['status', 'shop', '-o', 'json']);
    expect(JSON.parse(out)).toMatchObject({
      name: 'shop',
      namespace: 'team',
      state: 'READY',
      observed: true,
      address: 'https://shop.example',
      internalUrl: 'http://shop.team.svc',
      changedBy: null,
      revisions: [{ status: 'DEPLOYED', active: true }],
      pods: [
        {
          component: 'server',
          name: 'shop-1',
          state: 'not ready',
          restarts: 2,
          revisionId: null,
          usage: null,
          limits: { cpu: null, memoryMb: null },
          problem: { reason: 'ContainerCrashed' },
        },
      ],
      foreignPods: 1,
      events: [{ type: 'Warning', reason: 'BackOff', object: 'Pod/shop-1', times: 1, over: false }],
      notShown: [],
    });
  });

  it('says beside the address that it is scaled to zero', async () => {
    const stopped = aRecord({ sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } }, { status: SERVING });
    const { out } = await makeOwnCli({ record: stopped }).run(['status', 'shop']);
    expect(out.split('\n').slice(1, 3)).toEqual([
      '  address  https://shop.example  (scaled to zero)',
      '  in the cluster  http://shop.team.svc  (scaled to zero)',
    ]);
  });

  it('says that Davit has not looked yet', async () => {
    const { out } = await makeOwnCli({ record: aRecord() }).run(['status', 'shop']);
    expect(out).toMatch(
      /^team\/shop {2}\w+, latest revision CREATING\n {2}Davit has not processed this deployment yet\.\n/,
    );
  });

  it.each([
    ['Pod', ['pods']],
    ['Event', ['events', 'pods']],
  ])('names what the caller may not list, and shows the rest: %s', async (kind, hidden) => {
    const cli = stage();
    cli.kube.failOn(({ verb, kind: asked }) => (verb === 'list' && asked === kind ? new Forbidden('list') : undefined));
    const { code, out } = await cli.run(['status', 'shop']);
    expect(code).toBe(0);
    expect(out).toMatch(/^team\/shop {2}READY\n/);
    expect(out).toContain(`\nNot shown: ${hidden.join(', ')}. You may not list them`);
    expect(JSON.parse((await cli.run(['status', 'shop', '-o', 'json'])).out)).toMatchObject({ notShown: hidden });
  });
});

describe('status of all', () => {
  it('has a line each, by name, however many there are', async () => {
    const cli = makeOwnCli({ record: aRecord({}, { status: SERVING }) });
    for (let at = 0; at < 120; at += 1) {
      const record = aRecord();
      const metadata = { ...record.metadata, name: `other-${at}`, uid: `${UID.slice(0, -3)}${200 + at}` };
      cli.kube.seed(APP_DEPLOYMENTS, { ...record, metadata });
    }
    const lines = (await cli.run(['status'])).out.split('\n');
    expect(lines).toHaveLength(122);
    expect(lines[0]).toMatch(/^NAME +STATE +REVISION +AGE +ADDRESS$/);
    expect(lines.at(-1)).toMatch(/^shop +READY +\w+ +\d+d +https:\/\/shop\.example$/);
    const all = JSON.parse((await cli.run(['status', '-o', 'json'])).out) as { name: string; namespace: string }[];
    expect(all).toHaveLength(121);
    expect(all.at(-1)).toMatchObject({ name: 'shop', namespace: 'team', state: 'READY', observed: true });
  });
});
