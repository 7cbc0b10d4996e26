// The watch caches of the builds' namespace.

import type { Job } from '../deployments/assess/jobs.ts';
import type { Pod } from '../deployments/assess/observed.ts';
import { makeReflector, type Reflector, type ReflectorOptions } from '../lib/controller/reflector.ts';
import { JOBS, PODS } from '../lib/kube/api-resources.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import { BUILD_LABEL } from '../schema/meta.ts';

export interface BuildCaches {
  readonly namespace: string;
  readonly jobs: Reflector<Job>;
  readonly pods: Reflector<Pod>;
}

export type BuildCacheOptions = Pick<ReflectorOptions<KubeObject>, 'client' | 'log' | 'metrics' | 'onRewound'>;

export function makeBuildCaches(options: BuildCacheOptions, namespace: string): BuildCaches {
  const details = { ...options, namespace, labelSelector: BUILD_LABEL, indexedLabels: [BUILD_LABEL] };
  return {
    namespace,
    jobs: makeReflector<Job>({ ...details, resource: JOBS }),
    pods: makeReflector<Pod>({ ...details, resource: PODS }),
  };
}
