import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import type { BuildPhase } from '../../api/build.ts';
import { nextTurns } from './turns.ts';

const limits = { perTenant: 2, total: 3 };

function build(name: string, phase: BuildPhase, second = 0): AppRevision {
  const revision = aRevision(aRecord());
  const [tenant] = name.split('-');
  const queuedAt = `2026-01-01T00:00:0${second}Z`;
  return {
    ...revision,
    metadata: { ...revision.metadata, namespace: tenant ?? '' },
    spec: { ...revision.spec, id: name },
    status: { build: { phase, queuedAt } },
  };
}

describe('nextTurns', () => {
  it.each<[string, AppRevision[], string[]]>([
    ['none if no build is queued', [build('a-1', 'Building'), build('b-1', 'Built')], []],
    ['the oldest build first', [build('a-2', 'Queued', 2), build('a-1', 'Queued', 1)], ['a-1', 'a-2']],
    [
      'not more builds of a tenant than its limit',
      [build('a-1', 'Queued', 1), build('a-2', 'Queued', 2), build('a-3', 'Queued', 3)],
      ['a-1', 'a-2'],
    ],
    [
      'running builds count towards the limits',
      [build('a-0', 'AwaitingBuild'), build('a-1', 'Queued', 1), build('a-2', 'Queued', 2)],
      ['a-1'],
    ],
    [
      'not more builds than the total limit',
      ['a', 'b', 'c', 'd'].map((tenant, at) => build(`${tenant}-1`, 'Queued', at)),
      ['a-1', 'b-1', 'c-1'],
    ],
    [
      'a tenant without running builds before one that waits longer',
      [build('a-0', 'Building'), build('a-1', 'Queued', 1), build('b-1', 'Queued', 5), build('c-0', 'Building')],
      ['b-1'],
    ],
    [
      'none while all slots are taken',
      [build('a-1', 'Building'), build('b-1', 'Building'), build('c-1', 'Building'), build('d-1', 'Queued')],
      [],
    ],
  ])('%s', (_what, builds, turns) => {
    expect(nextTurns(builds, limits)).toEqual(turns);
    expect(nextTurns(builds.toReversed(), limits)).toEqual(turns);
  });

  it('gives every tenant one turn before any tenant gets a second', () => {
    const waiting = ['a', 'b', 'c', 'd', 'e'].flatMap((tenant) =>
      [1, 2, 3, 4].map((at) => build(`${tenant}-${at}`, 'Queued', at)),
    );
    const turns = nextTurns(waiting, { perTenant: 4, total: 5 });
    expect(turns.map((id) => id[0])).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});
