// A map that forgets what was not used for longest, so that callers cannot make it grow without end.

/**
 * In two generations, as a cache that is read far more often than it changes: what is used moves to the younger one at most
 * once until that is full, and then the older one is forgotten as a whole. Keeps at least the half of `limit` that was used
 * last, and never more than `limit`.
 */
export class LruMap<K, V> {
  #young = new Map<K, V>();
  #old = new Map<K, V>();
  readonly #half: number;

  /** An even number from 2 on. */
  constructor(limit: number) {
    this.#half = limit / 2;
  }

  /** The entry, which then counts as used just now. */
  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: K, value: V): void {
    this.#old.delete(key);
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  /** Takes the entry out, unless another value has taken its place. */
  drop(key: K, value: V): void {
    for (const entries of [this.#young, this.#old]) if (entries.get(key) === value) entries.delete(key);
  }

  delete(key: K): void {
    for (const entries of [this.#young, this.#old]) entries.delete(key);
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }
}
