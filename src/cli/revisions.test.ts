// Revisions, what differs between them, and a deployment as JSON.

import { describe, expect, it } from 'vitest';
import { aRecord, type CliRan, runCli } from '../../test/support/cli-world.ts';
import { makeOwnCli } from '../../test/support/own-cli.ts';
import { differences, summaryOf } from '../deployments/record/revision-diff.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import { type ClusterEvent, eventsOf } from './events.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { RECORDS } from './records.ts';
import { treeOf } from './tree.ts';

const uid = '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11';
const idOf = (serial: number): string => `${String(serial).repeat(8)}-0000-5000-8000-000000000000`;

const RECORD = {
  apiVersion: 'davit.dev/v1alpha1',
  kind: 'AppDeployment',
  metadata: { name: 'shop', namespace: 'team', uid, generation: 3 },
  spec: { source: 'external_docker', sourceConfig: {}, sourceRevisionConfig: {}, secrets: [] },
  status: { state: 'READY', observedGeneration: 3, activeRevisionId: idOf(2), image: 'app:2' },
} as unknown as AppDeployment;

function revision(serial: number, requested: object = {}, more: { spec?: object; status?: object } = {}): AppRevision {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppRevision',
    metadata: {
      name: `shop--${String(serial).repeat(8)}`,
      namespace: 'team',
      labels: { 'davit.dev/deployment': 'shop' },
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: {
      id: idOf(serial),
      deploymentName: 'shop',
      deploymentUid: uid,
      deploymentGeneration: serial,
      revisionSerial: serial,
      source: 'external_docker',
      requested: {
        sourceConfig: {},
        sourceRevisionConfig: { imageUri: `app:${serial}` },
        secrets: [],
        secretReferences: [],
        ...requested,
      },
      resolved: { image: `app:${serial}` },
      ...more.spec,
    },
    status: { state: 'DEPLOYED', message: 'It serves.', ...more.status },
  } as unknown as AppRevision;
}

const SAME = { sourceRevisionConfig: { imageUri: 'app:1' } };
const secret = (name: string, secretName: string): object => ({ name, secretName, secretKey: name });
const sidecar = (value: string, image = 'proxy:1'): object => ({
  resourceSpec: { sidecars: [{ name: 'proxy', image, env: [{ name: 'PASSWORD', value }] }] },
});
const mount = (mountPath: string): object => ({ name: 'data', mountPath });

describe('differences', () => {
  it.each<[string, object, object, object[]]>([
    ['nothing', SAME, SAME, []],
    ['the image', {}, {}, [{ field: 'sourceRevisionConfig.imageUri', kind: 'changed', from: 'app:1', to: 'app:2' }]],
    [
      'secrets, by name alone',
      { ...SAME, secrets: [secret('A', 'vars-1'), secret('B', 'vars-1')] },
      { ...SAME, secrets: [secret('A', 'vars-2'), secret('C', 'vars-2')] },
      [
        { field: 'secrets.A', kind: 'changed' },
        { field: 'secrets.B', kind: 'removed' },
        { field: 'secrets.C', kind: 'added' },
      ],
    ],
    [
      'references, which have no values',
      { ...SAME, secretReferences: [secret('A', 'mine')] },
      { ...SAME, secretReferences: [secret('A', 'ours')] },
      [{ field: 'secretReferences.A', kind: 'changed', from: 'Secret mine, key A', to: 'Secret ours, key A' }],
    ],
    [
      'a value in a sidecar, which is not shown',
      { ...SAME, ...sidecar('canary-1') },
      { ...SAME, ...sidecar('canary-2', 'proxy:2') },
      [
        { field: 'resourceSpec.sidecars[proxy].env[PASSWORD].value', kind: 'changed' },
        { field: 'resourceSpec.sidecars[proxy].image', kind: 'changed', from: 'proxy:1', to: 'proxy:2' },
      ],
    ],
    [
      'sizes, and no scale',
      { ...SAME, resourceSpec: { cpu: 1, maxScale: 1 } },
      { ...SAME, resourceSpec: { cpu: 2, maxScale: 5 } },
      [{ field: 'resourceSpec.cpu', kind: 'changed', from: '1', to: '2' }],
    ],
    [
      'a part',
      SAME,
      { ...SAME, resourceSpec: { queueMaxScale: 2 } },
      [{ field: 'parts', kind: 'changed', from: 'server', to: 'server, queue' }],
    ],
    [
      'a second mount of one volume',
      { ...SAME, resourceSpec: { volumeMounts: [mount('/a')] } },
      { ...SAME, resourceSpec: { volumeMounts: [mount('/a'), mount('/b')] } },
      [{ field: 'resourceSpec.volumeMounts[/b].name', kind: 'added', to: 'data' }],
    ],
    [
      'what an empty object asks for',
      { ...SAME, resourceSpec: { volumes: [{ name: 'data', emptyDir: {} }] } },
      { ...SAME, resourceSpec: { volumes: [{ name: 'data', nfs: {} }], labels: {} }, runtime: {} },
      [
        { field: 'resourceSpec.volumes[data].emptyDir', kind: 'removed', from: '{}' },
        { field: 'resourceSpec.volumes[data].nfs', kind: 'added', to: '{}' },
      ],
    ],
    [
      'what is in an object that was empty',
      { ...SAME, resourceSpec: { volumes: [{ name: 'data', emptyDir: {} }] } },
      { ...SAME, resourceSpec: { volumes: [{ name: 'data', emptyDir: { medium: 'Memory' } }] } },
      [{ field: 'resourceSpec.volumes[data].emptyDir.medium', kind: 'added', to: 'Memory' }],
    ],
    [
      'a command',
      SAME,
      { ...SAME, runtime: { command: ['run', '--fast'] } },
      [{ field: 'runtime.command', kind: 'added', to: '["run","--fast"]' }],
    ],
  ])('finds %s', (_what, from, to, want) => {
    const found = differences(revision(1, from), revision(2, to));
    expect(found).toEqual(want);
    expect(JSON.stringify(found)).not.toContain('canary');
  });

  it('finds what was built, and the commit', () => {
    const built = (serial: number, commit: string): AppRevision =>
      revision(
        serial,
        { sourceRevisionConfig: { repoRef: 'main' } },
        { spec: { resolved: {} }, status: { build: { phase: 'Built', image: `r/${serial}`, commit } } },
      );
    expect(differences(built(1, 'a'.repeat(40)), built(2, 'b'.repeat(40))).map(({ field }) => field)).toEqual([
      'commit',
      'image',
    ]);
  });

  it('are summed up', () => {
    const change = (field: string) => ({ field, kind: 'changed' as const });
    expect(summaryOf([])).toBe('nothing');
    expect(summaryOf(['source_revision_config.image_uri', 'b', 'c', 'd'].map(change))).toBe('image_uri, b, c, 1 more');
  });
});

const CI = 'system:serviceaccount:team:ci';
const REVISIONS = [
  revision(
    3,
    { secrets: [secret('A', 'x')] },
    { spec: { requestedBy: CI }, status: { state: 'DEPLOY_FAILED', message: 'It exited.' } },
  ),
  revision(2, {}, { spec: { rollbackTo: idOf(1), requestedBy: 'jane@example.com' } }),
  revision(1),
];

const ran = (args: readonly string[], revisions: readonly AppRevision[] = REVISIONS): Promise<CliRan> =>
  makeOwnCli({ record: RECORD, revisions }).run(args);

describe('revisions', () => {
  it('have as much of a digest as fits', async () => {
    const digest = 'a1b2c3'.padEnd(64, '0');
    const built = revision(1, {}, { spec: { resolved: { image: `r.example/team/shop@sha256:${digest}` } } });
    const { out } = await ran(['revisions', 'shop'], [built]);
    expect(out).toContain('  r.example/team/shop@a1b2c3000000  ');
    expect((await ran(['revisions', 'shop', '-o', 'json'], [built])).out).toContain(digest);
  });

  it('are a table, newest first, with the active one marked', async () => {
    const { code, out } = await ran(['revisions', 'shop']);
    expect([code, out.replaceAll(/ +\d+d /g, '  AGE ').split('\n')]).toEqual([
      0,
      [
        expect.stringMatching(/^ {3}REVISION +STATUS +AGE +BY +IMAGE OR COMMIT +CHANGED$/),
        expect.stringMatching(/^ {3}shop--33333333 {2}DEPLOY_FAILED {2}AGE +team:ci +app:3 +image_uri, \+secrets\.A$/),
        expect.stringMatching(/^\* {2}shop--22222222 {2}DEPLOYED {2}AGE +jane@example\.com +app:2 +back to 11111111$/),
        expect.stringMatching(/^ {3}shop--11111111 {2}DEPLOYED {2}AGE +- +app:1 +the first$/),
      ],
    ]);
  });

  it('are JSON', async () => {
    const { out } = await ran(['revisions', 'shop', '-o', 'json']);
    const [newest, active] = JSON.parse(out) as Record<string, unknown>[];
    expect(newest).toEqual({
      name: 'shop--33333333',
      id: idOf(3),
      status: 'DEPLOY_FAILED',
      message: 'It exited.',
      active: false,
      createdAt: '2026-01-01T00:00:00Z',
      requestedBy: CI,
      image: 'app:3',
      commit: null,
      commitAuthor: null,
      commitMessage: null,
      file: null,
      rollbackTo: null,
      changes: [
        { field: 'secrets.A', kind: 'added', from: null, to: null },
        { field: 'source_revision_config.image_uri', kind: 'changed', from: 'app:2', to: 'app:3' },
      ],
      changesSince: 'shop--22222222',
      mayLackEarlier: false,
    });
    expect(active).toMatchObject({ active: true, rollbackTo: idOf(1), requestedBy: 'jane@example.com' });
    expect(JSON.parse(out)).toMatchObject([{}, {}, { requestedBy: null }]);
  });

  it('say since when, and what is not known, where some are no longer kept', async () => {
    // Beyond the newest ten only those are kept that were deployed.
    const newest = Array.from({ length: 10 }, (_, n) => 29 - n);
    const serials = [...newest, 8, 7, 4];
    const items = serials.map((serial) => {
      const name = `shop--${String(serial).padStart(8, '0')}`;
      const one = revision(serial, {}, { spec: { id: name } });
      return { ...one, metadata: { ...one.metadata, name } };
    });
    const { out } = await ran(['revisions', 'shop'], items);
    expect(
      out
        .split('\n')
        .slice(9)
        .map((line) => line.split(/ {2,}/).at(-1)),
    ).toEqual([
      'image_uri',
      'since shop--00000008: image_uri',
      'image_uri',
      'since shop--00000004: image_uri',
      'not known: the one before is no longer kept',
    ]);
    const listed = JSON.parse((await ran(['revisions', 'shop', '-o', 'json'], items)).out) as unknown[];
    expect(listed.slice(10)).toMatchObject([
      { changesSince: 'shop--00000007', mayLackEarlier: false },
      { changesSince: 'shop--00000004', mayLackEarlier: true },
      { changes: null, changesSince: null, mayLackEarlier: true },
    ]);
  });

  it('have as much of a username as fits', async () => {
    const of = revision(1, {}, { spec: { requestedBy: `oidc:${'x'.repeat(60)}` } });
    expect((await ran(['revisions', 'shop'], [of])).out).toContain(`  oidc:${'x'.repeat(24)}…  app:1`);
  });
});

describe('the commit of a revision', () => {
  const commit = 'c'.repeat(40);
  it.each([
    [
      'found by its build',
      { status: { build: { phase: 'Built', commit, commitAuthor: 'Ada', commitMessage: 'x'.repeat(80) } } },
      `Ada: ${'x'.repeat(49)}…`,
    ],
    ['that was pushed', { spec: { commit, commitAuthor: 'Ada', commitMessage: 'Adds a shop' } }, 'Ada: Adds a shop'],
    ['without a message', { spec: { commit, commitAuthor: 'Ada' } }, 'Ada'],
    [
      'of which a build knows better',
      { spec: { commit, commitAuthor: 'Eve' }, status: { build: { phase: 'Built', commit, commitMessage: 'More' } } },
      'More',
    ],
  ])('%s has its own words', async (_what, more, words) => {
    const { out } = await ran(['revisions', 'shop'], [revision(2, {}, more), revision(1)]);
    const [heading, first, second] = out.split('\n').map((line) => line.split(/ {2,}/).at(-1));
    expect([heading, first, second]).toEqual(['THE COMMIT SAYS', words, '-']);
  });
});

describe('diff', () => {
  it.each<[string[], string]>([
    [[], 'shop--22222222 -> shop--33333333'],
    [['1111'], 'shop--11111111 -> shop--33333333'],
    [['shop--33333333', '1'], 'shop--33333333 -> shop--11111111'],
  ])('of %j is %s', async (args, heading) => {
    const { code, out } = await ran(['diff', 'shop', ...args]);
    expect([code, out.split('\n')[0]]).toEqual([0, heading]);
  });

  it('shows one field a line, or that there is none, or JSON', async () => {
    expect((await ran(['diff', 'shop', '1', '3'])).out.split('\n').slice(1)).toEqual([
      'secrets.A                         added',
      'source_revision_config.image_uri  app:1 -> app:3',
    ]);
    expect((await ran(['diff', 'shop', '1', '1'])).out).toMatch(/\nNothing differs\.$/);
    expect(JSON.parse((await ran(['diff', 'shop', '2', '2', '-o', 'json'])).out)).toEqual({
      from: 'shop--22222222',
      to: 'shop--22222222',
      changes: [],
    });
  });

  it.each([
    [['x'], 'No revision matches "x". Revisions: shop--33333333 DEPLOY_FAILED, '],
    [['shop'], 'No revision matches "shop".'],
  ])('fails for %j', async (args, words) => {
    expect(await ran(['diff', 'shop', ...args])).toMatchObject({
      code: 1,
      err: expect.stringContaining(words),
    });
  });

  it('fails where there is nothing to compare', async () => {
    expect((await ran(['diff', 'shop'], [])).err).toBe('shop has no revision yet.');
    expect((await ran(['diff', 'shop'], [revision(1)])).err).toBe('shop has only one revision, shop--11111111.');
  });
});

describe('status', () => {
  const kubectl: Kubectl = async ([, resource = '']) =>
    JSON.stringify(resource === RECORDS ? RECORD : { items: resource.startsWith('apprevisions') ? REVISIONS : [] });
  const event = (name: string, minute: number, more: object = {}): ClusterEvent =>
    ({
      metadata: { name: 'e' },
      reason: 'Pulled',
      message: 'Pulled\nit.',
      lastTimestamp: `2026-01-01T00:0${minute}:00Z`,
      involvedObject: { kind: 'Pod', name },
      ...more,
    }) as unknown as ClusterEvent;
  const pod = {
    metadata: {
      name: 'shop-1',
      labels: { 'davit.dev/component': 'server' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop-5f4d', uid: 'r', controller: true }],
    },
    status: { containerStatuses: [{ name: 'server', ready: true, restartCount: 2, state: { running: {} } }] },
  };
  const deployment = {
    kind: 'Deployment',
    metadata: { name: 'shop', labels: { 'davit.dev/component': 'server' } },
    spec: { replicas: 1 },
    status: { readyReplicas: 1 },
  };
  const events = [
    event('shop-1', 1),
    event('shop-api-1', 2),
    event('shop-1', 3, { type: 'Warning', reason: 'BackOff', count: 4 }),
  ];
  const answers: Readonly<Record<string, unknown>> = {
    pods: { items: [pod] },
    'deployments.apps': { items: [deployment] },
    events: { items: events },
  };
  const withPods: Kubectl = async (args, input) => {
    const answer = answers[args[1] ?? ''];
    return answer === undefined ? kubectl(args, input) : JSON.stringify(answer);
  };

  const SHOP_1 = { kind: 'Pod', metadata: { name: 'shop-1', uid: 'now' } };
  it.each([
    ['of an object that exists', { kind: 'Pod', name: 'shop-1', uid: 'now' }, 1],
    ['of an earlier one of its name', { kind: 'Pod', name: 'shop-1', uid: 'before' }, 0],
    ['of another kind of its name', { kind: 'Job', name: 'shop-1', uid: 'before' }, 1],
    ['without a uid', { kind: 'Pod', name: 'shop-1' }, 1],
    ['of another name', { kind: 'Pod', name: 'shop-2', uid: 'now' }, 0],
  ])('has an event %s, or not', (_what, involvedObject, shown) => {
    expect(eventsOf([SHOP_1], [event('shop-1', 1, { involvedObject })], Date.now())).toHaveLength(shown);
  });

  it('keeps events of its own objects, newest first', () => {
    expect(eventsOf([SHOP_1], events, Date.now()).map(({ reason }) => reason)).toEqual(['BackOff', 'Pulled']);
  });

  it('puts no event of the future first: it counts from when the API server got it', () => {
    const metadata = { name: 'e', creationTimestamp: '2026-01-01T00:02:00Z' };
    const forged = event('shop-1', 0, { reason: 'Forged', lastTimestamp: '2999-01-01T00:00:00Z', metadata });
    const listed = eventsOf([SHOP_1], [forged, ...events], Date.now());
    expect(listed.map(({ reason }) => reason)).toEqual(['BackOff', 'Forged', 'Pulled']);
  });

  it('prints each event as one line, whatever somebody has written into it', async () => {
    const forged = event('shop-1', 9, { reason: 'Bad\n0s  Pulled', message: 'of\r\nlines' });
    const withForged: Kubectl = (args, input) =>
      args[1] === 'events' ? Promise.resolve(JSON.stringify({ items: [forged] })) : withPods(args, input);
    const { out } = await runCli(['status', 'shop'], { kubectl: withForged });
    expect(out).toMatch(/ Bad 0s Pulled {2}Pod shop-1: of lines$/m);
  });

  it('says beside the address that it is scaled to zero', () => {
    const sourceConfig = { resourceSpec: { minScale: 0, maxScale: 0 } };
    const stopped = aRecord({ sourceConfig }, { image: 'app:1', url: 'https://shop.example' });
    const lines = treeOf({ record: stopped, revisions: [], workloads: [], pods: [] });
    expect(lines.slice(1, 3)).toEqual([
      '  address  https://shop.example  (scaled to zero)',
      '  in the cluster  http://shop.team.svc  (scaled to zero)',
    ]);
  });

  it('shows the address in the cluster, restarts and events', async () => {
    const { out } = await runCli(['status', 'shop'], { kubectl: withPods });
    expect(out).toContain('\n  in the cluster  http://shop.team.svc\n');
    expect(out).toMatch(/─ shop-1 {2}ready {2}2 restarts\n/);
    expect(out).toMatch(
      /└─ events\n {3}├─ \d+d {2}!! BackOff {2}Pod shop-1 \(4 times\): Pulled it\.\n {3}└─ \d+d {2}Pulled {2}Pod shop-1: Pulled it\.$/,
    );
  });

  it('shows what happened before a pod became ready as over', async () => {
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:04:00Z' }];
    const ready = { ...pod, status: { ...pod.status, conditions } };
    const later = event('shop-1', 5, { type: 'Warning', reason: 'Unhealthy' });
    const kubectl: Kubectl = async (args, input) =>
      args[1] === 'pods'
        ? JSON.stringify({ items: [ready] })
        : args[1] === 'events'
          ? JSON.stringify({ items: [...events, later] })
          : withPods(args, input);
    const { out } = await runCli(['status', 'shop'], { kubectl });
    expect(out).toMatch(/├─ \d+d {2}!! Unhealthy {2}Pod shop-1: Pulled it\.\n/);
    expect(out).toMatch(/├─ \d+d {2}over: BackOff {2}Pod shop-1 \(4 times\): Pulled it\.\n/);
    const view = JSON.parse((await runCli(['status', 'shop', '-o', 'json'], { kubectl })).out) as object;
    expect(view).toMatchObject({
      events: [{ reason: 'Unhealthy', over: false }, { reason: 'BackOff', over: true }, { over: false }],
    });
  });

  it('lists what Davit says and warnings, and not each step of Kubernetes', () => {
    const said = [
      event('shop-1', 1, { type: 'Normal', reason: 'Scheduled' }),
      event('shop-1', 2, { type: 'Warning', reason: 'BackOff' }),
      event('shop', 3, { type: 'Normal', reason: 'Deployed', involvedObject: { kind: 'AppDeployment', name: 'shop' } }),
    ];
    const lines = treeOf({ record: RECORD, revisions: [], workloads: [], pods: [], events: said }).join('\n');
    expect(['Scheduled', 'BackOff', 'Deployed'].map((reason) => lines.includes(reason))).toEqual([false, true, true]);
  });

  it('lists the newest events alone', () => {
    const many = Array.from({ length: 20 }, () => event('shop-1', 1));
    const lines = treeOf({ record: RECORD, revisions: [], workloads: [], pods: [], events: many });
    expect(lines.filter((line) => line.includes('Pulled'))).toHaveLength(8);
  });

  it('lists few events of runs, where there are others', () => {
    const labels = { 'davit.dev/component': 'task' };
    const run = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'shop--run-1', labels } };
    const many = ['shop--run-1', 'shop-1'].flatMap((name) => Array.from({ length: 20 }, () => event(name, 1)));
    const shown = (events: readonly ClusterEvent[]): (string | undefined)[] =>
      treeOf({ record: RECORD, revisions: [], workloads: [], pods: [run], events })
        .filter((line) => line.includes('Pulled'))
        .map((line) => /Pod (\S+):/.exec(line)?.[1]);
    expect(shown(many)).toEqual(['shop--run-1', 'shop--run-1', ...Array.from({ length: 6 }, () => 'shop-1')]);
    expect(shown(many.slice(0, 20))).toHaveLength(8);
  });

  it('says which revision runs on a pod, and for which one it was started where a repair returned to its template', async () => {
    const repaired = revision(3, {}, { spec: { resolved: { image: 'app:1', podsOfParts: { server: idOf(1) } } } });
    const labels = { ...pod.metadata.labels, 'davit.dev/revision': idOf(1) };
    const runLabels = { ...labels, 'davit.dev/component': 'task' };
    const run = { ...pod, metadata: { ...pod.metadata, name: 'shop--run-1', labels: runLabels } };
    const shown = async (active: number, ...flags: string[]): Promise<string> => {
      const record = { ...RECORD, status: { ...RECORD.status, activeRevisionId: idOf(active) } };
      const answer: Readonly<Record<string, unknown>> = {
        [RECORDS]: record,
        'apprevisions.davit.dev': { items: [repaired, revision(2), revision(1)] },
        pods: { items: [{ ...pod, metadata: { ...pod.metadata, labels } }, run] },
      };
      const one: Kubectl = async (args, input) =>
        answer[args[1] ?? ''] === undefined ? withPods(args, input) : JSON.stringify(answer[args[1] ?? '']);
      return (await runCli(['status', 'shop', ...flags], { kubectl: one })).out;
    };
    expect(await shown(3)).toMatch(/─ shop-1 {2}ready {2}revision 33333333, started for 11111111 {2}2 restarts\n/);
    expect(await shown(1)).toMatch(/─ shop-1 {2}ready {2}revision 11111111 {2}2 restarts\n/);
    const ids = { revisionId: idOf(3), startedForRevisionId: idOf(1) };
    expect((JSON.parse(await shown(3, '-o', 'json')) as { pods: unknown }).pods).toMatchObject([ids, ids]);
  });

  it('is JSON', async () => {
    const view = JSON.parse((await runCli(['status', 'shop', '-o', 'json'], { kubectl: withPods })).out) as object;
    expect(view).toMatchObject({
      name: 'shop',
      namespace: 'team',
      state: 'READY',
      observed: true,
      address: null,
      internalUrl: 'http://shop.team.svc',
      workloads: [{ component: 'server', kind: 'Deployment', name: 'shop', wanted: 1, ready: 1 }],
      pods: [
        {
          component: 'server',
          name: 'shop-1',
          state: 'ready',
          restarts: 2,
          revisionId: null,
          startedForRevisionId: null,
          problem: null,
        },
      ],
      foreignPods: 0,
      events: [{ type: 'Warning', reason: 'BackOff', object: 'Pod/shop-1', times: 4 }, { type: 'Normal' }],
      notShown: [],
    });
  });

  it('names events among what may not be listed', async () => {
    const forbidden: Kubectl = async (args, input) => {
      if (args[1] === 'events') throw new Failure('Error from server (Forbidden): events is forbidden');
      return withPods(args, input);
    };
    expect((await runCli(['status', 'shop'], { kubectl: forbidden })).out).toMatch(
      /\nNot shown: events\. You may not list/,
    );
  });
});
