// The parts with a scale that begin or end with a change.

import { asksForPart, SCALED_PARTS } from '../deployments/record/requested-scale.ts';
import type { AppDeploymentSpec } from '../schema/app-deployment.ts';
import { workerNames } from '../schema/worker-parts.ts';

type Config = Pick<AppDeploymentSpec['sourceConfig'], 'resourceSpec' | 'runtime'>;

/** Names of parts. */
export interface PartChanges {
  readonly begins: readonly string[];
  readonly ends: readonly string[];
}

export function partChanges(before: Config, after: Config): PartChanges {
  return changesOfParts(partsIn(before), partsIn(after));
}

/** From the names of the parts before and after. */
export function changesOfParts(was: readonly string[], is: readonly string[]): PartChanges {
  return { begins: is.filter((part) => !was.includes(part)), ends: was.filter((part) => !is.includes(part)) };
}

/** One clause for each part. */
export function partWords({ begins, ends }: PartChanges): string[] {
  return [...begins.map((part) => `it had no ${part} before`), ...ends.map((part) => `its ${part} ends`)];
}

function partsIn({ resourceSpec, runtime }: Config): string[] {
  return [...SCALED_PARTS.filter((part) => asksForPart(part, resourceSpec)), ...workerNames(runtime)];
}
