// A process of its own that owns every other process of one cluster. The launcher talks to it over an IPC channel; when
// that channel ends, for whatever reason (stop, exit, Ctrl-C, SIGKILL), the keeper ends the processes, waits until they
// are gone, and removes what the run has left. It is never imported, only forked (keeper-client.ts).
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { removeCgroups, removeRun, tryKill, writeOwner } from './run-folder.ts';

export interface StartProcess {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Its one child is the first process of a PID namespace, whose end takes the whole namespace along. */
  readonly holdsNamespace: boolean;
}

export type ToKeeper = { readonly id: number } & (
  | ({ readonly do: 'start' } & StartProcess)
  /** Takes the first free slot of the machine and keeps it as long as the keeper lives. */
  | { readonly do: 'claim'; readonly slots: readonly number[] }
  /** Ends one process without a word. */
  | { readonly do: 'kill'; readonly name: string }
  | { readonly do: 'end'; readonly keepLogs: boolean }
);

export type FromKeeper =
  | { readonly event: 'answer'; readonly id: number; readonly value: number | null }
  | { readonly event: 'ended'; readonly name: string; readonly code: number | null; readonly signal: string | null };

const [runFolder = ''] = process.argv.slice(2);
const children = new Map<string, ChildProcess>();
const holders = new Set<string>();
const cgroups: string[] = [];
let ending = false;
/** A holder that has not ended by then is stopped, or stuck, and is ended itself: the servers that its node speaks to must not stay behind. */
const HOLDER_PATIENCE_MS = 10_000;

/** Abstract sockets are freed by the kernel when the keeper dies, so no slot stays taken. Linux only, as slots are. */
function claim(slot: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.on('error', () => resolve(false));
    server.listen(`\0davit-cluster-slot-${slot}`, () => resolve(true));
  });
}

async function claimFirst(slots: readonly number[]): Promise<number | null> {
  for (const slot of slots) {
    const isOurs = await claim(slot);
    if (!isOurs) continue;
    const cgroup = `davit-${slot}`;
    cgroups.push(cgroup);
    // A keeper that was killed itself could not remove its own.
    await removeCgroups(cgroup);
    return slot;
  }
  return null;
}

function start(what: StartProcess): number | null {
  const log = openSync(what.logFile, 'a');
  const child = spawn(what.command, what.args, { stdio: ['ignore', log, log], env: { ...what.env } });
  closeSync(log);
  children.set(what.name, child);
  if (what.holdsNamespace) holders.add(what.name);
  child.on('error', (error) => {
    process.stderr.write(`${what.name}: ${error.message}\n`);
    ended(what.name, null, null);
  });
  child.on('exit', (code, signal) => ended(what.name, code, signal));
  return child.pid ?? null;
}

function ended(name: string, code: number | null, signal: string | null): void {
  children.delete(name);
  if (!ending) tell({ event: 'ended', name, code, signal });
}

function tell(message: FromKeeper): void {
  if (process.connected) process.send?.(message, () => undefined);
}

async function kill(name: string): Promise<void> {
  const child = children.get(name);
  if (child?.pid === undefined) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  // Through the first process inside: the holder itself then ends only when everything in the namespace is gone.
  const inside = holders.has(name) ? await childrenOf(child.pid) : [];
  for (const pid of inside) tryKill(pid);
  if (inside.length === 0) child.kill('SIGKILL');
  else setTimeout(() => child.kill('SIGKILL'), HOLDER_PATIENCE_MS).unref();
  await gone;
}

async function childrenOf(pid: number): Promise<number[]> {
  const list = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return list.trim().split(' ').filter(Boolean).map(Number);
}

async function end(keepLogs: boolean): Promise<never> {
  if (ending) return new Promise(() => undefined);
  ending = true;
  // A process stuck in the kernel must not keep the keeper, and through it the caller, forever.
  const patience = setTimeout(() => process.exit(1), 30_000);
  await Promise.all([...holders].map(kill));
  await Promise.all([...children.keys()].map(kill));
  await Promise.all(cgroups.map(removeCgroups));
  await removeRun(runFolder, keepLogs);
  clearTimeout(patience);
  process.exit(0);
}

async function obey(message: ToKeeper): Promise<void> {
  switch (message.do) {
    case 'start':
      return tell({ event: 'answer', id: message.id, value: ending ? null : start(message) });
    case 'claim':
      return tell({ event: 'answer', id: message.id, value: await claimFirst(message.slots) });
    case 'kill':
      await kill(message.name);
      return tell({ event: 'answer', id: message.id, value: null });
    case 'end':
      return end(message.keepLogs);
    default:
      message satisfies never;
  }
}

// Even a mistake in this file must not leave processes behind.
process.on('uncaughtException', (error) => {
  process.stderr.write(`${error.stack}\n`);
  void end(true);
});
process.on('message', (message: ToKeeper) => void obey(message));
process.on('disconnect', () => void end(false));
// Someone who ends the keeper means the cluster; a hang-up of the terminal reaches it through the launcher.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end(false));
process.on('SIGHUP', () => undefined);
await writeOwner(runFolder, process.pid);
tell({ event: 'answer', id: 0, value: process.pid });
