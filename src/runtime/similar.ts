// "Did you mean": the known word that differs least from a mistyped one.

/** Undefined if none is near: at most two letters differ, and fewer than half of them. */
export function mostSimilar(word: string, known: readonly string[]): string | undefined {
  const distances = known.map((one) => ({ one, distance: one.startsWith(word) ? 1 : distance(word, one) }));
  const [nearest] = distances.toSorted((a, b) => a.distance - b.distance);
  return nearest && nearest.distance <= 2 && nearest.distance * 2 < Math.max(word.length, 3) ? nearest.one : undefined;
}

/** Number of letters to insert, delete, replace or swap with their neighbour. */
export function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const least = Math.min(
        at(row, j - 1) + 1,
        at(rows[i - 1], j) + 1,
        at(rows[i - 1], j - 1) + (isSame ? 0 : 1),
        isSwapped ? at(rows[i - 2], j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
      row.push(least);
    }
    rows.push(row);
  }
  return at(rows[a.length], b.length);
}

function at(row: readonly number[] | undefined, column: number): number {
  return row?.[column] ?? Number.POSITIVE_INFINITY;
}
