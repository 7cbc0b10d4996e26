// The page at `/docs` in a headless Chromium, with the document that the facade serves.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessibilityFindings, chromiumHere, launch, overflow, visit } from './browser.ts';
import { makeWorld, TOKEN, type World } from './world.ts';

const here = await chromiumHere();
const why = 'missing' in here ? ` (left out: ${here.missing})` : '';

let browser: Browser;
let world: World;
beforeAll(async () => {
  if ('missing' in here) return;
  browser = await launch(here.program);
  world = await makeWorld();
});
afterAll(async () => {
  await browser?.close();
  await world?.close();
});

describe.skipIf('missing' in here)(`the page at /docs${why}`, () => {
  it('shows every operation, its fields within fields, and a command that works', async () => {
    const { page, complaints } = await visit(browser, world.url);
    await page.goto(`${world.url}/docs`);
    await page.getByRole('heading', { level: 1, name: 'The HTTP API of Davit' }).waitFor();
    const { paths } = (await world.facade.app.inject('/openapi.json')).json<{ paths: Record<string, object> }>();
    const operations = Object.values(paths).flatMap((methods) => Object.keys(methods));
    expect(await page.locator('section > details').count()).toBe(operations.length);

    const create = page.locator('#createDeployment');
    await create.locator('summary').click();
    await create.getByText('Fields of source_config', { exact: true }).click();
    await create.getByText('Fields of resource_spec', { exact: true }).click();
    await create.getByText('memory_mb', { exact: true }).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await overflow(page)).toBe(0);

    const command = (await create.locator('.command code').textContent()) ?? '';
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} -sS`], {
      env: { PATH: process.env['PATH'], API: world.url, TOKEN, TENANT: 'team-a' },
    });
    expect(JSON.parse(stdout)).toMatchObject({ name: 'shop', source: 'external_docker' });
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('opens the operation that the address names, and copies its command', async () => {
    const { page, complaints } = await visit(browser, world.url);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`${world.url}/docs#getPlatform`);
    await page.getByRole('button', { name: 'Copy the command for' }).click();
    await page.getByRole('status').getByText('The command is copied.').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain('curl -X GET "$API/v2/platform"');
    expect(await page.getByText('Deployments on a Kubernetes cluster of your own.').isVisible()).toBe(true);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('says so where the document does not come', async () => {
    const { page } = await visit(browser, world.url);
    await page.route('**/openapi.json', (route) => route.abort());
    await page.goto(`${world.url}/docs`);
    await page.getByText('The OpenAPI document could not be loaded. Reload the page.').waitFor();
    await page.context().close();
  });
});
