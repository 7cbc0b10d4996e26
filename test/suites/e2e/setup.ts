// The cluster of the end-to-end tests: real pods wherever the machine allows them, the page, and addresses without anybody who
// routes them.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { startForTests } from '../../support/global-setup.ts';

const PAGE = join(import.meta.dirname, '../../../src/tools/page.ts');

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The facade reads it when it starts.
  await promisify(execFile)(process.execPath, [PAGE]);
  return startForTests(project, 'auto', undefined, {
    values: { 'settings.address.kind': 'ingress' },
    // As outside of tests: pods can keep a small machine so busy that the lease is not renewed for seconds.
    env: { DAVIT_LEASE_MS: '15000' },
  });
}
