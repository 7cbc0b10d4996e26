// Reads the objects of one deployment with kubectl.

import type { Pod } from '../../deploy/assess/observed.ts';
import { isReadyPod, living } from '../../deploy/assess/pod-failures.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { DEPLOYMENT_LABEL, GROUP } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { youngestFirst } from '../../runtime/kube/youngest-first.ts';
import { Failure, type Kubectl } from './kubectl.ts';

export const RECORDS = `appdeployments.${GROUP}`;
/** Throws Failure with kubectl's message if there is none of that name. */
export async function readRecord(kubectl: Kubectl, name: string): Promise<AppDeployment> {
  return parsed<AppDeployment>(await kubectl(['get', RECORDS, name, '-o', 'json']));
}

/** The ready pods, newest first. */
export function readyPods(pods: readonly Pod[]): Pod[] {
  return youngestFirst(living(pods).filter(isReadyPod));
}

/** The objects of one deployment that have these labels too. */
export async function listOf<T extends KubeObject>(
  kubectl: Kubectl,
  resource: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<T[]> {
  const selector = Object.entries({ [DEPLOYMENT_LABEL]: name, ...labels }).map(([label, value]) => `${label}=${value}`);
  const text = await kubectl(['get', resource, '--selector', selector.join(','), '-o', 'json']);
  return parsed<{ readonly items: T[] }>(text).items;
}

function parsed<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new Failure(`kubectl printed invalid JSON: ${String(error)}`);
  }
}
