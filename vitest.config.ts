// One run: `vitest run` goes through all projects and prints them together.

import { defineConfig } from 'vitest/config';
import { isUsual, LEFT_TO_WHOLE } from './test/support/usual.ts';

const integration = (name: string): string => `test/suites/integration/${name}.test.ts`;
const OWN_CLUSTERS = ['kube-client'].map(integration);
const PLATFORMS = [
  'test/cluster/cluster.test.ts',
  'test/demo/demo.test.ts',
  'test/suites/e2e/agent.test.ts',
  ...['address', 'cloud', 'code-files', 'api-server/rights', 'api-server/taken-over-hub'].map(integration),
];
const LONG = ['two-clusters', 'upgrade'].map(integration);
const BROKEN = ['test/suites/e2e/troubleshooting.test.ts'];
const UNDER_LOAD = ['scale', 'store-sizes'].map((name) => `test/suites/e2e/${name}.test.ts`);

const PODS = ['data', 'documents', 'runtime', 'stores', 'workers'].map((name) => `test/suites/e2e/${name}.test.ts`);

const SEARCHES = ['explore/explore', 'explore/wakes/sample', 'walk/walk'].map((name) => `test/harness/${name}.test.ts`);

const PUBLISHED = ['test/suites/plan/published.test.ts', 'test/suites/http/published-client.test.ts'];

/** What is waited for comes in an instant, and many times that where the machine is busy with other work. By default it is a second. */
const PATIENT = { poll: { timeout: 60_000 } };

const LATER = isUsual ? Object.keys(LEFT_TO_WHOLE) : [];

/** Makes what the tests of a project need, before they are given a limit. */
const PREPARE = 'test/support/prepare-project.ts';

/** What a test starts is gone when its file ends. */
const LEFT_PROCESSES = 'test/support/left-processes.ts';

const TWO_WITH_PODS = ['test/suites/e2e/listener.test.ts'];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'test/suites/{codehost,http,hygiene,plan,reconcile,registry}/**/*.test.ts',
            'test/{release,support,harness}/**/*.test.ts',
          ],
          exclude: [...PUBLISHED, ...SEARCHES, ...LATER],
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          // To load Davit's schemas anew for each file takes longer than most of the tests.
          isolate: false,
          // Some of them wait, for shells and for streams.
          maxWorkers: 2,
          // In a run of several projects, those with another number of workers need another group (npm run compat).
          sequence: { groupOrder: 1 },
          // The slowest take three seconds, and many times that where the machine is busy with other work.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          // Part of `npm test -- --whole` alone: sequences of events by the ten thousand, which only compute.
          name: 'searches',
          include: SEARCHES,
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          testTimeout: 120_000,
        },
      },
      {
        test: {
          // Part of `npm test -- --whole` alone: runs a program in Python a hundred times.
          name: 'published',
          include: PUBLISHED,
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          testTimeout: 240_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: it needs a Chromium.
          name: 'page',
          include: ['test/suites/page/*.test.ts'],
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          testTimeout: 240_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/suites/integration/*.test.ts'],
          exclude: [...OWN_CLUSTERS, ...LONG, ...PLATFORMS, ...LATER],
          globalSetup: [PREPARE, 'test/suites/integration/setup.ts'],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          // They share a cluster, and some of them count what is written to it.
          isolate: false,
          fileParallelism: false,
          // Many times what they take alone: the other lanes, and others, may keep the machine busy.
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          // Beside the others: each file starts a cluster of its own.
          name: 'clusters',
          include: [
            ...OWN_CLUSTERS,
            'test/{cluster,demo}/**/*.test.ts',
            'test/suites/integration/api-server/*.test.ts',
          ],
          exclude: [...PLATFORMS, ...LATER],
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          isolate: false,
          fileParallelism: false,
          // Many times what they take alone: the other lanes, and others, may keep the machine busy.
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          // Part of `npm test -- --whole` alone: platforms and clusters that come and go, which take a processor for minutes.
          name: 'platforms',
          include: PLATFORMS,
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/suites/e2e/*.test.ts', 'test/suites/e2e/sample/*.test.ts'],
          exclude: [...TWO_WITH_PODS, ...BROKEN, ...UNDER_LOAD, ...PODS, ...PLATFORMS, ...LATER],
          globalSetup: [PREPARE, 'test/suites/e2e/setup.ts'],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: real pods take a third of the machine meanwhile, for minutes.
          name: 'pods',
          include: PODS,
          globalSetup: [PREPARE, 'test/suites/e2e/setup.ts'],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: minutes of waiting, and a release to upgrade from.
          name: 'long',
          include: LONG,
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: it breaks and repairs deployments for minutes, and needs a Chromium and Prometheus.
          name: 'broken',
          include: BROKEN,
          globalSetup: [PREPARE, 'test/suites/e2e/setup.ts'],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: pods serve under load for minutes while their number and sizes change.
          name: 'under-load',
          include: UNDER_LOAD,
          globalSetup: [PREPARE, 'test/suites/e2e/setup.ts'],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: two clusters with real pods, and minutes of waiting.
          name: 'listener',
          include: TWO_WITH_PODS,
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: OAuth servers of others, which are fetched for it.
          name: 'oauth-servers',
          include: ['test/suites/oauth-servers/*.test.ts'],
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: it builds the image, and a store of objects.
          name: 'backups',
          include: ['test/suites/backups/*.test.ts'],
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          testTimeout: 180_000,
          hookTimeout: 900_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: kube-router is compiled for it, and nodes are lost for minutes.
          name: 'nodes',
          include: ['test/suites/nodes/*.test.ts'],
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 900_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: CloudNativePG is compiled for it, and databases fail over.
          name: 'cloudnative-pg',
          include: ['test/suites/cloudnative-pg/*.test.ts'],
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 900_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: it builds the image, and takes minutes.
          name: 'install',
          include: ['test/suites/e2e/install/*.test.ts'],
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 900_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: a registry and cosign are compiled for it, and the image is built seven times.
          name: 'release',
          include: ['test/suites/release/*.test.ts'],
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: BuildKit, a registry and Gitea are compiled for it.
          name: 'builds',
          include: ['test/suites/builds/**/*.test.ts'],
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          testTimeout: 300_000,
          hookTimeout: 1_200_000,
        },
      },
      {
        test: {
          // Not part of `npm test`: applications of others are installed from their package registries, and run for minutes.
          name: 'applications',
          include: ['test/suites/applications/**/*.test.ts'],
          globalSetup: [PREPARE],
          expect: PATIENT,
          setupFiles: [LEFT_PROCESSES],
          // Each file starts a cluster of its own.
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 1_200_000,
        },
      },
    ],
  },
});
