import { expect, it } from 'vitest';
import { aPod, aRecord, aRevision } from '../../../test/support/builders.ts';
import type { Pod } from '../../deploy/assess/observed.ts';
import { partLabel, restartsBetween } from './statuses.ts';

const REVISION = aRevision(aRecord());
const pod = (component: string, restarts: number, ofSidecar = 0): Pod =>
  aPod(component, REVISION, {
    init: [{ name: 'proxy', restartCount: ofSidecar }],
    main: [{ name: component, restartCount: restarts }, { name: 'new' }],
  });

it.each<[string, Pod | undefined, Pod, number]>([
  ['each container counts', pod('server', 1, 1), pod('server', 2, 3), 3],
  ['what was before is unknown', undefined, pod('server', 9), 0],
  ['none fewer than none', pod('server', 9), pod('server', 0), 0],
  ['a store', pod('postgres', 0), pod('postgres', 1), 1],
  ['a run of a task is no part', pod('task', 0), pod('task', 1), 0],
])('counts restarts: %s', (_what, before, after, want) => {
  expect(restartsBetween(before, after)).toBe(want);
});

it("names no worker, whose name is its tenant's", () => {
  expect(['server', 'queue', 'redis', 'mails', 'task', 'migrate'].map((one) => partLabel(pod(one, 0)))).toEqual([
    'server',
    'queue',
    'redis',
    'worker',
    undefined,
    undefined,
  ]);
});
