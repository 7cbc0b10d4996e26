// Tables and ages, as text.

/** Rows with aligned columns, two spaces apart. No line ends with spaces. */
export function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>(
    (all, row) => row.map((cell, column) => Math.max(all[column] ?? 0, cell.length)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const;

/** `3h` since an RFC 3339 time; `unknown` without one. `now` in milliseconds. */
export function ageOf(time: string | null | undefined, now: number): string {
  const seconds = time ? Math.max(0, Math.floor((now - Date.parse(time)) / 1000)) : Number.NaN;
  if (Number.isNaN(seconds)) return 'unknown';
  const [unit, size] = UNITS.find(([, least]) => seconds >= least * 2) ?? ['s', 1];
  return `${Math.floor(seconds / size)}${unit}`;
}
