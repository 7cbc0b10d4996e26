// How a process starts that is to have known bugs, or a wrong clock.

import { join } from 'node:path';
import type { Cluster } from '../../cluster/cluster.ts';
import { bundledDavit } from './bundle.ts';
import type { CastOptions } from './run-processes.ts';

export interface Odd {
  /** The bugs, by their names in mutants.ts. */
  readonly seeds?: readonly string[];
  /** How far its wall clock is ahead, in milliseconds. */
  readonly skewMs?: number | undefined;
}

export function startWith({ seeds = [], skewMs }: Odd): Pick<CastOptions, 'imports' | 'env'> {
  const file = (name: string): string => join(import.meta.dirname, name);
  return {
    imports: [...(seeds.length > 0 ? [file('mutant.ts')] : []), ...(skewMs === undefined ? [] : [file('skew.ts')])],
    env: {
      ...(seeds.length > 0 && { SEEDED_BUGS: seeds.join() }),
      ...(skewMs !== undefined && { SKEW_MS: String(skewMs) }),
    },
  };
}

/** The bundle, unless a bug has to be put into the source. */
export async function mainFor(cluster: Cluster, seeds: readonly string[]): Promise<Pick<CastOptions, 'main'>> {
  return seeds.length > 0 ? {} : { main: await bundledDavit(cluster) };
}
