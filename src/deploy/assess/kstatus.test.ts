// What `helm --wait`, Flux and kpt make of a record: they read its conditions by the rules of kstatus, of which
// this is a small copy. Source: sigs.k8s.io/cli-utils, pkg/kstatus, "The Conditions".

import { expect, it } from 'vitest';
import { type KStatus, SEEN_RECORDS } from '../../../test/support/status-samples.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { conditionOf } from '../../kinds/conditions.ts';

function kstatus({ metadata, status }: AppDeployment): KStatus {
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation)
    return 'InProgress';
  const is = (type: string, value: string): boolean => conditionOf(status?.conditions, type)?.status === value;
  if (is('Reconciling', 'True')) return 'InProgress';
  if (is('Stalled', 'True')) return 'Failed';
  if (is('Ready', 'False') || is('Ready', 'Unknown')) return 'InProgress';
  return 'Current';
}

it.each(SEEN_RECORDS)('$name: $kstatus', ({ record, kstatus: want }) => {
  expect(kstatus(record)).toBe(want);
});
