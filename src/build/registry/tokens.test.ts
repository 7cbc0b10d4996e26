import { createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { makeSigningKey } from './signing-keys.ts';
import { type Action, grantsFor, issueToken } from './tokens.ts';

const now = new Date('2026-01-01T00:00:00Z');
const ring = { keys: [makeSigningKey(now)] };
const part = (token: string, index: number): unknown =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString('utf8'));

it.each(['..', '../team-b/shop', 'x/../../team-b/shop', '.', '%2e%2e/x', 'x/', 'x//y', 'X', ''])(
  'a password for all repositories below a path is not for %s there',
  (name) => {
    const all = (): readonly Action[] => ['pull', 'push'];
    expect(grantsFor([`repository:team-a/${name}:pull`], all)).toEqual([]);
  },
);

describe('granted scopes', () => {
  const shop = (repository: string): readonly Action[] => (repository === 'team-a/shop' ? ['pull', 'push'] : []);
  it.each<[reason: string, scopes: string[], expected: [string, Action[]][]]>([
    ['all requested actions are allowed', ['repository:team-a/shop:pull,push'], [['team-a/shop', ['pull', 'push']]]],
    ['fewer actions are requested than allowed', ['repository:team-a/shop:pull'], [['team-a/shop', ['pull']]]],
    ['actions that are not allowed are omitted', ['repository:team-a/shop:pull,delete,*'], [['team-a/shop', ['pull']]]],
    ['another repository is omitted', ['repository:team-b/shop:pull'], []],
    ['the registry catalog is omitted', ['registry:catalog:*'], []],
    ['base images may be pulled', ['repository:base/python:pull,push,delete'], [['base/python', ['pull']]]],
    [
      'a repository whose name only starts like that of base images',
      ['repository:base:pull', 'repository:base-1f2e3d4c/shop:pull'],
      [],
    ],
    [
      'two scopes of one repository',
      ['repository:team-a/shop:pull', 'repository:team-a/shop:push'],
      [['team-a/shop', ['pull', 'push']]],
    ],
    [
      'several scopes in one string',
      ['repository:team-a/shop:pull repository:team-b/shop:pull repository:base/node:pull'],
      [
        ['team-a/shop', ['pull']],
        ['base/node', ['pull']],
      ],
    ],
    ['no scope, as for docker login', [], []],
    ['malformed scopes', ['', 'repository', 'repository::', 'repository:a:b:c', 'repository:team-a/shop:'], []],
    [
      'a name that leads elsewhere once its path is normalized, or that no registry accepts',
      [
        'base/../team-b/shop',
        'base/./x',
        'base//x',
        'base/%2e%2e/x',
        'base/X',
        'base/',
        'base/a..b',
        `base/${'x'.repeat(251)}`,
      ].map((name) => `repository:${name}:pull,push`),
      [],
    ],
    ['a resource type with a class', ['repository(plugin):team-a/shop:pull'], []],
    ['scopes beyond the maximum number are ignored', [...Array(20).fill('x'), 'repository:team-a/shop:pull'], []],
  ])('%s', (_reason, scopes, expected) => {
    const expectedGrants = expected.map(([repository, actions]) => ({ repository, actions }));
    expect(grantsFor(scopes, shop)).toEqual(expectedGrants);
  });
});

it.each([
  { who: 'a person pushes', isLimited: true, actions: ['pull', 'push'], seconds: 60 },
  { who: 'a person pulls', isLimited: true, actions: ['pull'], seconds: 300 },
  { who: 'a build pushes', isLimited: false, actions: ['pull', 'push'], seconds: 300 },
] as const)('a token with which $who is valid for $seconds s', ({ isLimited, actions, seconds }) => {
  const answer = issueToken(ring, [{ repository: 'team-a/shop', actions }], { now, id: 'one', isLimited });
  expect([answer.expires_in, part(answer.token, 1)]).toMatchObject([seconds, { exp: now.getTime() / 1000 + seconds }]);
});

it('issues an ES256 token for the registry service, valid for five minutes', () => {
  const answer = issueToken(ring, [{ repository: 'team-a/shop', actions: ['pull', 'push'] }], { now, id: 'two' });
  expect(answer).toEqual({
    token: answer.token,
    access_token: answer.token,
    expires_in: 300,
    issued_at: '2026-01-01T00:00:00.000Z',
  });
  const [header, claims, signature] = answer.token.split('.');
  expect(part(answer.token, 0)).toEqual({ typ: 'JWT', alg: 'ES256', kid: ring.keys[0]?.kid });
  const seconds = now.getTime() / 1000;
  expect(part(answer.token, 1)).toEqual({
    iss: 'davit',
    aud: 'davit-registry',
    sub: 'davit',
    iat: seconds,
    nbf: seconds - 10,
    exp: seconds + 300,
    jti: 'two',
    access: [{ type: 'repository', name: 'team-a/shop', actions: ['pull', 'push'] }],
  });
  const key = createPublicKey({ key: ring.keys[0]?.jwk ?? {}, format: 'jwk' });
  const bytes = Buffer.from(signature ?? '', 'base64url');
  expect(verify('sha256', Buffer.from(`${header}.${claims}`), { key, dsaEncoding: 'ieee-p1363' }, bytes)).toBe(true);
});
