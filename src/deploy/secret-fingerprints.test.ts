// A Secret is read live only where the cache says that there is news, or has nothing.

import { describe, expect, it } from 'vitest';
import { NotFound } from '../runtime/errors.ts';
import type { KubeClient, KubeObject } from '../runtime/kube/client.ts';
import { digestKey } from './children/secret-digest.ts';
import type { Caches } from './cluster/caches.ts';
import { makeSecretFingerprints, type SecretFingerprints } from './secret-fingerprints.ts';

const WHOLE = { keys: new Set<string>(), isWhole: true };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function secret(version: number, data: Readonly<Record<string, string>>): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'a', name: 's', uid: 'u', resourceVersion: String(version) },
    type: 'Opaque',
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)])),
  } as KubeObject;
}

interface World {
  readonly contents: SecretFingerprints;
  /** What the API server has, and what the watch has delivered. */
  live: KubeObject | undefined;
  cached: KubeObject | undefined;
  reads: number;
}

function world(): World {
  const it: { -readonly [Key in keyof World]: World[Key] } = {
    live: undefined,
    cached: undefined,
    reads: 0,
    contents: undefined as unknown as SecretFingerprints,
  };
  const client = {
    get: () => {
      it.reads += 1;
      return it.live ? Promise.resolve(it.live) : Promise.reject(new NotFound('secrets "s" not found'));
    },
  } as unknown as KubeClient;
  const caches = { secrets: { get: () => it.cached } } as unknown as Pick<Caches, 'secrets'>;
  it.contents = makeSecretFingerprints({
    client,
    caches,
    digestKey: () => Promise.resolve(digestKey(new Uint8Array(32))),
    elapsed: () => 1,
  });
  return it;
}

const keysOf = async ({ contents }: World): Promise<readonly string[] | undefined> => {
  const seen = await contents.read('a', 's', WHOLE);
  return seen && [...seen.values.keys()];
};

describe('a Secret that the cache does not have', () => {
  it('is read live: it was written just before the record that names it, and its watch is behind', async () => {
    const lagging = world();
    lagging.live = secret(1, { key: 'value' });
    expect(await keysOf(lagging)).toEqual(['key']);
    lagging.cached = lagging.live;
    expect(await keysOf(lagging)).toEqual(['key']);
    expect(lagging.reads).toBe(1);
  });

  it('is asked for once: when it is there, the watch says so', async () => {
    const none = world();
    expect(await keysOf(none)).toBeUndefined();
    expect(await keysOf(none)).toBeUndefined();
    expect(none.reads).toBe(1);
    none.live = secret(1, { key: 'value' });
    none.cached = none.live;
    expect(await keysOf(none)).toEqual(['key']);
  });

  it('is missing again after it was deleted, also where the watch says so late', async () => {
    const gone = world();
    gone.live = secret(1, { key: 'value' });
    gone.cached = gone.live;
    expect(await keysOf(gone)).toEqual(['key']);
    gone.live = undefined;
    expect(await keysOf(gone)).toEqual(['key']);
    gone.cached = undefined;
    expect(await keysOf(gone)).toBeUndefined();
    gone.live = secret(2, { other: 'value' });
    gone.cached = gone.live;
    expect(await keysOf(gone)).toEqual(['other']);
  });

  it('that comes back with other values has none that have changed', async () => {
    const back = world();
    back.live = secret(1, { key: 'value' });
    back.cached = back.live;
    await back.contents.read('a', 's', WHOLE);
    back.live = undefined;
    back.cached = undefined;
    await back.contents.read('a', 's', WHOLE);
    back.live = secret(2, { key: 'new' });
    back.cached = back.live;
    expect([...((await back.contents.read('a', 's', WHOLE))?.values.values() ?? [])]).toEqual([
      { fingerprint: expect.any(String) },
    ]);
  });
});

describe('a Secret with many keys', () => {
  const named = (...keys: string[]): { keys: Set<string>; isWhole: boolean } => ({
    keys: new Set(keys),
    isWhole: false,
  });
  const many = Object.fromEntries(Array.from({ length: 55_000 }, (_, n) => [`key-${n}`, '']));

  it('costs the memory of those that are named', async () => {
    const it = world();
    it.live = secret(1, many);
    it.cached = it.live;
    const seen = await it.contents.read('a', 's', named('key-1', 'absent'));
    expect([...(seen?.values.keys() ?? [])]).toEqual(['key-1']);
    // Another record names another key, and both stay known.
    await it.contents.read('a', 's', named('key-2'));
    expect(it.reads).toBe(2);
    const both = await it.contents.read('a', 's', named('key-1'));
    expect([...(both?.values.keys() ?? [])]).toEqual(['key-1', 'key-2']);
    expect(both?.values.get('key-2')).toEqual({ fingerprint: expect.any(String) });
    expect(it.reads).toBe(2);
  });

  it('is too large as a whole, and is not read again for that', async () => {
    const it = world();
    it.live = secret(1, many);
    it.cached = it.live;
    const seen = await it.contents.read('a', 's', { ...named('key-7'), isWhole: true });
    expect([seen?.isTooLarge, [...(seen?.values.keys() ?? [])]]).toEqual([true, ['key-7']]);
    await it.contents.read('a', 's', { ...named('key-7'), isWhole: true });
    expect(it.reads).toBe(1);
  });

  it('forgets keys that once were named when they are many', async () => {
    const it = world();
    it.live = secret(1, many);
    it.cached = it.live;
    for (let n = 0; n < 20; n += 1)
      await it.contents.read('a', 's', named(...Array.from({ length: 100 }, (_, m) => `key-${n * 100 + m}`)));
    const seen = await it.contents.read('a', 's', named('key-1999'));
    expect(seen?.values.size).toBeLessThanOrEqual(1000);
  });

  it('tells when a named key got another value, and not when a key is first named', async () => {
    const it = world();
    it.live = secret(1, { a: '1', b: '1' });
    it.cached = it.live;
    await it.contents.read('a', 's', named('a'));
    it.live = secret(2, { a: '2', b: '2' });
    it.cached = it.live;
    const seen = await it.contents.read('a', 's', named('a', 'b'));
    expect(seen?.values.get('a')?.changedAt).toBe(1);
    expect(seen?.values.get('b')?.changedAt).toBeUndefined();
  });
});
