// What is said of a deployment that is scaled to zero, where somebody asks for a pod of it.

import { isScaledToZero } from '../../deployments/record/revisions.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { STORE_PARTS } from '../../schema/meta.ts';
import { isPart } from '../../schema/worker-parts.ts';
import { PROGRAM } from '../line/program.ts';
import { Failure } from '../transport/kubectl.ts';

/** For a deployment that is scaled to zero. */
export function commandToStart(name: string): string {
  return `${PROGRAM} scale ${name} server=1`;
}

/** Throws Failure if no pod of the part runs because the deployment is scaled to zero. Stores run all the same. */
export function needScale(record: AppDeployment, component: string): void {
  if (!isScaledToZero(record) || !isPart(component) || STORE_PARTS.some((part) => part === component)) return;
  const { name } = record.metadata;
  throw new Failure(`${name} is scaled to zero, so no pod of ${component} runs. To start it: ${commandToStart(name)}`);
}
