// Reaches the cluster only through kubectl, with the user's kubeconfig, plugins and rights. No other client is loaded, so that a
// command starts as fast as kubectl.

import { spawn } from 'node:child_process';

/** The cause of a failure, as one sentence or kubectl's message. */
export class Failure extends Error {}

/** Runs kubectl and returns its output. `input` goes to its standard input. Throws Failure with kubectl's message. */
export type Kubectl = (args: readonly string[], input?: string) => Promise<string>;

/** `flags` select cluster and user, and precede every command. */
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
      // kubectl may exit before it has read all input.
      child.stdin.on('error', () => undefined);
      child.stdin.end(input ?? '');
    });
}

/** Runs kubectl on this terminal and returns its exit code. Ctrl-C reaches both processes. */
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
