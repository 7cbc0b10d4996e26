import { describe, expect, it } from 'vitest';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { DatastoreOperation } from '../kinds/datastore-operation.ts';
import { Settings } from '../kinds/settings.ts';
import { patchesIn, type Window, windowAt } from './window.ts';

function aWindow(fields: object = {}): Window {
  const { window } = Settings.parse({
    datastores: { window: { schedule: '0 2 * * sun', hours: 4, ...fields } },
  }).datastores;
  if (!window) throw new Error('there is no window');
  return window;
}

const at = (time: string): number => Date.parse(time);

describe('a window', () => {
  // 1 February 2026 is a Sunday.
  it.each([
    ['a second before', '2026-02-01T01:59:59Z', { opensAt: at('2026-02-01T02:00:00Z') }],
    ['as it opens', '2026-02-01T02:00:00Z', { openedAt: at('2026-02-01T02:00:00Z') }],
    ['its last second', '2026-02-01T05:59:59Z', { openedAt: at('2026-02-01T02:00:00Z') }],
    ['as it closes', '2026-02-01T06:00:00Z', { opensAt: at('2026-02-08T02:00:00Z') }],
  ])('%s', (_what, now, wanted) => expect(windowAt(aWindow(), at(now))).toEqual(wanted));

  it('follows the clock of its time zone, also where that changes', () => {
    const berlin = aWindow({ timeZone: 'Europe/Berlin' });
    expect(windowAt(berlin, at('2026-02-01T01:30:00Z'))).toEqual({ openedAt: at('2026-02-01T01:00:00Z') });
    expect(windowAt(berlin, at('2026-07-05T00:30:00Z'))).toEqual({ openedAt: at('2026-07-05T00:00:00Z') });
    // The clock of 29 March has no 2 o'clock, so as for a CronJob that day is left out.
    expect(windowAt(berlin, at('2026-03-29T02:00:00Z'))).toEqual({ opensAt: at('2026-04-05T00:00:00Z') });
  });

  it('may be open over midnight and all day', () => {
    expect(windowAt(aWindow({ schedule: '0 23 * * *' }), at('2026-02-02T02:59:00Z'))).toHaveProperty('openedAt');
    expect(windowAt(aWindow({ schedule: '@hourly', hours: 24 }), at('2026-02-02T02:59:00Z'))).toHaveProperty(
      'openedAt',
    );
  });

  it.each([
    ['@every 2h', undefined],
    ['0 2 30 2 *', undefined],
    ['0 2 * * sat-sun', undefined],
    ['0 2 * * sun', 'Europe/Atlantis'],
  ])('that never opens is refused with what to write: %s %s', (schedule, timeZone) =>
    expect(() => aWindow({ schedule, ...(timeZone !== undefined && { timeZone }) })).toThrow(/never opens: write/),
  );
});

const NOW = new Date('2026-02-01T03:00:00Z');
const OPENED = at('2026-02-01T02:00:00Z');

function deployment(name: string, behind: readonly ('postgres' | 'redis')[], status: object = {}): AppDeployment {
  const datastores = Object.fromEntries(
    behind.map((part) => [part, { image: `${part}:1.1`, available: `${part}:1.2` }]),
  );
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name, namespace: 'team', generation: 1 },
    spec: { source: 'external_docker', sourceConfig: { database: { driver: 'pod' } } },
    status: {
      observedGeneration: 1,
      databaseVerification: { takenAt: '2026-02-01T01:00:00Z', verifiedAt: '2026-02-01T01:10:00Z' },
      datastores,
      ...status,
    },
  } as unknown as AppDeployment;
}

const made = (
  records: readonly AppDeployment[],
  { operations = [] as readonly DatastoreOperation[], atOnce = 5, accept = ['QueueLost'], openedAt = OPENED } = {},
): DatastoreOperation[] => patchesIn(openedAt, { records, operations, atOnce }, aWindow({ accept }), NOW);
const namesOf = (operations: readonly DatastoreOperation[]): string[] =>
  operations.map(({ metadata, spec }) => `${metadata.name} ${spec.patch?.datastore}`);

describe('the patches that it makes', () => {
  it('are of what is behind, one of a deployment at a time, and name what may be lost', () => {
    const patches = made([deployment('a', ['postgres', 'redis']), deployment('b', []), deployment('c', ['redis'])]);
    expect(patches.map(({ spec }) => spec)).toEqual([
      { deployment: 'a', action: 'Patch', patch: { datastore: 'postgres' }, accept: ['QueueLost'] },
      { deployment: 'c', action: 'Patch', patch: { datastore: 'redis' }, accept: ['QueueLost'] },
    ]);
    expect(patches.map(({ metadata }) => metadata.namespace)).toEqual(['team', 'team']);
  });

  it('are at most so many that none waits for its turn', () => {
    const records = Array.from({ length: 9 }, (_, at_) => deployment(`d${at_}`, ['postgres']));
    const operations = made(records, { atOnce: 3 });
    expect(operations).toHaveLength(3);
    expect(made(records, { atOnce: 3, operations })).toEqual([]);
    const [first, ...others] = operations;
    const ended = { ...first, status: { phase: 'Failed' } } as DatastoreOperation;
    // What has failed is not tried again in this window, and is in the next one.
    expect(namesOf(made(records, { atOnce: 3, operations: [ended, ...others] }))).toEqual([
      expect.stringMatching(/^d3-postgres-/),
    ]);
    const next = made(records, { operations: [ended], openedAt: OPENED + 7 * 86_400_000 });
    expect(namesOf(next)[0]).toMatch(/^d0-postgres-/);
  });

  it('leave out what would be refused, and what somebody else works at', () => {
    const unverified = deployment('a', ['postgres'], { databaseVerification: undefined });
    expect(made([unverified])).toEqual([]);
    expect(made([unverified], { accept: ['NoBackup'] })).toHaveLength(1);
    expect(made([deployment('a', ['redis'])], { accept: [] })).toEqual([]);
    const backup = { metadata: { name: 'x', namespace: 'team' }, spec: { deployment: 'a', action: 'Backup' } };
    expect(made([deployment('a', ['postgres'])], { operations: [backup as DatastoreOperation] })).toEqual([]);
  });
});
