// Limits the lines that the log gets about one subject: what flaps must not fill it, and its last line is the true one.

import type { Clock } from '../../runtime/controller/clock.ts';

/** Writes a line; `suppressed` is the number of lines about the subject that are missing since the line before. */
export type Write = (suppressed: number) => void;

export interface LineLimit {
  /** Writes at once, or suppresses the line. The newest of the suppressed lines is written when the subject may have one again. */
  tell(subject: string, write: Write): void;
  /** The subject is gone. */
  forget(subject: string): void;
  /** Writes nothing more. */
  stop(): void;
}

interface Subject {
  readonly tokens: number;
  /** When the tokens were counted. */
  readonly at: number;
  readonly suppressed: number;
  readonly waiting?: { readonly write: Write; readonly cancel: () => void };
}

/** Lines that a subject may have at once: a build with its rollout has about ten, a deletion six. */
const BURST = 30;
/** One more line after this time. */
const REFILL_MS = 60_000;
/** Subjects that are remembered; the ones that were silent longest are forgotten first, which allows them a new burst. */
const REMEMBERED = 10_000;

export function makeLineLimit({ elapsed, schedule }: Pick<Clock, 'elapsed' | 'schedule'>): LineLimit {
  const subjects = new Map<string, Subject>();

  function tokensOf(subject: Subject | undefined): number {
    return subject ? Math.min(BURST, subject.tokens + (elapsed() - subject.at) / REFILL_MS) : BURST;
  }

  function writeWaiting(name: string): void {
    const subject = subjects.get(name);
    if (!subject?.waiting) return;
    const { suppressed, waiting } = subject;
    subjects.set(name, { tokens: Math.max(0, tokensOf(subject) - 1), at: elapsed(), suppressed: 0 });
    waiting.write(suppressed - 1);
  }

  function forget(name: string): void {
    subjects.get(name)?.waiting?.cancel();
    subjects.delete(name);
  }

  return {
    tell(name, write) {
      const before = subjects.get(name);
      const tokens = tokensOf(before);
      const suppressed = before?.suppressed ?? 0;
      forget(name);
      const isAllowed = tokens >= 1;
      subjects.set(name, {
        tokens: isAllowed ? tokens - 1 : tokens,
        at: elapsed(),
        suppressed: isAllowed ? 0 : suppressed + 1,
        ...(!isAllowed && {
          waiting: { write, cancel: schedule((1 - tokens) * REFILL_MS, () => writeWaiting(name)) },
        }),
      });
      const [oldest] = subjects.keys();
      if (subjects.size > REMEMBERED && oldest !== undefined) forget(oldest);
      if (isAllowed) write(suppressed);
    },
    forget,
    stop() {
      for (const name of subjects.keys()) forget(name);
    },
  };
}
