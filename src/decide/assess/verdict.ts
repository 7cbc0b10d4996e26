// What one check says: whether it holds, why, and whether only a person can mend it.

import type { Reason } from '../../api/app-deployment-conditions.ts';

export interface Verdict {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  readonly message: string;
  /** Only a person can mend it. */
  readonly stalled?: boolean;
}

export function yes(reason: Reason, message: string): Verdict {
  return { status: 'True', reason, message };
}
export function no(reason: Reason, message: string, stalled = false): Verdict {
  return { status: 'False', reason, message, stalled };
}
