// What the tests of the page share: a browser, a world of deployments, and visits that may cause no complaint.

import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessibilityFindings, chromiumHere, launch, overflow, signIn, type Visit, visit } from './browser.ts';
import { makeWorld, TOKEN, type World } from './world.ts';

const here = await chromiumHere();

/** Why the tests are left out; undefined if they run. */
export const missing = 'missing' in here ? here.missing : undefined;
/** What follows the name of a group of tests. */
export const why = missing === undefined ? '' : ` (left out: ${missing})`;

export let browser: Browser;
beforeAll(async () => {
  if ('program' in here) browser = await launch(here.program);
});
afterAll(() => browser?.close());

interface Fixtures {
  readonly world: World;
  /** Opens the page. */
  readonly arrive: (options?: BrowserContextOptions) => Promise<Page>;
  /** Opens the page and signs in. */
  readonly enter: (options?: BrowserContextOptions) => Promise<Page>;
  readonly visits: Visit[];
}

export const it = test.extend<Fixtures>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the parameter's names
  world: async ({}, use) => {
    const world = await makeWorld();
    await use(world);
    await world.close();
  },
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the parameter's names
  visits: async ({}, use) => {
    const visits: Visit[] = [];
    await use(visits);
    for (const { page } of visits) await page.context().close();
    expect(visits.flatMap(({ complaints }) => complaints)).toEqual([]);
  },
  arrive: ({ world, visits }, use) =>
    use(async (options = {}) => {
      const one = await visit(browser, world.url, options);
      visits.push(one);
      return one.page;
    }),
  enter: ({ arrive }, use) =>
    use(async (options = {}) => {
      const page = await arrive(options);
      await signIn(page);
      await page.getByRole('heading', { level: 1, name: 'Deployments', exact: true }).waitFor();
      return page;
    }),
});

/** Longer than a busy machine takes. */
export const LONG = { timeout: 60_000 };

export const rows = (page: Page): Promise<string[]> => page.locator('.list tbody th.name').allInnerTexts();
export const focused = (page: Page): Promise<string> =>
  page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent');

export const heading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor();

/** Presses Tab until the focus, which has to be visible, is on what is called so. */
export async function tabTo(page: Page, name: string): Promise<void> {
  const passed: string[] = [];
  for (let presses = 0; presses < 60; presses += 1) {
    const { at, outline } = await page.evaluate<{ at: string; outline: string }>(`(() => {
      const { ariaLabel, labels, textContent } = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      const at = (ariaLabel ?? labels?.[0]?.textContent ?? textContent).trim();
      return { at, outline: outlineStyle + ' ' + outlineWidth };
    })()`);
    if (at === name) {
      expect([name, outline]).toEqual([name, 'solid 2px']);
      return;
    }
    passed.push(at.slice(0, 30));
    await page.keyboard.press('Tab');
  }
  throw new Error(`No way by Tab to ${name}: ${passed.join(' | ')}`);
}

/** Shows another tab of the deployment. */
export async function tab(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Deployment' }).getByRole('link', { name, exact: true }).click();
}

/** Opens the menu of acts and takes one. */
export async function choose(page: Page, act: string): Promise<void> {
  await page.locator('.head .menu summary').click();
  await page.locator('.head .menu').getByText(act, { exact: true }).click();
}

/** Opens the menu of the tenant and takes one of its lines. */
export async function chooseTenant(page: Page, line: string): Promise<void> {
  await page.locator('.who summary').click();
  await page.locator('.who .menu').getByText(line, { exact: true }).click();
}

/** Gives the token that the page asks for again, once the API takes requests to `path` again. */
export async function signInAgain(page: Page, path: string): Promise<void> {
  const again = page.getByRole('dialog', { name: 'Sign in again' });
  await again.waitFor();
  await page.unroute(path);
  await again.getByLabel('Token').fill(TOKEN);
  await again.getByRole('button', { name: 'Sign in' }).click();
  await again.waitFor({ state: 'detached' });
}

/** What is shown is accessible, wide and narrow, light and dark, and does not scroll sideways. `DAVIT_SCREENSHOTS` gets pictures of it. */
export async function isGoodEverywhere(page: Page, name: string): Promise<void> {
  const pictures = process.env['DAVIT_SCREENSHOTS'];
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [2560, 1280, 390]) {
      await page.setViewportSize({ width, height: 1200 });
      await page.emulateMedia({ colorScheme });
      expect([colorScheme, width, await overflow(page)]).toEqual([colorScheme, width, 0]);
      expect(await accessibilityFindings(page)).toEqual([]);
      if (pictures) await page.screenshot({ path: join(pictures, `${name}-${colorScheme}-${width}.png`) });
    }
}
