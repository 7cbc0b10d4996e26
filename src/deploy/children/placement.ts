// Placement and pull secrets of the pods of a part, as stored in the revision.

import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import type { Resolved } from '../../kinds/app-revision.ts';
import { COMPONENTS } from '../../kinds/meta.ts';
import { selectorLabels } from '../record/labels.ts';

type PodPlacement = Pick<IPodSpec, 'nodeSelector' | 'tolerations' | 'topologySpreadConstraints' | 'priorityClassName'>;

/** Fields of a pod's spec; empty if the platform sets no placement for the part. The platform places workers as queue workers. */
export function placementFor({ placement }: Resolved, part: string, recordName: string): PodPlacement {
  const { nodeSelector, tolerations, topologySpread, priorityClassName } =
    placement?.[COMPONENTS.find((component) => component === part) ?? 'queue'] ?? {};
  const labelSelector = { matchLabels: selectorLabels(recordName, part) };
  return {
    ...(nodeSelector && { nodeSelector }),
    // zod types optional fields as "or undefined".
    ...(tolerations &&
      tolerations.length > 0 && { tolerations: [...tolerations] as PodPlacement['tolerations'] & object }),
    ...(topologySpread &&
      topologySpread.length > 0 && {
        topologySpreadConstraints: topologySpread.map((spread) => ({ ...spread, labelSelector })),
      }),
    ...(priorityClassName !== undefined && { priorityClassName }),
  };
}

/** The record's pull secrets, then the platform's. */
export function pullSecretsFor(
  { pullSecrets = [] }: Resolved,
  named: readonly { readonly name: string }[] = [],
): Pick<IPodSpec, 'imagePullSecrets'> {
  const names = new Set([...named.map(({ name }) => name), ...pullSecrets]);
  return names.size > 0 ? { imagePullSecrets: [...names].map((name) => ({ name })) } : {};
}
