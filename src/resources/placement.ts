// Where the pods of a part may run, and with which Secrets their images are pulled: as the revision has it.

import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import type { Resolved } from '../api/app-revision.ts';
import type { Component } from '../api/meta.ts';
import { selectorLabels } from './labels.ts';

type PodPlacement = Pick<IPodSpec, 'nodeSelector' | 'tolerations' | 'topologySpreadConstraints' | 'priorityClassName'>;

/** Fields of a pod's spec; none where the platform has said nothing of the part. */
export function placementFor({ placement }: Resolved, part: Component, recordName: string): PodPlacement {
  const { nodeSelector, tolerations, topologySpread, priorityClassName } = placement?.[part] ?? {};
  const labelSelector = { matchLabels: selectorLabels(recordName, part) };
  return {
    ...(nodeSelector && { nodeSelector }),
    // zod says "or undefined" of what may be absent.
    ...(tolerations &&
      tolerations.length > 0 && { tolerations: [...tolerations] as PodPlacement['tolerations'] & object }),
    ...(topologySpread &&
      topologySpread.length > 0 && {
        topologySpreadConstraints: topologySpread.map((spread) => ({ ...spread, labelSelector })),
      }),
    ...(priorityClassName !== undefined && { priorityClassName }),
  };
}

/** Those that the record names, then the platform's. */
export function pullSecretsFor(
  { pullSecrets = [] }: Resolved,
  named: readonly { readonly name: string }[] = [],
): Pick<IPodSpec, 'imagePullSecrets'> {
  const names = new Set([...named.map(({ name }) => name), ...pullSecrets]);
  return names.size > 0 ? { imagePullSecrets: [...names].map((name) => ({ name })) } : {};
}
