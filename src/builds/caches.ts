// The watch caches of the builds' namespace.

import { makeReflector, type Reflector, type ReflectorOptions } from '../lib/controller/reflector.ts';
import { JOBS, PODS } from '../lib/kube/api-resources.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import { BUILD_LABEL } from '../schema/meta.ts';
import type { BuildPod, ObservedJob } from './observed-job.ts';

export interface BuildCaches {
  readonly namespace: string;
  readonly jobs: Reflector<ObservedJob>;
  readonly pods: Reflector<BuildPod>;
}

export type BuildCacheOptions = Pick<ReflectorOptions<KubeObject>, 'client' | 'log' | 'metrics' | 'onRewound'>;

export function makeBuildCaches(options: BuildCacheOptions, namespace: string): BuildCaches {
  const details = { ...options, namespace, labelSelector: BUILD_LABEL, indexedLabels: [BUILD_LABEL] };
  return {
    namespace,
    jobs: makeReflector<ObservedJob>({ ...details, resource: JOBS }),
    pods: makeReflector<BuildPod>({ ...details, resource: PODS }),
  };
}
