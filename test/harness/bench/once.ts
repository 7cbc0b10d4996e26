// What takes long to make and is needed in several places.

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

/** An arm's program, for all arms of its kind: which of them was prepared is nobody's business. */
export function builtOnce<T>(build: (say: (line: string) => void) => Promise<T>): typeof build {
  let built: Promise<T> | undefined;
  return (say) => (built ??= build(say));
}
