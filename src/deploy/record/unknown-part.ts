// What a person reads who names a part that a deployment does not have.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { COMPONENTS, MIGRATION } from '../../kinds/meta.ts';
import { workerIn, workerNames } from '../../kinds/worker-parts.ts';
import { mostSimilar } from '../../runtime/similar.ts';
import { asksForPart, SCALED_PARTS } from './requested-scale.ts';

/** The parts with logs, without the workers. */
export const LOGGED_PARTS: readonly string[] = [...COMPONENTS, MIGRATION];

/** Undefined for a part of `known`, which any deployment may have, and for a worker of this one. */
export function unknownPart(
  { metadata, spec }: Pick<AppDeployment, 'metadata' | 'spec'>,
  component: string,
  known: readonly string[],
): string | undefined {
  if (known.includes(component) || workerIn(spec.sourceConfig.runtime, component) !== undefined) return undefined;
  const own = partsByRecord(spec.sourceConfig);
  const similar = mostSimilar(component, [...own, ...known]);
  return `"${component}" is not a part of ${metadata.name}.${similar === undefined ? '' : ` Did you mean ${similar}?`} It has ${own.join(', ')}.`;
}

/** Scaled parts, workers, and stores of its own. */
function partsByRecord({ resourceSpec = {}, runtime }: AppDeployment['spec']['sourceConfig']): string[] {
  return [
    ...SCALED_PARTS.filter((part) => asksForPart(part, resourceSpec)),
    ...workerNames(runtime),
    ...(runtime?.database === 'none' ? [] : ['postgres']),
    ...(runtime?.redis === 'none' ? [] : ['redis']),
  ];
}
