// The watch caches of the builds' namespace.

import type { Job } from '../deploy/assess/jobs.ts';
import type { Pod } from '../deploy/assess/observed.ts';
import { BUILD_LABEL } from '../kinds/meta.ts';
import { makeReflector, type Reflector, type ReflectorOptions } from '../runtime/controller/reflector.ts';
import { JOBS, PODS } from '../runtime/kube/api-resources.ts';
import type { KubeObject } from '../runtime/kube/client.ts';

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
