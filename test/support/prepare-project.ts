// Set-up of each vitest project: what its tests need is made outside of their limits. `npm test` has made it before.

import type { TestProject } from 'vitest/node';
import { BETWEEN, NEEDS } from '../cluster/prepared.ts';
import { needsOf, type Project, prepare } from './needs.ts';

export default async function setup({ name, config, vitest }: TestProject): Promise<void> {
  const wanted = needsOf(name as Project, vitest.state.getPaths());
  config.env = { ...config.env, [NEEDS]: wanted.map((need) => need.name).join(BETWEEN) };
  await prepare(wanted, (line) => process.stderr.write(`  ${line}\n`));
}
