// `npm run compat`: CRDs, policies, chart and the integration suite on the oldest Kubernetes and by the oldest Helm that
// Davit supports, built like the current ones. No pods run there: what a kubelet does is no part of what Davit asks of a server.

import { ensureTools, kubernetesRelease } from './cluster/tools.ts';

const USAGE = `npm run compat -- [arguments of vitest]

Runs the integration and chart tests on the oldest supported Kubernetes, by Helm 3.
`;

if (process.argv.some((arg) => arg === '--help' || arg === '-h')) {
  process.stdout.write(USAGE);
  process.exit(0);
}
process.env['DAVIT_KUBERNETES'] = 'oldest';
process.env['DAVIT_HELM'] = '3';
process.env['DAVIT_PODS'] = 'off';
process.stderr.write(`On Kubernetes ${kubernetesRelease().version}, the oldest that is supported, by Helm 3\n`);
// Here and not within the tests, where a build of minutes would count as a set-up that hangs.
await ensureTools(['kubernetes', 'helm'], (line) => process.stderr.write(`  ${line}\n`));
for (const project of ['integration', 'clusters', 'platforms', 'long', 'unit']) process.argv.push('--project', project);
process.argv.push('test/suites/integration', 'test/cluster', 'test/suites/hygiene/chart');
await import('./run.ts');
