// The cluster of the end-to-end tests: real pods wherever the machine allows them.

import type { TestProject } from 'vitest/node';
import { startForTests } from '../../support/global-setup.ts';

export default function setup(project: TestProject): Promise<() => Promise<void>> {
  return startForTests(project, 'auto');
}
