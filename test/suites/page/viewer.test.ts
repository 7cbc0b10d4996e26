// Somebody who may look at deployments and change none: no tab offers an act, and the page says so.

import { describe, expect } from 'vitest';
import { accessibilityFindings, open } from './browser.ts';
import { isGoodEverywhere, it, LONG, missing, tab, why } from './fixtures.ts';
import { deployTeam } from './world.ts';

/** Buttons that change what is shown, and nothing else. */
const SHOWS =
  /^(Sign out|Hide the log|Local time|Read again|Show all \d+ events|Log of .*|Steps of .*|Copy the command for .*)$/;

describe.skipIf(missing !== undefined).concurrent(`a viewer${why}`, () => {
  it('is offered no act in any tab, and none in a dialog', LONG, async ({ world, enter }) => {
    deployTeam(world);
    world.facade.kube.allow(({ verb }) => verb === 'get' || verb === 'list');
    const page = await enter();
    for (const name of ['shop', 'checkout', 'agent', 'nightly-report']) {
      await open(page, name);
      await page.getByText('You may view this deployment, but not change it.').waitFor();
      for (const title of ['Overview', 'Logs', 'Revisions', 'Configure', 'Data', 'Tasks', 'Access']) {
        await tab(page, title);
        const shown = page.locator('article section').getByRole('heading', { level: 2 });
        await shown.first().waitFor();
        const buttons = await page
          .getByRole('button')
          .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label') ?? one.textContent));
        expect([name, title, buttons.filter((button) => !SHOWS.test(button ?? ''))]).toEqual([name, title, []]);
        expect([title, await page.locator('.head .menu').count()]).toEqual([title, 0]);
        expect([title, await page.getByRole('dialog').count()]).toEqual([title, 0]);
      }
      await page.getByRole('link', { name: '← All deployments' }).click();
    }
    expect(await page.getByRole('link', { name: 'New deployment' }).count()).toBe(0);
    await open(page, 'shop');
    await tab(page, 'Configure');
    const text = page.getByRole('textbox', { name: 'davit.yaml' });
    expect(await text.getAttribute('readonly')).not.toBeNull();
    expect(await accessibilityFindings(page)).toEqual([]);
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    expect((await download).suggestedFilename()).toBe('shop.yaml');
    await isGoodEverywhere(page, 'viewer');
  });
});
