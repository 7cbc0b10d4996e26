// Several variables are one change.

import { describe, expect, it } from 'vitest';
import type { Deployment } from '../deploy/http/payloads.ts';
import { patchOfRows, type Row, rowsOf, withPasted } from './variable-rows.ts';

const NOW = {
  secrets: [
    { name: 'API_KEY', value: '' },
    { name: 'OLD', value: '' },
  ],
  secret_references: [{ name: 'TOKEN', secret_name: 'tokens', secret_key: 'token' }],
  source_config: {
    env: [
      { name: 'LEVEL', value: 'info' },
      { name: 'MODE', value: 'a' },
    ],
  },
} as unknown as Deployment;

function changed(changes: Readonly<Record<string, Partial<Row>>>, more: readonly Row[] = []): Row[] {
  return [
    ...rowsOf(NOW).map(
      (row): Row => ({ ...row, ...(changes[row.name] && { state: 'changed' }), ...changes[row.name] }),
    ),
    ...more,
  ];
}

describe('rows', () => {
  it('of a name that is removed and added again are its new value', () => {
    const again = (name: string, kind: Row['kind']): Row[] =>
      changed({ [name]: { state: 'removed' } }, [{ name, kind, value: 'b', state: 'new' }]);
    expect(patchOfRows(again('MODE', 'plain'), NOW)).toMatchObject({
      source_config: { env: [NOW.source_config.env?.[0], { name: 'MODE', value: 'b' }] },
    });
    expect(patchOfRows(again('OLD', 'secret'), NOW)).toMatchObject({ secrets: [{ name: 'OLD', value: 'b' }] });
  });

  it('are a change of all lists at once, which keeps what they do not touch', () => {
    const rows = changed(
      {
        LEVEL: { value: 'debug' },
        MODE: { state: 'removed' },
        API_KEY: { value: 'canary' },
        OLD: { state: 'removed' },
      },
      [
        { name: 'NEW', kind: 'secret', value: 's', state: 'new' },
        { name: 'P', kind: 'plain', value: '', state: 'new' },
        { name: 'R', kind: 'reference', value: '', secretName: 'a', secretKey: 'b', state: 'new' },
      ],
    );
    expect(patchOfRows(rows, NOW)).toEqual({
      source_config: {
        env: [
          { name: 'LEVEL', value: 'debug' },
          { name: 'P', value: '' },
        ],
      },
      secrets: [
        { name: 'API_KEY', value: 'canary' },
        { name: 'OLD', value: null },
        { name: 'NEW', value: 's' },
      ],
      secrets_mode: 'merge',
      secret_references: [
        { name: 'TOKEN', secret_name: 'tokens', secret_key: 'token' },
        { name: 'R', secret_name: 'a', secret_key: 'b' },
      ],
    });
  });

  it('move a variable from one list to another', () => {
    expect(patchOfRows(changed({ LEVEL: { kind: 'secret', value: 'x' } }), NOW)).toEqual({
      source_config: { env: [{ name: 'MODE', value: 'a' }] },
      secrets: [{ name: 'LEVEL', value: 'x' }],
      secrets_mode: 'merge',
    });
    expect(patchOfRows(changed({ OLD: { kind: 'plain', value: 'x' } }), NOW)).toEqual({
      source_config: { env: [...(NOW.source_config.env ?? []), { name: 'OLD', value: 'x' }] },
      secrets: [{ name: 'OLD', value: null }],
      secrets_mode: 'merge',
    });
  });

  it('keep what somebody else has set meanwhile', () => {
    const rows = changed({ LEVEL: { value: 'debug' } });
    const env = [...(NOW.source_config.env ?? []), { name: 'OTHER', value: '1' }];
    expect(patchOfRows(rows, { ...NOW, source_config: { ...NOW.source_config, env } })).toEqual({
      source_config: { env: [{ name: 'LEVEL', value: 'debug' }, ...env.slice(1)] },
    });
  });

  it.each([
    ['nothing is touched', changed({})],
    ['a secret has no other value', changed({ API_KEY: { value: '' } })],
  ])('are no change where %s', (_name, rows) => {
    expect(() => patchOfRows(rows, NOW)).toThrow('Nothing is changed. Change a variable, or cancel.');
  });

  it('take pasted values by name', () => {
    const given = [
      { name: 'LEVEL', value: 'debug' },
      { name: 'API_KEY', value: 'canary' },
      { name: 'TOKEN', value: 't' },
      { name: 'FURTHER', value: 'f' },
    ];
    const rows = withPasted(changed({}), given, 'secret');
    expect(patchOfRows(rows, NOW)).toEqual({
      source_config: {
        env: [
          { name: 'LEVEL', value: 'debug' },
          { name: 'MODE', value: 'a' },
        ],
      },
      secrets: [
        { name: 'API_KEY', value: 'canary' },
        { name: 'TOKEN', value: 't' },
        { name: 'FURTHER', value: 'f' },
      ],
      secrets_mode: 'merge',
      secret_references: [],
    });
  });
});
