import { expect, it } from 'vitest';
import { endOf, type Judged, type World } from './ends.ts';
import { agentSlot } from './names.ts';

const WORLD: World = {
  namespaceUid: (name) => (name === 'team' ? 'n1' : undefined),
  providerUid: (id) => (id === 'idp' ? 'p1' : undefined),
  hasDeployment: (uid) => uid === 'd1',
  hasToken: (id) => id === 't1',
  now: new Date('2026-01-01T00:00:00Z'),
};
const slotOf = (uid: string): string => agentSlot({ username: 'a', deployment: { name: 'shop', uid } }, 'triage');

it.each<[name: string, more: Partial<Judged['subject']>, rest: Partial<Judged>, want: string | undefined]>([
  ['a token', {}, {}, undefined],
  ['one that names its provider', {}, { about: { providerUid: 'p1' } }, undefined],
  ['one whose provider was made again', {}, { about: { providerUid: 'p0' } }, 'provider'],
  ['one whose provider is gone', { provider: 'none' }, {}, 'provider'],
  ['one whose tenant is gone', { tenant: 'none' }, {}, 'tenant'],
  ['one whose namespace was made again', { tenantId: 'n0' }, {}, 'tenant'],
  ['one of a deployment', { slot: slotOf('d1') }, {}, undefined],
  ['one of a deployment that is gone', { slot: slotOf('d0') }, {}, 'deployment'],
  ['one of an account', { slot: agentSlot({ username: 'd0' }, 'triage') }, {}, undefined],
  ['a connection', {}, { kind: 'connection', about: { tokenId: 't1' } }, undefined],
  ['a connection whose token is gone', {}, { kind: 'connection', about: { tokenId: 't0' } }, 'token'],
  ['a flow', {}, { kind: 'flow', about: { expiresAt: '2026-01-01T00:00:01Z' } }, undefined],
  ['a flow that is over', {}, { kind: 'flow', about: { expiresAt: '2026-01-01T00:00:00Z' } }, 'time'],
  [
    'a state of a tenant that is gone',
    { tenant: 'none' },
    { kind: 'state', about: { expiresAt: '2027-01-01T00:00:00Z' } },
    undefined,
  ],
  ['a client', { tenant: '', tenantId: '', slot: 'p1' }, { kind: 'client', about: { providerUid: 'p1' } }, undefined],
  ['a client of an earlier provider', { tenant: '' }, { kind: 'client', about: { providerUid: 'p0' } }, 'provider'],
  ['a trail, which is of no provider', { provider: '', user: '' }, { kind: 'trail' }, undefined],
  ['a trail whose tenant is gone', { tenantId: 'n0', provider: '' }, { kind: 'trail' }, 'tenant'],
])('%s', (_name, more, rest, want) => {
  const subject = { tenant: 'team', tenantId: 'n1', provider: 'idp', user: 'ada', slot: '', ...more };
  expect(endOf({ kind: 'token', subject, about: {}, ...rest }, WORLD)).toBe(want);
});
