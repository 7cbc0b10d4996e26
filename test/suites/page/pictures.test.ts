// The pictures of the documents, and that each shows what its text says. `DAVIT_SCREENSHOTS=docs/page` writes them there.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect } from 'vitest';
import { anHour } from './an-hour.ts';
import { open } from './browser.ts';
import { it, missing, tab, why } from './fixtures.ts';
import { deployTeam, offerSources } from './world.ts';

const wanted = process.env['DAVIT_SCREENSHOTS'];
const folder = wanted ?? (await mkdtemp(join(tmpdir(), 'davit-pictures-')));
afterAll(() => (wanted === undefined ? rm(folder, { recursive: true }) : undefined));

/** The picture of what is on the screen, at which nobody points. */
async function picture(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.waitForTimeout(300);
  const { length } = await page.screenshot({ path: join(folder, `${name}.png`) });
  expect([name, length > 10_000]).toEqual([name, true]);
}

describe.skipIf(missing !== undefined)(`a picture of the documents${why}`, () => {
  it('of the list has what needs attention first', async ({ world, enter }) => {
    deployTeam(world);
    const page = await enter({ viewport: { width: 1280, height: 720 } });
    await page.getByRole('link', { name: 'checkout' }).waitFor();
    expect(await page.locator('.list tbody').first().getByRole('link').count()).toBe(2);
    await picture(page, 'list');
  });

  it('of a deployment has its tabs, parts and log', async ({ world, enter }) => {
    const { shop } = deployTeam(world);
    await anHour(world, shop);
    const page = await enter({ viewport: { width: 1280, height: 1100 } });
    await open(page, 'shop');
    await page.getByRole('img', { name: /^server: CPU/ }).waitFor();
    await page.getByText('order 1887').waitFor();
    await picture(page, 'deployment');
  });

  it.for(['light', 'dark'] as const)(
    'of a broken one has the reason, what to do and the log, in %s',
    async (colorScheme, { world, enter }) => {
      deployTeam(world);
      const page = await enter({ colorScheme, viewport: { width: 1280, height: 960 } });
      await open(page, 'checkout');
      await page.locator('.log').getByText('redis.exceptions.ConnectionError').waitFor();
      await picture(page, colorScheme === 'dark' ? 'broken-dark' : 'broken');
    },
  );

  it('of tasks has their last runs', async ({ world, enter }) => {
    deployTeam(world);
    const page = await enter({ viewport: { width: 1280, height: 960 } });
    await open(page, 'shop');
    await tab(page, 'Tasks');
    await page.getByText('no such table').waitFor();
    await picture(page, 'tasks');
  });

  it('of a new deployment has its repository', async ({ world, enter }) => {
    offerSources(world);
    const page = await enter({ viewport: { width: 1000, height: 960 } });
    await page.getByRole('link', { name: 'New deployment' }).click();
    await page.getByLabel('What it runs').selectOption({ label: 'A repository' });
    await page.getByLabel('Branch, tag or commit').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('shop');
    await picture(page, 'new');
  });
});
