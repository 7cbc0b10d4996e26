// The tab that says how a deployment is: the time axis, parts against their limits, what runs now, runs of tasks, and what the cluster reports.

import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { DATASTORE_OPERATIONS } from '../../../src/kinds/datastore-operation.ts';
import { Forbidden, NotFound } from '../../../src/runtime/errors.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { TENANT } from '../http/facade.ts';
import { anHour, iso, run } from './an-hour.ts';
import { accessibilityFindings, elapse, hide, open, overflow, signIn } from './browser.ts';
import { heading, it, LONG, missing, tabTo, why } from './fixtures.ts';
import { deployTeam } from './world.ts';

const MARKUP = '<img src=x onerror="document.title=1">';
async function isGood(page: Page): Promise<void> {
  expect(await accessibilityFindings(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
}

const axis = (page: Page) => page.getByRole('region', { name: /^Last / });

describe.skipIf(missing !== undefined).concurrent(`the overview${why}`, () => {
  it.for([
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
    [320, 'light'],
  ] as const)(
    'at %i pixels, %s, draws the last hour and says it in words',
    LONG,
    async ([width, colorScheme], { world, enter }) => {
      const { shop } = deployTeam(world);
      await anHour(world, shop);
      const page = await enter({ viewport: { width, height: 1000 }, colorScheme });
      await open(page, 'shop');
      const chart = axis(page).getByRole('img');
      await chart.waitFor();
      expect(await chart.getAttribute('aria-label')).toMatch(
        /^server: CPU 0\.\d+ cores now, 0\.\d+ at most; memory \d+ MB now, \d+ at most of 512; revisions: 1; crashes: 1; a table follows$/,
      );
      expect(await chart.locator('.crash title').allTextContents()).toEqual(['server ran out of memory']);
      await axis(page)
        .getByText(/Measured by metrics-server\./)
        .waitFor();
      await isGood(page);
      const folder = process.env['DAVIT_SCREENSHOTS'];
      if (folder) await page.screenshot({ path: `${folder}/overview-${width}-${colorScheme}.png`, fullPage: true });
    },
  );

  it(
    'has a URL for each window, marks of operations, and a table, by the keyboard alone',
    LONG,
    async ({ world, enter, visits }) => {
      const { shop } = deployTeam(world);
      await anHour(world, shop);
      world.facade.kube.seed(DATASTORE_OPERATIONS, {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'DatastoreOperation',
        metadata: { name: 'nightly', namespace: TENANT.namespace },
        spec: { deployment: 'shop', action: 'Backup' },
        status: { startedAt: iso(world.facade.clock.ms - 600_000), endedAt: iso(world.facade.clock.ms - 300_000) },
      } as KubeObject);
      const page = await enter();
      await open(page, 'shop');
      await axis(page)
        .getByRole('img', { name: /operations: 1/ })
        .waitFor();
      expect(await page.locator('.axis .operation title').allTextContents()).toEqual(['Backup nightly']);
      await tabTo(page, '24 h');
      await page.keyboard.press('Enter');
      await page
        .getByRole('region', { name: 'Last 24 hours' })
        .getByText(/Measured by metrics-server since /)
        .waitFor();
      expect(new URL(page.url()).hash).toBe(`#/deployments/${shop.metadata.uid}?window=24h`);
      await tabTo(page, 'As a table');
      await page.keyboard.press('Enter');
      const table = axis(page).getByRole('table');
      expect(await table.getByRole('columnheader').allInnerTexts()).toContain('Memory, MB');
      expect(await table.getByText('server ran out of memory').count()).toBe(1);
      await isGood(page);
      await page.reload();
      await signIn(page);
      await heading(page, 'shop');
      await page.getByRole('region', { name: 'Last 24 hours' }).waitFor();
      const asked = (): number => visits[0]?.requests.filter((one) => one.includes('/usage')).length ?? 0;
      await axis(page).getByRole('img').waitFor();
      await hide(page, true);
      const before = asked();
      await elapse(page, 120);
      await page.waitForTimeout(300);
      expect(asked()).toBe(before);
      await hide(page, false);
      await axis(page).getByLabel('Part').selectOption('postgres');
      await axis(page)
        .getByRole('img', { name: /^PostgreSQL: CPU/ })
        .waitFor();
    },
  );

  it(
    'shows what parts use against their limits, what runs now, and the runs of tasks',
    LONG,
    async ({ world, enter }) => {
      const { shop } = deployTeam(world);
      await anHour(world, shop);
      const page = await enter();
      await open(page, 'shop');
      const parts = page.getByRole('region', { name: 'Parts' });
      const rowOf = async (name: string): Promise<string> =>
        (await parts.getByRole('row').filter({ hasText: name }).first().innerText()).replaceAll(/\s+/g, ' ');
      await parts.getByText('170 of 512 MB').or(parts.getByText('of 512 MB')).first().waitFor();
      expect(await rowOf('server')).toMatch(/^server 2 of \d 0\.\d+ of 1 in 2 pods \d+ of 512 MB 2$/);
      expect(await rowOf('mail')).toMatch(/^mail worker 1 of 1 0\.06 of 0\.5 486 of 512 MB \(near its limit\) 2$/);
      expect(await rowOf('Redis')).toMatch(/^Redis .*22 of 512 MB 0$/);
      const used = parts.getByRole('row').filter({ hasText: 'mail' }).locator('.memory .used');
      expect(Number(await used.getAttribute('width'))).toBeCloseTo(94.9, 0);
      const now = (await page.getByRole('region', { name: 'Now' }).innerText()).replaceAll(/\s+/g, ' ');
      expect(now).toMatch(
        /Revision \w{8} by anna@example\.com, .* ago Changed .*image.* Runs registry\.example\/team\/shop:1\.4\.0/,
      );
      expect(now).toContain('Access open to anyone who can reach its address');
      const strip = page.getByRole('region', { name: 'Tasks' }).getByRole('img');
      expect(await strip.first().getAttribute('aria-label')).toBe('Last runs, oldest first: succeeded, failed');
      expect(
        await page.getByRole('region', { name: 'Parts' }).getByText('The last run of task clean failed.').count(),
      ).toBe(1);
      await page.getByText('All facts').click();
      await page.getByText('PostgreSQL answers.').waitFor();
      await isGood(page);
    },
  );

  it.for([
    [
      'no metrics server',
      () => new NotFound('list'),
      /The cluster has no measurements of pods\. Ask the platform team to install metrics-server/,
    ],
    ['no right to it', () => new Forbidden('list'), /You may not list pods of metrics\.k8s\.io in namespace team-a/],
  ] as const)(
    'with %s says so in the words of the API, and draws nothing',
    LONG,
    async ([, error, sentence], { world, enter }) => {
      world.deploy('shop');
      world.facade.kube.failOn(({ kind }) => (kind === 'PodMetrics' ? error() : undefined));
      const page = await enter();
      await open(page, 'shop');
      await axis(page).getByText(sentence).waitFor();
      expect(await axis(page).getByRole('img').count()).toBe(0);
      await isGood(page);
    },
  );

  it('begins with warnings that are not over, and has hostile names as text', LONG, async ({ world, enter }) => {
    const shop = world.deploy('shop', {
      tasks: [{ name: MARKUP, state: 'OnDemand', runs: [{ job: MARKUP, state: 'Succeeded' }] }],
      spec: { sourceConfig: { tasks: [{ name: 'a', command: ['a'] }] } },
    });
    world.write(shop, ['a line']);
    run(world, shop, [
      {
        part: 'server',
        name: 'shop-5f4d7c9b8-x2x7k',
        cpu: '60m',
        memory: '100Mi',
        crash: { reason: MARKUP, minutesAgo: 2 },
      },
    ]);
    for (let n = 0; n < 7; n += 1)
      world.report(shop, { type: 'Warning', reason: 'BackOff', note: `warning ${n} ${MARKUP}` });
    world.report(shop, { type: 'Normal', reason: 'Pulled', note: 'Container image was pulled' });
    const page = await enter({ viewport: { width: 390, height: 800 } });
    await open(page, 'shop');
    const reported = page.getByRole('region', { name: 'Pods and events' });
    await reported.getByText('warning 0').waitFor();
    expect(await reported.getByRole('list', { name: 'Warnings' }).getByRole('listitem').count()).toBe(5);
    expect(await reported.getByText('was pulled').count()).toBe(0);
    await reported.getByRole('button', { name: 'Show all 8 events' }).click();
    await reported.getByText('was pulled').waitFor();
    await reported.getByText('Pods (1)').click();
    await axis(page).getByRole('img').waitFor();
    await axis(page).getByText('As a table').click();
    expect(await page.locator('img, iframe, body script').count()).toBe(0);
    expect(await page.title()).toBe('shop – Davit');
    await isGood(page);
  });
});
