import { describe, expect, it } from 'vitest';
import { aRecord, uid } from '../../../test/support/cli-world.ts';
import { MOVE, MOVING, revision } from '../../../test/support/database-world.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { moveMarkOf, otherDatabase, strayedMark } from './move-mark.ts';

const STOPPED_AT = '2026-02-01T00:00:00Z';
const moving = { move: 'pod/0 to cloudnative-pg/1', minScale: 2, stoppedAt: STOPPED_AT };
const own = (resolved: object, spec = aRecord().spec): AppRevision[] => [
  revision('first', resolved, 1, spec) as unknown as AppRevision,
];
const POD = { server: {}, postgres: { image: 'postgres:17' } };
const BY = `${MOVING}-by`;
const ours = { [MOVING]: JSON.stringify(moving), [BY]: `${uid} ${STOPPED_AT} anna` };
const having = (annotations: Record<string, string>, spec: object = {}): ReturnType<typeof aRecord> =>
  aRecord(
    { sourceConfig: { database: { driver: 'cloudnative-pg' }, resourceSpec: { minScale: 0, maxScale: 0 } }, ...spec },
    {},
    {
      annotations,
      generation: 4,
    },
  );

describe('strayedMark', () => {
  const mark = moveMarkOf(having(ours));

  it('is undefined while the mark and its author are what the run wrote', () => {
    expect(strayedMark(having({ ...ours, other: 'x' }), own(POD), { mark, moving })).toBeUndefined();
  });

  it.each([
    ['gone', {}, 'somebody has taken away annotation davit.dev/moving-database'],
    ['without its author', { [MOVING]: ours[MOVING] }, 'pod/0 to cloudnative-pg/1, and nothing proves by whom.'],
    ['of another author', { ...ours, [BY]: `${uid} ${STOPPED_AT} bert` }, 'pod/0 to cloudnative-pg/1, begun by bert.'],
    ['unreadable', { ...ours, [MOVING]: '{}' }, 'annotation davit.dev/moving-database is not what this run wrote: {}.'],
    [
      'gone, and the next database is asked for',
      { [MOVE]: 'pod/0 to cloudnative-pg/1' },
      'Take back what is asked for: kubectl patch appdeployment shop',
    ],
    [
      'gone, and somebody has changed the record',
      { 'davit.dev/requested-by': `${uid} 4 mallory` },
      'before the move it was 2 to the default. mallory has changed it last.',
    ],
  ])('says what the record has where it is %s', (_what, annotations: Record<string, string>, words) => {
    const said = strayedMark(having(annotations), own(POD), { mark, moving });
    expect(said).toContain(words);
    expect(said).toContain('shop has database pod/0, and a scale of 0 to 0; before the move it was 2 to the default.');
  });
});

describe('strayedMark of a move that was taken back', () => {
  const mark = moveMarkOf(having(ours));
  const BY_BERT = { 'davit.dev/requested-by': `${uid} 4 bert` };
  const before = { sourceConfig: { resourceSpec: { minScale: 2 } } };
  const MOVED = {
    server: {},
    postgres: { image: 'postgres:17', driver: 'cloudnative-pg' },
    movedDatabase: { number: 1 },
  };

  it.each([
    [
      'with its author',
      BY_BERT,
      before,
      POD,
      'The move was taken back by bert: shop has database pod/0, and a scale of 2 to the default, as before the move. Nothing was lost. If the move is still wanted, run the command again.',
    ],
    ['that nobody claims', {}, before, POD, 'The move was taken back: shop has'],
    ['not to its scale', BY_BERT, { sourceConfig: { resourceSpec: { minScale: 1 } } }, POD, 'This run goes no further'],
    [
      'that is asked for',
      { [MOVE]: 'pod/0 to cloudnative-pg/1' },
      { sourceConfig: { ...before.sourceConfig, database: { driver: 'cloudnative-pg' } } },
      POD,
      'This run goes no further',
    ],
    ['that another run has made', BY_BERT, before, MOVED, 'This run goes no further'],
    ['of which an author is left', { [BY]: ours[BY] }, before, POD, 'This run goes no further'],
  ])('is %s', (_what, annotations: Record<string, string>, spec, resolved, words) => {
    expect(strayedMark(having(annotations, spec), own(resolved), { mark, moving })).toContain(words);
  });
});

describe('otherDatabase', () => {
  const inside = { driver: 'pod', number: 0 } as const;

  it.each([
    ['the own one', own(POD), undefined],
    ['another number', own({ ...POD, movedDatabase: { number: 2 } }), 'it is on pod/2.'],
    ['none', own({ server: {} }), 'it is on none that Davit made.'],
  ])('%s', (_what, revisions, words) => {
    const said = otherDatabase(having({}), revisions, inside);
    expect(said).toEqual(words === undefined ? undefined : expect.stringContaining(words));
  });
});
