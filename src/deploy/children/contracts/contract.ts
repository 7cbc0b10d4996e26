// A version of the pod contract as one value: the makers of all parts of pods.

import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { IStatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IEnvVar } from 'kubernetes-models/v1/EnvVar';
import type { AppRevision, Resolved, Scaled, Sized } from '../../../kinds/app-revision.ts';
import type { ImageComponent } from '../../../kinds/meta.ts';
import type { Migrate } from '../../../kinds/migrate.ts';
import type { Task } from '../../../kinds/tasks.ts';
import type { Manifest } from '../../../runtime/kube/client.ts';
import type { PostgresCluster } from '../database/cluster.ts';
import type { Inputs } from '../inputs.ts';

export interface PodContract {
  readonly workload: (
    inputs: Inputs,
    part: string,
    size: Readonly<Sized> | Readonly<Scaled>,
    image: string,
  ) => Manifest<IDeployment> | Manifest<IStatefulSet>;
  readonly migration: (inputs: Inputs, migrate: Migrate, image: string) => Manifest<IJob>;
  readonly task: (inputs: Inputs, task: Task, schedule: string, image: string) => Manifest<ICronJob>;
  readonly postgres: (inputs: Inputs, postgres: NonNullable<Resolved['postgres']>) => Manifest<IStatefulSet>;
  /** Makes PostgreSQL with driver cloudnative-pg. */
  readonly cluster: (inputs: Inputs, postgres: NonNullable<Resolved['postgres']>) => PostgresCluster;
  readonly redis: (inputs: Inputs, redis: NonNullable<Resolved['redis']>) => Manifest<IStatefulSet>;
}

/** Parts of the workloads' pods that a version can replace without its own maker. */
export interface PodParts {
  /** Scripts of the init containers. */
  readonly waitScripts: { readonly database: string; readonly redis: string };
  readonly env: (inputs: Inputs, component: ImageComponent) => IEnvVar[];
  readonly probes: (
    revision: AppRevision['spec'],
    part: string,
  ) => Pick<IContainer, 'startupProbe' | 'readinessProbe' | 'livenessProbe'>;
}

/** Contracts by the version that revisions name in `resolved.contract`. New revisions get the highest. */
export type PodContracts = ReadonlyMap<number, PodContract>;
