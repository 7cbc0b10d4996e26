// Limits the memory of answers that their callers have not read. A caller with too many unread bytes is rejected. If all callers
// together have too many, the caller with the most loses the connection of its oldest answer.

export interface UnreadLimits {
  /** Bytes. A caller who has this many is rejected, so the last answer may exceed the limit. */
  readonly ofCaller: number;
  readonly inAll: number;
}

/** Bytes. A process of the chart has 1 GiB of memory. */
export const UNREAD_LIMITS: UnreadLimits = { ofCaller: 64 * 1024 * 1024, inAll: 256 * 1024 * 1024 };

/** A connection. Several answers may wait on one. */
interface Connection {
  destroy(): unknown;
}

export interface UnreadAnswers {
  /** Whether the caller must read its answers before it may send more requests. */
  isFull(caller: string): boolean;
  /** Counts an answer until the returned function is called. May close connections, also the answer's own. */
  add(caller: string, bytes: number, connection: Connection): () => void;
}

interface Answer {
  readonly bytes: number;
  readonly connection: Connection;
}

interface Holder {
  /** Oldest first. */
  readonly answers: Set<Answer>;
  bytes: number;
}

/** `onClosed` gets the caller whose connection was closed, and its number of unread bytes. */
export function makeUnreadAnswers(
  { ofCaller, inAll }: UnreadLimits,
  onClosed: (caller: string, bytes: number) => void,
): UnreadAnswers {
  const holders = new Map<string, Holder>();
  let total = 0;

  function release(caller: string, holder: Holder, answer: Answer): void {
    if (!holder.answers.delete(answer)) return;
    holder.bytes -= answer.bytes;
    total -= answer.bytes;
    if (holder.answers.size === 0) holders.delete(caller);
  }

  /** Closes the oldest connection of the caller with the most unread bytes. */
  function closeOldest(): void {
    const [largest] = [...holders].toSorted(([, a], [, b]) => b.bytes - a.bytes);
    if (largest === undefined) return;
    const [caller, holder] = largest;
    const [oldest] = holder.answers;
    onClosed(caller, holder.bytes);
    for (const answer of holder.answers) if (answer.connection === oldest?.connection) release(caller, holder, answer);
    oldest?.connection.destroy();
  }

  return {
    isFull: (caller) => (holders.get(caller)?.bytes ?? 0) >= ofCaller,
    add(caller, bytes, connection) {
      const holder = holders.get(caller) ?? { answers: new Set(), bytes: 0 };
      const answer = { bytes, connection };
      holders.set(caller, holder);
      holder.answers.add(answer);
      holder.bytes += bytes;
      total += bytes;
      while (total > inAll && holders.size > 0) closeOldest();
      return () => release(caller, holder, answer);
    },
  };
}
