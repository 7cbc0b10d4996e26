// Keys that wait for their turn: each once, never two workers at one.

export class Queue {
  readonly #waiting = new Set<string>();
  readonly #working = new Set<string>();
  readonly #workers: number;
  readonly #work: (key: string) => Promise<void>;
  #started = false;

  constructor(workers: number, work: (key: string) => Promise<void>) {
    this.#workers = workers;
    this.#work = work;
  }

  add(key: string): void {
    this.#waiting.add(key);
    this.#next();
  }

  start(): void {
    this.#started = true;
    this.#next();
  }

  #next(): void {
    if (!this.#started) return;
    for (const key of this.#waiting) {
      if (this.#working.size >= this.#workers) return;
      if (this.#working.has(key)) continue;
      this.#waiting.delete(key);
      this.#working.add(key);
      void this.#take(key);
    }
  }

  async #take(key: string): Promise<void> {
    try {
      await this.#work(key);
    } catch (error) {
      process.stderr.write(`${key}: ${error instanceof Error ? error.message : String(error)}\n`);
      setTimeout(() => this.add(key), 1000).unref();
    }
    this.#working.delete(key);
    this.#next();
  }
}
