import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../test/support/builders.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import type { BuildPhase } from '../kinds/build.ts';
import { type Contender, nextTurns } from './turns.ts';

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

const running = { kind: 'Job', apiVersion: 'batch/v1', metadata: { name: 'build' }, spec: { suspend: false } };
const nothing: Contender = { record: undefined, siblings: [], job: undefined, isPaused: false };

/** Builds that can all begin, but for what `more` says of some by their id. */
function turnsOf(
  builds: readonly AppRevision[],
  most = limits,
  more: Readonly<Record<string, Partial<Contender>>> = {},
): readonly string[] {
  const record = aRecord();
  return nextTurns(builds, most, (revision) => ({
    ...nothing,
    record,
    siblings: [revision],
    ...more[revision.spec.id],
  }));
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
      'none while all turns are taken',
      [build('a-1', 'Building'), build('b-1', 'Building'), build('c-1', 'Building'), build('d-1', 'Queued')],
      [],
    ],
  ])('%s', (_what, builds, turns) => {
    expect(turnsOf(builds)).toEqual(turns);
    expect(turnsOf(builds.toReversed())).toEqual(turns);
  });

  it('gives every tenant one turn before any tenant gets a second', () => {
    const waiting = ['a', 'b', 'c', 'd', 'e'].flatMap((tenant) =>
      [1, 2, 3, 4].map((at) => build(`${tenant}-${at}`, 'Queued', at)),
    );
    const turns = turnsOf(waiting, { perTenant: 4, total: 5 });
    expect(turns.map((id) => id[0])).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  const newer = build('a-9', 'Queued');
  const hindered = (name: string): AppRevision => {
    const made = build(name, 'Queued');
    return { ...made, status: { build: { phase: 'Queued', reason: 'CodeHostUnreachable' } } };
  };
  const interrupted = aRecord({}, { annotations: { 'davit.dev/interrupt': 'a-1' } });

  it.each<[string, Partial<Contender>]>([
    ['is paused', { isPaused: true }],
    ['has no record or tenant any more', { record: undefined, siblings: [] }],
    ['is interrupted', { record: interrupted }],
    ['was overtaken by a newer revision', { siblings: [newer, build('a-1', 'Queued')] }],
    ['does not know its commit yet', { record: aRecord({ source: 'codehost' }) }],
  ])('gives no turn to a build that %s, and others have it', (_what, contender) => {
    const waiting = [build('a-1', 'Queued', 1), build('b-1', 'Queued', 2)];
    expect(turnsOf(waiting, { perTenant: 1, total: 1 }, { 'a-1': contender })).toEqual(['b-1']);
  });

  it('gives no turn to a build that something hinders', () => {
    expect(turnsOf([hindered('a-1'), build('b-1', 'Queued', 2)], { perTenant: 1, total: 1 })).toEqual(['b-1']);
  });

  it.each<[string, Partial<Contender>, string[]]>([
    ['whose record or tenant is gone has no turn', { record: undefined }, ['b-1']],
    ['that is paused before its pod runs has no turn', { isPaused: true }, ['b-1']],
    ['has its turn as long as its pod runs', { record: undefined, job: running }, []],
    ['that is paused while its pod runs has its turn', { isPaused: true, job: running }, []],
    [
      'that is suspended and paused has no turn',
      { isPaused: true, job: { ...running, spec: { suspend: true } } },
      ['b-1'],
    ],
    ['that is about to run has its turn', {}, []],
  ])('a begun build %s', (_what, contender, turns) => {
    const builds = [build('a-1', 'AwaitingBuild'), build('b-1', 'Queued')];
    expect(turnsOf(builds, { perTenant: 1, total: 1 }, { 'a-1': contender })).toEqual(turns);
  });

  it('looks no further where all turns are taken', () => {
    const builds = [build('a-1', 'Building'), ...[1, 2, 3].map((n) => build(`b-${n}`, 'Queued'))];
    let asked = 0;
    const turns = nextTurns(builds, { perTenant: 1, total: 1 }, (revision) => {
      asked += 1;
      return { ...nothing, record: aRecord(), siblings: [revision] };
    });
    expect([turns, asked]).toEqual([[], 1]);
  });
});
