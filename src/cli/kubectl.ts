// The one way to the cluster: kubectl itself, with the person's own kubeconfig, plugins and rights. Nothing else is
// loaded, so that a command starts in the time that kubectl takes.

import { spawn } from 'node:child_process';

/** What a command was refused for, in one sentence or in kubectl's own words. */
export class Failure extends Error {}

/** Runs kubectl and returns what it printed. `input` goes to its standard input. Throws Failure with its words. */
export type Kubectl = (args: readonly string[], input?: string) => Promise<string>;

/** `flags` are those that say which cluster, and as whom: they go before every command. */
export function makeKubectl(flags: readonly string[], program = 'kubectl'): Kubectl {
  return (args, input) =>
    new Promise((resolve, reject) => {
      const child = spawn(program, [...flags, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
      const out: Buffer[] = [];
      const words: Buffer[] = [];
      child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => words.push(chunk));
      child.on('error', (error) => reject(new Failure(`${program} could not be started: ${error.message}`)));
      child.on('close', (code) => {
        if (code === 0) resolve(Buffer.concat(out).toString('utf8'));
        else reject(new Failure(Buffer.concat(words).toString('utf8').trim() || `${program} ended with ${code}`));
      });
      // It may end without having read all.
      child.stdin.on('error', () => undefined);
      child.stdin.end(input ?? '');
    });
}

/** Runs kubectl on this terminal and returns its exit code; Ctrl-C reaches it as it reaches this process. */
export function onTerminal(flags: readonly string[], args: readonly string[], program = 'kubectl'): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...flags, ...args], { stdio: 'inherit' });
    const stay = (): void => undefined;
    process.on('SIGINT', stay);
    child.on('error', (error) => reject(new Failure(`${program} could not be started: ${error.message}`)));
    child.on('close', (code) => {
      process.off('SIGINT', stay);
      resolve(code ?? 130);
    });
  });
}
