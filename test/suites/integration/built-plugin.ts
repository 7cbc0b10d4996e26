// The built file of `kubectl davit` on a PATH of its own, found by kubectl as its plugin.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { writePlugin } from '../../support/plugin.ts';
import type { Attached } from '../../support/running-davit.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface BuiltPlugin {
  readonly folder: string;
  run(...args: string[]): Promise<Ran>;
  /** The same with standard input. */
  runReading(input: string, ...args: string[]): Promise<Ran>;
  close(): Promise<void>;
}

export async function buildPlugin({ kubectlPath, kubeconfig }: Attached): Promise<BuiltPlugin> {
  const folder = await mkdtemp(join(tmpdir(), 'davit-cli-'));
  await writePlugin(folder);
  await symlink(kubectlPath, join(folder, 'kubectl'));
  const PATH = [folder, dirname(process.execPath), process.env['PATH']].join(delimiter);
  const env = { ...process.env, KUBECONFIG: kubeconfig, KUBECACHEDIR: join(folder, 'kube-cache'), PATH };

  async function runReading(input: string, ...args: string[]): Promise<Ran> {
    try {
      const running = promisify(execFile)(join(folder, 'kubectl'), ['davit', ...args], { env });
      // It may end without reading.
      running.child.stdin?.on('error', () => undefined).end(input);
      const { stdout, stderr } = await running;
      return { code: 0, out: stdout, err: stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, out: stdout, err: stderr };
    }
  }

  return {
    folder,
    run: (...args) => runReading('', ...args),
    runReading,
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
