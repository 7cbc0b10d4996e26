// The rows of the dialog of variables, and the one change that they stand for. Pure.

import type { Deployment, PatchDeployment } from '../deploy/http/payloads.ts';

export type Kind = 'secret' | 'plain' | 'reference';

export interface Row {
  readonly name: string;
  readonly kind: Kind;
  /** Of a secret that exists: empty, which keeps it. */
  readonly value: string;
  readonly secretName?: string;
  readonly secretKey?: string;
  readonly state: 'kept' | 'new' | 'changed' | 'removed';
}

export function rowsOf({ secrets, secret_references: references, source_config: { env } }: Deployment): Row[] {
  return [
    ...(env ?? []).map(({ name, value }): Row => ({ name, kind: 'plain', value, state: 'kept' })),
    ...secrets.map(({ name }): Row => ({ name, kind: 'secret', value: '', state: 'kept' })),
    ...(references ?? []).map(
      ({ name, secret_name: secretName, secret_key: secretKey }): Row => ({
        name,
        kind: 'reference',
        value: '',
        secretName,
        secretKey,
        state: 'kept',
      }),
    ),
  ];
}

/** Pasted values over the rows of the same name; others follow. A row that exists keeps its kind. */
export function withPasted(
  rows: readonly Row[],
  given: readonly { readonly name: string; readonly value: string }[],
  kind: Kind,
): Row[] {
  const pasted = new Map(given.map(({ name, value }) => [name, value]));
  const over = rows.map((row): Row => {
    const value = pasted.get(row.name);
    if (value === undefined) return row;
    pasted.delete(row.name);
    const changed = row.kind === 'reference' ? { kind } : {};
    return { ...row, ...changed, value, state: row.state === 'new' ? 'new' : 'changed' };
  });
  return [...over, ...Array.from(pasted, ([name, value]): Row => ({ name, kind, value, state: 'new' }))];
}

export interface PatchOfRows {
  readonly source_config?: { readonly env: { name: string; value: string }[] };
  readonly secrets?: { name: string; value: string | null }[];
  readonly secrets_mode?: 'merge';
  readonly secret_references?: { name: string; secret_name: string; secret_key: string }[];
}

/** What the rows change of `now`, which somebody may have changed since. Throws an Error where they change nothing. */
export function patchOfRows(rows: readonly Row[], now: Deployment): PatchOfRows & PatchDeployment {
  // The last row of a name is what is wanted of it: it may have been removed and added again.
  const byName = new Map(rows.filter(({ state }) => state !== 'kept').map((row) => [`${row.kind} ${row.name}`, row]));
  const touched = [...byName.values()];
  const [env, references] = [now.source_config.env ?? [], now.secret_references ?? []];
  const there = new Set(now.secrets.map(({ name }) => name));
  /** In their places, or at the end. */
  const listed = <T extends { readonly name: string }>(all: readonly T[], kind: Kind, of: (row: Row) => T): T[] => {
    const wanted = touched.filter((row) => row.kind === kind && row.state !== 'removed');
    const kept = all.flatMap((one) => {
      const row = touched.find(({ name }) => name === one.name);
      return row === undefined ? [one] : wanted.includes(row) ? [of(row)] : [];
    });
    return [...kept, ...wanted.filter(({ name }) => !all.some((one) => one.name === name)).map(of)];
  };
  const nextEnv = listed(env, 'plain', ({ name, value }) => ({ name, value }));
  const nextReferences = listed(references, 'reference', ({ name, secretName = '', secretKey = '' }) => ({
    name,
    secret_name: secretName,
    secret_key: secretKey,
  }));
  const secrets = touched.flatMap(({ name, kind, state, value }): { name: string; value: string | null }[] => {
    if (kind === 'secret' && state !== 'removed') return value === '' && there.has(name) ? [] : [{ name, value }];
    return there.has(name) ? [{ name, value: null }] : [];
  });
  const differs = (a: unknown, b: unknown): boolean => JSON.stringify(a) !== JSON.stringify(b);
  const patch = {
    ...(differs(env, nextEnv) && { source_config: { env: nextEnv } }),
    ...(secrets.length > 0 && { secrets, secrets_mode: 'merge' as const }),
    ...(differs(references, nextReferences) && { secret_references: nextReferences }),
  };
  if (Object.keys(patch).length === 0) throw new Error('Nothing is changed. Change a variable, or cancel.');
  return patch;
}
