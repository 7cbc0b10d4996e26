import { expect, it } from 'vitest';
import { anObserved, aRecord, aRevision, aWorkload } from '../../../test/support/builders.ts';
import { AUTOSCALED_ANNOTATION } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { handedOver, handOverFloor } from './replicas-handover.ts';

function server(annotation: string | undefined, replicas?: number): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'shop',
      ...(annotation !== undefined && { annotations: { [AUTOSCALED_ANNOTATION]: annotation } }),
    },
    ...(replicas !== undefined && { spec: { replicas } }),
  } as KubeObject;
}

const AUTOSCALER = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'shop' },
  spec: { minReplicas: 2 },
} as KubeObject;

it.each([
  { reason: 'no autoscaler is wanted', wanted: server(undefined), actual: server('true', 4), want: undefined },
  { reason: 'the number is still ours', wanted: server('true'), actual: server(undefined, 3), want: 2 },
  { reason: 'handed over before', wanted: server('true'), actual: server('true', 3), want: undefined },
  { reason: 'the mark was taken off, so nobody knows', wanted: server('true'), actual: server('false', 3), want: 2 },
  { reason: 'an autoscaler rests at none', wanted: server('true'), actual: server('true', 0), want: 2 },
])('$reason', ({ wanted, actual, want }) => {
  expect(handOverFloor(wanted, actual, [wanted, AUTOSCALER])).toBe(want);
});

it('hands over what is there: what is still to be made begins with its minimum', () => {
  const record = aRecord({ sourceConfig: { resourceSpec: { maxScale: 3, queueMaxScale: 2, executorCpu: 1 } } });
  const revision = aRevision(record);
  const children = [aWorkload('server', revision), aWorkload('executor', revision)];
  expect([...handedOver(anObserved(record, { children }), revision)]).toEqual(['server']);
});
