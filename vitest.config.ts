// One run: `vitest run` goes through all projects and prints them together.

import { defineConfig } from 'vitest/config';

const OWN_CLUSTERS = ['address', 'cloud', 'kube-client', 'upgrade'].map((name) => `test/integration/${name}.test.ts`);

const PUBLISHED = 'test/plan/published.test.ts';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'test/{bench,codehost,http,plan,reconcile,support,walk}/**/*.test.ts',
            'test/hygiene/*.test.ts',
          ],
          exclude: [PUBLISHED],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          // Runs a program in Python a hundred times.
          name: 'published',
          include: [PUBLISHED],
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          exclude: OWN_CLUSTERS,
          globalSetup: ['test/integration/setup.ts'],
          // They share a cluster, and some of them count what is written to it.
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          // Beside the others: each file starts a cluster of its own.
          name: 'clusters',
          include: [...OWN_CLUSTERS, 'test/{cluster,demo}/**/*.test.ts', 'test/hygiene/api-server/*.test.ts'],
          globalSetup: ['test/cluster/setup.ts'],
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
      {
        test: {
          // Not part of `npm test`: BuildKit, a registry and Gitea are compiled for it.
          name: 'builds',
          include: ['test/builds/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 1_200_000,
        },
      },
    ],
  },
});
