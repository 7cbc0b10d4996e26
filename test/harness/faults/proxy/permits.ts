// What the API server would no longer let the process do: its old token, or what a deleted RoleBinding granted.

import type { IncomingMessage } from 'node:http';
import { WITHOUT_ROLE_BINDING } from '../namespace-deletion.ts';
import type { Asked } from './requests.ts';

export interface Permits {
  /** The first token that was seen is answered with 401 from now on. */
  refuseOldToken(): void;
  /** Forbids from now on what the chart grants by a RoleBinding in a listed namespace. */
  takeRoleBinding(): void;
  /** Is shown every request. */
  isTokenRefused(request: IncomingMessage): boolean;
  isForbidden(asked: Asked): boolean;
}

export function makePermits(): Permits {
  let firstToken: string | undefined;
  let isFirstTokenRefused = false;
  let isRoleBindingGone = false;
  return {
    refuseOldToken() {
      isFirstTokenRefused = true;
    },
    takeRoleBinding() {
      isRoleBindingGone = true;
    },
    isTokenRefused({ headers }) {
      firstToken ??= headers.authorization;
      return isFirstTokenRefused && headers.authorization === firstToken;
    },
    isForbidden: ({ resource }) => isRoleBindingGone && !WITHOUT_ROLE_BINDING.has(resource),
  };
}
