// `kubectl davit` from its source, with the kubectl of a test's cluster on the PATH.

import { execFile } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Cluster } from '../cluster/cluster.ts';
import { ensureTools, toolPath } from '../cluster/tools.ts';

const run = promisify(execFile);
const CLI = join(import.meta.dirname, '../../src/cli/main.ts');

/** Rejects for another exit code than 0, with `code`, `stdout` and `stderr`. */
export async function runPlugin(
  { kubeconfig, runDir }: Pick<Cluster, 'kubeconfig' | 'runDir'>,
  args: readonly string[],
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const tools = await ensureTools(['kubernetes'], () => undefined);
  const PATH = [dirname(toolPath(tools, 'kubernetes', 'kubectl')), process.env['PATH']].join(delimiter);
  const env = { PATH, KUBECONFIG: kubeconfig, HOME: runDir };
  return run(process.execPath, [CLI, ...args], { env });
}
