import { expect, it } from 'vitest';
import { migratedWrongly } from './migration-invariants.ts';
import type { Sighting } from './object-history.ts';

let version = 0n;
function seen(kind: string, object: object, gone = false): Sighting {
  version += 1n;
  return { kind, object: object as Sighting['object'], gone, version, at: 0 };
}
function revision(id: string, more: object = {}): Sighting {
  const requested = { runtime: { migrate: { args: ['up'] } } };
  return seen('AppRevision', { metadata: { name: id, uid: id }, spec: { id, requested, resolved: {}, ...more } });
}
function job(id: string, uid: string, ended?: string, gone = false): Sighting {
  const labels = {
    'davit.dev/component': 'migrate',
    'davit.dev/revision': id,
    'davit.dev/deployment-uid': 'record',
  };
  const status = ended === undefined ? {} : { conditions: [{ type: ended, status: 'True' }] };
  return seen('Job', { metadata: { name: `job-${uid}`, uid, labels }, status }, gone);
}
function pod(id: string, exitCode: number): Sighting {
  const labels = { 'davit.dev/component': 'migrate', 'davit.dev/revision': id, 'davit.dev/deployment-uid': 'record' };
  const containerStatuses = [{ name: 'davit-migration', state: { terminated: { exitCode } } }];
  return seen('Pod', { metadata: { name: `pod-${id}`, uid: `pod-${id}`, labels }, status: { containerStatuses } });
}
function rolled(id: string): Sighting {
  const template = { metadata: { labels: { 'davit.dev/revision': id } } };
  return seen('Deployment', { metadata: { name: 'shop', uid: 'd' }, spec: { template } });
}

it.each<[name: string, history: readonly Sighting[], wrong: string | undefined]>([
  ['a rollout after the migration', [revision('a'), job('a', '1'), job('a', '1', 'Complete'), rolled('a')], undefined],
  ['one without a migration', [revision('a', { requested: {} }), rolled('a')], undefined],
  ['a rollback', [revision('a', { resolved: { migrated: true } }), rolled('a')], undefined],
  ['a rollout before the end', [revision('a'), job('a', '1'), rolled('a')], 'has not succeeded'],
  ['a rollout as soon as its container has ended', [revision('a'), job('a', '1'), pod('a', 0), rolled('a')], undefined],
  [
    'a rollout after its container has failed',
    [revision('a'), job('a', '1'), pod('a', 3), rolled('a')],
    'not succeeded',
  ],
  [
    'the next as soon as its container has ended',
    [revision('a'), job('a', '1'), pod('a', 0), job('a', '1'), revision('b'), job('b', '2')],
    undefined,
  ],
  ['a rollout after a failure', [revision('a'), job('a', '1', 'Failed'), rolled('a')], 'has not succeeded'],
  ['a second Job', [revision('a'), job('a', '1', 'Failed'), job('a', '1', 'Failed', true), job('a', '2')], 'two Jobs'],
  ['two at once', [revision('a'), job('a', '1'), revision('b'), job('b', '2')], 'beside another'],
  ['one after the other', [revision('a'), job('a', '1', 'Failed'), revision('b'), job('b', '2')], undefined],
])('%s', (_name, history, wrong) => {
  if (wrong === undefined) expect(migratedWrongly(history)).toBeUndefined();
  else expect(migratedWrongly(history)).toContain(wrong);
});
