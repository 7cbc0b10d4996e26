// What the cache keeps of a Pod. Who may create pods in a namespace may label any number of them as those of a deployment, and each may
// have a megabyte of variables and annotations: all tenants share the controller's memory.

import type { Pod, PodContainer } from '../assess/observed.ts';
import { firstLabels, slimMetadata } from './slim-metadata.ts';

/** The used part of the Pod (deployments/assess/observed.ts), whole but for that. */
export function slimPod(pod: Pod): Pod {
  return { ...pod, metadata: slimMetadata(pod.metadata, firstLabels), ...(pod.spec && { spec: slimSpec(pod.spec) }) };
}

function slimSpec({
  nodeName,
  volumes,
  containers,
  initContainers,
}: NonNullable<Pod['spec']>): NonNullable<Pod['spec']> {
  const claims = volumes?.flatMap(({ persistentVolumeClaim }) =>
    persistentVolumeClaim === undefined ? [] : [{ persistentVolumeClaim }],
  );
  return {
    ...(nodeName !== undefined && { nodeName }),
    ...(claims && { volumes: claims }),
    ...(containers && { containers: containers.map(slimContainer) }),
    ...(initContainers && { initContainers: initContainers.map(slimContainer) }),
  };
}

function slimContainer({ name, image, resources, restartPolicy }: PodContainer): PodContainer {
  return {
    name,
    ...(image !== undefined && { image }),
    ...(resources && { resources }),
    ...(restartPolicy !== undefined && { restartPolicy }),
  };
}
