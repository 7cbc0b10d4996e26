// What the status has on PostgreSQL and Redis: image, version and the image of a patch.

import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision } from '../../../test/support/builders.ts';
import type { DatastoreStatus } from '../../kinds/database.ts';
import { Settings } from '../../kinds/settings.ts';
import { datastoresOf, serverImages, serversToAsk, versionInLog } from './datastores.ts';
import type { Observed, Pod } from './observed.ts';

const [OLD, NEW] = ['postgres:17.5-trixie', 'postgres:17.6-trixie'];
const AT = '2026-02-02T00:00:09Z';
const revision = aRevision(aRecord());
const { postgres } = revision.spec.resolved;
if (!postgres) throw new Error('It has no PostgreSQL.');
const latest = {
  ...revision,
  spec: { ...revision.spec, resolved: { ...revision.spec.resolved, postgres: { ...postgres, image: OLD } } },
};

/** Its server runs since AT, unless it waits for its image. */
function server(image = OLD, { isReady = true, labels = {} }: { isReady?: boolean; labels?: object } = {}): Pod {
  const state = isReady ? { running: { startedAt: AT } } : { waiting: { reason: 'ImagePullBackOff' } };
  const pod = aPod('postgres', latest, {
    main: [{ name: 'postgres', state }],
    conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
  });
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...labels } },
    spec: {
      containers: [
        { name: 'istio-proxy', image: 'proxy:1' },
        { name: 'postgres', image },
      ],
    },
  };
}

function seen(pods: readonly Pod[], before?: DatastoreStatus, versions?: Observed['versions']): Observed {
  const record = aRecord({}, before ? { status: { datastores: { postgres: before } } } : {});
  return { ...anObserved(record, { revisions: [latest], pods }), ...(versions && { versions }) };
}

const settings = (image: string): Settings => Settings.parse({ images: { postgres: image } });

describe('the status of PostgreSQL', () => {
  it.each<[what: string, Observed, platform: string, DatastoreStatus]>([
    ['nothing runs yet', seen([]), OLD, { image: OLD }],
    [
      'its server says its version',
      seen([server()], undefined, { postgres: '17.5' }),
      OLD,
      { image: OLD, version: '17.5', since: AT },
    ],
    [
      'its version is known',
      seen([server()], { image: OLD, version: '17.5', since: AT }),
      OLD,
      { image: OLD, version: '17.5', since: AT },
    ],
    [
      'it is down',
      seen([], { image: OLD, version: '17.5', since: AT }),
      OLD,
      { image: OLD, version: '17.5', since: AT },
    ],
    [
      'it was started again, and has not said its version',
      seen([server()], { image: OLD, version: '17.5', since: '2026-01-01T00:00:00Z' }),
      OLD,
      { image: OLD, since: AT },
    ],
    ['it had another image', seen([server(NEW)], { image: NEW, version: '17.6', since: AT }), OLD, { image: OLD }],
    ['the platform has a newer one', seen([]), NEW, { image: OLD, available: NEW }],
    [
      'the platform has another build of it',
      seen([]),
      `${OLD}@sha256:${'a'.repeat(64)}`,
      { image: OLD, available: `${OLD}@sha256:${'a'.repeat(64)}` },
    ],
    ['the platform has an older one', seen([]), 'postgres:17.4-trixie', { image: OLD }],
    ['the platform has another major version', seen([]), 'postgres:18.1-trixie', { image: OLD }],
    ['the platform has another base', seen([]), 'postgres:17.6-alpine', { image: OLD }],
  ])('where %s', (_what, observed, platform, status) => {
    expect(datastoresOf(observed, latest, settings(platform))?.postgres).toEqual(status);
  });

  it('of a Cluster is that of its primary', () => {
    function instance(role: string, image: string): Pod {
      const pod = server(image, { labels: { 'cnpg.io/instanceRole': role, 'cnpg.io/cluster': 'shop--postgres' } });
      const owner = { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', name: 'shop--postgres', uid: 'c' };
      return { ...pod, metadata: { ...pod.metadata, name: role, ownerReferences: [{ ...owner, controller: true }] } };
    }
    const job = {
      ...server('postgres:1', { labels: { 'cnpg.io/jobRole': 'join' } }),
      spec: { containers: [{ name: 'join', image: 'postgres:1' }] },
    };
    const alone = seen([instance('replica', NEW), instance('primary', OLD), job]);
    const { uid, name } = alone.record.metadata;
    const labels = { 'davit.dev/deployment-uid': uid ?? '' };
    const cluster = {
      apiVersion: 'postgresql.cnpg.io/v1',
      kind: 'Cluster',
      metadata: { name: `${name}--postgres`, namespace: 'team', uid: 'c', labels },
      spec: { instances: 3 },
    };
    const observed = { ...alone, children: [cluster] };
    // One is being created again.
    expect(serverImages(observed, 'postgres')).toEqual([OLD, NEW, undefined]);
    expect(serversToAsk(observed).map(({ pod }) => pod.metadata.labels?.['cnpg.io/instanceRole'])).toEqual(['primary']);
  });
});

describe('a server is asked for its version', () => {
  it.each<[what: string, Observed, asked: number]>([
    ['when it has started', seen([server()]), 1],
    ['once', seen([server()], { image: OLD, version: '17.5', since: AT }), 0],
    ['again after a restart', seen([server()], { image: OLD, version: '17.5', since: '2026-01-01T00:00:00Z' }), 1],
    ['not before it answers', seen([server(OLD, { isReady: false })]), 0],
    ['not while it has another image', seen([server(NEW)]), 0],
  ])('%s', (_what, observed, asked) => {
    expect(serversToAsk(observed)).toHaveLength(asked);
  });
});

it.each([
  [
    'postgres',
    '2026-02-02 00:00:09.1 UTC [1] LOG:  starting PostgreSQL 17.6 (Debian 17.6-1.pgdg13+1) on x86_64',
    '17.6',
  ],
  [
    'postgres',
    '{"level":"info","logger":"postgres","record":{"message":"starting PostgreSQL 17.11 on aarch64"}}',
    '17.11',
  ],
  ['postgres', 'LOG:  database system is ready to accept connections', undefined],
  ['redis', '1:C 02 Feb 2026 00:00:09.100 * Redis version=7.0.15, bits=64, commit=00000000, modified=0', '7.0.15'],
  ['redis', '1:C 02 Feb 2026 00:00:09.100 * Valkey version=8.1.10, bits=64, commit=00000000', '8.1.10'],
  ['redis', 'starting PostgreSQL 17.6', undefined],
] as const)('the log of %s says it: %s', (part, line, version) => {
  expect(versionInLog(part, `first line\n${line}\n`)).toBe(version);
});
