// The cache folder of things made once per machine, and the lock that lets only one process make them at a time.
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  const named = env['DAVIT_CACHE'];
  if (named) return named;
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'davit');
}

/**
 * Runs `work` while no other process of this machine runs under the same name.
 *
 * The lock is an abstract Unix socket: the kernel frees it with its process, however that ended, so a crash leaves
 * nothing stale behind. Other systems than Linux have only sockets with a path: one that nobody answers any more is
 * removed. `onWait` is called if another process holds it, and again after each
 * minute, with the minutes so far.
 */
export async function withLock<T>(name: string, onWait: (minutes: number) => void, work: () => Promise<T>): Promise<T> {
  const id = `davit-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
  const address = process.platform === 'linux' ? `\0${id}` : join(tmpdir(), `${id}.sock`);
  const release = (await tryListen(address)) ?? (await released(address, onWait));
  try {
    return await work();
  } finally {
    release();
  }
}

/** An `onWait` of withLock that prints what is waited for, and for how long. */
export function whileWaiting(progress: (line: string) => void, what: string): (minutes: number) => void {
  return (minutes) => progress(`${what}, waiting${minutes === 0 ? '' : ` for ${minutes} min`}`);
}

/** Resolves to what frees the lock. */
async function released(address: string, onWait: (minutes: number) => void): Promise<() => void> {
  let minutes = 0;
  onWait(minutes);
  const timer = setInterval(() => onWait((minutes += 1)), 60_000);
  try {
    for (;;) {
      await holderGone(address);
      const release = await tryListen(address);
      if (release !== undefined) return release;
    }
  } finally {
    clearInterval(timer);
  }
}

function tryListen(address: string): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    const waiting = new Set<{ destroy(): void }>();
    const server = createServer((socket) => {
      waiting.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => waiting.delete(socket));
    });
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(new Error('take the lock of the cache', { cause: error }));
    });
    server.listen(address, () => {
      resolve(() => {
        server.close();
        for (const socket of waiting) socket.destroy();
      });
    });
  });
}

/** The holder answers nothing; its connection ends when it lets go or dies. */
function holderGone(address: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' && !address.startsWith('\0')) rmSync(address, { force: true });
    });
    socket.on('close', () => resolve());
    socket.resume();
  });
}
