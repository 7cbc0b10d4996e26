// Listener: a further cluster whose own Davit runs the records that name it. The object is in the tenant's namespace.

import { z } from 'zod';
import { type OwnObject, ownKind } from './meta.ts';
import { Count, DNS_LABEL_PATTERN, ObservedStatus, Time, text } from './primitives.ts';

export const ListenerSpec = z.object({
  description: text(4096).describe('Description of the cluster, for people.').optional(),
  namespaces: z
    .array(z.string().min(1).max(63).regex(new RegExp(DNS_LABEL_PATTERN)))
    .min(1)
    .max(500)
    .meta({ 'x-kubernetes-list-type': 'set' })
    .describe('Namespaces of the cluster that records may name in listener_config.k8s_namespace. None if absent.')
    .optional(),
});

export const ListenerStatus = ObservedStatus.extend({
  version: text(64).describe("Version of the cluster's Davit, as it reports it.").optional(),
  lastSeenAt: Time.describe(
    'When the cluster was last seen, by the clock of this Davit. Updated at most every five minutes.',
  ).optional(),
  clusterId: text(64)
    .describe('uid of the namespace kube-system of the cluster that enrolled. Another cluster is rejected.')
    .optional(),
  epoch: Count.describe(
    'Highest leaseTransitions of its Lease so far. Reports of earlier ones are outdated.',
  ).optional(),
  namespace: text(63).describe('Namespace in which the cluster finds its work.').optional(),
  records: Count.describe('Number of AppDeployments that name it.').optional(),
});

export type Listener = OwnObject<'Listener', z.infer<typeof ListenerSpec>, z.infer<typeof ListenerStatus>>;

export const LISTENERS = ownKind('Listener');
