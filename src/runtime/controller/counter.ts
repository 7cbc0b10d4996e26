// Counts by group, such as requests in flight or keys being processed.

/** Adds `by` to the group's count. A count of 0 is removed from `counts`. */
export function count(counts: Map<string, number>, group: string, by: number): void {
  const number = (counts.get(group) ?? 0) + by;
  if (number === 0) counts.delete(group);
  else counts.set(group, number);
}
