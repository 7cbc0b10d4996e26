// Three projects, one run: `vitest run` goes through all of them and prints them together.

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'test/{codehost,http,reconcile,fake-kube,walk}/**/*.test.ts',
            'test/hygiene/*.test.ts',
          ],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/{integration,cluster}/**/*.test.ts', 'test/hygiene/api-server/*.test.ts'],
          globalSetup: ['test/integration/setup.ts'],
          // Two clusters at once would only wait for each other's processor.
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/e2e/setup.ts'],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: it builds the image, and takes minutes.
          name: 'install',
          include: ['test/install/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 900_000,
        },
      },
    ],
  },
});
