// `npm run audit` with the real npm, against a registry of this test: what fails it, and what does not.

import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { auditShipped, goOutcome, isFailure, npmOutcome, reportOf } from '../../image/audit.ts';
import { close, listen } from '../../support/http-servers.ts';

const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package-lock.json'), 'utf8')) as {
  packages: Readonly<Record<string, { readonly version: string }>>;
};
const versionOf = (name: string): string => packages[`node_modules/${name}`]?.version ?? '';
const SHIPPED = new Set(['undici', 'pino'].map((name) => `${name}@${versionOf(name)}`));

let server: Server | undefined;
afterEach(async () => {
  if (server) await close(server);
  server = undefined;
});

/** A registry that knows one vulnerability of `name`, or refuses the question. */
async function registry(name: string | undefined): Promise<string> {
  server = createServer((request, response) => {
    request.resume();
    if (request.method === 'POST' && name === undefined) return void response.writeHead(405).end();
    const advisory = {
      id: 1,
      url: 'https://advisories.example/1',
      title: 'Answers are mixed up',
      severity: 'high',
      vulnerable_versions: '<=999.0.0',
    };
    response.setHeader('content-type', 'application/json');
    if (request.method === 'POST') return void response.end(JSON.stringify({ [name ?? '']: [advisory] }));
    // npm asks about what depends on it as well.
    const asked = decodeURIComponent(request.url?.slice(1) ?? '');
    const version = versionOf(asked);
    response.end(JSON.stringify({ name: asked, versions: { [version]: { name: asked, version } } }));
  });
  await listen(server, 0, '127.0.0.1');
  return `--registry=http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe('the packages that are shipped', () => {
  it('fail it where one is vulnerable', async () => {
    const outcome = await auditShipped(SHIPPED, await registry('undici'));
    expect(outcome).toEqual({
      found: [`undici@${versionOf('undici')}: high: Answers are mixed up (https://advisories.example/1)`],
    });
    expect(isFailure({ what: '', outcome })).toBe(true);
    expect(reportOf({ what: '2 packages', outcome })).toMatch(/^Known vulnerabilities of 2 packages: 1\n {2}undici@/);
  });

  it('do not fail it where the vulnerable one only helps to develop', async () => {
    const outcome = await auditShipped(SHIPPED, await registry('vitest'));
    expect([outcome, isFailure({ what: '', outcome })]).toEqual([{ found: [] }, false]);
  });

  it.each([
    { reason: 'the registry refuses the question', start: () => registry(undefined), words: /405/ },
    { reason: 'nobody answers', start: async () => '--registry=http://127.0.0.1:1/', words: /ECONNREFUSED/ },
  ])('do not fail it where $reason, which it says', async ({ start, words }) => {
    const outcome = await auditShipped(SHIPPED, await start());
    expect(outcome).toEqual({ unread: expect.stringMatching(words) });
    expect(isFailure({ what: '', outcome })).toBe(false);
    expect(reportOf({ what: '2 packages', outcome })).toMatch(/^Not checked: 2 packages\. .*cannot be read: /);
  });

  it('are not checked where npm says nothing that can be read', () => {
    expect(npmOutcome({ stdout: '', stderr: 'npm: not found\n' }, SHIPPED, packages)).toEqual({
      unread: 'npm: not found',
    });
  });
});

describe('a Go program', () => {
  const FOUND = `=== Symbol Results ===

Vulnerability #1: GO-2026-0001
    A loop without end in github.com/yuin/gopher-lua
  More info: https://pkg.go.dev/vuln/GO-2026-0001
  Module: github.com/yuin/gopher-lua
    Found in: github.com/yuin/gopher-lua@v1.1.1
    Fixed in: github.com/yuin/gopher-lua@v1.2.0

Vulnerability #2: GO-2026-0002
    Another
  Module: stdlib
    Found in: os@go1.26.8
    Fixed in: N/A

Your code is affected by 2 vulnerabilities from 1 module.
`;
  it.each([
    {
      reason: 'nothing is known',
      status: 0,
      stdout: 'No vulnerabilities found.\n',
      stderr: '',
      outcome: { found: [] },
    },
    {
      reason: 'it has vulnerable code',
      status: 3,
      stdout: FOUND,
      stderr: '',
      outcome: {
        found: [
          'glua: GO-2026-0001 in github.com/yuin/gopher-lua@v1.1.1, fixed in github.com/yuin/gopher-lua@v1.2.0: A loop without end in github.com/yuin/gopher-lua',
          'glua: GO-2026-0002 in os@go1.26.8, fixed in N/A: Another',
        ],
      },
    },
    {
      reason: 'the database does not answer',
      status: 1,
      stdout: '',
      stderr: 'govulncheck: fetching vulnerabilities: no such host\n',
      outcome: { unread: 'govulncheck: fetching vulnerabilities: no such host' },
    },
  ])('where $reason', ({ status, stdout, stderr, outcome }) => {
    expect(goOutcome('glua', { status, stdout, stderr })).toEqual(outcome);
  });
});
