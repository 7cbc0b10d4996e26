// The part that --component names.

import type { AppDeployment } from '../schema/app-deployment.ts';
import { COMPONENTS } from '../schema/meta.ts';
import { isWorker, workerIn, workerNames } from '../schema/worker-parts.ts';
import { type Flags, Misuse } from './command.ts';
import { Failure } from './kubectl.ts';

/** The server if the flag is absent. Throws Misuse for what is none of `known` and cannot be a worker. */
export function componentOf(flags: Flags, known: readonly string[]): string {
  const component = flags.text('component') ?? 'server';
  if (!known.includes(component) && !isWorker(component))
    throw new Misuse(`--component must be one of ${known.join(', ')} or the name of a worker, not "${component}".`);
  return component;
}

/** Throws Failure for what is no part of any deployment and no worker of this one, which only the record shows. `known`: as above. */
export function needPart(
  { metadata, spec }: AppDeployment,
  component: string,
  known: readonly string[] = COMPONENTS,
): void {
  const { runtime } = spec.sourceConfig;
  if (known.includes(component) || workerIn(runtime, component) !== undefined) return;
  throw new Failure(
    `"${component}" is no part of ${metadata.name}. Parts are ${[...known, ...workerNames(runtime)].join(', ')}.`,
  );
}
