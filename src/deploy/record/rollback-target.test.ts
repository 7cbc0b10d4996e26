import { expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { rollbackTarget } from './rollback-target.ts';

const made = (serial: number, state: 'DEPLOYED' | 'DEPLOY_FAILED' = 'DEPLOYED', tag = serial): AppRevision =>
  aRevision(aRecord({ sourceRevisionConfig: { imageUri: `app:${tag}` } }), state, serial);
const back = (to: AppRevision, serial: number): AppRevision => {
  const one = made(serial);
  return { ...one, spec: { ...one.spec, requested: to.spec.requested, rollbackTo: to.spec.id } };
};
const name = (serial: number): string => made(serial).metadata.name;
const CHOOSE = ': kubectl davit rollback shop --to REVISION';
const NONE_LEFT = ` Deploy a corrected revision, or choose one that failed${CHOOSE}`;

it('is the last good one before the newest', () => {
  const good = made(1);
  expect(rollbackTarget('shop', [made(2, 'DEPLOY_FAILED'), good])).toEqual({ target: good });
});

it('goes further back each time, and never to what was left', () => {
  const kept = [made(3), made(2), made(1)] as const;
  expect(rollbackTarget('shop', kept)).toEqual({ target: kept[1] });
  const once = [back(kept[1], 4), ...kept];
  expect(rollbackTarget('shop', once)).toEqual({ target: kept[2] });
  const twice = [back(kept[2], 5), ...once];
  expect(rollbackTarget('shop', twice)).toEqual({
    none: `No revision before the target of the last rollback was deployed. Revisions with other values: ${[4, 3, 2].map(name).join(', ')}. To choose one${CHOOSE}`,
  });
  // A change after it, whose record still has the field, is no rollback.
  const change = made(6);
  const after = { ...change, spec: { ...change.spec, rollbackTo: kept[2].spec.id } };
  expect(rollbackTarget('shop', [after, ...twice])).toEqual({ target: twice[0] });
});

it('is no restart, which has the same values', () => {
  const [restarted, newest, old] = [made(3, 'DEPLOYED', 2), made(2), made(1)];
  expect(rollbackTarget('shop', [restarted, newest, old])).toEqual({ target: old });
  expect(rollbackTarget('shop', [restarted, newest, made(1, 'DEPLOY_FAILED')])).toEqual({
    none: `Every earlier revision that was deployed has the same values as the newest one.${NONE_LEFT}`,
  });
});

it('is none where none was deployed', () => {
  expect(rollbackTarget('shop', [made(1, 'DEPLOY_FAILED')])).toEqual({
    none: `No earlier revision was deployed.${NONE_LEFT}`,
  });
  expect(rollbackTarget('shop', [])).toEqual({ none: 'shop has no revision yet.' });
});
