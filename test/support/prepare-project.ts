// Set-up of each vitest project: what its tests need is made outside of their limits. `npm test` has made it before.

import type { TestProject } from 'vitest/node';
import { BETWEEN, NEEDS } from '../cluster/prepared.ts';
import { needs, type Project, prepare } from './needs.ts';

export default async function setup({ name, config }: TestProject): Promise<void> {
  const project = name as Project;
  config.env = { ...config.env, [NEEDS]: needs[project].map((need) => need.name).join(BETWEEN) };
  await prepare([project], (line) => process.stderr.write(`  ${line}\n`));
}
