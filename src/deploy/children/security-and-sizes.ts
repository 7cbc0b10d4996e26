// What containers of several workloads share: their security contexts and their sizes.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IPodSecurityContext } from 'kubernetes-models/v1/PodSecurityContext';
import type { Sized } from '../../kinds/app-revision.ts';
import type { PodPolicy } from '../../kinds/pod-policy.ts';
import { cpuQuantity, memoryQuantity } from './quantity.ts';

type Resources = NonNullable<IContainer['resources']>;
type SecurityContext = NonNullable<IContainer['securityContext']>;

export function resourcesFor({ cpu, cpuLimit, memoryMb, memoryLimitMb }: Readonly<Sized>): Resources {
  return {
    requests: { cpu: cpuQuantity(cpu), memory: memoryQuantity(memoryMb) },
    limits: { cpu: cpuQuantity(cpuLimit), memory: memoryQuantity(memoryLimitMb) },
  };
}

/** uid and gid of `postgres` and `redis` in the official Debian images. */
const PLATFORM_ID = 999;

/** For the record's own container: no privileges, but the image chooses its user and may write to its files. */
export const APP_SECURITY: SecurityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

/** For a record's pods: under the restricted policy no image may run as root. */
export function appPodSecurity(policy: PodPolicy | undefined): IPodSecurityContext {
  return { ...(policy === 'restricted' && { runAsNonRoot: true }), seccompProfile: { type: 'RuntimeDefault' } };
}

/** For Davit's containers: the "restricted" Pod Security Standard and a read-only root file system. */
export const RESTRICTED: SecurityContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  runAsUser: PLATFORM_ID,
  runAsGroup: PLATFORM_ID,
};

/** For the pods of PostgreSQL and Redis. Files get a new group only if they have another one, which is fast. */
export const RESTRICTED_POD: IPodSecurityContext = {
  runAsNonRoot: true,
  runAsUser: PLATFORM_ID,
  runAsGroup: PLATFORM_ID,
  fsGroup: PLATFORM_ID,
  fsGroupChangePolicy: 'OnRootMismatch',
  seccompProfile: { type: 'RuntimeDefault' },
};
