// The pod policy, judged again before anything is applied: a record may be older than the CRD that would refuse it.

import type { AppDeploymentSpec } from '../api/app-deployment.ts';
import { type PodPolicy, podPolicyBreaches } from '../api/pod-policy.ts';

/** Every breach, as sentences for people; empty where there is none. */
export function breachesOf(spec: Readonly<AppDeploymentSpec>, policy: PodPolicy): string[] {
  return Array.from(
    podPolicyBreaches(spec.sourceConfig.resourceSpec ?? {}, policy),
    ({ at, message }) => `${at.join('.')}: ${message}`,
  );
}
