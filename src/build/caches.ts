// The watch caches of the builds' namespace.

import type { Job } from '../deploy/assess/jobs.ts';
import type { Pod } from '../deploy/assess/observed.ts';
import { BUILD_LABEL } from '../kinds/meta.ts';
import { cacheMaker } from '../runtime/controller/multi-namespace-reflector.ts';
import type { Reflector, Watching } from '../runtime/controller/reflector.ts';
import { JOBS, PODS } from '../runtime/kube/api-resources.ts';

export interface BuildCaches {
  readonly namespace: string;
  readonly jobs: Reflector<Job>;
  readonly pods: Reflector<Pod>;
}

export function makeBuildCaches(watching: Watching, namespace: string): BuildCaches {
  const details = { namespace, labelSelector: BUILD_LABEL, indexedLabels: [BUILD_LABEL] };
  const cache = cacheMaker(watching);
  return { namespace, jobs: cache<Job>(JOBS, details), pods: cache<Pod>(PODS, details) };
}
