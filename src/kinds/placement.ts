// Where the pods of a part may run. The platform's settings decide it, and each revision stores the decision. A record may choose among what
// the settings list.

import { z } from 'zod';
import { COMPONENTS, type Component } from './meta.ts';
import { DNS_SUBDOMAIN_PATTERN } from './name-patterns.ts';
import { celRules, integer, listOf, matching, ObjectName, oneOf, Quantity, text } from './primitives.ts';

const key = z.string().min(1).max(317);
const word = text(63);

const Toleration = z.object({
  key: key.describe('Key of the taint. If absent with operator Exists: all taints.').optional(),
  operator: oneOf(['Exists', 'Equal']).describe('How the value is compared.').optional(),
  value: word.describe('Value of the taint.').optional(),
  effect: oneOf(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
    .describe('Effect of the taint. If absent: all effects.')
    .optional(),
  tolerationSeconds: integer(0, 31_536_000).describe('How long a NoExecute taint is tolerated, in seconds.').optional(),
});

const Spread = z.object({
  topologyKey: key.describe('Label of nodes, such as topology.kubernetes.io/zone.'),
  maxSkew: integer(1, 100).describe('Maximum difference of the number of pods between two domains.'),
  whenUnsatisfiable: oneOf(['DoNotSchedule', 'ScheduleAnyway']).describe(
    'Whether a pod that would exceed maxSkew waits or is scheduled anyway.',
  ),
});

export const Placement = z.object({
  nodeSelector: z.record(key, word).meta({ maxProperties: 20 }).describe('Labels that a node must have.').optional(),
  tolerations: listOf(Toleration, 20).describe('Tolerated taints, as in a pod.').optional(),
  topologySpread: listOf(Spread, 5)
    .describe('How the pods of the part are spread. Davit adds the label selector.')
    .optional(),
  priorityClassName: matching(DNS_SUBDOMAIN_PATTERN, 253, 1).describe('PriorityClass of the pods.').optional(),
});
export type Placement = z.infer<typeof Placement>;

/** Placement as written in the settings: unknown fields are rejected. */
export const PlacementSetting = z.strictObject({
  ...Placement.shape,
  tolerations: listOf(z.strictObject(Toleration.shape), 20).describe('As in a pod.').optional(),
  topologySpread: listOf(
    z.strictObject({
      ...Spread.shape,
      maxSkew: Spread.shape.maxSkew.default(1),
      whenUnsatisfiable: Spread.shape.whenUnsatisfiable.default('ScheduleAnyway'),
    }),
    5,
  )
    .describe('How the pods of the part are spread.')
    .optional(),
});

export const SIZED_RESOURCE_MESSAGE = 'cpu and memory are sizes of the part: remove them here';

/** What a record may choose for the pods of a part. */
export const ChosenPlacement = z
  .object({
    nodeSelector: Placement.shape.nodeSelector,
    tolerations: listOf(z.object({ ...Toleration.shape, key: key.describe('Key of the taint.') }), 20)
      .describe('Tolerated taints, as in a pod.')
      .optional(),
    runtimeClassName: ObjectName.describe('RuntimeClass of the pods, such as gvisor.').optional(),
    hostUsers: z.literal(false).describe('false: the pods have a user namespace of their own.').optional(),
    resources: z
      .record(key, Quantity)
      .meta({
        maxProperties: 10,
        ...celRules([{ rule: "!('cpu' in self) && !('memory' in self)", message: SIZED_RESOURCE_MESSAGE }]),
      })
      .describe('Other resources of the main container, such as nvidia.com/gpu or ephemeral-storage.')
      .optional(),
  })
  .describe('Where the pods of this part run, within settings.placement.allowed.');
export type ChosenPlacement = z.infer<typeof ChosenPlacement>;

/** What records may choose; other resources are in settings.limits.resources. */
export const AllowedPlacement = z.strictObject({
  nodeSelector: z
    .record(key, listOf(word, 100))
    .default({})
    .describe('Labels of nodes that records may select, each with its values.'),
  tolerations: listOf(key, 100).default([]).describe('Keys of the taints that records may tolerate.'),
  runtimeClasses: listOf(ObjectName, 20).default([]).describe('RuntimeClasses that records may name.'),
});

/** An optional entry for each part. */
export function perPart<Part extends z.ZodType>(part: Part): Record<Component, z.ZodOptional<Part>> {
  const each = COMPONENTS.map((name) => [name, part.describe(`Pods of the ${name}.`).optional()] as const);
  return Object.fromEntries(each) as Record<Component, z.ZodOptional<Part>>;
}
