// `GET /`, `GET /docs` and the files of both, without a browser. test/suites/page has them in one.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAdvice, REASONS } from '../../../src/kinds/app-deployment-conditions.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { bundlePage } from '../../../src/tools/page.ts';
import { type Facade, makeFacade } from './facade.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

let facade: Facade;
beforeAll(async () => {
  facade = await makeFacade(
    { http: { ...defaultSettings().http, basePath: '/api-host', requestsPerMinute: 50 } },
    {},
    { page: await bundlePage() },
  );
});
afterAll(() => facade.app.close());

const get = (url: string, headers: Record<string, string> = {}) => facade.app.inject({ method: 'GET', url, headers });

describe('GET /', () => {
  it.each([
    { accept: BROWSER, type: 'text/html' },
    { accept: 'text/html', type: 'text/html' },
    { accept: 'TEXT/HTML ; q=0.5', type: 'text/html' },
    { accept: 'application/json', type: 'application/json' },
    { accept: 'application/json, text/html;q=0.9', type: 'application/json' },
    { accept: 'text/html;q=0, */*', type: 'application/json' },
    { accept: '*/*', type: 'application/json' },
    { accept: '', type: 'application/json' },
  ])('answers Accept: $accept with $type', async ({ accept, type }) => {
    const answer = await get('/', { accept });
    expect([answer.statusCode, answer.headers['content-type']?.toString().split(';')[0]]).toEqual([200, type]);
    expect(answer.headers['vary']).toBe('accept');
  });

  it('says to clients of the API where things are', async () => {
    const { body, headers } = await facade.call('GET', '/api-host');
    expect(body).toMatchObject({ docs: '/api-host/docs', deployments: '/api-host/v2/deployments' });
    expect(headers['cache-control']).toBe('no-store');
  });

  it.each(['/', '/docs'])('lets %s load and ask nothing but this host, and has nothing inline', async (path) => {
    const { headers, body } = await get(path, { accept: BROWSER });
    const policy = String(headers['content-security-policy']);
    for (const directive of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "trusted-types 'none'",
    ])
      expect(policy.split('; ')).toContain(directive);
    expect(policy).not.toMatch(/unsafe|\*|https?:|data:/);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'cache-control': 'no-cache',
    });
    expect(body).not.toMatch(/<style|style=|<script(?! type="module" src=)|\son\w+=|https?:/);
  });

  it('tells of the issuer what is public, and lets the page ask it', async () => {
    const oidc = {
      issuer: 'https://id.example.com/realms/<b>"a"&',
      clientId: 'davit',
      scopes: ['openid'],
      origins: ['https://tokens.example.com'],
    };
    const signing = await makeFacade(
      { http: { ...defaultSettings().http, publicUrl: 'https://davit.example.com', oidc } },
      {},
      { page: await bundlePage() },
    );
    const { headers, body } = await signing.app.inject({ method: 'GET', url: '/', headers: { accept: BROWSER } });
    expect(String(headers['content-security-policy']).split('; ')).toContain(
      "connect-src 'self' https://id.example.com https://tokens.example.com",
    );
    const [, attribute = ''] = / data-oidc="([^"<]*)"/.exec(body) ?? [];
    const told = JSON.parse(attribute.replaceAll('&lt;', '<').replaceAll('&quot;', '"').replaceAll('&amp;', '&'));
    expect(told).toEqual({
      issuer: oidc.issuer,
      name: 'id.example.com',
      clientId: 'davit',
      scopes: ['openid'],
      origins: ['https://id.example.com', 'https://tokens.example.com'],
      redirectUri: 'https://davit.example.com/',
      script: expect.stringMatching(/^\/assets\/oidc\.js\?[0-9a-f]{16}$/),
    });
    const script = await signing.app.inject({ method: 'GET', url: told.script });
    expect([script.statusCode, script.headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
    await signing.app.close();
  });

  it.each(['/', '/docs'])('%s is 304 for a browser that has it', async (path) => {
    const { etag } = (await get(path, { accept: BROWSER })).headers;
    const again = await get(path, { accept: BROWSER, 'if-none-match': String(etag) });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    expect(again.headers['content-security-policy']).toBeDefined();
  });

  it('is where the address leads that published clients print', async () => {
    const { statusCode, headers } = await get('/o/tenant/host/deployments/4e1f');
    expect([statusCode, headers.location]).toEqual([302, '/#/deployments/4e1f']);
  });

  it('is JSON for everybody where the page was not bundled', async () => {
    const without = await makeFacade();
    const answer = await without.app.inject({ method: 'GET', url: '/', headers: { accept: BROWSER } });
    expect(answer.json()).toMatchObject({ openapi: '/openapi.json' });
    expect(answer.json()).not.toHaveProperty('docs');
    expect((await without.app.inject('/docs')).statusCode).toBe(404);
    await without.app.close();
  });
});

describe('the files of the page', () => {
  it.each([
    { path: '/', prefix: '/', script: 'page.js' },
    { path: '/api-host/', prefix: '/api-host/', script: 'page.js' },
    { path: '/docs', prefix: '/', script: 'docs.js' },
    { path: '/api-host/docs', prefix: '/api-host/', script: 'docs.js' },
  ])('that $path names are there, for ever under their hash', async ({ path, prefix, script }) => {
    const { body } = await get(path, { accept: BROWSER });
    const named = [...body.matchAll(/(?:href|src)="([^"]*\/assets\/[^"]+)"/g)].map(([, url = '']) => url);
    expect(named.map((url) => url.replace(/\?[0-9a-f]{16}$/, ''))).toEqual(
      ['icon.svg', 'page.css', script].map((name) => `${prefix}assets/${name}`),
    );
    for (const url of named) {
      const { statusCode, headers } = await get(url);
      expect([url, statusCode, headers['cache-control']]).toEqual([url, 200, 'public, max-age=31536000, immutable']);
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it('are the present ones under another hash, for a browser whose document is of another replica, and not kept', async () => {
    const { statusCode, headers } = await get('/assets/page.js?0123456789abcdef');
    expect([statusCode, headers['cache-control']]).toEqual([200, 'no-cache']);
  });

  it('load nothing from elsewhere, evaluate nothing, make markup of nothing and store nothing but the way to the issuer', async () => {
    const folder = join(import.meta.dirname, '../../../src/web');
    const texts = globSync('*.{ts,tsx,css}', { cwd: folder }).map(
      (file) => [file, readFileSync(join(folder, file), 'utf8')] as const,
    );
    const kept =
      /\beval\(|new Function\(|innerHTML|insertAdjacentHTML|document\.write|localStorage|sessionStorage|\.cookie|@import|url\(/;
    expect(texts.length).toBeGreaterThan(8);
    expect(texts.filter(([file, text]) => !file.endsWith('.test.ts') && kept.test(text)).map(([file]) => file)).toEqual(
      ['oidc.ts'],
    );
  });

  it('are few bytes', async () => {
    // Each reason of a condition brings its advice.
    const page = (await get('/assets/page.js')).body;
    const packed = async (name: string): Promise<number> => gzipSync((await get(`/assets/${name}`)).body).length;
    expect(await packed('page.js')).toBeLessThan(45_000);
    expect(await packed('page.css')).toBeLessThan(8000);
    const scripts = await Promise.all(['page.js', 'create.js', 'oidc.js'].map(packed));
    expect(scripts.reduce((sum, size) => sum + size, 0)).toBeLessThan(110_000);
    // A page of its own, with none of the others.
    expect(await packed('docs.js')).toBeLessThan(8000);
    // What a reason means stands in no view, and what to do only where that is advice.
    const reasons = Object.values(REASONS);
    const plain = reasons.filter(({ todo }) => todo !== 'Nothing.' && !/["'`$]/.test(todo));
    expect(plain.filter(({ todo }) => isAdvice(todo) !== page.includes(todo))).toEqual([]);
    expect(reasons.filter(({ meaning }) => page.includes(meaning))).toEqual([]);
  });

  it('are counted with the pages, apart from the requests of callers', async () => {
    for (let n = 0; n < 60; n += 1) await get('/assets/page.css');
    expect((await get('/assets/page.css')).statusCode).toBe(429);
    expect((await facade.call('GET', '/v2/deployments')).status).toBe(200);
  });
});
