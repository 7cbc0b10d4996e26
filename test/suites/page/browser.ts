// Chromium as the tests of the page drive it. As root on Debian it is installed if it is missing, as other system packages are.

import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { ensureProgram, findProgram } from '../../cluster/machine.ts';
import { NotPreparedError } from '../../cluster/prepared.ts';
import { TOKEN } from './world.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The program, or why there is none. */
export async function chromiumHere(): Promise<{ readonly program: string } | { readonly missing: string }> {
  const found = NAMES.map(findProgram).find((program) => program !== undefined);
  if (found !== undefined) return { program: found };
  try {
    return { program: await ensureProgram('chromium', (line) => process.stderr.write(`${line}\n`)) };
  } catch (error) {
    if (error instanceof NotPreparedError) throw error;
    return { missing: error instanceof Error ? error.message : String(error) };
  }
}

export async function launch(program: string): Promise<Browser> {
  // Chromium's sandbox refuses root.
  return chromium.launch({ executablePath: program, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

export interface Visit {
  readonly page: Page;
  /** What the page must never cause: violations of the policy, errors of its script, requests to other hosts. */
  readonly complaints: string[];
  /** Method and path of each request. */
  readonly requests: string[];
}

/** A browser that knows nothing, at the page. */
export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => {
    // A request that fails is the test's own doing.
    const isAboutRequest = message.text().startsWith('Failed to load resource');
    if (['error', 'warning'].includes(message.type()) && !isAboutRequest) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const { origin, pathname, search } = new URL(request.url());
    requests.push(`${request.method()} ${pathname}${search}`);
    if (origin !== new URL(url).origin) complaints.push(`request to ${origin}`);
  });
  // Time passes as it does, and faster where a test says so.
  await page.clock.install();
  await page.goto(`${url}/`);
  return { page, complaints, requests };
}

export async function signIn(page: Page, { token = TOKEN, namespace = 'team-a' } = {}): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByLabel('Tenant').fill(namespace);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

export async function open(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
}

/** As if so many seconds had passed. */
export async function elapse(page: Page, seconds: number): Promise<void> {
  await page.clock.fastForward(seconds * 1000);
}

/** As if the person looked at another tab, or came back. */
export async function hide(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(
    `Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
     document.dispatchEvent(new Event("visibilitychange"));`,
  );
}

/** Has the page ask at once, as when a person looks at it again. */
export async function lookAgain(page: Page): Promise<void> {
  await hide(page, true);
  await hide(page, false);
}

/** What axe finds against WCAG 2.2 AA and its best practices, one line for each finding. */
export async function accessibilityFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  });
}

/** How far the document is wider than the window, in pixels. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
