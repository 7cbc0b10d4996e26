// The part that --component names.

import { isWorker } from '../../kinds/worker-parts.ts';
import { type Flags, Misuse } from './command.ts';

/** The server if the flag is absent. Throws Misuse for what is none of `known` and cannot be a worker. */
export function componentOf(flags: Flags, known: readonly string[]): string {
  const component = flags.text('component') ?? 'server';
  if (!known.includes(component) && !isWorker(component))
    throw new Misuse(`--component must be one of ${known.join(', ')} or the name of a worker, not "${component}".`);
  return component;
}
