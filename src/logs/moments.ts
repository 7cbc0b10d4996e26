// Times that a caller, or a line of a log, may name. Pure.

const [EARLIEST, LATEST] = [Date.parse('0000-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];

/**
 * Milliseconds since 1970 of a time in RFC 3339. Undefined for text in the form of a time that is none, such as the 13th month, and
 * for a time whose year in UTC has more than four digits: neither can be written as RFC 3339 again.
 */
export function momentOf(time: string): number | undefined {
  const moment = Date.parse(time);
  return moment >= EARLIEST && moment <= LATEST ? moment : undefined;
}
