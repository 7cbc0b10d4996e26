// Set-up of each file of tests: a process that a test has started is gone when its file ends. One that is left keeps the output of the run
// open, and vitest waits for it for ever. Where there is no /proc, nothing is looked at.

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';

/** How long a process may take that ends on its own: a cluster's keeper takes its processes down. */
const GRACE_MS = 20_000;
const POLL_MS = 100;

interface Process {
  readonly pid: number;
  readonly command: string;
}

const before = new Set(childrenOf(process.pid).map(({ pid }) => pid));

afterAll(async () => {
  const until = Date.now() + GRACE_MS;
  let left = ours();
  while (left.length > 0 && Date.now() < until) {
    await sleep(POLL_MS);
    left = ours();
  }
  if (left.length === 0) return;
  for (const { pid } of left) endTree(pid);
  const commands = left.map(({ command }) => command).join('; ');
  throw new Error(`This file left ${left.length} processes running, which were ended now: ${commands}`);
}, GRACE_MS * 2);

function ours(): Process[] {
  return childrenOf(process.pid).filter(({ pid }) => !before.has(pid));
}

/** Those that still run. A process that has ended and was not waited for has no command line. */
function childrenOf(parent: number): Process[] {
  return pidsOf(parent).flatMap((pid) => {
    const command = textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
    return command === '' ? [] : [{ pid, command: command.slice(0, 200) }];
  });
}

function pidsOf(parent: number): number[] {
  try {
    return readdirSync(`/proc/${parent}/task`).flatMap((thread) =>
      textOf(`/proc/${parent}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

function endTree(pid: number): void {
  for (const child of pidsOf(pid)) endTree(child);
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
