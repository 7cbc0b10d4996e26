// Where the pods of a part may run: a platform's choice (settings), kept in each revision as it was then.

import { z } from 'zod';
import { COMPONENTS, type Component } from './meta.ts';
import { DNS_SUBDOMAIN_PATTERN } from './primitives.ts';

const key = z.string().min(1).max(317);
const word = z.string().max(63);

const Toleration = z.object({
  key: key.describe('Key of the taint; absent with operator Exists: all taints.').optional(),
  operator: z.enum(['Exists', 'Equal']).describe('How the value is compared.').optional(),
  value: word.describe('Value of the taint.').optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).describe('Effect; absent: all effects.').optional(),
  tolerationSeconds: z.int().min(0).max(31_536_000).describe('For so long, of NoExecute.').optional(),
});

const Spread = z.object({
  topologyKey: key.describe('Label of nodes, such as topology.kubernetes.io/zone.'),
  maxSkew: z.int().min(1).max(100).describe('By how many pods two domains may differ.'),
  whenUnsatisfiable: z
    .enum(['DoNotSchedule', 'ScheduleAnyway'])
    .describe('Whether a pod that would break it waits, or is placed all the same.'),
});

export const Placement = z.object({
  nodeSelector: z.record(key, word).meta({ maxProperties: 20 }).describe('Labels that a node must have.').optional(),
  tolerations: z.array(Toleration).max(20).describe('Taints that do not keep the pods away, as in a pod.').optional(),
  topologySpread: z
    .array(Spread)
    .max(5)
    .describe('How the pods of the part are spread; which pods are meant is added.')
    .optional(),
  priorityClassName: z
    .string()
    .min(1)
    .max(253)
    .regex(new RegExp(DNS_SUBDOMAIN_PATTERN))
    .describe('PriorityClass of the pods.')
    .optional(),
});
export type Placement = z.infer<typeof Placement>;

/** The same as a person writes it: what is misspelt is refused. */
export const PlacementSetting = z.strictObject({
  ...Placement.shape,
  tolerations: z.array(z.strictObject(Toleration.shape)).max(20).describe('As in a pod.').optional(),
  topologySpread: z
    .array(
      z.strictObject({
        ...Spread.shape,
        maxSkew: Spread.shape.maxSkew.default(1),
        whenUnsatisfiable: Spread.shape.whenUnsatisfiable.default('ScheduleAnyway'),
      }),
    )
    .max(5)
    .describe('How the pods of the part are spread.')
    .optional(),
});

/** One for each part that is placed otherwise than by the cluster's own rules. */
export function perPart<Part extends z.ZodType>(part: Part): Record<Component, z.ZodOptional<Part>> {
  const each = COMPONENTS.map((name) => [name, part.describe(`Pods of the ${name}.`).optional()] as const);
  return Object.fromEntries(each) as Record<Component, z.ZodOptional<Part>>;
}
