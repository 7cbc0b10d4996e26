// The client of the store, against a server of the protocol in memory. The project `backups` has it against a real one.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeS3, startFakeS3 } from '../../../test/support/fake-s3.ts';
import { close, listen } from '../../../test/support/http-servers.ts';
import { makeObjectStore, type ObjectStore } from './object-store.ts';

const KEYS = { accessKeyId: 'key', secretAccessKey: 'secret' };

let s3: FakeS3;
let store: ObjectStore;
const folder = mkdtempSync(join(tmpdir(), 'davit-store-'));
const storeWith = (more: object = {}, keys = KEYS): ObjectStore =>
  makeObjectStore({ endpoint: s3.url, bucket: 'backups', region: 'us-east-1', pathStyle: true, ...more }, keys, 1);
beforeAll(async () => {
  s3 = await startFakeS3('backups', 'key');
  store = storeWith();
});
afterAll(async () => {
  await store.close();
  await s3.close();
});
beforeEach(() => {
  s3.objects.clear();
  s3.fault = undefined;
  s3.loses = undefined;
});

it('writes, reads, measures, lists and deletes objects', async () => {
  expect(await store.read('a/b')).toBeUndefined();
  expect(await store.sizeOf('a/b')).toBeUndefined();
  await store.put('a/b', 'text');
  await store.put('a/c', 'more text');
  await store.put('b', 'other');
  expect([await store.read('a/b'), await store.sizeOf('a/c')]).toEqual(['text', 9]);
  expect(await store.list('a/')).toEqual([
    { key: 'a/b', size: 4 },
    { key: 'a/c', size: 9 },
  ]);
  await store.remove('a/b');
  await store.remove('a/b');
  expect((await store.list('')).map(({ key }) => key)).toEqual(['a/c', 'b']);
});

it('lists more objects than a page has', async () => {
  for (let at = 0; at < 1001; at += 1) s3.objects.set(`many/${String(at).padStart(4, '0')}`, Buffer.from('x'));
  expect(await store.list('many/')).toHaveLength(1001);
});

it('sends a file in parts', async () => {
  const content = Buffer.alloc(33 * 1024 * 1024, 'abc');
  const file = join(folder, 'large');
  writeFileSync(file, content);
  const parts: string[] = [];
  s3.fault = (request) => {
    if (request.startsWith('PUT')) parts.push(request);
    return undefined;
  };
  await store.upload('large', file, content.length);
  expect(s3.objects.get('large')?.equals(content)).toBe(true);
  expect(parts).toHaveLength(3);
});

describe('a store that fails', () => {
  it('for a while is asked again', async () => {
    let left = 2;
    s3.fault = () => (left-- > 0 ? 503 : undefined);
    await store.put('a', 'text');
    expect(s3.objects.has('a')).toBe(true);
  });

  it('for longer is an error, and an upload leaves nothing behind', async () => {
    const file = join(folder, 'small');
    writeFileSync(file, 'content');
    const ended: string[] = [];
    s3.fault = (request) => {
      if (request.startsWith('DELETE')) ended.push(request);
      return request.includes('partNumber') ? 500 : undefined;
    };
    await expect(store.upload('a', file, 7)).rejects.toThrow(/^The store refused PUT a \(500, Fault\)/);
    expect([ended.length, s3.objects.size]).toEqual([1, 0]);
  });

  it('to answer the completion of an upload has the file all the same', async () => {
    const file = join(folder, 'answered');
    writeFileSync(file, 'content');
    let left = 1;
    s3.loses = (request) => request.startsWith('POST') && request.includes('uploadId') && left-- > 0;
    await store.upload('a', file, 7);
    expect(s3.objects.get('a')?.toString()).toBe('content');
    s3.loses = (request) => request.startsWith('POST') && request.includes('uploadId') && s3.objects.delete('a');
    const refused = store.upload('a', file, 7);
    await expect(refused).rejects.toThrow('The store ended the upload of a before it was complete.');
  });

  it.each([
    ['another key', { ...KEYS, accessKeyId: 'other' }, {}, /\(403, AccessDenied\)\. Check the keys/],
    ['another bucket', KEYS, { bucket: 'others' }, /\(404, NoSuchBucket\)\. Check the bucket/],
    [
      'an address where nothing listens',
      KEYS,
      { endpoint: 'http://127.0.0.1:1' },
      /cannot be reached: .*Check settings/,
    ],
  ])('because of %s says what to check', async (_what, keys, more, message) => {
    const other = storeWith(more, keys);
    await expect(other.list('')).rejects.toThrow(message);
    await expect(other.read('a')).rejects.toThrow(message);
    await other.close();
  });

  it('says why it refuses the size of an object, although an answer to HEAD has no words', async () => {
    const other = storeWith({}, { ...KEYS, accessKeyId: 'other' });
    await expect(other.sizeOf('a')).rejects.toThrow(/\(403, AccessDenied\)\. Check the keys/);
    await other.close();
  });

  it('because it never answers, or stops in the middle, says so', async () => {
    const silent = createServer((request, response) => {
      if (request.url?.endsWith('/half') === true) response.writeHead(200, { 'content-length': '100' }).write('half');
    });
    await listen(silent, 0, '127.0.0.1');
    const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const address = { endpoint, bucket: 'backups', region: 'us-east-1', pathStyle: true };
    const other = makeObjectStore(address, KEYS, 1, 50);
    await expect(other.list('')).rejects.toThrow(/cannot be reached: .*Timeout.*Check settings\.backups\.store/);
    await expect(other.download('half', join(folder, 'half'))).rejects.toThrow(/The download of half was interrupted/);
    silent.closeAllConnections();
    await close(silent);
  });

  it('because it is full is asked once', async () => {
    let asked = 0;
    s3.fault = () => {
      asked += 1;
      return 507;
    };
    await expect(store.put('a', 'text')).rejects.toThrow(/The store is full/);
    expect(asked).toBe(1);
  });
});
