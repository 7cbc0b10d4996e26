import { describe, expect, it } from 'vitest';
import { deploymentIn, imageIn, keepTag, repositoryOf } from '../../deployments/record/registry-names.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { imagesNamed, isCollectionDue, type ObservedRepository, surplusOf, type Upkeep, upkeepOf } from './unneeded.ts';

const registry = { host: 'r.example:5000', insecure: false, tokens: true };
const repository = 'team-11111111/shop';
const [A, B] = ['a', 'b'].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string];
const [ONE, TWO] = ['1', '2'].map((digit) => `${digit.repeat(8)}-0000-4000-8000-${digit.repeat(12)}`) as [
  string,
  string,
];
const UPLOAD = 'c'.repeat(32);
const TENANT = { namespace: 'team', tenantId: '11111111-0000-4000-8000-000000000000' };
const NOW = new Date('2026-03-10T03:30:00Z');
const SETTINGS = { enabled: true, everyDays: 7, hour: 3, limitMinutes: 30, cacheDays: 30, maxTags: 500 };

function aRevision(
  id: string,
  more: { image?: string; built?: string; upload?: string; at?: string } = {},
): AppRevision {
  const { image, built, upload, at = '2026-03-09T00:00:00Z' } = more;
  return {
    metadata: { name: id, namespace: 'team', creationTimestamp: at },
    spec: {
      id,
      resolved: { ...(image !== undefined && { image }) },
      requested: { sourceRevisionConfig: { ...(upload !== undefined && { sourceTarballPath: `uploads/${upload}` }) } },
    },
    ...(built !== undefined && { status: { build: { phase: 'Built', image: built, finishedAt: at } } }),
  } as unknown as AppRevision;
}
function aRecord(sourceRevisionConfig: object = {}): AppDeployment {
  return {
    metadata: { name: 'shop', namespace: 'team', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { sourceRevisionConfig },
  } as unknown as AppDeployment;
}
const named = (digest: string): string => `${registry.host}/${repository}@${digest}`;
const decide = (observed: Partial<ObservedRepository>, now = NOW): Upkeep =>
  upkeepOf({ tags: [], images: [], record: aRecord(), revisions: [], ...observed }, SETTINGS, now);

describe('images that are named', () => {
  it('are those of the tenant that its records, revisions and builds name', () => {
    const revisions = [
      aRevision(ONE, { image: named(A) }),
      aRevision(TWO, { built: named(B) }),
      aRevision(TWO, { image: `docker.io/library/shop@${A}` }),
      aRevision(TWO, { image: `r.example/other@${A}` }),
      aRevision(TWO),
    ];
    const record = aRecord({ imageUri: `${registry.host}/team-11111111/other:1@${A}` });
    expect(imagesNamed(registry, TENANT, [record], revisions)).toEqual([
      { repository: 'team-11111111/other', tag: '1', digest: A },
      { repository, digest: A },
      { repository, digest: B },
    ]);
  });

  it('are those of init containers and sidecars too', () => {
    const resourceSpec = {
      sidecars: [{ name: 'proxy', image: named(A) }],
      initContainers: [{ name: 'wait', image: named(B) }],
    };
    const both = [A, B].map((digest) => expect.objectContaining({ digest }) as object);
    const record = {
      ...aRecord(),
      spec: { sourceRevisionConfig: {}, sourceConfig: { resourceSpec } },
    } as AppDeployment;
    expect(imagesNamed(registry, TENANT, [record], [])).toEqual(expect.arrayContaining(both));
    const revision = aRevision(ONE);
    const { requested } = revision.spec;
    const stored = {
      ...revision,
      spec: { ...revision.spec, requested: { ...requested, resourceSpec } },
    } as AppRevision;
    expect(imagesNamed(registry, TENANT, [], [stored])).toEqual(expect.arrayContaining(both));
  });

  it.each([
    ['another tenant', 'team-22222222/shop'],
    ['an earlier namespace of the same name', 'team-11111112/shop'],
    ['the platform', 'base/python'],
    ['nobody, with a name that the registry refuses', 'a'.repeat(300)],
    ['no deployment, with a name that the registry refuses', `team-11111111/${'a'.repeat(300)}`],
  ])('are none of %s', (_whose, path) => {
    const record = aRecord({ imageUri: `${registry.host}/${path}@${A}` });
    expect(imagesNamed(registry, TENANT, [record], [])).toEqual([]);
  });

  it('are no image that a build only tried to make', () => {
    const failed = { ...aRevision(ONE), status: { build: { phase: 'Failed', image: named(A) } } } as AppRevision;
    expect(imagesNamed(registry, TENANT, [], [failed])).toEqual([]);
  });

  it.each([
    ['r.example:5000/a/b:tag', { repository: 'a/b', tag: 'tag' }],
    ['r.example:5000/a/b', { repository: 'a/b' }],
    ['r.example:5000/', undefined],
    ['r.example:50001/a/b', undefined],
    [`r.example:5000/a/b@sha256:1`, undefined],
  ])('%s', (image, parts) => {
    expect(imageIn(registry, image)).toEqual(parts);
  });
});

describe('a repository', () => {
  it('has a tag for each digest that is named, made once', () => {
    const images = [
      { repository, digest: A },
      { repository, digest: B },
    ];
    expect(decide({ images, tags: ['latest'] })).toEqual({ untagged: [A, B], unneeded: [], spare: ['latest'] });
    expect(decide({ images, tags: [keepTag(A)] })).toEqual({ untagged: [B], unneeded: [], spare: [] });
  });

  it('loses tags of Davit that nothing needs, and keeps what people pushed', () => {
    const tags = [
      'latest',
      'upload-by-hand',
      'cache',
      ...[A, B].map(keepTag),
      ...[ONE, TWO].flatMap((id) => [`revision-${id}`, `log-${id}`]),
      `upload-${UPLOAD}`,
      `upload-${'d'.repeat(32)}`,
    ];
    const revisions = [aRevision(ONE, { upload: UPLOAD, built: named(A) })];
    const { unneeded } = decide({ tags, revisions, images: [{ repository, digest: A }] });
    expect(unneeded).toEqual([keepTag(B), `revision-${TWO}`, `log-${TWO}`, `upload-${'d'.repeat(32)}`]);
  });

  it('keeps the log of a build whose image a revision reuses, also when the revision that was built is gone', () => {
    const revision = aRevision(ONE, { built: named(A) });
    const reused = { ...revision, status: { build: { ...revision.status?.build, builtBy: TWO.toUpperCase() } } };
    const tags = [`log-${TWO}`, `revision-${TWO}`, keepTag(A)];
    const { unneeded } = decide({ tags, revisions: [reused as AppRevision], images: [{ repository, digest: A }] });
    expect(unneeded).toEqual([`revision-${TWO}`]);
  });

  it('keeps tags that may be all that keeps an image, as long as that has no tag of its own', () => {
    const tags = [`revision-${TWO}`, `log-${TWO}`, keepTag(B), 'cache'];
    const old = new Date('2027-01-01T00:00:00Z');
    expect(decide({ tags, images: [{ repository, digest: A }] }, old)).toEqual({
      untagged: [A],
      unneeded: [`log-${TWO}`, keepTag(B), 'cache'],
      spare: [`revision-${TWO}`],
    });
  });

  it('keeps an upload that the record names before it has a revision', () => {
    const record = aRecord({ sourceTarballPath: `uploads/${UPLOAD}` });
    expect(decide({ record, tags: [`upload-${UPLOAD}`] }).unneeded).toEqual([]);
  });

  it('keeps its build cache for a time after the last build', () => {
    const revisions = [aRevision(ONE, { built: named(A), at: '2026-02-01T00:00:00Z' })];
    const at = (day: string): readonly string[] => decide({ tags: ['cache'], revisions }, new Date(day)).unneeded;
    expect(at('2026-03-02T00:00:00Z')).toEqual([]);
    expect(at('2026-03-04T00:00:00Z')).toEqual(['cache']);
  });

  it('of a deployment that is gone loses everything but what somebody else names', () => {
    const tags = ['latest', '1', 'cache', keepTag(A), keepTag(B), `log-${ONE}`];
    const images = [
      { repository, digest: A },
      { repository, tag: '1' },
    ];
    expect(decide({ tags, images, record: undefined }).unneeded).toEqual(['latest', 'cache', keepTag(B), `log-${ONE}`]);
  });

  it.each([
    [undefined, 'team-a-11111111/shop'],
    ['davit/images', 'davit/images/team-a-11111111/shop'],
  ])('below %s is found again by its name', (path, name) => {
    const where = { ...registry, ...(path !== undefined && { repository: path }) };
    const tenant = { namespace: 'team-a', tenantId: '11111111-2222' };
    expect(repositoryOf(where, tenant, 'shop')).toBe(name);
    expect(deploymentIn(where, name)).toEqual({ namespace: 'team-a', tenantStart: '11111111', name: 'shop' });
    for (const other of ['base/python', 'shop', 'team-a-1111111/shop', 'x/team-a-11111111/shop', `${name}/x`])
      expect(deploymentIn(where, other)).toBeUndefined();
  });
});

describe('a repository with too many tags', () => {
  const settings = { ...SETTINGS, maxTags: 50 };
  const hoursAgo = (hours: number): number => NOW.getTime() - hours * 3_600_000;
  const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `v${index}`);
  const DAY_OLD = new Map(numbered(200).map((tag) => [tag, hoursAgo(24)]));
  const surplus = (
    count: number,
    { spare = [], unneeded = [] }: Partial<Upkeep>,
    since: ReadonlyMap<string, number> = DAY_OLD,
  ): string[] => surplusOf(count, { spare, unneeded }, since, settings, NOW);

  it('loses as many as it has too many, after a day and in the order of their names if all are as old', () => {
    expect(surplus(50, { spare: numbered(50) })).toEqual([]);
    expect(surplus(53, { spare: numbered(53).toReversed() })).toEqual(['v0', 'v1', 'v2']);
    expect(surplus(53, { spare: ['v10', 'v9', 'v1'] })).toEqual(['v1', 'v9', 'v10']);
    expect(surplus(99, { spare: ['v0', 'new'] })).toEqual(['v0']);
  });

  it('loses the oldest first', () => {
    const since = new Map([
      ['v1', hoursAgo(25)],
      ['v2', hoursAgo(48)],
      ['v3', hoursAgo(24)],
    ]);
    expect(surplus(52, { spare: ['v1', 'v2', 'v3', 'v4'] }, since)).toEqual(['v2', 'v1']);
  });

  it('loses nothing within a day, until it is full', () => {
    expect(surplus(99, { spare: numbered(99) }, new Map())).toEqual([]);
    expect(surplus(100, { spare: numbered(100) }, new Map())).toEqual(numbered(50));
  });

  it('that is full loses what nothing needs at once, of whatever form, and nothing that is needed', () => {
    expect(surplus(100, { spare: ['v0'], unneeded: ['log-1'] }, new Map([['log-1', hoursAgo(1)]]))).toEqual([
      'log-1',
      'v0',
    ]);
    expect(surplus(99, { unneeded: ['log-1'] })).toEqual([]);
  });

  it('keeps what a record names by its tag', () => {
    const images = [{ repository, tag: 'v1' }];
    expect(decide({ tags: ['v0', 'v1', 'cache'], images }).spare).toEqual(['v0']);
  });
});

describe('the pod of the registry', () => {
  it.each([
    ['is left alone outside of the hour', '2026-03-01T03:00:00Z', false, '2026-03-10T04:00:00Z', false],
    ['is left alone while it is young', '2026-03-04T03:40:00Z', false, '2026-03-10T03:30:00Z', false],
    ['is replaced in the hour in which it started', '2026-03-03T03:40:00Z', false, '2026-03-10T03:30:00Z', true],
    ['waits for builds', '2026-03-03T03:40:00Z', true, '2026-03-10T03:30:00Z', false],
    ['waits for them one day', '2026-03-03T03:40:00Z', true, '2026-03-11T03:30:00Z', true],
  ])('%s', (_what, startedAt, isBuilding, now, due) => {
    expect(isCollectionDue({ startedAt: new Date(startedAt), isBuilding }, SETTINGS, new Date(now))).toBe(due);
  });
});
