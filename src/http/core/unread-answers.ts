// What answers take of the memory until whoever asked has read them. A caller who asks and does not read is told to read
// first; where all together hold too much, the one who holds most loses the connection of his oldest answer.

export interface UnreadLimits {
  /** Bytes. A caller is refused from there on: one answer may be larger. */
  readonly ofCaller: number;
  readonly inAll: number;
}

/** The processes of the chart have 1 GiB. */
export const UNREAD_LIMITS: UnreadLimits = { ofCaller: 64 * 1024 * 1024, inAll: 256 * 1024 * 1024 };

/** What can be closed: many answers may wait on one. */
interface Connection {
  destroy(): unknown;
}

export interface UnreadAnswers {
  /** Whether the caller must read before he may ask for more. */
  isFull(caller: string): boolean;
  /** Counts an answer until what is returned is called; may close connections, also the answer's own. */
  add(caller: string, bytes: number, connection: Connection): () => void;
}

interface Answer {
  readonly bytes: number;
  readonly connection: Connection;
}

interface Holder {
  /** The oldest first. */
  readonly answers: Set<Answer>;
  bytes: number;
}

/** `onClosed` is told whose connection was closed, and how many bytes waited for him. */
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
