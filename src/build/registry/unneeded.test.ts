import { describe, expect, it } from 'vitest';
import { deploymentIn, type ImageName, imageIn, keepTag, repositoryOf } from '../../deploy/record/registry-names.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { imagesNamed, judgeTags, neededTags, type ObservedRepository, type TagVerdict } from './unneeded.ts';

const registry = { host: 'r.example:5000', insecure: false, tokens: true };
const repository = 'team-11111111/shop';
const [A, B] = ['a', 'b'].map((digit) => `sha256:${digit.repeat(64)}`) as [string, string];
const [ONE, TWO] = ['1', '2'].map((digit) => `${digit.repeat(8)}-0000-4000-8000-${digit.repeat(12)}`) as [
  string,
  string,
];
const UPLOAD = 'c'.repeat(32);
const uidOf = (namespace: string): string | undefined =>
  namespace === 'team' ? '11111111-0000-4000-8000-000000000000' : undefined;
const NOW = new Date('2026-03-10T03:30:00Z');
const SETTINGS = { cacheDays: 30, maxTags: 500 };

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
const imagesOf = (records: readonly AppDeployment[], revisions: readonly AppRevision[]): ImageName[] =>
  [...imagesNamed(registry, uidOf, records, revisions).values()].flat();
/** Tags that go where all were noted a day ago. */
function unneeded(tags: readonly string[], observed: Partial<ObservedRepository>, now = NOW): readonly string[] {
  const needed = neededTags({ images: [], record: aRecord(), revisions: [], ...observed }, SETTINGS, now);
  const hasRecord = !('record' in observed) || observed.record !== undefined;
  return judgeTags(tags, needed, hasRecord, () => 0, SETTINGS).gone;
}

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
    expect(imagesOf([record], revisions)).toEqual([
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
    expect(imagesOf([record], [])).toEqual(expect.arrayContaining(both));
    const revision = aRevision(ONE);
    const { requested } = revision.spec;
    const stored = {
      ...revision,
      spec: { ...revision.spec, requested: { ...requested, resourceSpec } },
    } as AppRevision;
    expect(imagesOf([], [stored])).toEqual(expect.arrayContaining(both));
  });

  it.each([
    ['another tenant', 'team-22222222/shop'],
    ['an earlier namespace of the same name', 'team-11111112/shop'],
    ['the platform', 'base/python'],
    ['nobody, with a name that the registry refuses', 'a'.repeat(300)],
    ['no deployment, with a name that the registry refuses', `team-11111111/${'a'.repeat(300)}`],
  ])('are none of %s', (_whose, path) => {
    const record = aRecord({ imageUri: `${registry.host}/${path}@${A}` });
    expect(imagesOf([record], [])).toEqual([]);
  });

  it('are no image that a build only tried to make', () => {
    const failed = { ...aRevision(ONE), status: { build: { phase: 'Failed', image: named(A) } } } as AppRevision;
    expect(imagesOf([], [failed])).toEqual([]);
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
    expect(unneeded(tags, { revisions, images: [{ repository, digest: A }] })).toEqual([
      keepTag(B),
      `revision-${TWO}`,
      `log-${TWO}`,
      `upload-${'d'.repeat(32)}`,
    ]);
  });

  it('keeps the log of a build whose image a revision reuses, also when the revision that was built is gone', () => {
    const revision = aRevision(ONE, { built: named(A) });
    const reused = { ...revision, status: { build: { ...revision.status?.build, builtBy: TWO.toUpperCase() } } };
    const tags = [`log-${TWO}`, `revision-${TWO}`, keepTag(A)];
    const observed = { revisions: [reused as AppRevision], images: [{ repository, digest: A }] };
    expect(unneeded(tags, observed)).toEqual([`revision-${TWO}`]);
  });

  it('keeps what a record names by its tag', () => {
    const images = [{ repository, tag: 'v1' }];
    const full = { cacheDays: 30, maxTags: 1 };
    const needed = neededTags({ images, record: undefined, revisions: [] }, full, NOW);
    expect(judgeTags(['v0', 'v1'], needed, true, () => 0, full).gone).toEqual(['v0']);
    expect(judgeTags(['v0', 'v1'], needed, false, () => 0, full).gone).toEqual(['v0']);
  });

  it('keeps an upload that the record names before it has a revision', () => {
    const record = aRecord({ sourceTarballPath: `uploads/${UPLOAD}` });
    expect(unneeded([`upload-${UPLOAD}`], { record })).toEqual([]);
  });

  it('keeps its build cache for a time after the last build', () => {
    const revisions = [aRevision(ONE, { built: named(A), at: '2026-02-01T00:00:00Z' })];
    const at = (day: string): readonly string[] => unneeded(['cache'], { revisions }, new Date(day));
    expect(at('2026-03-02T00:00:00Z')).toEqual([]);
    expect(at('2026-03-04T00:00:00Z')).toEqual(['cache']);
  });

  it('of a deployment that is gone loses everything but what somebody else names', () => {
    const tags = ['latest', '1', 'cache', keepTag(A), keepTag(B), `log-${ONE}`];
    const images = [
      { repository, digest: A },
      { repository, tag: '1' },
    ];
    expect(unneeded(tags, { images, record: undefined })).toEqual(['latest', 'cache', keepTag(B), `log-${ONE}`]);
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

describe('tags that nothing names', () => {
  const settings = { maxTags: 50 };
  const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `v${index}`);
  const kept = (count: number): string[] => Array.from({ length: count }, (_, index) => `needed-${index}`);
  /** Beside them there are as many that are needed as make `count`. `noted`: those noted a day ago, the oldest first. */
  function judged(count: number, tags: readonly string[], noted: readonly string[]): TagVerdict {
    const needed = kept(count - tags.length);
    const placeOf = (tag: string): number | undefined => (noted.includes(tag) ? noted.indexOf(tag) : undefined);
    return judgeTags([...needed, ...tags], new Set(needed), true, placeOf, settings);
  }

  it.each<[string, number, string[], string[], TagVerdict]>([
    ['of Davit are noted first', 3, ['cache', 'v1'], [], { gone: [], noted: ['cache'] }],
    ['and go if they were noted a day ago', 3, ['cache', 'v1'], ['cache', 'v1'], { gone: ['cache'], noted: [] }],
    ['of people are noted when half the room is taken', 26, ['v1'], [], { gone: [], noted: ['v1'] }],
    ['and stay while there is room', 50, numbered(50), numbered(50), { gone: [], noted: numbered(50) }],
    ['and go above it, the oldest first', 52, ['v1', 'v2', 'v3'], ['v3', 'v1'], { gone: ['v3', 'v1'], noted: ['v2'] }],
    ['but none within a day', 99, numbered(99), [], { gone: [], noted: numbered(99) }],
    ['less those of Davit that go', 51, ['cache', 'v1'], ['v1', 'cache'], { gone: ['cache'], noted: ['v1'] }],
    [
      'go at once where the repository is full, those noted before first, by name where the age is the same',
      100,
      [...numbered(60), 'cache'],
      ['v59'],
      { gone: ['v59', 'cache', ...numbered(48)], noted: numbered(59).slice(48) },
    ],
    ['and what is needed stays', 100, ['v0'], [], { gone: ['v0'], noted: [] }],
  ])('%s', (_what, count, tags, noted, verdict) => {
    expect(judged(count, tags, noted)).toEqual(verdict);
  });
});
