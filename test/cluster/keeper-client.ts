// The launcher's end of the channel to its keeper (keeper.ts): start a process, learn that one has ended, end them all.
import { fork } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FromKeeper, StartProcess, ToKeeper } from './keeper.ts';
import { runVariable } from './run-folder.ts';
import { lastLines } from './tools.ts';

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly holdsNamespace?: boolean;
}

export interface Keeper {
  start(spec: ProcessSpec): Promise<Started>;
  /** Announces that `name` is about to end as it should; resolves when it has. */
  expectEnd(name: string): Promise<void>;
  /** Ends one process without a word; resolves when it has gone. It can be started again. */
  stop(name: string): Promise<void>;
  claim(slots: readonly number[]): Promise<number | undefined>;
  /** Waits for `work`; fails at once, with the process's last lines, when `name` ends before. */
  whileAlive<T>(name: string, work: Promise<T>): Promise<T>;
  /** Resolves when everything is gone. */
  end(keepLogs: boolean): Promise<void>;
  /** From here on an unstopped cluster does not keep the launcher's process alive. */
  release(): void;
}

export interface Started {
  readonly pid: number;
}

type Distributed<T> = T extends unknown ? Omit<T, 'id'> : never;

// Set apart by the caller's environment only where a program needs it; PATH for the node's helpers, GOGC for who has
// more memory than time.
const passedOn = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'GOGC', 'GOMEMLIMIT'];

export async function forkKeeper(runFolder: string, onSurprise: (message: string) => void): Promise<Keeper> {
  const logs = join(runFolder, 'logs');
  const log = openSync(join(logs, 'keeper.log'), 'a');
  const child = fork(fileURLToPath(new URL('./keeper.ts', import.meta.url)), [runFolder], {
    // Its own session: Ctrl-C in the terminal must not reach it before the launcher has had its say.
    detached: true,
    execArgv: [],
    stdio: ['ignore', log, log, 'ipc'],
    env: baseEnvironment(),
  });
  closeSync(log);

  const waiting = new Map<number, (value: number | null) => void>();
  const endings = new Map<string, (error: Error) => void>();
  const failed = new Map<string, Error>();
  const expected = new Map<string, () => void>();
  let nextId = 1;
  let ending = false;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  void gone.then(() => {
    for (const answer of waiting.values()) answer(null);
    waiting.clear();
    if (!ending) onSurprise('the keeper of the cluster ended, and the cluster with it');
  });

  child.on('message', (message: FromKeeper) => {
    if (message.event === 'answer') {
      waiting.get(message.id)?.(message.value);
      waiting.delete(message.id);
      return;
    }
    const asAnnounced = expected.get(message.name);
    if (asAnnounced !== undefined) {
      expected.delete(message.name);
      asAnnounced();
      return;
    }
    void explain(message).then((error) => {
      failed.set(message.name, error);
      const listener = endings.get(message.name);
      if (listener === undefined) onSurprise(error.message);
      listener?.(error);
    });
  });

  async function explain({ name, code, signal }: Extract<FromKeeper, { event: 'ended' }>): Promise<Error> {
    const file = join(logs, `${name}.log`);
    const text = existsSync(file) ? await readFile(file, 'utf8') : '';
    const how = signal === null ? `with code ${code}` : `by ${signal}`;
    return new Error(`${name} ended ${how}; the last lines of ${file}:\n${lastLines(text, 8)}`);
  }

  let released = false;
  let held = 0;
  /** A released keeper is no reason for this process to stay, but an answer of it is. */
  async function awaited<T>(answer: Promise<T>): Promise<T> {
    held += 1;
    child.channel?.ref();
    try {
      return await answer;
    } finally {
      held -= 1;
      if (released && held === 0) child.channel?.unref();
    }
  }

  function ask(message: Distributed<ToKeeper>): Promise<number | null> {
    const id = nextId;
    nextId += 1;
    return awaited(
      new Promise((resolve) => {
        if (!child.connected) return resolve(null);
        waiting.set(id, resolve);
        child.send({ ...message, id });
      }),
    );
  }

  function expectEnd(name: string): Promise<void> {
    return new Promise((resolve) => expected.set(name, resolve));
  }

  await new Promise<void>((resolve, reject) => {
    waiting.set(0, (pid) => (pid === null ? reject(new Error(`the keeper did not start, see ${logs}`)) : resolve()));
  });

  return {
    async start({ env = {}, holdsNamespace = false, ...spec }) {
      failed.delete(spec.name);
      const what: StartProcess = {
        ...spec,
        holdsNamespace,
        env: { ...baseEnvironment(), ...env, [runVariable]: runFolder },
        logFile: join(logs, `${spec.name}.log`),
      };
      const pid = await ask({ do: 'start', ...what });
      if (pid === null) throw new Error(`${spec.name} (${spec.command}) did not start, see ${logs}`);
      return { pid };
    },
    expectEnd,
    async stop(name) {
      const gone = expectEnd(name);
      await ask({ do: 'kill', name });
      await awaited(gone);
    },
    async claim(slots) {
      return (await ask({ do: 'claim', slots })) ?? undefined;
    },
    whileAlive(name, work) {
      const death = new Promise<never>((_, reject) => {
        const before = failed.get(name);
        if (before !== undefined) return reject(before);
        endings.set(name, reject);
      });
      return Promise.race([work, death]).finally(() => endings.delete(name));
    },
    async end(keepLogs) {
      ending = true;
      child.ref();
      child.channel?.ref();
      if (child.connected) child.send({ do: 'end', id: 0, keepLogs });
      await gone;
    },
    release() {
      released = true;
      child.unref();
      if (held === 0) child.channel?.unref();
    },
  };
}

function baseEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of passedOn) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  // Where nft, mount and the like are; a PATH that came through su or cron often lacks them.
  environment['PATH'] = [environment['PATH'] ?? '/usr/local/bin:/usr/bin:/bin', '/usr/local/sbin:/usr/sbin:/sbin'].join(
    ':',
  );
  return environment;
}
