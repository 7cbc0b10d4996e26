import fc from 'fast-check';
import { expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import { type AppDeployment, STATES } from '../../kinds/app-deployment.ts';
import { needsAttention } from '../../kinds/app-deployment-conditions.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { DEPLOYMENT_LABEL } from '../../kinds/meta.ts';
import { makeObjectCache } from '../../runtime/controller/object-cache.ts';
import type { Change, WatchedStore } from '../../runtime/controller/store.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { apiStatus, imageVersions } from '../record/api-view.ts';
import { type Listing, makeListing } from './list-index.ts';
import { ListDeployments } from './payloads.ts';
import { shownRevisionConfig } from './presenter.ts';

const NAMESPACES = ['team-a', 'team-b'] as const;
const TAGS = ['aaaaaaaa-0000-4000-8000-000000000000', 'bbbbbbbb-0000-4000-8000-000000000000'] as const;
const DIGEST = `sha256:${'d'.repeat(64)}`;
const PINNED = `1@${DIGEST}`;
const uidOf = (n: number): string => `11111111-1111-4111-8111-00000000000${n}`;

function watchedCache<T extends KubeObject>(): WatchedStore<T> &
  Pick<ReturnType<typeof makeObjectCache<T>>, 'put' | 'drop'> {
  const listeners = new Set<(change: Change<T>) => void>();
  const cache = makeObjectCache<T>({
    indexedLabels: [DEPLOYMENT_LABEL],
    onChange: (change) => listeners.forEach((listener) => listener(change)),
  });
  return {
    ...cache,
    hasSynced: () => true,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

type Generated<A> = A extends fc.Arbitrary<infer Value> ? Value : never;

/** What may happen to the n-th record. */
const someRecord = fc.record({
  n: fc.nat(6),
  second: fc.nat(2),
  state: fc.constantFrom(undefined, ...STATES),
  type: fc.constantFrom(undefined, 'dev', 'prod'),
  isRemote: fc.boolean(),
  isFailing: fc.boolean(),
  tags: fc.subarray([...TAGS]),
  version: fc.constantFrom('1', '2', PINNED, 'none'),
});
const happening = fc.oneof(
  someRecord.map((what) => ({ put: what })),
  fc.nat(6).map((n) => ({ drop: n })),
  fc.record({ n: fc.nat(6), version: fc.constantFrom('1', '2') }).map((what) => ({ revision: what })),
);

const filters = {
  name: fc.constantFrom('shop-1', 'nobody'),
  name_contains: fc.constantFrom('', 'shop', '-2', 'p-3'),
  status: fc.constantFrom(...STATES),
  remote_reconciled: fc.constantFrom('true', 'false'),
  deployment_type: fc.constantFrom('dev', 'prod'),
  image_version: fc.constantFrom('1', '2', '3', DIGEST),
  tag_value_ids: fc.constantFrom(TAGS[0], TAGS.join(',')),
  deployment_ids: fc.constantFrom(uidOf(1), [3, 2, 3, 4].map(uidOf).join(',')),
  order_by: fc.constantFrom('created', 'attention'),
};
/** Few filters at once, or nothing would be found. */
const someQuery = fc
  .tuple(
    fc.record({ limit: fc.integer({ min: 1, max: 4 }), offset: fc.nat(2) }),
    fc.record(filters),
    fc.subarray(Object.keys(filters), { maxLength: 2 }),
  )
  .map(([paging, values, chosen]) => {
    const asked = Object.entries(values).filter(([name]) => chosen.includes(name));
    return ListDeployments.parse({ ...paging, ...Object.fromEntries(asked) });
  });

/** Without an image of its own a record shows that of its newest revision. */
const imageOf = (version: string): { imageUri?: string } =>
  version === 'none' ? {} : { imageUri: `r.example/a:${version}` };

function recordOf(what: Generated<typeof someRecord>, version: number): AppDeployment {
  const record = aRecord(
    {
      sourceConfig: {
        ...(what.type && { deploymentType: what.type as 'dev' }),
        ...(what.isRemote && { listenerId: uidOf(9) }),
      },
      sourceRevisionConfig: imageOf(what.version),
    },
    {
      status: {
        ...(what.state && { state: what.state }),
        ...(what.isFailing && { conditions: [{ type: 'Ready', status: 'False', reason: 'ContainerCrashed' }] }),
      } as never,
    },
  );
  const metadata = {
    ...record.metadata,
    name: `shop-${what.n}`,
    namespace: NAMESPACES[what.n % 2] ?? '',
    uid: uidOf(what.n),
    resourceVersion: String(version),
    labels: Object.fromEntries(what.tags.map((tag) => [`tag.davit.dev/${tag}`, ''])),
  };
  return {
    ...record,
    metadata: { ...metadata, creationTimestamp: `2026-01-01T00:00:0${(what.n + what.second) % 3}Z` },
  };
}

interface Davit {
  readonly records: ReturnType<typeof watchedCache<AppDeployment>>;
  readonly revisions: ReturnType<typeof watchedCache<AppRevision>>;
  readonly listing: Listing;
  readonly revisionsOf: (record: AppDeployment) => readonly AppRevision[];
}

function davit(): Davit {
  const records = watchedCache<AppDeployment>();
  const revisions = watchedCache<AppRevision>();
  const revisionsOf = ({ metadata }: AppDeployment): readonly AppRevision[] =>
    revisions.byLabel(metadata.namespace ?? '', DEPLOYMENT_LABEL, metadata.name);
  return { records, revisions, revisionsOf, listing: makeListing({ records, revisions, revisionsOf }) };
}

/** Every record is looked at, each time. */
function lookedAt({ records, revisionsOf }: Davit, namespace: string, query: ListDeployments): string[] {
  const fits = (record: AppDeployment): boolean => {
    const { name, uid = '', labels = {} } = record.metadata;
    const { listenerId, deploymentType } = record.spec.sourceConfig;
    const versions = imageVersions(shownRevisionConfig(record, revisionsOf(record)).imageUri);
    return [
      query.name === undefined || name === query.name,
      query.name_contains === undefined || name.includes(query.name_contains),
      query.status === undefined || apiStatus(record) === query.status,
      query.remote_reconciled === undefined || (listenerId !== undefined) === query.remote_reconciled,
      query.deployment_type === undefined || deploymentType === query.deployment_type,
      query.image_version === undefined || versions.includes(query.image_version),
      query.deployment_ids === undefined || query.deployment_ids.includes(uid),
      query.tag_value_ids === undefined || query.tag_value_ids.some((tag) => `tag.davit.dev/${tag}` in labels),
    ].every(Boolean);
  };
  const key = (record: AppDeployment): string => record.metadata.creationTimestamp ?? '';
  const rank = (record: AppDeployment): number =>
    query.order_by === 'created'
      ? 0
      : needsAttention(record.status?.conditions)
        ? 0
        : apiStatus(record) === 'UNUSED'
          ? 2
          : 1;
  return records
    .list(namespace)
    .filter(fits)
    .toSorted(
      (a, b) =>
        rank(a) - rank(b) || key(b).localeCompare(key(a)) || ((a.metadata.uid ?? '') < (b.metadata.uid ?? '') ? -1 : 1),
    )
    .slice(query.offset, query.offset + query.limit)
    .map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`);
}

it('shows what looking at every record would, whatever has happened to them', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(happening, someQuery), { minLength: 1, maxLength: 30 }), (story) => {
      const all = davit();
      let version = 0;
      for (const [what, query] of story) {
        version += 1;
        happen(all, what, version);
        for (const namespace of NAMESPACES) {
          const page = all.listing
            .page(namespace, query)
            .map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`);
          expect(page).toEqual(lookedAt(all, namespace, query));
        }
      }
    }),
    { numRuns: 300 },
  );
});

function happen({ records, revisions }: Davit, what: Generated<typeof happening>, version: number): void {
  if ('put' in what) {
    const record = recordOf(what.put, version);
    const known = records.byUid(uidOf(what.put.n));
    // When it was made never changes.
    const creationTimestamp = known?.metadata.creationTimestamp ?? record.metadata.creationTimestamp;
    return records.put({
      ...record,
      metadata: { ...record.metadata, ...(creationTimestamp && { creationTimestamp }) },
    });
  }
  if ('drop' in what) {
    const known = records.byUid(uidOf(what.drop));
    if (known) records.drop({ ...known, metadata: { ...known.metadata, resourceVersion: String(version) } });
    return;
  }
  const record = records.byUid(uidOf(what.revision.n));
  if (record === undefined) return;
  const asked = {
    ...record,
    spec: { ...record.spec, sourceRevisionConfig: imageOf(what.revision.version) },
  };
  const revision = aRevision(asked);
  const { name, namespace = '', uid = '' } = record.metadata;
  revisions.put({
    ...revision,
    metadata: {
      ...revision.metadata,
      name,
      namespace,
      uid: `revision of ${uid}`,
      resourceVersion: String(version),
      labels: { [DEPLOYMENT_LABEL]: name },
    },
    spec: { ...revision.spec, deploymentUid: uid },
  });
}

it('takes in what was there before it', () => {
  const all = davit();
  all.records.put(
    recordOf(
      { n: 1, second: 0, state: 'READY', type: undefined, isRemote: false, isFailing: false, tags: [], version: '1' },
      1,
    ),
  );
  const later = makeListing(all);
  expect(later.page('team-b', ListDeployments.parse({ status: 'READY' }))).toHaveLength(1);
});

it('a record without an image is found by that of its newest revision, also when that comes later', () => {
  const all = davit();
  all.records.put(
    recordOf(
      {
        n: 1,
        second: 0,
        state: undefined,
        type: undefined,
        isRemote: false,
        isFailing: false,
        tags: [],
        version: 'none',
      },
      1,
    ),
  );
  const found = (version: string): number =>
    all.listing.page('team-b', ListDeployments.parse({ image_version: version })).length;
  expect([found('1'), found('2')]).toEqual([0, 0]);
  happen(all, { revision: { n: 1, version: '1' } }, 2);
  expect([found('1'), found('2')]).toEqual([1, 0]);
  happen(all, { revision: { n: 1, version: '2' } }, 3);
  expect([found('1'), found('2')]).toEqual([0, 1]);
});

it('a record with two of the tags that are asked for is listed once', () => {
  const all = davit();
  const record = {
    second: 0,
    state: undefined,
    type: undefined,
    isRemote: false,
    isFailing: false,
    version: '1',
  } as const;
  for (const n of [1, 3, 5]) all.records.put(recordOf({ ...record, n, tags: n === 3 ? [...TAGS] : [] }, n));
  expect(all.listing.page('team-b', ListDeployments.parse({ tag_value_ids: TAGS.join(',') }))).toHaveLength(1);
});
