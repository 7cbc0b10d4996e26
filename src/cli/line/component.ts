// The part that --component names.

import { asksForPart, SCALED_PARTS } from '../../deployments/record/requested-scale.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { COMPONENTS } from '../../schema/meta.ts';
import { isWorker, workerIn, workerNames } from '../../schema/worker-parts.ts';
import { Failure } from '../transport/kubectl.ts';
import { type Flags, Misuse } from './command.ts';
import { mostSimilar } from './similar.ts';

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
  const own = partsOf(spec.sourceConfig);
  const similar = mostSimilar(component, [...own, ...known]);
  throw new Failure(
    `"${component}" is no part of ${metadata.name}.${similar === undefined ? '' : ` Did you mean ${similar}?`} It has ${own.join(', ')}.`,
  );
}

/** Those that it has by its record: scaled parts, workers, and stores of its own. */
function partsOf({ resourceSpec = {}, runtime }: AppDeployment['spec']['sourceConfig']): string[] {
  return [
    ...SCALED_PARTS.filter((part) => asksForPart(part, resourceSpec)),
    ...workerNames(runtime),
    ...(runtime?.database === 'none' ? [] : ['postgres']),
    ...(runtime?.redis === 'none' ? [] : ['redis']),
  ];
}
