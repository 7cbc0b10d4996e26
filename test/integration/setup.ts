// The cluster of the integration tests: a real API server and controllers; a stand-in sets the status of pods.

import type { TestProject } from 'vitest/node';
import { startForTests } from '../global-setup.ts';

export default function setup(project: TestProject): Promise<() => Promise<void>> {
  return startForTests(project, 'off');
}
