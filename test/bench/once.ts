// What several measures are taken from and what takes long to make.

import type { Bench } from './measure.ts';

/** `take` is called once for each bench, when it is first asked; a failure is everybody's. */
export function oncePerBench<T>(take: (bench: Bench) => Promise<T>): (bench: Bench) => Promise<T> {
  const taken = new WeakMap<Bench, Promise<T>>();
  return (bench) => {
    const result = taken.get(bench) ?? take(bench);
    taken.set(bench, result);
    return result;
  };
}
