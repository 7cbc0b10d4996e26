// Plain variables of a record, by name. Imports no zod at run time, because kubectl-davit bundles it.

import type { PlainVariable } from '../../kinds/plain-variables.ts';

/** `before` with the variables that are set: a known name keeps its place, a new one comes last. The last of two values wins. */
export function withVariables(before: readonly PlainVariable[], set: readonly PlainVariable[]): PlainVariable[] {
  const values = new Map(before.map(({ name, value }) => [name, value]));
  for (const { name, value } of set) values.set(name, value);
  return Array.from(values, ([name, value]) => ({ name, value }));
}
