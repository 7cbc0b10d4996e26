// The pod policy, judged again before anything is applied: a record may be older than the CRD that would refuse it.

import type { AppDeploymentSpec } from '../../api/app-deployment.ts';
import { type Breach, type PodPolicy, podPolicyBreaches } from '../../api/pod-policy.ts';
import { type ReachRules, reachBreaches } from '../../api/pod-reach.ts';

/** Every breach, as sentences for people; empty where there is none. */
export function breachesOf(spec: Readonly<AppDeploymentSpec>, policy: PodPolicy): string[] {
  return Array.from(podPolicyBreaches(spec.sourceConfig.resourceSpec ?? {}, policy), sentence);
}

/** Everything that reaches beyond the pods and is not let through. */
export function reachesOf(spec: Readonly<AppDeploymentSpec>, rules: ReachRules): string[] {
  return Array.from(reachBreaches(spec.sourceConfig.resourceSpec ?? {}, rules), sentence);
}

function sentence({ at, message }: Breach): string {
  return `${at.join('.')}: ${message}`;
}
