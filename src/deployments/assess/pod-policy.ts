// The pod policy, judged again before anything is applied: a record may be older than the setting or the rule that would refuse it.

import type { AppDeploymentSpec } from '../../schema/app-deployment.ts';
import { type PodPolicy, podPolicyBreaches } from '../../schema/pod-policy.ts';
import { type ReachRules, reachBreaches } from '../../schema/pod-reach.ts';
import type { SpecBreach } from '../../schema/spec-rules.ts';

/** Every breach, as sentences for people; empty where there is none. */
export function breachesOf(spec: Readonly<AppDeploymentSpec>, policy: PodPolicy): string[] {
  return Array.from(podPolicyBreaches(spec.sourceConfig.resourceSpec ?? {}, policy), sentence);
}

/** Everything that reaches beyond the pods and is not let through. */
export function reachesOf(spec: Readonly<AppDeploymentSpec>, rules: ReachRules): string[] {
  return Array.from(reachBreaches(spec.sourceConfig.resourceSpec ?? {}, rules), sentence);
}

function sentence({ at, message }: SpecBreach): string {
  return `${at.join('.')}: ${message}`;
}
