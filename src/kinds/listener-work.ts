// ListenerWork: one deployment that a listener's cluster runs, as that cluster reads it. It is in the hub's namespace of the
// Listener, and its name is the id of the deployment. The controller writes spec, the listener's agent writes status.

import { z } from 'zod';
import type { KubeObject } from '../runtime/kube/client.ts';
import type { AppDeploymentSpec, AppDeploymentStatus } from './app-deployment.ts';
import { ownKind } from './meta.ts';
import { Count, DNS_LABEL_PATTERN, ObjectName, passthrough, text, Uuid } from './primitives.ts';
import { REVISION_STATES } from './revision-states.ts';

const Uid = text(64);

export const ListenerWorkSpec = z.object({
  clusterId: Uid.describe('uid of the namespace kube-system of the cluster that runs it. No other cluster may.'),
  hubId: Uid.describe("uid of the hub's namespace kube-system."),
  tenantId: Uid.describe("uid of the deployment's namespace on the hub."),
  name: text(63).describe('Name of the deployment.'),
  namespace: text(63).regex(new RegExp(DNS_LABEL_PATTERN)).describe('Namespace of the cluster that it runs in.'),
  generation: Count.describe('Generation of the deployment on the hub from which this was made.'),
  paused: z.boolean().describe('Whether the deployment is paused.').optional(),
  deployment: passthrough('spec of the AppDeployment. The cluster validates it when it applies it.'),
  removed: z
    .boolean()
    .describe(
      'Whether the deployment is to be deleted in the cluster. Deleting only this object deletes nothing there.',
    )
    .optional(),
  secrets: z
    .array(
      z.object({
        name: ObjectName.describe('Name that the deployment uses.'),
        copy: ObjectName.describe("Name of the copy in this object's namespace."),
        version: text(253).describe('uid and resourceVersion of the original.'),
      }),
    )
    .max(100)
    .describe('Secrets with values of the deployment, which are copied to the cluster.')
    .optional(),
});

export const ReportedRevision = z.object({
  id: Uuid.describe('Id of the revision.'),
  generation: Count.describe(
    'Generation of the deployment on the hub that it implements. 0: an earlier generation.',
  ).optional(),
  state: z.enum(REVISION_STATES).describe('State of the revision.'),
  message: text(4096).describe('What happened, as text for people.').optional(),
  resolved: passthrough('Every value in force.'),
});

export const REJECTIONS = [
  'NameConflict',
  'NamespaceNotAllowed',
  'ListenerTooOld',
  'HubChanged',
  'ApplyRefused',
] as const;

export const ListenerWorkStatus = z.object({
  clusterId: Uid.describe('uid of the namespace kube-system of the cluster that reports.').optional(),
  epoch: Count.describe("leaseTransitions of the Listener's Lease while the reporting agent held it.").optional(),
  generation: Count.describe('spec.generation that the cluster has applied.').optional(),
  deployment: passthrough('status of the AppDeployment in the cluster.').optional(),
  revisions: z.array(ReportedRevision).max(50).describe('Its revisions, newest first.').optional(),
  rejection: z
    .object({
      reason: z.enum(REJECTIONS).describe('Why the cluster does not apply it.'),
      message: text(4096).describe('The cause and what to do, as text for people.'),
    })
    .describe('The cluster does not apply the work.')
    .optional(),
  absent: z
    .boolean()
    .describe(
      'The cluster rejects the work and has no copy of the deployment: what it reported earlier is not running.',
    )
    .optional(),
  gone: z.boolean().describe('The cluster has no objects of it left.').optional(),
});

export interface ListenerWork extends KubeObject {
  readonly kind: 'ListenerWork';
  readonly spec: Omit<z.infer<typeof ListenerWorkSpec>, 'deployment'> & { readonly deployment: AppDeploymentSpec };
  readonly status?: Omit<z.infer<typeof ListenerWorkStatus>, 'deployment'> & {
    /** As another cluster sent it: to be parsed before use. */
    readonly deployment?: Partial<AppDeploymentStatus>;
  };
}

export const LISTENER_WORKS = ownKind('ListenerWork');
