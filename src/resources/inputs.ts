// What the makers of this room are given: everything a child depends on, and nothing observed but what is named here.

import type { AppDeployment } from '../api/app-deployment.ts';
import type { AppRevision } from '../api/app-revision.ts';
import type { Role } from '../api/meta.ts';
import type { Settings } from '../api/settings.ts';

export interface Inputs {
  /** As the API server gave it: with uid and namespace. */
  readonly record: AppDeployment;
  /** The snapshot that the children are made from; the record itself gives only name, namespace, uid and source config. */
  readonly revision: AppRevision;
  /** uid of the tenant's namespace. */
  readonly tenantId: string;
  readonly settings: Settings;
  /** What the workloads' pods have read from Secrets (secret-digest.ts). */
  readonly secretDigests?: Readonly<Partial<Record<Role, SecretDigests>>>;
  /** The host that the record has; without it no address is made. */
  readonly host?: string;
  /** Roles whose `replicas` an autoscaler owns: the field is left out. */
  readonly autoscaled?: ReadonlySet<Role>;
}

/** Keyed digests of values in Secrets. */
export interface SecretDigests {
  /** On the pods: a new one rolls them. */
  readonly pods?: string;
  /** On the workload: the values that its pods were last rolled for. */
  readonly workload?: string;
}
