// The act beside the notice: the API names it, and the page sends what was named.

import { describe, expect } from 'vitest';
import { accessibilityFindings, open, overflow } from './browser.ts';
import { it, missing, tabTo, why } from './fixtures.ts';

const KILLED =
  'The server was killed: it used more than its memory limit of 1024 MB. Raise memory_limit_mb in resource_spec, or reduce its memory use.';

describe.skipIf(missing !== undefined).concurrent(`the act that mends${why}`, () => {
  it.for([1280, 390])('raises a limit by the keyboard alone, at %i pixels', async (width, { world, enter }) => {
    const shop = world.deploy('shop', {
      state: 'UNKNOWN',
      conditions: { Ready: ['False', 'ContainerCrashed', KILLED], Available: ['False', 'ContainerCrashed', KILLED] },
    });
    const page = await enter({ viewport: { width, height: 800 } });
    await open(page, 'shop');
    await tabTo(page, 'Raise memory_limit_mb to 1536 MB…');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Raise memory_limit_mb to 1536 MB?' });
    await dialog.getByText('"memory_limit_mb":1536').waitFor();
    expect([await accessibilityFindings(page), await overflow(page)]).toEqual([[], 0]);
    await tabTo(page, 'Raise memory_limit_mb to 1536 MB');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Raise memory_limit_mb to 1536 MB is requested.').waitFor();
    const { spec } = world.facade.records.byUid(shop.metadata.uid ?? '') ?? shop;
    expect(spec.sourceConfig.resourceSpec).toEqual({ memoryLimitMb: 1536 });
  });

  it('runs again what is scaled to zero', async ({ world, enter }) => {
    const old = world.deploy('old', {
      state: 'UNUSED',
      spec: { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } },
      conditions: { Ready: ['True', 'ScaledToZero', 'max_scale is 0, so no pod runs.'] },
    });
    const page = await enter();
    await open(page, 'old');
    await page.getByRole('button', { name: 'Run it again…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run it again' }).click();
    await page.getByRole('status').getByText('Run it again is requested.').waitFor();
    expect(world.facade.records.byUid(old.metadata.uid ?? '')?.spec.sourceConfig.resourceSpec?.maxScale).toBe(1);
  });

  it('is not offered where all is well', async ({ world, enter }) => {
    world.deploy('shop');
    const page = await enter();
    await open(page, 'shop');
    expect(await page.locator('.verdict button').count()).toBe(0);
  });
});
