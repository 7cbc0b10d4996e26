import { describe, expect, it } from 'vitest';
import { aRecord, UID } from '../../../test/support/builders.ts';
import { digestKey, fingerprint, secretsDigest } from './secret-digest.ts';
import { postgresSecret, redisSecret } from './secrets.ts';

const labels = (component: string): Record<string, string> => ({
  'app.kubernetes.io/name': 'shop',
  'app.kubernetes.io/component': component,
  'app.kubernetes.io/part-of': 'davit',
  'app.kubernetes.io/managed-by': 'davit',
  'davit.dev/deployment': 'shop',
  'davit.dev/deployment-uid': UID,
  'davit.dev/component': component,
});

const NOT_PRUNED = { 'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false' };

const PASSWORDS = { password: 'a/b@c', superuserPassword: 'of postgres' };

it('keeps the password of PostgreSQL, and belongs to nobody', () => {
  expect(postgresSecret(aRecord(), PASSWORDS, {})).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'shop--postgres', namespace: 'team', labels: labels('postgres'), annotations: NOT_PRUNED },
    type: 'Opaque',
    stringData: {
      password: 'a/b@c',
      uri: 'postgresql://postgres:a%2Fb%40c@shop--postgres.team.svc:5432/postgres?sslmode=disable',
    },
  });
});

it('keeps the passwords of owner and superuser apart', () => {
  expect(postgresSecret(aRecord(), PASSWORDS, { user: 'app' }).stringData).toEqual({
    password: 'a/b@c',
    'superuser-password': 'of postgres',
    uri: 'postgresql://app:a%2Fb%40c@shop--postgres.team.svc:5432/app?sslmode=disable',
  });
});

it("keeps Redis' password, and the file that it reads it from", () => {
  expect(redisSecret(aRecord(), 'a"b\\c')).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'shop--redis', namespace: 'team', labels: labels('redis'), annotations: NOT_PRUNED },
    type: 'Opaque',
    stringData: {
      password: 'a"b\\c',
      uri: 'redis://:a%22b%5Cc@shop--redis.team.svc:6379/0',
      'redis.conf':
        'bind * -::*\nport 6379\nprotected-mode no\ndir /data\nsave ""\nappendonly yes\nappendfsync everysec\nrequirepass "a\\"b\\\\c"\n',
    },
  });
});

describe('digests', () => {
  const key = digestKey(Buffer.alloc(32, 1));
  const other = digestKey(Buffer.alloc(32, 2));
  const where = { namespace: 'n', secretName: 's', secretKey: 'a' };
  const print = (value: string, place: Partial<typeof where> = {}, by = key): string =>
    fingerprint(by, { ...where, ...place }, value);

  it('a value has another fingerprint with another key, and in every other place', () => {
    const prints = [
      print('MQ=='),
      print('Mg=='),
      print('MQ==', { namespace: 'm' }),
      print('MQ==', { secretName: 't' }),
      print('MQ==', { secretKey: 'b' }),
      print('MQ==', {}, other),
    ];
    expect(print('MQ==')).toBe(prints[0]);
    expect(new Set(prints).size).toBe(prints.length);
  });

  it('are the same whatever the order, and name the key', () => {
    const a = { secretName: 's', secretKey: 'a', fingerprint: print('MQ==') };
    const b = { secretName: 's', secretKey: 'b', fingerprint: undefined };
    const digest = secretsDigest(key, [a, b]);
    expect(digest).toMatch(/^[0-9a-f]{8}\.[0-9a-f]{32}$/);
    expect(secretsDigest(key, [b, a, a])).toBe(digest);
    const others = [
      secretsDigest(other, [a, b]),
      secretsDigest(key, [a]),
      secretsDigest(key, [{ ...a, fingerprint: print('Mg==') }, b]),
      secretsDigest(key, [a, { ...b, fingerprint: '' }]),
    ];
    expect(new Set([digest, ...others]).size).toBe(5);
    expect(others[1]?.split('.')[0]).toBe(digest.split('.')[0]);
    expect(others[0]?.split('.')[0]).not.toBe(digest.split('.')[0]);
  });
});
