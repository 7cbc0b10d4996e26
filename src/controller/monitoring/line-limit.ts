// Limits the lines that the log gets about one subject: what flaps must not fill it.

export interface LineLimit {
  /** Undefined if the line is suppressed; otherwise the number of lines that were suppressed since the last allowed one. */
  take(subject: string): { readonly suppressed: number } | undefined;
  /** The subject is gone. */
  forget(subject: string): void;
}

/** Lines that a subject may have at once: a build with its rollout has about ten, a deletion six. */
const BURST = 30;
/** One more line after this time. */
const REFILL_MS = 60_000;
/** Subjects that are remembered; the ones that were silent longest are forgotten first, which allows them a new burst. */
const REMEMBERED = 10_000;

/** `elapsed` is the time in milliseconds since some moment. */
export function makeLineLimit(elapsed: () => number): LineLimit {
  const subjects = new Map<string, { tokens: number; at: number; suppressed: number }>();
  return {
    take(subject) {
      const now = elapsed();
      const before = subjects.get(subject);
      const tokens = before ? Math.min(BURST, before.tokens + (now - before.at) / REFILL_MS) : BURST;
      const suppressed = before?.suppressed ?? 0;
      subjects.delete(subject);
      const isAllowed = tokens >= 1;
      subjects.set(subject, {
        tokens: isAllowed ? tokens - 1 : tokens,
        at: now,
        suppressed: isAllowed ? 0 : suppressed + 1,
      });
      const [oldest] = subjects.keys();
      if (subjects.size > REMEMBERED && oldest !== undefined) subjects.delete(oldest);
      return isAllowed ? { suppressed } : undefined;
    },
    forget: (subject) => void subjects.delete(subject),
  };
}
