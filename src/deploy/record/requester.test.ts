// Who a record and its next revision are attributed to.

import { describe, expect, it } from 'vitest';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { LONGEST_USERNAME } from '../../kinds/meta.ts';
import {
  claimOfChange,
  claimOfCreation,
  claimOfInterrupt,
  interrupterOf,
  requesterOf,
  revisionRequesterOf,
} from './requester.ts';

const uid = '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11';
const KEY = 'davit.dev/requested-by';

function record(generation: number, claim?: string, status?: AppDeployment['status']): AppDeployment {
  return {
    metadata: { name: 'shop', uid, generation, ...(claim !== undefined && { annotations: { [KEY]: claim } }) },
    ...(status && { status }),
  } as unknown as AppDeployment;
}
function revisionOf(deploymentGeneration: number): AppRevision {
  return { spec: { id: 'newest', deploymentGeneration } } as unknown as AppRevision;
}
function reported(observedGeneration: number, status: 'True' | 'False'): NonNullable<AppDeployment['status']> {
  const ready = { type: 'Ready', status, reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
  return { observedGeneration, conditions: [ready] };
}
/** `latestRevisionGeneration`: of which the revision of `latestRevisionId` has all values. */
function covering(
  observedGeneration: number,
  latestRevisionGeneration: number,
  latestRevisionId = 'newest',
): NonNullable<AppDeployment['status']> {
  return { ...reported(observedGeneration, 'False'), latestRevisionId, latestRevisionGeneration };
}

describe('the writer of a spec', () => {
  it.each([
    ['his own change', record(7, `${uid} 7 anna`), 'anna'],
    ['a service account', record(7, `${uid} 7 system:serviceaccount:ci:deployer`), 'system:serviceaccount:ci:deployer'],
    ['a name with spaces', record(7, `${uid} 7 CN=Anna  A, O=x`), 'CN=Anna  A, O=x'],
    ['his creation', record(1, 'new 1 anna'), 'anna'],
    ['no claim', record(7), undefined],
    ['an earlier change', record(8, `${uid} 7 anna`), undefined],
    ['a later change', record(6, `${uid} 7 anna`), undefined],
    ['a creation that was changed since', record(2, 'new 1 anna'), undefined],
    ['a creation in another form', record(2, 'new 2 anna'), undefined],
    ['a record that was restored', record(7, '0b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11 7 anna'), undefined],
    ['no name', record(7, `${uid} 7 `), undefined],
    ['a name that moves the cursor', record(7, `${uid} 7 an\u001B[2Jna`), undefined],
    ['a name that turns the text', record(7, `${uid} 7 an\u202Ena`), undefined],
    ['a long name', record(7, `${uid} 7 ${'a'.repeat(LONGEST_USERNAME + 1)}`), undefined],
  ])('%s', (_reason, of, expected) => {
    expect(requesterOf(of)).toBe(expected);
  });

  it('is believed from what the facade writes, for that write alone', () => {
    expect(requesterOf(record(1, claimOfCreation('anna')?.[KEY]))).toBe('anna');
    const claim = claimOfChange(record(7), 'anna')?.[KEY];
    expect([7, 8, 9].map((generation) => requesterOf(record(generation, claim)))).toEqual([
      undefined,
      'anna',
      undefined,
    ]);
    expect(claimOfChange(record(7), 'an\nna')).toBeUndefined();
    expect(claimOfCreation('')).toBeUndefined();
  });
});

it('a deletion names nobody: it makes a generation that no claim is of', () => {
  const leaving = (generation: number): AppDeployment => {
    const { metadata } = record(generation, `${uid} 7 anna`);
    return { metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } } as AppDeployment;
  };
  expect(requesterOf(leaving(8))).toBeUndefined();
});

describe('an interrupt', () => {
  const REVISION = '1c5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11';
  function asked(of: string, claim: string): AppDeployment {
    const annotations = { 'davit.dev/interrupt': of, 'davit.dev/interrupted-by': claim };
    return { metadata: { name: 'shop', uid, generation: 1, annotations } } as unknown as AppDeployment;
  }

  it.each([
    ['who asked for it', asked(REVISION, `${uid} ${REVISION} anna`), 'anna'],
    ['in capitals', asked(REVISION.toUpperCase(), `${uid} ${REVISION} anna`), 'anna'],
    ['of another revision', asked('2c5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11', `${uid} ${REVISION} anna`), undefined],
    ['of another record', asked(REVISION, `0${uid.slice(1)} ${REVISION} anna`), undefined],
    ['no name', asked(REVISION, `${uid} ${REVISION}`), undefined],
    ['no interrupt', record(1), undefined],
  ])('%s', (_reason, of, expected) => {
    expect(interrupterOf(of)).toBe(expected);
  });

  it('is believed from what is written with it', () => {
    const claim = claimOfInterrupt(record(1), REVISION.toUpperCase(), 'anna');
    expect(claim).toEqual({ 'davit.dev/interrupted-by': `${uid} ${REVISION} anna` });
    expect(claimOfInterrupt(record(1), REVISION, '')).toBeUndefined();
  });
});

describe('a revision', () => {
  const waiting: AppDeployment['status'] = {
    observedGeneration: 1,
    conditions: [
      {
        type: 'Ready',
        status: 'False',
        reason: 'WaitingForImage',
        message: '',
        lastTransitionTime: '2026-02-02T02:02:02Z',
      },
    ],
  };
  const claimed = (status?: AppDeployment['status']): AppDeployment => record(7, `${uid} 7 anna`, status);
  it.each([
    ['the first one, of the creation', record(1, 'new 1 anna'), [], 'anna'],
    ['the change after the newest one', claimed(), [revisionOf(6), revisionOf(2)], 'anna'],
    ['the same while that one fails', claimed(reported(6, 'False')), [revisionOf(6)], 'anna'],
    ['after a change of scale that is done', claimed(reported(6, 'True')), [revisionOf(3)], 'anna'],
    ['after a change of scale that is not done', claimed(covering(6, 6)), [revisionOf(5)], 'anna'],
    ['after several of them', claimed(covering(6, 6)), [revisionOf(2)], 'anna'],
    ['after them, in a record that is paused since', claimed(covering(7, 6)), [revisionOf(2)], 'anna'],
    ["another's change after them, that no revision has", claimed(covering(6, 5)), [revisionOf(2)], undefined],
    ['what was said of the revision before', claimed(covering(6, 6, 'older')), [revisionOf(4)], undefined],
    ["another's change before it that no revision has", claimed(reported(5, 'True')), [revisionOf(5)], undefined],
    ['the same in a record that was paused', claimed(reported(6, 'False')), [revisionOf(5)], undefined],
    ['the first one, of an upload to a record that waited for it', record(2, `${uid} 2 anna`, waiting), [], 'anna'],
    ['the first one, of a change after the creation', record(2, `${uid} 2 anna`), [], undefined],
    ['a claim of an earlier change', record(8, `${uid} 7 anna`), [revisionOf(7)], undefined],
  ] as const)('%s', (_reason, of, own, expected) => {
    expect(revisionRequesterOf(of, own)).toBe(expected);
  });
});
