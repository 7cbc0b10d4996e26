// The states that were seen, with the way to each. The table is exact: it compares whole states, so none is lost to a collision.

import type { State } from './world.ts';

export interface StateTable {
  readonly size: number;
  /** The number of the state; it is new if that is the size of before. */
  add(state: State, from: number, by: string): number;
  stateAt(index: number): State;
  pathTo(index: number): string[];
}

export function makeStateTable(width: number): StateTable {
  let capacity = 1 << 16;
  let states = new Int32Array(capacity * width);
  let parents = new Int32Array(capacity);
  let labels = new Int32Array(capacity);
  let slots = new Int32Array(capacity * 2).fill(-1);
  const names: string[] = [];
  const numbers = new Map<string, number>();
  let size = 0;

  function slotOf(state: ArrayLike<number>, offset: number): number {
    let mixed = 0x9e3779b9;
    for (let place = 0; place < width; place += 1) {
      mixed = Math.imul(mixed ^ (state[offset + place] ?? 0), 0x85ebca6b);
      mixed ^= mixed >>> 13;
    }
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0xc2b2ae35);
    return (mixed >>> 0) & (slots.length - 1);
  }
  function grow(): void {
    capacity *= 2;
    const widen = (old: Int32Array, by: number): Int32Array<ArrayBuffer> => {
      const next = new Int32Array(capacity * by);
      next.set(old);
      return next;
    };
    states = widen(states, width);
    parents = widen(parents, 1);
    labels = widen(labels, 1);
    slots = new Int32Array(capacity * 2).fill(-1);
    for (let index = 0; index < size; index += 1) {
      let slot = slotOf(states, index * width);
      while (slots[slot] !== -1) slot = (slot + 1) & (slots.length - 1);
      slots[slot] = index;
    }
  }
  function isAt(index: number, state: State): boolean {
    for (let place = 0; place < width; place += 1)
      if (states[index * width + place] !== (state[place] ?? 0)) return false;
    return true;
  }

  return {
    get size() {
      return size;
    },
    add(state, from, by) {
      let slot = slotOf(state, 0);
      for (; slots[slot] !== -1; slot = (slot + 1) & (slots.length - 1)) {
        const found = slots[slot] ?? 0;
        if (isAt(found, state)) return found;
      }
      if (size === capacity) {
        grow();
        slot = slotOf(state, 0);
        while (slots[slot] !== -1) slot = (slot + 1) & (slots.length - 1);
      }
      let label = numbers.get(by);
      if (label === undefined) {
        label = names.push(by) - 1;
        numbers.set(by, label);
      }
      slots[slot] = size;
      for (let place = 0; place < width; place += 1) states[size * width + place] = state[place] ?? 0;
      parents[size] = from;
      labels[size] = label;
      size += 1;
      return size - 1;
    },
    stateAt: (index) => Array.from(states.subarray(index * width, (index + 1) * width)),
    pathTo(index) {
      const path: string[] = [];
      for (let at = index; at > 0; at = parents[at] ?? 0) path.push(names[labels[at] ?? 0] ?? '');
      return path.toReversed();
    },
  };
}
