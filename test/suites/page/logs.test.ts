// The log below every tab: its part, its minutes, its times, and a pane that is closed and asks for nothing.

import { describe, expect } from 'vitest';
import { accessibilityFindings, open, overflow, signIn } from './browser.ts';
import { heading, it, missing, tab, why } from './fixtures.ts';
import { deployTeam } from './world.ts';

describe.skipIf(missing !== undefined).concurrent(`the pane of the log${why}`, () => {
  it('stays below every tab, with what it shows', async ({ world, enter }) => {
    deployTeam(world);
    const page = await enter();
    await open(page, 'shop');
    await page.getByLabel('Level', { exact: true }).selectOption('ERROR');
    await page.getByText('order 1887').waitFor();
    for (const name of ['Revisions', 'Configure', 'Data', 'Tasks', 'Access', 'Logs', 'Overview']) {
      await tab(page, name);
      await page.getByText('order 1887').waitFor();
      expect([name, await page.getByLabel('Level', { exact: true }).inputValue()]).toEqual([name, 'ERROR']);
    }
  });

  it('shows one part, which the URL names', async ({ world, enter, visits }) => {
    const { shop } = deployTeam(world);
    const page = await enter();
    await open(page, 'shop');
    await page.getByText('order 1887').waitFor();
    await page.getByRole('search', { name: 'Logs' }).getByLabel('Part').selectOption({ label: 'PostgreSQL' });
    await page.getByText('order 1887').waitFor({ state: 'detached' });
    expect(new URL(page.url()).hash).toBe(`#/deployments/${shop.metadata.uid}?part=postgres`);
    await page.reload();
    await signIn(page);
    await heading(page, 'shop');
    expect(await page.getByRole('search', { name: 'Logs' }).getByLabel('Part').inputValue()).toBe('postgres');
    await page.getByRole('search', { name: 'Logs' }).getByLabel('Part').selectOption({ label: 'server' });
    await page.getByText('order 1887').waitFor();
    expect(visits[0]?.requests.filter((request) => request.includes('/deploy_logs')).length).toBeGreaterThan(1);
  });

  it('counts lines by the minute, and shows one of them alone', async ({ world, enter }) => {
    const shop = world.deploy('shop');
    world.write(
      shop,
      Array.from({ length: 130 }, (_, n) => `${n % 60 === 7 ? 'ERROR' : 'INFO'} line ${n}`),
    );
    const page = await enter();
    await open(page, 'shop');
    const minutes = page.getByLabel('Minute');
    await minutes.waitFor();
    expect(await minutes.locator('option').allInnerTexts()).toEqual([
      'all',
      '00:00, 59 lines, 1 failed',
      '00:01, 60 lines, 1 failed',
      '00:02, 11 lines, 1 failed',
    ]);
    await minutes.selectOption({ index: 3 });
    expect(await page.locator('.log .line').count()).toBe(11);
    await page.locator('.bars g').first().click();
    await page.getByText('INFO line 0', { exact: true }).waitFor();
    expect(await page.locator('.log .line').count()).toBe(59);
    expect([await accessibilityFindings(page), await overflow(page)]).toEqual([[], 0]);
  });

  it('has its times in UTC or of the place, for all at once', async ({ world, enter }) => {
    deployTeam(world);
    const page = await enter({ timezoneId: 'Asia/Tokyo' });
    await open(page, 'shop');
    const time = page.locator('.log time').first();
    expect(await time.innerText()).toBe('00:00:01');
    await page.getByRole('button', { name: 'Local time' }).click();
    expect(await time.innerText()).toBe('09:00:01');
    await page.getByRole('button', { name: 'UTC', exact: true }).click();
    expect(await time.innerText()).toBe('00:00:01');
  });

  it('is closed where there is no room, and asks for nothing then', async ({ world, enter, visits }) => {
    deployTeam(world);
    const page = await enter({ viewport: { width: 390, height: 800 } });
    await open(page, 'shop');
    const asked = (): number => visits[0]?.requests.filter((request) => request.includes('/deploy_logs')).length ?? 0;
    await page.waitForTimeout(500);
    expect(asked()).toBe(0);
    await page.getByRole('button', { name: 'Show the log' }).click();
    await page.getByText('order 1887').waitFor();
    expect(asked()).toBeGreaterThan(0);
    expect([await accessibilityFindings(page), await overflow(page)]).toEqual([[], 0]);
  });
});
