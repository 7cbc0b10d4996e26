// The fault harness makes its plans from what it has learned: what it would leave out without a word is looked at here.

import { expect, it } from 'vitest';
import { WORKLOADS } from '../../harness/faults/fault.ts';
import { editsOf } from '../../harness/faults/interference.ts';
import type { Sighting } from '../../harness/faults/object-history.ts';
import { allPlans, ownWrites } from '../../harness/faults/plans.ts';

function aChild(kind: string): Sighting {
  const annotations = { 'davit.dev/applied': 'd' };
  const isKept = kind === 'Secret' || kind === 'PersistentVolumeClaim';
  const ownerReferences = [{ kind: 'AppDeployment', uid: 'u' }];
  const metadata = { name: 'shop', ...(kind !== 'Secret' && { annotations }), ...(!isKept && { ownerReferences }) };
  return { kind, object: { metadata }, version: 1n, gone: false, at: 0 };
}

it.each([
  { kind: 'Deployment', want: ['delete', 'labels', 'owner', 'digest', 'field', 'remade'] },
  { kind: 'StatefulSet', want: ['delete', 'labels', 'owner', 'digest', 'field', 'remade'] },
  { kind: 'Service', want: ['delete', 'labels', 'owner', 'digest', 'field', 'remade'] },
  { kind: 'NetworkPolicy', want: ['delete', 'labels', 'owner', 'digest', 'field'] },
  { kind: 'PersistentVolumeClaim', want: ['delete', 'labels', 'digest', 'field'] },
  { kind: 'Secret', want: ['delete', 'labels'] },
  { kind: 'AppRevision', want: [] },
])('what a person may do to a $kind', ({ kind, want }) => {
  expect(editsOf([aChild(kind)]).map((meddling) => 'edit' in meddling && meddling.edit)).toEqual(want);
});

const LABELS = Array.from({ length: 60 }, (_, index) => `x/apply secrets build-ID-push#${index}`);

it('every write of every workload has the three crash points, and some write each of the other faults', () => {
  const references = new Map(WORKLOADS.map((workload) => [workload, { labels: LABELS, children: [] }]));
  const plans = allPlans(references);
  for (const workload of WORKLOADS.filter((name) => name !== 'doomed')) {
    const mine = plans.filter((plan) => plan.workload === workload).map(({ fault }) => fault);
    for (const at of ownWrites(workload, LABELS))
      expect(mine.filter((fault) => fault.kind.startsWith('crash-') && 'at' in fault && fault.at === at)).toHaveLength(
        3,
      );
    expect([...new Set(mine.map(({ kind }) => kind))]).toEqual(
      expect.arrayContaining([
        'lost',
        'lost-blind',
        'refused',
        'refused-committed',
        'throttled',
        'throttled-long',
        'leader-killed',
        'leader-stopped',
        'leader-paused',
      ]),
    );
  }
});

it('builds repeat neither the children that other workloads make nor every report of a step', () => {
  const own = [
    'create jobs build-ID#1',
    'apply secrets build-ID-push#1',
    'delete jobs build-ID#1',
    'delete services shop#1',
  ];
  const steps = [
    'apply apprevisions/status shop--REV#1',
    'apply apprevisions/status shop--REV#2',
    'apply appdeployments/status shop#1',
  ];
  const children = [
    'apply services shop-two#1',
    'create secrets shop-two--redis#1',
    'apply tracingprojects/status shop-two#1',
  ];
  const of = (workload: string, labels: readonly string[]): string[] => labels.map((label) => `${workload}/${label}`);
  for (const workload of ['builds-turns', 'builds-interrupt', 'builds-delete'] as const)
    expect(ownWrites(workload, of(workload, [...own, ...steps, ...children]))).toEqual(
      of(workload, [...own, ...steps.slice(0, 1)]),
    );
  expect(ownWrites('builds', of('builds', [...own, ...children]))).toEqual(of('builds', [...own, ...children]));
});
