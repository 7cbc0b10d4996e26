// The last words of a command that runs in a pod, which its kubelet reads and Davit's controller reports.

import { writeFileSync } from 'node:fs';

/** Kubernetes truncates a termination message to this size. */
const MOST_BYTES = 4096;

/** Kubernetes creates the file before the container starts. Outside of Kubernetes the file is not created in /dev. */
export function terminate(command: string, file: string | undefined, message: string): void {
  const text = Buffer.from(message).subarray(0, MOST_BYTES).toString();
  try {
    writeFileSync(file ?? '/dev/termination-log', text, { flag: file === undefined ? 'r+' : 'w' });
  } catch (error) {
    if (file === undefined) return;
    process.stderr.write(`davit ${command}: the termination message was not written: ${messageOf(error)}\n`);
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
