// How many there are of each group: of work that is under way, of keys that are taken.

/** Adds `by` to what is counted of the group. What there is none of is not in `counts`. */
export function count(counts: Map<string, number>, group: string, by: number): void {
  const number = (counts.get(group) ?? 0) + by;
  if (number === 0) counts.delete(group);
  else counts.set(group, number);
}
