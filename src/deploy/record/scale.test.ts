import { describe, expect, it } from 'vitest';
import { aSpec, SETTINGS } from '../../../test/support/builders.ts';
import type { ResourceSpec } from '../../kinds/resource-spec.ts';
import { resolve } from './resolve.ts';
import { autoscaledParts, raisedMinimums, scaleOf } from './scale.ts';

function resolved(resourceSpec: ResourceSpec): ReturnType<typeof resolve> {
  return resolve(aSpec({ sourceConfig: { resourceSpec } }), SETTINGS);
}

describe('scaleOf', () => {
  it.each([
    { reason: 'the default', spec: {}, role: 'server', want: { kind: 'fixed', replicas: 1 } },
    {
      reason: 'both ends alike',
      spec: { minScale: 3, maxScale: 3 },
      role: 'server',
      want: { kind: 'fixed', replicas: 3 },
    },
    { reason: 'a range', spec: { minScale: 2, maxScale: 5 }, role: 'server', want: { kind: 'range', min: 2, max: 5 } },
    {
      reason: 'an autoscaler refuses 0',
      spec: { minScale: 0, maxScale: 5 },
      role: 'server',
      want: { kind: 'range', min: 1, max: 5 },
    },
    {
      reason: 'nothing to decide',
      spec: { minScale: 0, maxScale: 1 },
      role: 'server',
      want: { kind: 'fixed', replicas: 1 },
    },
    { reason: 'zero', spec: { minScale: 0, maxScale: 0 }, role: 'server', want: { kind: 'fixed', replicas: 0 } },
    {
      reason: 'zero holds for all',
      spec: { minScale: 0, maxScale: 0, queueMaxScale: 4 },
      role: 'queue',
      want: { kind: 'fixed', replicas: 0 },
    },
    {
      reason: 'queue workers have a range of their own',
      spec: { queueMinScale: 1, queueMaxScale: 4 },
      role: 'queue',
      want: { kind: 'range', min: 1, max: 4 },
    },
    {
      reason: 'queue fields default to the main ones',
      spec: { minScale: 2, maxScale: 6, queueCpu: 1 },
      role: 'queue',
      want: { kind: 'range', min: 2, max: 6 },
    },
    {
      reason: 'an orchestrator too',
      spec: { orchestratorMaxScale: 2 },
      role: 'orchestrator',
      want: { kind: 'range', min: 1, max: 2 },
    },
    {
      reason: 'an orchestrator of none',
      spec: { orchestratorMaxScale: 0 },
      role: 'orchestrator',
      want: { kind: 'fixed', replicas: 0 },
    },
    {
      reason: 'one executor',
      spec: { minScale: 3, maxScale: 6, executorCpu: 1 },
      role: 'executor',
      want: { kind: 'fixed', replicas: 1 },
    },
  ] as const)('$role: $reason', ({ spec, role, want }) => {
    expect(scaleOf(resolved(spec), role)).toEqual(want);
  });
});

it('names the roles that are autoscaled', () => {
  expect(autoscaledParts(resolved({ maxScale: 3, queueCpu: 1, orchestratorMaxScale: 2, executorCpu: 1 }))).toEqual([
    'server',
    'queue',
    'orchestrator',
  ]);
  expect(autoscaledParts(resolved({}))).toEqual([]);
  expect(autoscaledParts(resolved({ minScale: 0, maxScale: 0, queueMaxScale: 4 }))).toEqual([]);
});

it.each([
  { spec: { minScale: 0, maxScale: 3 }, want: ['server'] },
  { spec: { minScale: 0, maxScale: 1, queueMinScale: 0 }, want: ['server', 'queue'] },
  { spec: { minScale: 0, maxScale: 0 }, want: [] },
  { spec: { minScale: 1, maxScale: 3 }, want: [] },
])('names the roles whose minimum of 0 became 1: $spec', ({ spec, want }) => {
  expect(raisedMinimums(resolved(spec))).toEqual(want);
});
