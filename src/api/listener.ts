// Listener: a further cluster, whose own Davit runs the records that are assigned to it. It lives in the tenant's
// namespace. Its status is for that cluster's Davit to report; until there is one nothing writes it, and this Davit leaves its
// records alone.

import { z } from 'zod';
import type { KubeObject, ObjectMeta } from '../kube/client.ts';
import { DNS_LABEL_PATTERN, ObservedStatus } from './primitives.ts';

export const ListenerSpec = z.object({
  description: z.string().max(4096).describe('Which cluster this is, for people.').optional(),
  namespaces: z
    .array(z.string().min(1).max(63).regex(new RegExp(DNS_LABEL_PATTERN)))
    .min(1)
    .max(500)
    .meta({ 'x-kubernetes-list-type': 'set' })
    .describe('Namespaces of that cluster which records may name in listener_config.k8s_namespace.'),
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
