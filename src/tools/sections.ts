// Documents with prose by hand and generated tables: a table is between two lines that name its source.

/**
 * `page` with `table` in place of what stands between the lines `<!-- generated from SOURCE: begin -->` and
 * `<!-- generated from SOURCE: end -->`. Throws an Error if one of them is missing.
 */
export function withTable(page: string, source: string, table: string): string {
  const [from, to] = [`<!-- generated from ${source}: begin -->`, `<!-- generated from ${source}: end -->`];
  const begin = page.indexOf(from);
  const end = page.indexOf(to);
  if (begin < 0 || end < begin)
    throw new Error(`write a generated table: its page needs the lines "${from}" and "${to}"`);
  return `${page.slice(0, begin + from.length)}\n\n${table}\n${page.slice(end)}`;
}
