// Signing in on the page in a headless Chromium, with oidc-provider as the issuer, and a real API server that verifies its ID tokens
// (AuthenticationConfiguration). Davit and the page know nobody.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../cluster/control-plane.ts';
import { type Davit, startDavit } from '../../kit/davit.ts';
import { GROUP, type SignInIssuer, startSignInIssuer } from '../../support/sign-in-issuer.ts';
import { accessibilityFindings, chromiumHere, launch, overflow } from './browser.ts';

const here = await chromiumHere();
const why = 'missing' in here ? ` (left out: ${here.missing})` : '';
const PAGE = join(import.meta.dirname, '../../../src/tools/page.ts');
const CLIENT = 'davit-page';
/** The least that a person can type something in. */
const SHORT_S = 15;

let browser: Browser;
let issuer: SignInIssuer;
let davit: Davit;
let publicUrl: string;
let folder: string;
let context: BrowserContext;
let page: Page;
let complaints: string[];

describe.skipIf('missing' in here)(`signing in on the page${why}`, () => {
  beforeAll(async () => {
    if ('missing' in here) return;
    browser = await launch(here.program);
    // The facade reads it when it starts.
    await promisify(execFile)(process.execPath, [PAGE]);
    const port = await freePort('127.0.0.1');
    publicUrl = `http://localhost:${port}`;
    issuer = await startSignInIssuer(CLIENT, `${publicUrl}/`);
    folder = await mkdtemp(join(tmpdir(), 'davit-sign-in-'));
    const file = join(folder, 'authentication.json');
    await writeFile(file, JSON.stringify(authentication()));
    davit = await startDavit('apiserver', {
      apiServerArgs: [`--authentication-config=${file}`],
      parts: ['api', 'controller'],
      env: { DAVIT_HTTP_PORT: String(port) },
      values: {
        'settings.http.publicUrl': publicUrl,
        'settings.http.oidc': { issuer: issuer.issuer, clientId: CLIENT, name: 'Example ID' },
      },
    });
    await Promise.all(['team-a', 'team-b'].map((name) => davit.knownTenant(name)));
    const group = `--group=oidc:${GROUP}`;
    await davit.cluster.kubectl([...words('create rolebinding people -n team-a --clusterrole=davit-editor'), group]);
    await davit.cluster.kubectl([
      ...words('create rolebinding eve -n team-b --clusterrole=davit-viewer'),
      '--user=oidc:eve@example.com',
    ]);
  }, 600_000);
  afterAll(async () => {
    await browser?.close();
    await davit?.stop();
    await issuer?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  }, 60_000);

  beforeEach(async () => {
    Object.assign(issuer, { lifetime: 3600, isRefreshing: false, fault: undefined });
    issuer.grants.length = 0;
    issuer.seen.length = 0;
    complaints = [];
    context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ignoreHTTPSErrors: true });
    context.setDefaultTimeout(60_000);
    context.on('console', (message) => {
      const isAboutRequest = message.text().startsWith('Failed to load resource');
      // The issuer's own pages have an icon of nobody's.
      if (['error', 'warning'].includes(message.type()) && !isAboutRequest) complaints.push(message.text());
    });
    context.on('weberror', (error) => complaints.push(String(error.error())));
    page = await context.newPage();
    await page.goto(`${publicUrl}/`);
  });
  afterEach(async () => {
    await context?.close();
    expect(complaints).toEqual([]);
  });

  it('leads to the issuer and back to the view that was wanted, and does what the person may', async () => {
    await page.goto(`${publicUrl}/#/new`);
    await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await picture('sign-in');
    await signIn('ada', 'team-a');
    await heading('New deployment');
    expect(page.url()).toBe(`${publicUrl}/#/new`);
    await page.getByText('ada', { exact: true }).waitFor();
    await page.getByLabel('Name').fill('shop');
    await page.getByLabel('Image').fill('images.example.com/team/shop:1');
    await page.getByRole('button', { name: 'Create' }).click();
    await heading('shop');
    await picture('signed-in');
    const record = JSON.parse(await davit.cluster.kubectl(words('get appd shop -n team-a -o json')));
    expect(record.metadata.annotations['davit.dev/requested-by']).toContain('oidc:ada@example.com');
    await noTokenIsKept();
    const { length } = issuer.seen.filter((request) => request.startsWith('POST /token'));
    expect([issuer.grants, length]).toEqual([['authorization_code'], 1]);
  });

  it('survives a reload by asking the issuer, and shows the same view', async () => {
    await page.goto(`${publicUrl}/#/?status=READY`);
    await signIn('ada', 'team-a');
    await heading('Deployments');
    await page.reload();
    await heading('Deployments');
    expect(page.url()).toBe(`${publicUrl}/#/?status=READY`);
    expect(await page.getByLabel('Status').inputValue()).toBe('READY');
    expect(await page.getByText('Tenant team-a').count()).toBe(1);
    expect(issuer.grants).toEqual(['authorization_code', 'authorization_code']);
    expect(issuer.seen.filter((request) => request.includes('prompt=none'))).toHaveLength(1);
    await noTokenIsKept();
    // Where the issuer knows the person no more, she is asked.
    await context.clearCookies();
    await page.reload();
    await page.getByText('You are no longer signed in at Example ID. Sign in again.').waitFor();
    expect(await page.getByLabel('Tenant').inputValue()).toBe('team-a');
    await page.reload();
    await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor();
    expect(await page.getByText('no longer signed in').count()).toBe(0);
  });

  it('that is refused says so, and can be tried again', async () => {
    await page.getByLabel('Tenant').fill('team-a');
    await page.getByRole('button', { name: 'Sign in with Example ID' }).click();
    await page.getByRole('button', { name: 'Refuse' }).click();
    await page
      .getByRole('alert')
      .getByText('Example ID did not let you in (access_denied: The person refused).')
      .waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await picture('refused');
    expect(await page.getByLabel('Tenant').inputValue()).toBe('team-a');
    await signIn('ada', 'team-a');
    await heading('Deployments');
  });

  it('for a tenant without rights asks for another one, and not the issuer again', async () => {
    await signIn('eve', 'team-a');
    await page.getByText('You are eve.').waitFor();
    await page.getByRole('alert').getByText(/./).first().waitFor();
    await picture('no-rights');
    await page.getByLabel('Tenant').fill('team-b');
    await page.getByRole('button', { name: 'Continue' }).click();
    await heading('Deployments');
    expect(issuer.grants).toEqual(['authorization_code']);
  });

  it('says where the issuer answers with an error', async () => {
    issuer.fault = answering('error=temporarily_unavailable&error_description=Come+back+%3Cb%3Elater');
    await page.getByRole('button', { name: 'Sign in with Example ID' }).click();
    await page
      .getByRole('alert')
      .getByText('Example ID answered with an error (temporarily_unavailable: Come back <b>later).')
      .waitFor();
    issuer.fault = answering('code=stolen', 'https://evil.example');
    await page.getByRole('button', { name: 'Sign in with Example ID' }).click();
    await page.getByRole('alert').getByText('The answer was not used').waitFor();
    issuer.fault = answering('code=guessed');
    await page.getByRole('button', { name: 'Sign in with Example ID' }).click();
    await page.getByRole('alert').getByText('Example ID gave no token that can be used: invalid_grant').waitFor();
    issuer.fault = (request, response) => {
      if (request.url?.startsWith('/token') !== true) return false;
      // Without a header of CORS.
      response.writeHead(503).end();
      return true;
    };
    await signIn('ada', 'team-a');
    await page.getByRole('alert').getByText('Example ID cannot be reached from this browser.').waitFor();
    // What the browser itself says of CORS.
    complaints = complaints.filter((text) => !text.includes('blocked by CORS policy'));
    issuer.fault = undefined;
    await page.getByRole('button', { name: 'Sign in with Example ID' }).click();
    await heading('Deployments');
  });

  it.each([
    ['a foreign state', 'code=stolen&state=foreign'],
    ['no flow at all', 'error=access_denied&error_description=Call+555&state=x'],
  ])('is not begun by a link with %s', async (_what, query) => {
    await page.goto(`${publicUrl}/?${query}#/new`);
    await page.getByRole('alert').getByText('The page did not ask for this answer').waitFor();
    expect(page.url()).not.toContain('state');
    expect(await page.getByText('Call 555').count()).toBe(0);
    expect(issuer.seen.filter((request) => request.startsWith('POST /token'))).toEqual([]);
  });

  it('counts an answer once', async () => {
    let answered = '';
    page.on('request', (request) => {
      if (request.url().startsWith(`${publicUrl}/?code=`)) answered = request.url();
    });
    await signIn('ada', 'team-a');
    await heading('Deployments');
    await page.goto('about:blank');
    await page.goto(answered);
    await page.getByRole('alert').getByText('or has already used it.').waitFor();
  });

  it('works at the address to which the issuer leads back alone, and others say where', async () => {
    await page.goto(publicUrl.replace('localhost', '127.0.0.1'));
    await page.getByLabel('Token').waitFor();
    expect(await page.getByRole('button', { name: 'Sign in with Example ID' }).count()).toBe(0);
    await page.getByRole('link', { name: `${publicUrl}/` }).click();
    await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor();
  });

  it('that has ended is done again in another tab, and what was typed stays', async () => {
    issuer.lifetime = SHORT_S;
    await page.goto(`${publicUrl}/#/new`);
    await signIn('ada', 'team-a');
    await heading('New deployment');
    await page.getByLabel('Name').fill('typed');
    await page.getByLabel('Image').fill('images.example.com/team/typed:1');
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await ends();
    await page.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await picture('again');
    issuer.lifetime = 3600;
    // Somebody else is not let into what ada has typed.
    await context.clearCookies();
    await inAnotherTab('bob');
    await dialog.getByRole('alert').getByText("You signed in as bob, and this page is ada's.").waitFor();
    await context.clearCookies();
    await inAnotherTab(undefined, 'Refuse');
    await dialog.getByRole('alert').getByText('Example ID did not let you in').waitFor();
    await inAnotherTab('ada');
    await dialog.waitFor({ state: 'detached' });
    expect(await page.getByLabel('Name').inputValue()).toBe('typed');
    await page.getByRole('button', { name: 'Create' }).click();
    await heading('typed');
    await noTokenIsKept();
  });

  it('is renewed by a refresh token without a word, and given back', async () => {
    Object.assign(issuer, { lifetime: SHORT_S, isRefreshing: true });
    await signIn('ada', 'team-a');
    await heading('Deployments');
    await ends();
    await page.getByRole('link', { name: 'New deployment' }).click();
    await heading('New deployment');
    await page.getByRole('link', { name: '← All deployments' }).click();
    await heading('Deployments');
    expect(await page.getByText('This is not up to date').count()).toBe(0);
    expect(issuer.grants.slice(0, 2)).toEqual(['authorization_code', 'refresh_token']);
    expect(issuer.grants).not.toContain('refresh_token refused');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out here. Example ID still knows this browser.').waitFor();
    await expect.poll(() => issuer.seen).toContainEqual(expect.stringMatching(/^POST \/token\/revocation/));
    expect(await accessibilityFindings(page)).toEqual([]);
    await picture('signed-out');
    await page.reload();
    // Nobody is signed in by a reload after that.
    await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor();
    await noTokenIsKept();
  });

  it('ends at the issuer too where the person wants it', async () => {
    await signIn('ada', 'team-a');
    await heading('Deployments');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign out of Example ID too' }).click();
    await page.getByRole('button', { name: 'Yes, sign me out' }).click();
    await page.getByRole('button', { name: 'Sign in with Example ID' }).waitFor();
    await page.getByLabel('Tenant').fill('team-a');
    await page.getByRole('button', { name: 'Sign in with Example ID' }).click();
    // It asks who she is.
    await page.getByLabel('User').waitFor();
  });

  it('fits a narrow screen', async () => {
    await page.setViewportSize({ width: 360, height: 640 });
    expect(await overflow(page)).toBe(0);
    await page.getByText('Use a token').click();
    await page.getByLabel('Token').waitFor();
    expect(await overflow(page)).toBe(0);
    await picture('sign-in-narrow');
  });

  it('leaves no token in a log of Davit', async () => {
    const logs = await Promise.all(
      ['davit-api', 'davit-controller'].map((name) => readFile(join(davit.cluster.logsDir, `${name}.log`), 'utf8')),
    );
    expect(issuer.given.size).toBeGreaterThan(10);
    for (const token of issuer.given) expect(logs.join('').includes(token)).toBe(false);
  });
});

const words = (line: string): string[] => line.split(' ');
const heading = (name: string): Promise<void> => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();

function authentication(): object {
  return {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: { url: issuer.issuer, audiences: [CLIENT], certificateAuthority: issuer.ca },
        claimValidationRules: [
          { expression: 'claims.email_verified == true', message: 'the address must be verified' },
        ],
        claimMappings: {
          username: { claim: 'email', prefix: 'oidc:' },
          groups: { claim: 'groups', prefix: 'oidc:' },
        },
      },
    ],
  };
}

/** From the sign-in page. The issuer may know the person already. */
async function signIn(user: string, tenant: string): Promise<void> {
  await page.getByLabel('Tenant').fill(tenant);
  await page.getByRole('button', { name: 'Sign in with Example ID' }).click();
  await page.getByLabel('User').fill(user);
  await page.getByRole('button', { name: 'Log in' }).click();
}

/** Opens the issuer from the dialog. The other tab says that it can be closed, unless the browser has closed it. */
async function inAnotherTab(user: string | undefined, button = 'Log in'): Promise<void> {
  const [tab] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('dialog').getByRole('link', { name: 'Sign in with Example ID' }).click(),
  ]);
  if (user !== undefined) await tab.getByLabel('User').fill(user);
  await tab.getByRole('button', { name: button }).click();
  await Promise.race([
    tab.getByRole('heading', { name: 'Continue in the other tab' }).waitFor(),
    tab.waitForEvent('close'),
  ]).catch(() => undefined);
  await tab.close();
}

/** Until the API server takes the token no more: it remembers tokens for ten seconds, and so does Davit. */
const ends = (): Promise<void> => sleep((SHORT_S + 22) * 1000);

/** The issuer leads straight back with this. */
const answering =
  (query: string, iss = issuer.issuer) =>
  (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.url?.startsWith('/auth?') !== true) return false;
    const asked = new URL(request.url, issuer.issuer).searchParams;
    const back = new URL(asked.get('redirect_uri') ?? '');
    back.search = `${query}&${new URLSearchParams({ state: asked.get('state') ?? '', iss }).toString()}`;
    response.writeHead(303, { location: back.href }).end();
    return true;
  };

async function noTokenIsKept(): Promise<void> {
  const kept = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state, document.documentElement.outerHTML])',
  );
  expect(kept).not.toContain('verifier');
  expect(issuer.given.size).toBeGreaterThan(0);
  for (const token of issuer.given) expect(kept.includes(token)).toBe(false);
}

async function picture(name: string): Promise<void> {
  const target = process.env['DAVIT_SCREENSHOTS'];
  if (target !== undefined) await page.screenshot({ path: join(target, `${name}.png`) });
}
