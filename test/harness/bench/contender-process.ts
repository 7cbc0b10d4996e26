// One arm's process: started, waited for until it says that it is ready, ended.

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { followFile } from './follow-file.ts';
import type { Running } from './measure.ts';

export interface ArmProcess {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Everything that it says. */
  readonly log: string;
  /** Whether this line, of either stream, says that it is ready to act. */
  readonly isReady: (line: string) => boolean;
  /** Told every line. */
  readonly onLine?: (line: string) => void;
}

const READY_WITHIN_MS = 180_000;
const STOPPED_WITHIN_MS = 30_000;
/** Of the log in the message of a start that failed. */
const LAST_LINES = 5;

/** Never started again: an arm that dies has not won. `stop` throws if it ended on its own. */
export async function startArm({ command, args, env, log, isReady, onLine }: ArmProcess): Promise<Running> {
  const begin = performance.now();
  // It writes there itself. Through a pipe, whoever measures would have a share of the processors to read each line.
  const file = openSync(log, 'a');
  const { size: before } = await stat(log);
  const child = spawn(command, args, { env: { ...surroundings(), ...env }, stdio: ['ignore', file, file] });
  closeSync(file);
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('exit', (code, signal) => resolve(`it ended with ${code ?? signal}`));
  });
  // However this process ends, the arm ends too.
  const killNow = (): void => void child.kill('SIGKILL');
  process.once('exit', killNow);
  void ended.then(() => process.removeListener('exit', killNow));
  let stopping = false;
  const last: string[] = [];
  const ready = Promise.withResolvers<number>();
  const following = followFile(log, before, (line) => {
    if (last.push(line) > LAST_LINES) last.shift();
    onLine?.(line);
    if (isReady(line)) ready.resolve(performance.now() - begin);
  });
  const patience = setTimeout(
    () => ready.reject(new Error(`it was not ready after ${READY_WITHIN_MS / 1000} s`)),
    READY_WITHIN_MS,
  );
  void ended.then((why) => {
    // However it ended: one that a measure has killed nobody will stop.
    following.end();
    ready.reject(new Error(why));
  });
  try {
    const readyMs = await ready.promise;
    if (onLine === undefined) following.end();
    return { pid: child.pid ?? 0, readyMs, stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw new Error(
      [
        `${command} ${args.join(' ')}: ${error instanceof Error ? error.message : String(error)}. The end of its log, ${log}:`,
        ...last,
      ].join('\n'),
      { cause: error },
    );
  } finally {
    clearTimeout(patience);
  }

  async function stop(): Promise<void> {
    if (stopping) return;
    stopping = true;
    if (hasEnded(child)) throw new Error(`${command} ${args.join(' ')}: ${await ended}; its log: ${log}`);
    child.kill('SIGTERM');
    const impatient = setTimeout(() => child.kill('SIGKILL'), STOPPED_WITHIN_MS);
    await ended;
    clearTimeout(impatient);
  }
}

function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}

/** Of the caller's environment only what programs need: no cluster and no settings of a developer's shell. */
function surroundings(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(DAVIT_|KUBE|NODE_OPTIONS)/.test(name)));
}
