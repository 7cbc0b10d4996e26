// Reaches the cluster only through kubectl, with the user's kubeconfig, plugins and rights. No other client is loaded, so that a
// command starts as fast as kubectl.

import { type ChildProcess, spawn } from 'node:child_process';
import { EXIT_CODES } from './exit-codes.ts';

/** Data of a failure for programs in addition to its message, with --output json. */
export interface Outcome {
  readonly result: 'ready' | 'failed' | 'undecided';
  /** The reason of the condition, or the state of the revision, that decided it; null where none did. */
  readonly reason: string | null;
  readonly message: string | null;
  /** What to do next. */
  readonly hint: string | null;
}

/** The cause of a failure, as one sentence or kubectl's message. */
export class Failure extends Error {
  readonly exitCode: number = EXIT_CODES.failed.code;
  readonly outcome: Outcome | undefined;

  constructor(message: string, outcome?: Outcome) {
    super(message);
    this.outcome = outcome;
  }
}

/** What was waited for is not decided after the time that was given. The exit code is that of timeout(1). */
export class TimedOut extends Failure {
  override readonly exitCode = EXIT_CODES.undecided.code;
}

/** Ctrl-C at a question. */
export class Interrupted extends Failure {
  override readonly exitCode = EXIT_CODES.interrupted.code;
}

/** Whether the caller lacks the right. */
export function isForbidden(error: unknown): boolean {
  return error instanceof Failure && error.message.includes('(Forbidden)');
}

/** Whether there is no kubectl. */
export function isMissing(error: unknown): boolean {
  return error instanceof Failure && error.message.includes('could not be started: ');
}

function notStarted(program: string, { message }: Error): Failure {
  return new Failure(`${program} could not be started: ${message}`);
}

/** For what may fail without harm. */
export function ignoreFailure(error: unknown): undefined {
  if (!(error instanceof Failure)) throw error;
}

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
      child.on('error', (error) => reject(notStarted(program, error)));
      child.on('close', (code) => {
        if (code === 0) resolve(Buffer.concat(out).toString('utf8'));
        else reject(new Failure(Buffer.concat(words).toString('utf8').trim() || `${program} ended with ${code}`));
      });
      // kubectl may exit before it has read all input.
      child.stdin.on('error', () => undefined);
      child.stdin.end(input ?? '');
    });
}

const atTheEnd = new Set<() => void>();

/** `work` is called once: when this program ends, for whatever reason, or when what is returned is called. */
export function atEnd(work: () => void): () => void {
  atTheEnd.add(work);
  return () => {
    if (atTheEnd.delete(work)) work();
  };
}

/**
 * A kubectl that forwards, follows or copies, and must not outlive this program. `after`: called when the child has been ended or has
 * ended.
 */
export function endsWithThis(child: ChildProcess, after: () => void = () => undefined): void {
  const end = atEnd(() => {
    child.kill();
    after();
  });
  child.once('close', end);
}

/** Called when this program ends, for whatever reason. What is asked of kubectl at the very end may outlive it. */
export function tidyUp(): void {
  for (const work of atTheEnd) work();
  atTheEnd.clear();
}

const onThisTerminal = new Set<ChildProcess>();
/** Ctrl-C reaches them without this, and `kill -INT` does not. */
const passOn = (): void => {
  for (const child of onThisTerminal) child.kill('SIGINT');
};

/** Runs kubectl on this terminal and returns its exit code. At Ctrl-C this process stays until the others end. */
export function onTerminal(flags: readonly string[], args: readonly string[], program = 'kubectl'): Promise<number> {
  return new Promise((resolve, reject) => {
    if (onThisTerminal.size === 0) process.on('SIGINT', passOn);
    const child = spawn(program, [...flags, ...args], { stdio: 'inherit' });
    onThisTerminal.add(child);
    endsWithThis(child);
    child.on('error', (error) => reject(notStarted(program, error)));
    child.on('close', (code, signal) => {
      onThisTerminal.delete(child);
      if (onThisTerminal.size === 0) process.off('SIGINT', passOn);
      resolve(code ?? EXIT_CODES[signal === 'SIGPIPE' ? 'unread' : 'interrupted'].code);
    });
  });
}

/** A kubectl that serves until it is ended from here or there. */
interface Serving {
  /** What the pattern has found: a port or an address. */
  readonly found: string;
  /** Resolves when kubectl has ended, to its exit code and message. */
  readonly ended: Promise<{ readonly code: number; readonly message: string }>;
  close(): void;
}

/** Resolves when the output of kubectl has what `pattern` finds. Throws Failure with kubectl's message. `after`: as for endsWithThis. */
export async function serving(
  args: readonly string[],
  pattern: RegExp,
  { program, after }: { readonly program: string; readonly after?: () => void },
): Promise<Serving> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  endsWithThis(child, after);
  let [words, out] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (words = `${words}${chunk.toString('utf8')}`.slice(-4000)));
  const ended = new Promise<{ code: number; message: string }>((end) => {
    child.on('close', (code) =>
      end({ code: code ?? EXIT_CODES.interrupted.code, message: words.trim() || `${program} ended with ${code}` }),
    );
  });
  const found = await new Promise<string>((resolve, reject) => {
    child.on('error', (error) => reject(notStarted(program, error)));
    void ended.then(({ message }) => reject(new Failure(message)));
    child.stdout.on('data', (chunk: Buffer) => {
      out = `${out}${chunk.toString('utf8')}`.slice(-1000);
      const [, one] = pattern.exec(out) ?? [];
      if (one !== undefined) resolve(one);
    });
  });
  return { found, ended, close: () => child.kill() };
}

/** A local port that leads to a port of a pod or a Service, until `close` or the end of kubectl. */
export interface Forwarded extends Omit<Serving, 'found'> {
  readonly port: number;
}

export interface ForwardTarget {
  /** `pod/NAME` or `service/NAME`. */
  readonly target: string;
  /** Its port, a number or the name of one. */
  readonly port: number | string;
  /** 0 for any free port. */
  readonly localPort?: number;
}

/** Resolves when the port is open. Throws Failure with kubectl's message. */
export async function forward(
  flags: readonly string[],
  { target, port, localPort = 0 }: ForwardTarget,
  program = 'kubectl',
): Promise<Forwarded> {
  const local = localPort === 0 ? '' : String(localPort);
  // Without it kubectl is content with the other address family, where the port of this one is taken.
  const args = [...flags, 'port-forward', '--address=127.0.0.1', target, `${local}:${port}`];
  const { found, ...forwarding } = await serving(args, /^Forwarding from 127\.0\.0\.1:(\d+) ->/m, { program });
  return { port: Number(found), ...forwarding };
}
