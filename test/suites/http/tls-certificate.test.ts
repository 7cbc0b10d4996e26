// A certificate that is renewed while the API serves.

import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serve } from '../../../src/main/server.ts';
import { type CertificateFiles, watchCertificate } from '../../../src/runtime/http/tls-certificate.ts';
import { makeLogger } from '../../../src/runtime/logger.ts';
import { type Certificate, makeAuthority } from '../../cluster/certificates.ts';
import { eventually } from '../../support/running-davit.ts';
import { makeFacade } from './facade.ts';

const authority = makeAuthority('test-authority');
const log = makeLogger('silent');
const lookEveryMs = 20;
let folder: string;
let files: CertificateFiles;
let closing: (() => Promise<void>) | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-certificate-'));
  files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
});
afterEach(async () => {
  await closing?.();
  closing = undefined;
  await rm(folder, { recursive: true, force: true });
});

async function write({ certificate, key }: Certificate): Promise<void> {
  await Promise.all([writeFile(files.certFile, certificate), writeFile(files.keyFile, key)]);
}

/** Who answers a new connection, or the one that the agent keeps. */
function askedName(port: number, agent?: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/livez', ca: authority.certificate, agent: agent ?? false };
    request(options, (response) => {
      const { CN } = (response.socket as TLSSocket).getPeerCertificate().subject;
      response.resume().on('end', () => resolve(String(CN)));
    })
      .on('error', reject)
      .end();
  });
}

async function serveTls(servesUntil?: (expires: Date) => void): Promise<number> {
  const { app } = await makeFacade();
  const serving = await serve(app, {
    host: '127.0.0.1',
    port: 0,
    tls: await watchCertificate(files, log, servesUntil, lookEveryMs),
  });
  closing = serving.close;
  expect(serving.url).toBe(`https://127.0.0.1:${serving.port}`);
  return serving.port;
}

describe('a certificate that is renewed', () => {
  it('is served to new connections, and open ones continue', async () => {
    await write(authority.serving('old', ['127.0.0.1']));
    const port = await serveTls();
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    expect([await askedName(port), await askedName(port, kept)]).toEqual(['old', 'old']);
    await write(authority.serving('new', ['127.0.0.1']));
    await eventually(async () => expect(await askedName(port)).toBe('new'));
    expect(await askedName(port, kept)).toBe('old');
    kept.destroy();
  });

  it('the expiration of the first and of each new one is reported', async () => {
    const pair = authority.serving('old', ['127.0.0.1']);
    await write(pair);
    const told: Date[] = [];
    const port = await serveTls((expires) => told.push(expires));
    await write(authority.serving('new', ['127.0.0.1']));
    await eventually(async () => expect(await askedName(port)).toBe('new'));
    expect(told).toHaveLength(2);
    expect(told[0]).toEqual(new X509Certificate(pair.certificate).validToDate);
  });

  it('partly written, missing or invalid files: the old certificate is served until the next valid one', async () => {
    await write(authority.serving('old', ['127.0.0.1']));
    const port = await serveTls();
    const next = authority.serving('next', ['127.0.0.1']);
    await writeFile(files.certFile, next.certificate);
    await new Promise((resolve) => setTimeout(resolve, 5 * lookEveryMs));
    expect(await askedName(port)).toBe('old');
    await rm(files.certFile);
    await writeFile(files.keyFile, 'nonsense');
    await new Promise((resolve) => setTimeout(resolve, 5 * lookEveryMs));
    expect(await askedName(port)).toBe('old');
    await write(next);
    await eventually(async () => expect(await askedName(port)).toBe('next'));
  });
});

describe('at the start', () => {
  const pair = authority.serving('a', ['127.0.0.1']);
  it.each([
    { cert: pair.certificate, key: authority.serving('b', []).key, says: /tls\.key does not match the certificate/ },
    { cert: 'nonsense', key: pair.key, says: /tls\.crt holds no PEM certificate/ },
    { cert: pair.certificate, key: 'nonsense', says: /tls\.key holds no PEM private key/ },
    { cert: pair.certificate, key: undefined, says: /ENOENT.*tls\.key/ },
  ])('reports the error: $says', async ({ cert, key, says }) => {
    await writeFile(files.certFile, cert);
    if (key !== undefined) await writeFile(files.keyFile, key);
    await expect(watchCertificate(files, log)).rejects.toThrow(says);
  });
});
