// What the listeners' endpoints take and give, as zod schemas.

import { z } from 'zod';
import { id, time } from '../../api/payload-fields.ts';
import { paging } from '../../deploy/http/payloads.ts';
import { ListenerSpec } from '../../kinds/listener.ts';
import { DNS_LABEL_PATTERN, listOf, matching, oneOf, Uuid } from '../../kinds/primitives.ts';

const COMPUTE_TYPES = ['k8s'] as const;

const computeType = oneOf(COMPUTE_TYPES).describe('Kind of compute. Cannot be changed.');
const computeId = matching(DNS_LABEL_PATTERN, 63, 1).describe(
  'Name of the Listener, unique in the tenant: a DNS label. Cannot be changed.',
);
const { element } = ListenerSpec.shape.namespaces.unwrap();
const k8sNamespaces = listOf(element, 500)
  .refine((names) => new Set(names).size === names.length, 'must not contain a namespace twice')
  .nullish();
const computeConfig = z.object({
  k8s_namespaces: k8sNamespaces.describe(
    'Namespaces of the cluster that deployments may name in listener_config.k8s_namespace. null or empty: none.',
  ),
});

export const CreateListener = z
  .object({ compute_type: computeType, compute_id: computeId, compute_config: computeConfig })
  .meta({
    id: 'CreateListener',
    examples: [{ compute_type: 'k8s', compute_id: 'edge', compute_config: { k8s_namespaces: ['shops'] } }],
  });
export type CreateListener = z.output<typeof CreateListener>;

export const PatchListener = z
  .object({
    compute_type: computeType.nullish(),
    compute_id: computeId.nullish(),
    compute_config: computeConfig
      .extend({
        k8s_namespaces: k8sNamespaces.describe(
          'The whole list. null leaves it unchanged, and an empty list clears it.',
        ),
      })
      .nullish(),
  })
  .meta({
    id: 'PatchListener',
    description: 'Absent and null fields are unchanged. compute_type and compute_id cannot be changed.',
    examples: [{ compute_config: { k8s_namespaces: ['shops', 'tools'] } }],
  });
export type PatchListener = z.output<typeof PatchListener>;

export const ListenerPath = z.object({ listener_id: Uuid.describe('Id of the listener.') });

/** Strict, as the query of every list is. */
export const ListListeners = z.strictObject(paging);

export const ListenerResponse = z
  .object({
    id,
    compute_type: oneOf(COMPUTE_TYPES),
    compute_id: z.string().describe('Name of the Listener.'),
    compute_config: z.object({ k8s_namespaces: z.array(z.string()).nullable() }),
    created_at: time,
    updated_at: time,
    version: z.string().nullable().describe("Version of the cluster's Davit. null until the cluster has reported."),
    connected: z.boolean().describe('Whether the cluster reports.'),
    last_seen_at: time.nullable().describe('When the cluster was last seen, to within five minutes.'),
  })
  .meta({
    id: 'Listener',
  });
export type ListenerResponse = z.output<typeof ListenerResponse>;

export const ListenerList = z
  .object({
    resources: z.array(ListenerResponse),
    offset: z.int().describe('Offset of the next page.'),
  })
  .meta({ id: 'ListenerList' });
