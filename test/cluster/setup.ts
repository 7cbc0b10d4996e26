// Builds what the clusters of these tests are made of, before a test waits for it: minutes, once per machine.

import { ensureTools } from './tools.ts';

export default async function setup(): Promise<void> {
  await ensureTools(['kubernetes', 'helm'], (line) => process.stderr.write(`  ${line}\n`));
}
