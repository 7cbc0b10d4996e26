// The parts with a scale that begin or end with a change.

/** Names of parts. */
interface PartChanges {
  readonly begins: readonly string[];
  readonly ends: readonly string[];
}

/** From the names of the parts before and after. */
export function changesOfParts(was: readonly string[], is: readonly string[]): PartChanges {
  return { begins: is.filter((part) => !was.includes(part)), ends: was.filter((part) => !is.includes(part)) };
}

/** One clause for each part. */
export function partWords({ begins, ends }: PartChanges): string[] {
  return [...begins.map((part) => `it had no ${part} before`), ...ends.map((part) => `${part} is removed`)];
}
