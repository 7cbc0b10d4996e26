// Outcomes by what was read. A step is a function of the groups that it reads, so of two states that agree in these the second
// one needs no run: only what differs is looked at again. Every distinct outcome comes from one run of the real code.

import type { Column, Registry, State } from './world.ts';

export interface Outcome<Value> {
  readonly value: Value;
  /** The groups that it changed. */
  readonly changes: ReadonlyMap<Column, number>;
  /** The same after each of its writes. */
  readonly between: readonly ReadonlyMap<Column, number>[];
  /** The places that it read, as bits. */
  readonly places: number;
}

type Node<Value> = { readonly column: Column; readonly next: Map<number, Node<Value>> } | Outcome<Value>;

export interface Memo<Value> {
  find(step: string, state: State): Outcome<Value> | undefined;
  keep(step: string, reads: readonly (readonly [Column, number])[], outcome: Omit<Outcome<Value>, 'places'>): void;
  readonly counts: { hits: number; runs: number };
}

export function makeMemo<Value>(registry: Registry): Memo<Value> {
  const roots = new Map<string, Node<Value>>();
  const counts = { hits: 0, runs: 0 };
  return {
    counts,
    find(step, state) {
      let node = roots.get(step);
      while (node && 'column' in node) node = node.next.get(registry.read(state, node.column));
      if (node) counts.hits += 1;
      return node;
    },
    keep(step, reads, found) {
      counts.runs += 1;
      let places = 0;
      for (const [{ place }] of reads) places |= 1 << place;
      const outcome = { ...found, places };
      // Steps are deterministic: with the same answers so far they read the same next.
      let make = (node: Node<Value>): void => void roots.set(step, node);
      let node = roots.get(step);
      for (const [column, number] of reads) {
        if (!node) {
          node = { column, next: new Map() };
          make(node);
        }
        if (!('column' in node) || node.column !== column) throw new Error(`${step} is not deterministic`);
        const { next }: { next: Map<number, Node<Value>> } = node;
        make = (child) => void next.set(number, child);
        node = next.get(number);
      }
      if (!node) make(outcome);
    },
  };
}
