// States that wait to be looked at, by number: those of a level before those of the next. Small, because there may be millions.

export interface Order {
  /** Whether the state was not in it before. Levels never fall. */
  add(at: number, level: number): boolean;
  /** Undefined if none is left. */
  next(): number | undefined;
  /** Level of the next state; if none is left, one more than that of the last. */
  level(): number;
}

export function makeOrder(): Order {
  let queue = new Int32Array(1 << 12);
  let isKnown = new Uint8Array(1 << 12);
  /** Where each level begins in the queue. */
  const begins: number[] = [];
  let size = 0;
  let head = 0;
  return {
    add(at, level) {
      if (at >= isKnown.length) isKnown = grown(isKnown, at + 1, Uint8Array);
      if (isKnown[at] === 1) return false;
      isKnown[at] = 1;
      if (size === queue.length) queue = grown(queue, size + 1, Int32Array);
      while (begins.length <= level) begins.push(size);
      queue[size] = at;
      size += 1;
      return true;
    },
    next() {
      if (head === size) return undefined;
      head += 1;
      return queue[head - 1];
    },
    level() {
      if (head === size) return begins.length;
      return begins.findLastIndex((begin) => begin <= head);
    },
  };
}

function grown<Numbers extends Int32Array | Uint8Array>(
  old: Numbers,
  least: number,
  Kind: new (length: number) => Numbers,
): Numbers {
  const next = new Kind(Math.max(least, old.length * 2));
  next.set(old);
  return next;
}
