// Revisions, and what differs between them.

import { describe, expect, it } from 'vitest';
import type { CliRan } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { differences, summaryOf } from '../../deploy/record/revision-diff.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';

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
      'not known: the previous one is no longer kept',
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
