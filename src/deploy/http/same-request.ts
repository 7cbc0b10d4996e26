// Whether two requests mean the same, by the comparison that decides on a new revision.

import type { AppDeploymentSpec, SecretReference } from '../../kinds/app-deployment.ts';
import { requestedOf, sameRequested } from '../record/requested.ts';

export const ASKS_NOTHING: AppDeploymentSpec = {
  source: 'external_docker',
  sourceConfig: {},
  sourceRevisionConfig: {},
  secrets: [],
  tracingProjectDeletionPolicy: 'Retain',
};

/** Whether both set the same variables from the same keys. The order does not matter. */
export function sameSet(a: readonly SecretReference[], b: readonly SecretReference[]): boolean {
  const requested = (secrets: readonly SecretReference[]): ReturnType<typeof requestedOf> =>
    requestedOf({ ...ASKS_NOTHING, secrets: [...secrets] });
  return sameRequested(requested(a), requested(b));
}
