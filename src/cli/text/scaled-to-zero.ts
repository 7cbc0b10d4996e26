// What a person reads who asks for a pod of a deployment that is scaled to zero.

import { isPart } from '../../kinds/worker-parts.ts';
import { PROGRAM } from '../line/program.ts';

/** For a deployment that is scaled to zero. */
export function commandToStart(name: string): string {
  return `${PROGRAM} scale ${name} server=1`;
}

/** For a deployment that is scaled to zero. Undefined for a part that still has pods: PostgreSQL, Redis, and a migration. */
export function zeroSentence(name: string, component: string): string | undefined {
  if (!isPart(component)) return undefined;
  return `${name} is scaled to zero, so no pod of ${component} runs. To start it: ${commandToStart(name)}`;
}
