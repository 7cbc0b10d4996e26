// I8: the values of Secrets are in Secrets and nowhere else, in whatever dress.

import type { Run, Utterance } from './evidence.ts';
import type { Sighting } from './object-history.ts';

/** Shorter ones, such as a user's name, stand in many places by right. */
const SHORTEST_SECRET = 12;

/** Where a value was found, or nothing. The value itself is not told again. */
export function leaks(run: Run): string | undefined {
  const dresses = secretsIn(run).flatMap(({ name, data }) => inEveryDress(data).map((dress) => ({ name, dress })));
  const said: Utterance[] = [
    ...run.said,
    ...everythingIn(run)
      .filter(({ kind }) => kind !== 'Secret')
      .map(({ kind, object }) => ({ where: `${kind} ${object.metadata.name}`, text: JSON.stringify(object) })),
    ...run.trace.writes
      .filter(({ resource }) => resource !== 'secrets')
      .map(({ label, body }) => ({ where: `the body of ${label}`, text: JSON.stringify(body) })),
  ];
  for (const { where, text } of said) {
    const found = dresses.find(({ dress }) => text.includes(dress));
    if (found) return `a value of ${found.name} stands in ${where}`;
  }
  return undefined;
}

interface Kept {
  readonly name: string;
  /** In base64, as the API shows it. */
  readonly data: string;
}

/** Where its builds run too. */
function everythingIn({ history, builds }: Run): readonly Sighting[] {
  return [...history, ...(builds?.history ?? [])];
}

function secretsIn(run: Run): Kept[] {
  const values = new Map<string, Kept>();
  for (const { kind, object } of everythingIn(run)) {
    if (kind !== 'Secret') continue;
    for (const [key, data] of Object.entries(object.data ?? {})) {
      const isLong = Buffer.from(data, 'base64').length >= SHORTEST_SECRET;
      if (isLong) values.set(data, { name: `Secret ${object.metadata.name}, key ${key}`, data });
    }
  }
  return [...values.values()];
}

function inEveryDress(data: string): string[] {
  const bytes = Buffer.from(data, 'base64');
  const value = bytes.toString();
  const dresses = [data, bytes.toString('base64url'), bytes.toString('hex')];
  // Bytes that are no text have no other dress.
  if (value.includes('\uFFFD')) return dresses;
  const json = JSON.stringify(value);
  // The last: a JSON text inside a JSON text, as an object in a log line is.
  return [
    ...new Set([...dresses, value, encodeURIComponent(value), json.slice(1, -1), JSON.stringify(json).slice(3, -3)]),
  ];
}
