import { createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { LONGEST_PASSWORD_MS, makeSigningKey } from './signing-keys.ts';
import { type Action, type Grant, grantsFor, issuePassword, issueToken, readPassword } from './tokens.ts';

const now = new Date('2026-01-01T00:00:00Z');
const later = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);
const ring = { keys: [makeSigningKey(now)] };
const grant: Grant = { repository: 'team-a/shop', actions: ['pull', 'push'] };
const deployment = '11111111-0000-4000-8000-000000000001';
const password = issuePassword(ring, { deployment, grant, expiresAt: later(3600) }, { now, id: 'one' });
const part = (token: string, index: number): unknown =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString('utf8'));

describe('a password', () => {
  it('says what it is for', () => {
    expect(readPassword(ring, password, now)).toEqual({ deployment, grant, expiresAt: later(3600) });
  });

  it('ends with its time', () => {
    expect(readPassword(ring, password, later(3599))).toBeDefined();
    expect(readPassword(ring, password, later(3600))).toBeUndefined();
  });

  it('is read by any ring that still has its key', () => {
    const newer = makeSigningKey(later(1));
    expect(readPassword({ keys: [...ring.keys, newer] }, password, now)).toBeDefined();
    expect(readPassword({ keys: [newer] }, password, now)).toBeUndefined();
  });

  it('cannot outlive its key', () => {
    const expiresAt = new Date(now.getTime() + LONGEST_PASSWORD_MS + 1);
    expect(() => issuePassword(ring, { deployment, grant, expiresAt }, { now, id: 'x' })).toThrow(RangeError);
  });

  const [header = '', claims = '', signature = ''] = password.split('.');
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const { kid } = ring.keys[0] as { kid: string };
  it.each([
    ['nothing', ''],
    ['text', 'correct horse battery staple'],
    ['a token of a cluster', 'eyJhbGciOiJSUzI1NiJ9.e30.AAAA'],
    ['three empty parts', '..'],
    ['a part more', `${password}.`],
    ['without its signature', `${header}.${claims}.`],
    ['with claims of another', `${header}.${encoded({ ...(part(password, 1) as object), sub: 'x' })}.${signature}`],
    ['with no algorithm', `${encoded({ typ: 'JWT', alg: 'none', kid })}.${claims}.`],
    ['with an algorithm of secrets', `${encoded({ typ: 'JWT', alg: 'HS256', kid })}.${claims}.${signature}`],
    ['with a key that is not there', `${encoded({ typ: 'JWT', alg: 'ES256', kid: 'other' })}.${claims}.${signature}`],
    [
      'signed by another key',
      issuePassword({ keys: [makeSigningKey(now)] }, { deployment, grant, expiresAt: later(9) }, { now, id: 'x' }),
    ],
    ['a token of the registry', issueToken(ring, [grant], { now, id: 'x' }).token],
    ['of endless length', `${password}${'A'.repeat(100_000)}`],
    ['a header that is null', `${encoded([])}.${claims}.${signature}`],
  ])('%s is none', (_name, text) => {
    expect(readPassword(ring, text, now)).toBeUndefined();
  });
});

describe('what of a scope is granted', () => {
  it.each<[reason: string, scopes: string[], expected: [string, Action[]][]]>([
    ['all that is allowed', ['repository:team-a/shop:pull,push'], [['team-a/shop', ['pull', 'push']]]],
    ['less than is allowed', ['repository:team-a/shop:pull'], [['team-a/shop', ['pull']]]],
    ['not what was not allowed', ['repository:team-a/shop:pull,delete,*'], [['team-a/shop', ['pull']]]],
    ['not another repository', ['repository:team-b/shop:pull'], []],
    ['not one that only begins like it', ['repository:team-a/shop2:pull'], []],
    ['not one above it', ['repository:team-a:pull'], []],
    ['not the whole registry', ['registry:catalog:*'], []],
    ['what is public may be pulled', ['repository:public.base/python:pull,push'], [['public.base/python', ['pull']]]],
    [
      'a scope given twice',
      ['repository:team-a/shop:pull', 'repository:team-a/shop:push'],
      [['team-a/shop', ['pull', 'push']]],
    ],
    [
      'several scopes in one text',
      ['repository:team-a/shop:pull repository:team-b/shop:pull repository:public.base/node:pull'],
      [
        ['team-a/shop', ['pull']],
        ['public.base/node', ['pull']],
      ],
    ],
    ['nothing, as for a login', [], []],
    ['what is no scope', ['', 'repository', 'repository::', 'repository:a:b:c', 'repository:team-a/shop:'], []],
    ['a type with a class', ['repository(plugin):team-a/shop:pull'], []],
    ['no more scopes than a client sends', [...Array(20).fill('x'), 'repository:team-a/shop:pull'], []],
  ])('%s', (_reason, scopes, expected) => {
    const expectedGrants = expected.map(([repository, actions]) => ({ repository, actions }));
    expect(grantsFor(scopes, grant, 'public.base/')).toEqual(expectedGrants);
  });

  it('nothing is public where nothing is said to be', () => {
    expect(grantsFor(['repository:public.base/python:pull'], grant)).toEqual([]);
  });
});

describe('a token', () => {
  it('is what the registry verifies: ES256, for its service and five minutes', () => {
    const answer = issueToken(ring, [grant], { now, id: 'two', subject: 'push' });
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
      sub: 'push',
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
});
