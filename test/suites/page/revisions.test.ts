// The tab of revisions: what each changed, any two compared, and the steps of a build.

import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import { accessibilityFindings, open, overflow, signIn } from './browser.ts';
import { focused, heading, it, missing, tab, tabTo, why } from './fixtures.ts';
import { deployTeam } from './world.ts';

async function isGood(page: Page): Promise<void> {
  expect(await accessibilityFindings(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
}

describe.skipIf(missing !== undefined).concurrent(`the revisions${why}`, () => {
  it('say what each changed', async ({ world, enter }) => {
    deployTeam(world);
    const page = await enter({ viewport: { width: 390, height: 800 } });
    await open(page, 'shop');
    await tab(page, 'Revisions');
    const newest = page.locator('.revisions tbody tr').first().locator('.changes');
    await newest.getByText('registry.example/team/shop:1.3.1 → registry.example/team/shop:1.4.0').waitFor();
    await isGood(page);
  });

  it('are compared, any two, by the keyboard alone, and the URL has both', async ({ world, enter }) => {
    const { shop } = deployTeam(world);
    const [first, , third] = [1, 2, 3].map((serial) => serialRevisionId(shop.metadata.uid ?? '', serial));
    const page = await enter();
    await open(page, 'shop');
    await tabTo(page, 'Revisions');
    await page.keyboard.press('Enter');
    const card = page.getByRole('region', { name: 'Compare' });
    // The newest two, before somebody chooses others.
    await card.getByText('registry.example/team/shop:1.3.1 → registry.example/team/shop:1.4.0').waitFor();
    await tabTo(page, 'From');
    await page.keyboard.press('End');
    await card.getByText('registry.example/team/shop:1.3.0 → registry.example/team/shop:1.4.0').waitFor();
    expect(new URL(page.url()).hash).toBe(`#/deployments/${shop.metadata.uid}/revisions?from=${first}&to=${third}`);
    expect(await focused(page)).toContain('DEPLOYED');
    await isGood(page);
    await page.reload();
    await signIn(page);
    await heading(page, 'shop');
    await card.getByText('registry.example/team/shop:1.3.0 → registry.example/team/shop:1.4.0').waitFor();
    await card.getByLabel('to', { exact: true }).selectOption(first ?? '');
    await card.getByText('Nothing differs.').waitFor();
  });

  it('that a URL names and that are not there are said to be missing', async ({ world, enter }) => {
    const { shop } = deployTeam(world);
    const none = '99999999-0000-4000-8000-000000000009';
    const page = await enter();
    await page.evaluate(`location.hash = "#/deployments/${shop.metadata.uid}/revisions?from=${none}&to=${none}"`);
    await page.getByRole('region', { name: 'Compare' }).getByRole('alert').getByText(/./).first().waitFor();
    await isGood(page);
  });

  it('of a build have its steps, and why one failed', async ({ world, enter }) => {
    const { agent } = deployTeam(world);
    world.writeBuild(agent, [
      '#5 [1/6] FROM python:3.13',
      '#5 CACHED',
      '#6 [2/6] COPY <b>.</b> .',
      '#6 DONE 0.4s',
      '#7 ERROR: process "pip" did not complete successfully: exit code: 1',
    ]);
    const page = await enter();
    await open(page, 'agent');
    await tab(page, 'Revisions');
    await page
      .getByRole('button', { name: /^Steps of/ })
      .first()
      .click();
    const steps = page.getByRole('region', { name: /^Steps of the build/ });
    await steps.getByText('exit code: 1').waitFor();
    expect((await steps.getByRole('listitem').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
      '[4/6] RUN pip install -r requirements.txt process "pip" did not complete successfully: exit code: 1',
      '[1/6] FROM python:3.13',
      '[2/6] COPY <b>.</b> . 0.4 s',
    ]);
    await isGood(page);
  });
});
