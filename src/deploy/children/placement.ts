// Placement and pull secrets of the pods of a part, as stored in the revision.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import type { Resolved } from '../../kinds/app-revision.ts';
import { COMPONENTS } from '../../kinds/meta.ts';
import type { ChosenPlacement } from '../../kinds/placement.ts';
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

/** The platform's placement with what the record chooses, which wins: the platform lists what may be chosen. */
export function withChosen(
  platform: PodPlacement,
  { nodeSelector, tolerations = [], runtimeClassName, hostUsers }: Readonly<ChosenPlacement> = {},
): PodPlacement & Pick<IPodSpec, 'runtimeClassName' | 'hostUsers'> {
  return {
    ...platform,
    ...(nodeSelector && { nodeSelector: { ...platform.nodeSelector, ...nodeSelector } }),
    ...(tolerations.length > 0 && {
      tolerations: [...(platform.tolerations ?? []), ...tolerations] as PodPlacement['tolerations'] & object,
    }),
    ...(runtimeClassName !== undefined && { runtimeClassName }),
    ...(hostUsers !== undefined && { hostUsers }),
  };
}

/** The sizes of a main container with its other resources, of which request and limit are one amount. */
export function withResources(
  sizes: NonNullable<IContainer['resources']>,
  { resources }: Readonly<ChosenPlacement> = {},
): NonNullable<IContainer['resources']> {
  if (resources === undefined || Object.keys(resources).length === 0) return sizes;
  return { requests: { ...sizes.requests, ...resources }, limits: { ...sizes.limits, ...resources } };
}

/** The record's pull secrets, then the platform's. */
export function pullSecretsFor(
  { pullSecrets = [] }: Resolved,
  named: readonly { readonly name: string }[] = [],
): Pick<IPodSpec, 'imagePullSecrets'> {
  const names = new Set([...named.map(({ name }) => name), ...pullSecrets]);
  return names.size > 0 ? { imagePullSecrets: [...names].map((name) => ({ name })) } : {};
}
