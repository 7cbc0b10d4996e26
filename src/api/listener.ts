// Listener: a further cluster whose own Davit runs the records that are assigned to it. The object is in the tenant's
// namespace. The other cluster's Davit will report its status; until that is implemented nothing writes it, and this Davit does not
// reconcile the listener's records.

import { z } from 'zod';
import type { KubeObject, ObjectMeta } from '../kube/client.ts';
import { DNS_LABEL_PATTERN, ObservedStatus } from './primitives.ts';

export const ListenerSpec = z.object({
  description: z.string().max(4096).describe('Description of the cluster, for people.').optional(),
  namespaces: z
    .array(z.string().min(1).max(63).regex(new RegExp(DNS_LABEL_PATTERN)))
    .min(1)
    .max(500)
    .meta({ 'x-kubernetes-list-type': 'set' })
    .describe('Namespaces of the cluster that records may name in listener_config.k8s_namespace.'),
});

export const ListenerStatus = ObservedStatus;

export interface Listener extends KubeObject {
  readonly kind: 'Listener';
  readonly metadata: ObjectMeta;
  readonly spec: z.infer<typeof ListenerSpec>;
  readonly status?: z.infer<typeof ListenerStatus>;
}

export const LISTENERS = {
  group: 'davit.dev',
  version: 'v1alpha1',
  kind: 'Listener',
  plural: 'listeners',
  namespaced: true,
} as const;
