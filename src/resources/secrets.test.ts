import { expect, it } from 'vitest';
import { aRecord, UID } from '../../test/builders.ts';
import { secretsDigest } from './hash.ts';
import { postgresSecret, redisSecret } from './secrets.ts';

const labels = (component: string): Record<string, string> => ({
  'app.kubernetes.io/name': 'shop',
  'app.kubernetes.io/instance': 'shop',
  'app.kubernetes.io/component': component,
  'app.kubernetes.io/part-of': 'davit',
  'app.kubernetes.io/managed-by': 'davit',
  'davit.dev/deployment': 'shop',
  'davit.dev/deployment-uid': UID,
  'davit.dev/component': component,
});

it('keeps the password of PostgreSQL, and belongs to nobody', () => {
  expect(postgresSecret(aRecord(), 'a/b@c')).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'shop--postgres', namespace: 'team', labels: labels('postgres') },
    type: 'Opaque',
    stringData: {
      password: 'a/b@c',
      uri: 'postgresql://postgres:a%2Fb%40c@shop--postgres.team.svc:5432/postgres?sslmode=disable',
    },
  });
});

it("keeps Redis' password, and the file that it reads it from", () => {
  expect(redisSecret(aRecord(), 'a"b\\c')).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'shop--redis', namespace: 'team', labels: labels('redis') },
    type: 'Opaque',
    stringData: {
      password: 'a"b\\c',
      uri: 'redis://:a%22b%5Cc@shop--redis.team.svc:6379/0',
      'redis.conf':
        'bind * -::*\nport 6379\nprotected-mode no\ndir /data\nsave ""\nappendonly yes\nappendfsync everysec\nrequirepass "a\\"b\\\\c"\n',
    },
  });
});

it('digests values whatever their order, and tells them apart', () => {
  const a = { name: 's', key: 'a', value: 'MQ==' };
  const b = { name: 's', key: 'b', value: undefined };
  const digest = secretsDigest('key', [a, b]);
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(secretsDigest('key', [b, a])).toBe(digest);
  const others = [
    secretsDigest('other', [a, b]),
    secretsDigest('key', [a]),
    secretsDigest('key', [{ ...a, value: 'Mg==' }, b]),
    secretsDigest('key', [a, { ...b, value: '' }]),
  ];
  expect(new Set([digest, ...others]).size).toBe(5);
});
