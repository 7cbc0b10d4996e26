import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { podsIdOf, revisionOnPods, sharesPods, storeIdOf } from './shared-pods.ts';

const OWN = aRevision(aRecord());
const ONE = 'a3b1c2d4-0000-4000-8000-000000000001';
const TWO = 'a3b1c2d4-0000-4000-8000-000000000002';

function sharing(resolved: Partial<AppRevision['spec']['resolved']>): AppRevision {
  return { ...OWN, spec: { ...OWN.spec, resolved: { ...OWN.spec.resolved, ...resolved } } };
}

describe('the ids on the pods of a revision', () => {
  it.each<{ name: string; of: AppRevision; server: string; queue: string; migrate: string; redis: string | undefined }>(
    [
      { name: 'its own', of: OWN, server: OWN.spec.id, queue: OWN.spec.id, migrate: OWN.spec.id, redis: undefined },
      {
        name: 'of one other revision, as an earlier Davit stored it',
        of: sharing({ podsOf: ONE }),
        server: ONE,
        queue: ONE,
        migrate: ONE,
        redis: undefined,
      },
      {
        name: 'of others by part',
        of: sharing({ podsOfParts: { server: ONE, redis: TWO } }),
        server: ONE,
        queue: OWN.spec.id,
        migrate: OWN.spec.id,
        redis: TWO,
      },
    ],
  )('$name', ({ of, server, queue, migrate, redis }) => {
    expect([podsIdOf(of, 'server'), podsIdOf(of, 'queue'), podsIdOf(of, 'migrate'), storeIdOf(of, 'redis')]).toEqual([
      server,
      queue,
      migrate,
      redis,
    ]);
    expect([sharesPods(of, 'server'), sharesPods(of, 'queue')]).toEqual([
      server !== OWN.spec.id,
      queue !== OWN.spec.id,
    ]);
  });
});

describe('the revision that runs on pods', () => {
  const of = (id: string, server?: string): AppRevision => {
    const one = sharing(server === undefined ? {} : { podsOfParts: { server } });
    return { ...one, spec: { ...one.spec, id } };
  };
  const THREE = 'a3b1c2d4-0000-4000-8000-000000000003';
  const [first, broken, repaired] = [of(ONE), of(TWO), of(THREE, ONE)];

  it.each([
    { name: 'a repair that returned to them', active: THREE, part: 'server', pods: ONE, want: THREE },
    { name: 'the one for which they were started', active: TWO, part: 'server', pods: TWO, want: TWO },
    { name: 'the active one, of several', active: ONE, part: 'server', pods: ONE, want: ONE },
    { name: 'the newest, where none of them is active', active: TWO, part: 'server', pods: ONE, want: THREE },
    { name: 'another part has its own', active: THREE, part: 'queue', pods: ONE, want: ONE },
    { name: 'one that is not kept', active: THREE, part: 'server', pods: OWN.spec.id, want: undefined },
  ])('is $name', ({ active, part, pods, want }) => {
    expect(revisionOnPods([repaired, broken, first], active, { part, id: pods })?.spec.id).toBe(want);
  });
});
