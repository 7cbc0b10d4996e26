// The page in a headless Chromium, over the facade and the in-memory API server. No test may make the page break its policy,
// ask another host, or run what it is given.

import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { CodeHostFailed, Forbidden, Invalid, Unavailable } from '../../../src/runtime/errors.ts';
import { JOBS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { TENANT } from '../http/facade.ts';
import {
  accessibilityFindings,
  elapse,
  hide,
  lookAgain,
  open,
  overflow,
  signIn,
  type Visit,
  visit,
} from './browser.ts';
import {
  browser,
  choose,
  chooseTenant,
  focused,
  heading,
  it,
  LONG,
  missing,
  rows,
  tab,
  tabTo,
  why,
} from './fixtures.ts';
import { deployTeam, makeWorld, offerSources, seedServer, TOKEN, type World } from './world.ts';

// Mostly they wait.
describe.skipIf(missing !== undefined).concurrent(`the page${why}`, () => {
  describe('a token', () => {
    it('is kept in memory alone', async ({ world, enter, visits }) => {
      deployTeam(world);
      const page = await enter();
      await open(page, 'shop');
      expect(page.url()).not.toContain(TOKEN);
      const kept = (): Promise<string> =>
        page.evaluate(
          'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, document.documentElement.outerHTML])',
        );
      expect(await kept()).toContain('[{},{},""');
      expect(await kept()).not.toContain(TOKEN);
      expect(await page.context().cookies()).toEqual([]);
      expect(visits[0]?.requests.join(' ')).not.toContain(TOKEN);
      await page.reload();
      await page.getByLabel('Token').waitFor();
      expect(await page.getByLabel('Token').inputValue()).toBe('');
    });

    it('that is refused is said so, and can be given again', async ({ arrive }) => {
      const page = await arrive();
      await signIn(page, { token: 'nobody-knows-it' });
      const alert = page.getByRole('alert');
      await alert.getByText('The token was refused.').waitFor();
      expect(await alert.innerText()).toContain('The Kubernetes API server does not accept this token');
      expect(await focused(page)).toBe('');
      expect(await accessibilityFindings(page)).toEqual([]);
      await signIn(page);
      await page.getByRole('heading', { level: 1, name: 'Deployments', exact: true }).waitFor();
    });

    it('that ends while the page is open is asked for above it, and what was typed stays', async ({ world, enter }) => {
      const page = await enter();
      await page.getByRole('link', { name: 'New deployment' }).click();
      await page.getByLabel('Name').fill('shop');
      await page.getByLabel('Image').fill('images.example.com/team/shop:1');
      const refuse = '**/v2/deployments/file?*';
      await page.route(refuse, (route) =>
        route.fulfill({ status: 401, json: { detail: 'The token has expired. Send another one.' } }),
      );
      await page.getByRole('button', { name: 'Create' }).click();
      const dialog = page.getByRole('dialog', { name: 'Sign in again' });
      await dialog.getByText('The token was refused. The token has expired.').waitFor();
      expect(await accessibilityFindings(page)).toEqual([]);
      // It is not left by accident.
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      await dialog.getByLabel('Token').fill('nobody-knows-it');
      await dialog.getByRole('button', { name: 'Sign in' }).click();
      await dialog.getByRole('alert').getByText('The token was refused.').waitFor();
      await page.unroute(refuse);
      await dialog.getByLabel('Token').fill(TOKEN);
      await dialog.getByRole('button', { name: 'Sign in' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(await page.getByLabel('Name').inputValue()).toBe('shop');
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { level: 1, name: 'shop', exact: true }).waitFor();
      expect(world.facade.records.list()).toHaveLength(1);
    });

    it('that ends is asked for once, and what is followed goes on with the next', async ({ world, enter }) => {
      world.deploy('shop');
      const page = await enter();
      const list = '**/v2/deployments?*';
      await page.route(list, (route) =>
        route.fulfill({ status: 401, json: { detail: 'The token has expired. Send another one.' } }),
      );
      await lookAgain(page);
      const dialog = page.getByRole('dialog', { name: 'Sign in again' });
      await dialog.waitFor();
      await page.unroute(list);
      world.deploy('cart');
      await dialog.getByLabel('Token').fill(TOKEN);
      await dialog.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('link', { name: 'cart' }).waitFor();
      expect(await page.getByText('This is not up to date.').count()).toBe(0);
    });

    it('that ends can be given up, and the tenant is kept', async ({ enter }) => {
      const page = await enter();
      await page.route('**/v2/deployments?*', (route) => route.fulfill({ status: 401, json: { detail: 'Expired.' } }));
      await lookAgain(page);
      await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
      expect(await page.getByLabel('Tenant').inputValue()).toBe('team-a');
    });

    it('is used for another tenant without a new one', async ({ world, enter }) => {
      const shop = world.deploy('shop');
      const page = await enter();
      await open(page, 'shop');
      await chooseTenant(page, 'Another tenant …');
      const dialog = page.getByRole('dialog', { name: 'Another tenant' });
      expect(await accessibilityFindings(page)).toEqual([]);
      await dialog.getByLabel('Tenant').fill('nowhere');
      await dialog.getByRole('button', { name: 'Show its deployments' }).click();
      await dialog.getByRole('alert').getByText(/./).first().waitFor();
      expect(await page.getByText('Tenant team-a').count()).toBe(1);
      await dialog.getByLabel('Tenant').fill('team-b');
      await dialog.getByRole('button', { name: 'Show its deployments' }).click();
      await page.getByRole('heading', { name: 'No deployments yet' }).waitFor();
      expect(await page.getByText('Tenant team-b').count()).toBe(1);
      // What is of the tenant before is shown no more.
      await page.goto(`${world.url}/#/deployments/${shop.metadata.uid}`);
      await page
        .getByRole('heading', { name: 'This deployment does not exist, or this token and tenant cannot read it' })
        .waitFor();
      // Tenants of this session are a choice away, until the person signs out.
      await chooseTenant(page, 'team-a');
      await page.getByRole('link', { name: 'shop' }).waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await signIn(page);
      await page.locator('.who summary').click();
      expect(await page.locator('.who .menu li').allInnerTexts()).toEqual(['Access and tokens', 'Another tenant …']);
    });

    it('is asked of nobody for a value of a secret', async ({ world, enter, visits }) => {
      world.deploy('shop', {
        spec: { secrets: [{ name: 'API_KEY', secretName: 'shop--vars-1', secretKey: 'API_KEY' }] },
      });
      const page = await enter();
      await open(page, 'shop');
      await tab(page, 'Configure');
      await page.getByText('API_KEY', { exact: true }).waitFor();
      await choose(page, 'Scale');
      const gets = visits[0]?.requests.filter((request) => /^GET \/v2\/deployments\/[^/]+$/.test(request)) ?? [];
      // Lists have none.
      expect(gets.length).toBeGreaterThan(0);
      expect(gets.filter((request) => !request.endsWith('?secrets=names'))).toEqual([]);
    });
  });

  describe('the list', () => {
    it('of nothing says how to make the first deployment', async ({ world, enter }) => {
      const page = await enter();
      await page.getByRole('heading', { name: 'No deployments yet' }).waitFor();
      expect(await page.getByRole('link', { name: "The API's documents" }).getAttribute('href')).toBe(
        `${world.url}/docs`,
      );
      expect(await accessibilityFindings(page)).toEqual([]);
    });

    it('says of each what is wrong in one look', async ({ world, enter }) => {
      deployTeam(world);
      const page = await enter();
      await page.getByRole('link', { name: 'shop', exact: true }).waitFor();
      const groups = await page.locator('.list tbody').allInnerTexts();
      expect(groups.map((text) => text.split('\n')[0]?.trim())).toEqual(['Needs attention', 'Running', 'Unused']);
      expect(await rows(page)).toEqual(['checkout', 'agent', 'search', 'shop', 'old-shop', 'nightly-report']);
      const checkout = page.getByRole('row').filter({ hasText: 'checkout' });
      expect(await checkout.innerText()).toMatch(
        /UNKNOWN\s*latest revision: deploy failed\s*Container server of checkout exits with code 1/,
      );
      expect(await page.getByRole('row').filter({ hasText: 'shop.apps' }).innerText()).toMatch(/READY/);
    });

    it('of 500 is shown in pages, and filtered by name and status', async ({ world, enter }) => {
      for (let n = 0; n < 500; n += 1)
        world.deploy(`app-${String(n).padStart(3, '0')}`, n % 100 === 7 ? { state: 'UNUSED' } : { ageMs: n * 60_000 });
      const page = await enter();
      await page.getByText('Deployments 1 to 50, and more').waitFor();
      const seen = new Set(await rows(page));
      for (let pages = 1; pages < 10; pages += 1) {
        await page.getByRole('button', { name: 'Next' }).click();
        await page.getByText(`Deployments ${pages * 50 + 1} to ${pages * 50 + 50}`).waitFor();
        for (const name of await rows(page)) seen.add(name);
      }
      expect(seen.size).toBe(500);
      expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
      await page.getByLabel('Name').fill('app-10');
      await page.getByText('10 deployments', { exact: true }).waitFor();
      await page.getByLabel('Status').selectOption('UNUSED');
      await page.getByText('1 deployment', { exact: true }).waitFor();
      expect(await rows(page)).toEqual(['app-107']);
      await page.getByLabel('Name').fill('nowhere');
      await page.getByText('No deployment matches.').waitFor();
      await page.getByRole('button', { name: 'Show all' }).click();
      await page.getByText('Deployments 1 to 50, and more').waitFor();
    });

    it('follows what changes', async ({ world, enter }) => {
      world.deploy('shop');
      const page = await enter();
      await page.getByRole('link', { name: 'shop' }).waitFor();
      world.deploy('cart');
      await page.getByRole('link', { name: 'cart' }).waitFor();
    });
  });

  describe('the URL', () => {
    it('holds each view: Back leads to the view before, and a reload keeps it', async ({ world, enter }) => {
      deployTeam(world);
      const page = await enter();
      await page.getByLabel('Status').selectOption('READY');
      await page.getByText('2 deployments', { exact: true }).waitFor();
      await page.getByLabel('Name').fill('sh');
      await page.getByText('1 deployment', { exact: true }).waitFor();
      expect(new URL(page.url()).hash).toBe('#/?name=sh&status=READY');
      await open(page, 'shop');
      await page.goBack();
      await heading(page, 'Deployments');
      await page.getByText('1 deployment', { exact: true }).waitFor();
      expect([await rows(page), await page.getByLabel('Name').inputValue()]).toEqual([['shop'], 'sh']);
      await page.goForward();
      await heading(page, 'shop');
      await page.getByRole('link', { name: '← All deployments' }).click();
      await page.getByText('1 deployment', { exact: true }).waitFor();
      await page.reload();
      await signIn(page);
      await page.getByText('1 deployment', { exact: true }).waitFor();
      expect([await rows(page), await page.getByLabel('Status').inputValue()]).toEqual([['shop'], 'READY']);
      await page.getByRole('link', { name: 'New deployment' }).click();
      await heading(page, 'New deployment');
      await page.reload();
      await signIn(page);
      await heading(page, 'New deployment');
    });

    it('holds what the log shows, which a reload keeps, and no step back for each choice', async ({ world, enter }) => {
      const { checkout } = deployTeam(world);
      const page = await enter();
      await open(page, 'checkout');
      await page.getByLabel('Level', { exact: true }).selectOption('ERROR');
      await page.getByLabel('Text').fill('redis');
      await page.keyboard.press('Enter');
      await page.getByLabel('Health checks').check();
      const revision = serialRevisionId(checkout.metadata.uid ?? '', 1);
      await page.getByLabel('Of', { exact: true }).selectOption(`pods ${revision}`);
      const hash = `#/deployments/${checkout.metadata.uid}?log=pods&revision=${revision}&level=ERROR&text=redis&checks=shown`;
      expect(new URL(page.url()).hash).toBe(hash);
      await page.reload();
      await signIn(page);
      await heading(page, 'checkout');
      expect([
        await page.getByLabel('Of', { exact: true }).inputValue(),
        await page.getByLabel('Level').inputValue(),
        await page.getByLabel('Text').inputValue(),
        await page.getByLabel('Health checks').isChecked(),
      ]).toEqual([`pods ${revision}`, 'ERROR', 'redis', true]);
      await page.goBack();
      await heading(page, 'Deployments');
    });

    it('has no step back for each letter of a filter', async ({ world, enter }) => {
      deployTeam(world);
      const page = await enter();
      await open(page, 'shop');
      await page.getByRole('link', { name: '← All deployments' }).click();
      await page.getByLabel('Name').fill('check');
      await page.getByText('1 deployment', { exact: true }).waitFor();
      await page.goBack();
      await heading(page, 'shop');
    });
  });

  describe('a new deployment', () => {
    it('of an image is created by the keyboard alone, and shown', async ({ world, enter }) => {
      const page = await enter();
      await tabTo(page, 'New deployment');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'New deployment', exact: true }).waitFor();
      await vi.waitFor(() => expect(page.evaluate('document.activeElement.id')).resolves.toBe('new-name'), LONG);
      await page.getByLabel('What it runs').waitFor();
      await page.keyboard.type('shop');
      await tabTo(page, 'Image');
      await page.keyboard.type('images.example.com/team/shop:1');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'shop', exact: true }).waitFor();
      await page.getByRole('status').getByText('shop is created.').waitFor();
      const [record] = world.facade.records.list();
      expect(record?.spec).toMatchObject({
        source: 'external_docker',
        sourceConfig: {},
        sourceRevisionConfig: { imageUri: 'images.example.com/team/shop:1' },
      });
      // What was said of one view is not said of the next.
      await page.goBack();
      await page.getByText('shop is created.').waitFor({ state: 'detached' });
    });

    it('that the API refuses says why at each field', async ({ world, enter }) => {
      world.deploy('taken');
      const page = await enter();
      await page.getByRole('link', { name: 'New deployment' }).click();
      const [name, image] = [page.getByLabel('Name'), page.getByLabel('Image')];
      const create = page.getByRole('button', { name: 'Create' });
      await name.fill('Not A Name');
      await image.fill('not an image');
      await create.click();
      await page
        .locator('#new-name-failure')
        .getByText(/^Name must /)
        .waitFor();
      await page
        .locator('#new-image-failure')
        .getByText(/^Image must /)
        .waitFor();
      expect([await name.getAttribute('aria-invalid'), await image.getAttribute('aria-invalid')]).toEqual([
        'true',
        'true',
      ]);
      expect(await page.evaluate('document.activeElement.id')).toBe('new-name');
      expect(await accessibilityFindings(page)).toEqual([]);
      await name.fill('taken');
      await image.fill('images.example.com/team/shop:1');
      await create.click();
      await page.locator('#new-name-failure').getByText('A deployment named "taken" already exists.').waitFor();
      expect(await page.locator('#new-image-failure').innerText()).toBe('');
      expect(world.facade.records.list()).toHaveLength(1);
    });
  });

  describe('a new deployment of source code', () => {
    async function begin(page: Page, source: string): Promise<void> {
      await page.getByRole('link', { name: 'New deployment' }).click();
      await page.getByLabel('What it runs').selectOption({ label: source });
      await page.getByLabel('Name').fill('shop');
    }

    const pushing = (page: Page): Locator => page.getByRole('region', { name: 'Push an image' });

    async function enterWithRegistry(visits: Visit[]): Promise<{ readonly world: World; readonly visited: Visit }> {
      const world = await makeWorld({ hasRegistry: true });
      onTestFinished(() => world.close());
      const visited = await visit(browser, world.url);
      visits.push(visited);
      await signIn(visited.page);
      return { world, visited };
    }

    it('is made of a repository of the list', async ({ world, enter }) => {
      offerSources(world);
      const page = await enter();
      await begin(page, 'A repository');
      await page.getByLabel('Repository', { exact: true }).selectOption('https://host.example/b/shop');
      expect(await page.getByLabel('Branch, tag or commit').inputValue()).toBe('trunk');
      await page.getByLabel('Configuration file or Dockerfile').fill('Dockerfile');
      await page.getByLabel('Build on every push to the branch').check();
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { level: 1, name: 'shop', exact: true }).waitFor();
      expect(world.facade.records.list()[0]?.spec).toMatchObject({
        source: 'codehost',
        sourceConfig: {
          integrationId: '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10',
          repoUrl: 'https://host.example/b/shop',
          buildOnPush: true,
        },
        sourceRevisionConfig: { repoRef: 'trunk', workflowConfigPath: 'Dockerfile' },
      });
    });

    it('says what the code host refuses, asks it again, and puts findings at their fields', async ({
      world,
      enter,
    }) => {
      offerSources(world);
      const { repositories } = world.facade;
      world.facade.repositories = () =>
        Promise.reject(new CodeHostFailed('refused', "The code host refused the integration's credentials."));
      const page = await enter();
      await begin(page, 'A repository');
      await page.getByText("The code host refused the integration's credentials.").waitFor();
      world.facade.repositories = repositories;
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByLabel('Repository', { exact: true }).selectOption({ label: 'a/shop' });
      await page.getByLabel('Build on every push to the branch').check();
      await page.getByLabel('Branch, tag or commit').fill('refs/tags/v1');
      await page.getByLabel('Configuration file or Dockerfile').fill('deploy/Dockerfile');
      // As the API server refuses it by the rules of the definition.
      world.facade.kube.failOn(({ verb }) =>
        verb === 'create'
          ? new Invalid('x', [
              ruled('spec.sourceConfig.buildOnPush', 'buildOnPush must be false for a tag, which does not change'),
              ruled('spec.sourceRevisionConfig.workflowConfigPath', 'must stay inside the repository: remove ..'),
            ])
          : undefined,
      );
      await page.getByRole('button', { name: 'Create' }).click();
      await page.locator('#new-push-failure').getByText('Build on every push').waitFor();
      await page
        .locator('#new-config-failure')
        .getByText(/^Configuration file or Dockerfile must /)
        .waitFor();
      expect(await accessibilityFindings(page)).toEqual([]);
      expect(world.facade.records.list()).toEqual([]);
    });

    it('is made of a template, whose values are its own', async ({ world, enter }) => {
      offerSources(world);
      const page = await enter();
      await begin(page, 'A template');
      await page.getByText('templates/chat:2').waitFor();
      await page.getByLabel('Template').selectOption('site');
      const ref = page.getByLabel('Branch, tag or commit');
      expect([await ref.inputValue(), await ref.getAttribute('readonly')]).toEqual(['v2', '']);
      await page.getByLabel('Template').selectOption('chat');
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { level: 1, name: 'shop', exact: true }).waitFor();
      expect(world.facade.records.list()[0]?.spec).toMatchObject({
        source: 'internal_template',
        sourceRevisionConfig: { imageUri: 'templates/chat:2' },
      });
    });

    it('is made of an upload; one that fails goes on with the deployment that is there', async ({ visits }) => {
      const { world, visited } = await enterWithRegistry(visits);
      const { page } = visited;
      await begin(page, 'An upload of source code');
      const archive = page.getByLabel('Archive');
      const file = (name: string, buffer: Buffer) => ({ name, mimeType: 'application/gzip', buffer });
      await archive.setInputFiles(file('shop.tar.gz', Buffer.from('PK no gzip')));
      await page.getByRole('button', { name: 'Create' }).click();
      await page.locator('#new-archive-failure').getByText('shop.tar.gz is not compressed with gzip.').waitFor();
      expect(world.facade.records.list()).toEqual([]);
      await page.getByLabel('Configuration file or Dockerfile').fill('/etc/passwd');
      await archive.setInputFiles(file('shop.tar.gz', gzipSync('source')));
      await page.getByRole('button', { name: 'Create' }).click();
      await page
        .locator('#new-config-failure')
        .getByText(/^Configuration file or Dockerfile must /)
        .waitFor();
      expect(world.facade.records.list()).toEqual([]);
      await page.getByLabel('Configuration file or Dockerfile').fill('Dockerfile');
      await page.route('**/v1/uploads/**', (route) => route.fulfill({ status: 503, json: { detail: 'Try later.' } }));
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByText('Try later.').waitFor();
      await page.getByText('shop is created, but has no source yet.').waitFor();
      expect(await accessibilityFindings(page)).toEqual([]);
      await page.unroute('**/v1/uploads/**');
      await page.getByRole('button', { name: 'Upload' }).click();
      await page.getByRole('heading', { level: 1, name: 'shop', exact: true }).waitFor();
      const [record, ...others] = world.facade.records.list();
      expect(others).toEqual([]);
      expect(record?.spec).toMatchObject({
        source: 'internal_source',
        sourceRevisionConfig: {
          sourceTarballPath: expect.stringMatching(/^uploads\/[0-9a-f]{32}$/),
          workflowConfigPath: 'Dockerfile',
        },
      });
    });

    it('is made of an image that is pushed, with a password that is made when it is asked for', async ({ visits }) => {
      const { world, visited } = await enterWithRegistry(visits);
      const { page } = visited;
      await begin(page, 'An image that you push');
      await page.getByRole('button', { name: 'Create' }).click();
      await pushing(page).waitFor();
      const record = world.facade.records.list()[0];
      expect(record?.spec).toMatchObject({ source: 'internal_docker', sourceRevisionConfig: {} });
      await heading(page, 'shop');
      expect(visited.requests.filter((request) => request.includes('push-token'))).toEqual([]);
      expect(await accessibilityFindings(page)).toEqual([]);
      await page.reload();
      await signIn(page);
      await pushing(page).waitFor();

      await page.getByRole('button', { name: 'Make a password' }).click();
      const password = page.getByLabel('Password', { exact: true });
      await password.waitFor();
      expect(await password.getAttribute('type')).toBe('password');
      await page.getByRole('button', { name: 'Show the password' }).click();
      expect(await password.getAttribute('type')).toBe('text');
      expect(await accessibilityFindings(page)).toEqual([]);
      await page.setViewportSize({ width: 320, height: 800 });
      expect(await overflow(page)).toBe(0);
      if (process.env['DAVIT_SCREENSHOTS'])
        await page.screenshot({ fullPage: true, path: join(process.env['DAVIT_SCREENSHOTS'], 'push-320.png') });
      await page.setViewportSize({ width: 1280, height: 800 });
      if (process.env['DAVIT_SCREENSHOTS'])
        await page.screenshot({ fullPage: true, path: join(process.env['DAVIT_SCREENSHOTS'], 'push-1280.png') });
      const commands = await pushing(page).locator('pre').innerText();
      const [, host = '', user = ''] = /^docker login (\S+) --username (\S+)$/m.exec(commands) ?? [];
      const [, repository = '', tag = ''] = /^docker push ([^\s:]+(?::\d+[^\s:]+)?):(\S+)$/m.exec(commands) ?? [];
      expect(commands).toContain(`docker tag IMAGE ${repository}:${tag}`);
      const path = repository.slice(host.length + 1);
      const basic = `Basic ${Buffer.from(`${user}:${await password.inputValue()}`).toString('base64')}`;
      const scope = `service=davit-registry&scope=repository:${path}:pull,push`;
      const login = await fetch(`${world.url}/v1/registry/token?${scope}`, { headers: { authorization: basic } });
      const { token } = (await login.json()) as { token: string };
      const manifest = JSON.stringify({ schemaVersion: 2, layers: [] });
      const pushed = await fetch(`http://${host}/v2/${path}/manifests/${tag}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.oci.image.manifest.v1+json' },
        body: manifest,
      });
      expect(pushed.status).toBe(201);
      const digest = `sha256:${createHash('sha256').update(manifest).digest('hex')}`;

      const field = page.getByLabel('Digest of the image');
      await field.fill('pushed');
      await page.getByRole('button', { name: 'Deploy the image' }).click();
      await page.locator('#new-digest-failure').getByText('This has no digest.').waitFor();
      expect(await page.evaluate('document.activeElement.id')).toBe('new-digest');
      await field.fill(`sha256:${'0'.repeat(64)}`);
      await page.getByRole('button', { name: 'Deploy the image' }).click();
      await page.locator('#new-digest-failure').getByText('is not in the registry').waitFor();
      await field.fill(`${tag}: digest: ${digest} size: 2`);
      await page.getByRole('button', { name: 'Deploy the image' }).click();
      await page.getByRole('status').getByText('A new revision of shop is created.').waitFor();
      expect(world.facade.records.list()[0]?.spec.sourceRevisionConfig).toMatchObject({
        imageUri: `${repository}@${digest}`,
      });
      // The next image is pushed the same way.
      await choose(page, 'Push an image');
      await pushing(page).waitFor();
      await page.goBack();
      await pushing(page).waitFor({ state: 'detached' });
    });

    it('is not pushed to where it comes from elsewhere', async ({ world, enter }) => {
      const record = world.deploy('shop');
      const page = await enter();
      await page.goto(`${world.url}/#/deployments/${record.metadata.uid}/push`);
      await pushing(page).waitFor();
      await page.getByRole('button', { name: 'Make a password' }).click();
      await page.getByRole('alert').getByText('internal_docker').waitFor();
    });

    it('says why a platform has none of it', async ({ world, enter }) => {
      const page = await enter();
      await begin(page, 'A repository (not possible here)');
      await page.getByText('This tenant has no integration with a code host.').waitFor();
      expect(await page.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
      await page.getByLabel('What it runs').selectOption({ label: 'A template (not possible here)' });
      await page.getByText('The catalogue has no templates.').waitFor();
      expect(world.facade.records.list()).toEqual([]);
    });
  });

  it('plain variables are shown with their values, secret ones by name', async ({ world, enter }) => {
    world.deploy('shop', {
      spec: {
        sourceConfig: {
          env: [
            { name: 'LOG_LEVEL', value: '<b>debug</b>' },
            { name: 'EMPTY', value: '' },
          ],
        },
        secrets: [{ name: 'API_KEY', secretName: 'shop--vars-1', secretKey: 'API_KEY' }],
      },
    });
    const page = await enter();
    await open(page, 'shop');
    expect(await page.getByText('an image', { exact: true }).count()).toBe(1);
    await tab(page, 'Configure');
    await page.locator('.variables li').first().waitFor();
    expect((await page.locator('.variables li').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
      'LOG_LEVEL <b>debug</b>',
      'EMPTY an empty text',
      'API_KEY secret',
    ]);
  });

  it('one deployment says its reason and what to do', async ({ world, enter }) => {
    const missing = ['False', 'SecretMissing', 'Missing: Secret shop-keys.'] as const;
    world.deploy('shop', { conditions: { Ready: missing, ReferencesResolved: missing } });
    world.deploy('cart');
    const page = await enter();
    const verdict = page.getByLabel('Status');
    await open(page, 'shop');
    expect(await verdict.innerText()).toMatch(
      /needs attention: Missing: Secret shop-keys\.\s+What to do: Create it\. The deployment then continues automatically\./,
    );
    await page.getByRole('link', { name: '← All deployments' }).click();
    await open(page, 'cart');
    const codes = /AllResolved|AsAsked|FixedScale|Answering|NotNeeded|Accepted|Serving\b/;
    expect(await page.getByRole('article').innerText()).not.toMatch(codes);
    await page.getByText('All facts').click();
    expect(await page.getByRole('article').innerText()).toMatch(/PostgreSQL\s+PostgreSQL answers\./);
    expect(await page.getByRole('article').innerText()).not.toMatch(codes);
    expect(await verdict.innerText()).toMatch(/in order\.\s+The latest revision is deployed and serving\.$/);
  });

  describe('an API', () => {
    const list = '**/v2/deployments?*';

    it('that is slow is waited for calmly', async ({ world, arrive }) => {
      world.deploy('shop');
      const held: (() => void)[] = [];
      const page = await arrive();
      let asked = 0;
      await page.route(list, async (route) => {
        asked += 1;
        // The first question is that of signing in.
        if (asked > 1) await new Promise<void>((resolve) => held.push(resolve));
        await route.continue();
      });
      await signIn(page);
      await page.getByText('Loading the deployments …').waitFor();
      await elapse(page, 7);
      await page.getByText('The answer takes longer than usual. Still waiting …').waitFor();
      expect(await accessibilityFindings(page)).toEqual([]);
      held.forEach((go) => go());
      await page.getByRole('link', { name: 'shop' }).waitFor();
      expect(await page.getByText('Still waiting').count()).toBe(0);
    });

    it.for([
      { status: 500, detail: 'Something went wrong inside Davit.' },
      { status: 503, detail: 'The Kubernetes API server does not answer, or asks to be left alone. Try again in 1 s.' },
      { status: 502, detail: undefined },
    ])('that answers $status is quoted, and asked again', async ({ status, detail }, { world, enter }) => {
      world.deploy('shop');
      const page = await enter();
      await page.getByRole('link', { name: 'shop' }).waitFor();
      await page.route(list, (route) =>
        route.fulfill({
          status,
          headers: { 'retry-after': '600' },
          body: detail === undefined ? '<html>bad gateway</html>' : JSON.stringify({ detail }),
        }),
      );
      const alert = page.getByRole('alert');
      await lookAgain(page);
      await alert.getByText('This is not up to date.').waitFor();
      const sentence = detail ?? `The answer was HTTP ${status} without a reason.`;
      expect(await alert.innerText()).toContain(sentence);
      // What was known stays.
      expect(await rows(page)).toEqual(['shop']);
      expect(await accessibilityFindings(page)).toEqual([]);
      await page.unroute(list);
      await alert.getByRole('button', { name: 'Try again' }).click();
      await alert.getByText('This is not up to date.').waitFor({ state: 'detached' });
    });

    it('that fails of its own says so', async ({ world, arrive }) => {
      world.deploy('shop');
      const page = await arrive();
      world.facade.kube.failOn(() => new Unavailable('list', { retryAfterMs: 2000 }));
      await signIn(page);
      await page.getByText('The Kubernetes API server does not answer').waitFor();
      world.facade.kube.failOn(undefined);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('link', { name: 'shop' }).waitFor();
    });

    it('that limits requests is left alone for as long as it says', async ({ enter, visits }) => {
      const page = await enter();
      await page.getByRole('heading', { name: 'No deployments yet' }).waitFor();
      const detail = 'More than 600 requests in a minute. Try again in 500 s.';
      await page.route(list, (route) =>
        route.fulfill({ status: 429, headers: { 'retry-after': '500' }, json: { detail } }),
      );
      await lookAgain(page);
      await page.getByRole('alert').getByText(detail).waitFor();
      const before = visits[0]?.requests.length ?? 0;
      await elapse(page, 400);
      await page.waitForTimeout(300);
      expect(visits[0]?.requests.length).toBe(before);
      await elapse(page, 101);
      await vi.waitFor(() => expect(visits[0]?.requests.length).toBe(before + 1), LONG);
    });

    it('is not asked while the page is hidden', async ({ world, enter, visits }) => {
      world.deploy('shop');
      const page = await enter();
      await page.getByRole('link', { name: 'shop' }).waitFor();
      await hide(page, true);
      const before = visits[0]?.requests.length;
      world.deploy('cart');
      await elapse(page, 100);
      await page.waitForTimeout(1500);
      expect(visits[0]?.requests.length).toBe(before);
      expect(await rows(page)).toEqual(['shop']);
      await hide(page, false);
      await page.getByRole('link', { name: 'cart' }).waitFor();
    });

    it('is asked again and again, and answers without a body while nothing changes', async ({ world, enter }) => {
      world.deploy('shop');
      const page = await enter();
      const statuses: number[] = [];
      page.on('response', (response) => {
        if (response.url().includes('/v2/deployments?')) statuses.push(response.status());
      });
      await page.getByRole('link', { name: 'shop' }).waitFor();
      await vi.waitFor(() => expect(statuses.slice(-2)).toEqual([304, 304]), LONG);
      world.deploy('cart');
      await page.getByRole('link', { name: 'cart' }).waitFor();
      await vi.waitFor(() => expect(statuses.slice(-2)).toEqual([200, 304]), LONG);
    });

    it('that cannot be reached is named as that', async ({ enter }) => {
      const page = await enter();
      await page.route(list, (route) => route.abort());
      await lookAgain(page);
      await page.getByRole('alert').getByText('The API cannot be reached.').waitFor();
    });
  });

  describe('a hostile value', () => {
    const markup = '<img src=x onerror="document.title=1"><script>alert(1)</script>"\'><svg onload=alert(2)>';

    it('is text wherever it is shown', async ({ world, enter }) => {
      const hostile = world.deploy('hostile', {
        state: 'UNKNOWN',
        url: 'javascript:alert(3)',
        spec: {
          sourceConfig: { customUrl: 'https://hostile.example' },
          secretReferences: [{ name: 'A', secretName: markup, secretKey: markup }],
        },
        conditions: {
          Ready: ['False', 'ContainerCrashed', `Ready ${markup}`],
          WorkloadsReady: ['False', markup as never, `Work ${markup}`],
        },
        revisions: [{ state: 'DEPLOY_FAILED', message: `Revision ${markup}`, image: `image${markup}` }],
      });
      world.write(hostile, [
        `line ${markup}`,
        '\u001B]8;;javascript:alert(4)\u001B\\link\u001B]8;;\u001B\\ \u001B[31mred',
      ]);
      const page = await enter();
      await page.getByText(`Ready ${markup}`).waitFor();
      await open(page, 'hostile');
      await page.getByText(`line ${markup}`).waitFor();
      await page.getByText('link red', { exact: true }).waitFor();
      await page.getByText(`Work ${markup}`).first().waitFor();
      await tab(page, 'Revisions');
      await page.getByText(`Revision ${markup}`).waitFor();
      expect(await page.locator('img, iframe, object, embed, body script, svg[onload]').count()).toBe(0);
      const links = await page.locator('a').evaluateAll((all) => all.map((link) => (link as unknown as URL).protocol));
      expect(new Set(links)).toEqual(new Set(['http:']));
      expect(await page.getByText('javascript:alert(3)').count()).toBe(1);
      expect(await page.title()).toBe('hostile – Davit');
    });

    it('in the URL leads nowhere', async ({ enter }) => {
      const page = await enter();
      await page.evaluate('location.hash = "#/deployments/../../v1/projects"');
      await page.getByRole('heading', { level: 1, name: 'Deployments', exact: true }).waitFor();
      await page.evaluate('location.hash = "#/deployments/99999999-0000-4000-8000-000000000009"');
      await page.getByRole('heading', { level: 1, name: 'This deployment does not exist' }).waitFor();
    });
  });

  describe('the keyboard alone', () => {
    it('signs in, filters, opens, scales, rolls back and deletes; the focus returns', async ({ world, arrive }) => {
      const team = deployTeam(world);
      const page = await arrive();
      await tabTo(page, 'Token');
      await page.keyboard.insertText(TOKEN);
      await tabTo(page, 'Tenant');
      await page.keyboard.type('team-a');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'agent' }).waitFor();
      expect(await focused(page)).toBe('Deployments');

      await tabTo(page, 'Name');
      await page.keyboard.type('sho');
      await page.getByText('2 deployments', { exact: true }).waitFor();
      await tabTo(page, 'shop');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'shop', exact: true }).waitFor();
      expect(await focused(page)).toBe('shop');

      await tabTo(page, 'More');
      await page.keyboard.press('Enter');
      await tabTo(page, 'Scale');
      await page.keyboard.press('Escape');
      expect(await focused(page)).toBe('More');
      await page.keyboard.press('Enter');
      await tabTo(page, 'Scale');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      expect(await focused(page)).toBe('');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await focused(page)).toBe('More');
      await page.keyboard.press('Enter');
      await tabTo(page, 'Scale');
      await page.keyboard.press('Enter');
      await tabTo(page, 'Maximum pods');
      await page.keyboard.press('Control+A');
      await page.keyboard.type('9');
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText('shop is to run on 2 to 9 pods.').waitFor();
      expect(await focused(page)).toBe('More');
      await page.getByText('4–13', { exact: true }).waitFor({ state: 'attached' });
      const patched = world.facade.records.byUid(team['shop']?.metadata.uid ?? '');
      expect(patched?.spec.sourceConfig.resourceSpec).toMatchObject({ minScale: 2, maxScale: 9, cpu: 0.5 });

      await tabTo(page, 'Revisions');
      await page.keyboard.press('Enter');
      const back = await page
        .getByRole('button', { name: /^Roll back to/ })
        .last()
        .getAttribute('aria-label');
      await tabTo(page, back ?? '');
      await page.keyboard.press('Enter');
      await tabTo(page, 'Roll back');
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText('shop goes back to revision').waitFor();
      await vi.waitFor(async () => expect(await focused(page)).toBe(back), LONG);
      const rolledBack = world.facade.records.byUid(team['shop']?.metadata.uid ?? '');
      expect(rolledBack?.spec.sourceRevisionConfig.imageUri).toBe('registry.example/team/shop:1.3.0');

      await page.keyboard.press('Control+Home');
      await page.evaluate('document.querySelector("h1").focus()');
      await tabTo(page, 'More');
      await page.keyboard.press('Enter');
      await tabTo(page, 'Delete');
      await page.keyboard.press('Enter');
      expect(await page.getByRole('dialog').getByRole('heading').innerText()).toBe('Delete shop');
      await page.keyboard.type('shopp');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').getByText('That is not its name. Type shop to confirm.').waitFor();
      expect(world.facade.records.list().map(({ metadata }) => metadata.name)).toContain('shop');
      await page.keyboard.press('Backspace');
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText('shop is deleted.').waitFor();
      await page.getByRole('heading', { level: 1, name: 'Deployments', exact: true }).waitFor();
      await vi.waitFor(async () => expect(await focused(page)).toBe('Deployments'), LONG);
      expect(world.facade.records.list().map(({ metadata }) => metadata.name)).not.toContain('shop');
    });

    it('keeps what is typed while the list is filtered by what was typed before', async ({ world, enter }) => {
      deployTeam(world);
      const page = await enter();
      await page.evaluate(`(() => {
        const field = document.getElementById('name');
        const type = (text) => {
          field.value = text;
          field.dispatchEvent(new Event('input', { bubbles: true }));
        };
        const { setTimeout } = window;
        window.setTimeout = (work, ms, ...rest) =>
          setTimeout(() => {
            work(...rest);
            if (ms !== 250 || field.value !== 's') return;
            window.setTimeout = setTimeout;
            type('sho');
          }, ms);
        type('s');
      })()`);
      await page.getByText('2 deployments', { exact: true }).waitFor();
      expect(await page.getByRole('searchbox', { name: 'Name' }).inputValue()).toBe('sho');
    });

    it('says that a deployment is deleted, also where the answer to the request comes after that', async ({
      world,
      enter,
    }) => {
      deployTeam(world);
      const page = await enter();
      await page.route('**/v2/deployments/*', async (route) => {
        if (route.request().method() !== 'DELETE') return route.fallback();
        const response = await route.fetch();
        await page.getByRole('status').getByText('shop is deleted.').waitFor();
        return route.fulfill({ response });
      });
      await page.getByRole('link', { name: 'shop', exact: true }).click();
      await choose(page, 'Delete');
      await page.getByRole('dialog').getByRole('textbox').fill('shop');
      const answered = page.waitForEvent('requestfinished', (request) => request.method() === 'DELETE');
      await page.keyboard.press('Enter');
      await answered;
      await pause(300);
      await page.getByRole('status').getByText('shop is deleted.').waitFor();
    });

    it('comes back to the row that it left', async ({ world, enter }) => {
      deployTeam(world);
      const page = await enter();
      await open(page, 'checkout');
      await page.keyboard.press('Shift+Tab');
      expect(await focused(page)).toBe('← All deployments');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Deployments', exact: true }).waitFor();
      await vi.waitFor(async () => expect(await focused(page)).toBe('checkout'), LONG);
    });

    it('keeps the focus in a dialog', async ({ world, enter }) => {
      deployTeam(world);
      const page = await enter();
      await open(page, 'shop');
      await choose(page, 'Scale');
      for (let presses = 0; presses < 12; presses += 1) {
        await page.keyboard.press('Tab');
        // Beyond the last control the browser's own bar has its turn.
        expect(
          await page.evaluate(
            'document.activeElement === document.body || document.activeElement.closest("dialog") !== null',
          ),
        ).toBe(true);
      }
    });
  });

  describe('a change', () => {
    it('that is not allowed is refused in the dialog, in the words of the API', async ({ world, enter }) => {
      world.deploy('shop');
      const page = await enter();
      await open(page, 'shop');
      world.facade.kube.failOn(({ verb }) =>
        verb === 'patch' || verb === 'update'
          ? new Forbidden('patch shop', { serverMessage: 'You may only look.' })
          : undefined,
      );
      await choose(page, 'Scale');
      await page.getByLabel('Maximum pods').fill('4');
      await page.getByRole('dialog').getByRole('button', { name: 'Scale' }).click();
      await page.getByRole('dialog').getByText('You may only look.').waitFor();
      expect(await accessibilityFindings(page)).toEqual([]);
    });

    it('that makes no sense names the field', async ({ world, enter }) => {
      world.deploy('shop');
      const page = await enter();
      await open(page, 'shop');
      await choose(page, 'Scale');
      await page.getByLabel('Minimum pods').fill('5');
      await page.getByLabel('Maximum pods').fill('2');
      await page.getByRole('dialog').getByRole('button', { name: 'Scale' }).click();
      await page.getByRole('dialog').getByText('Minimum pods must not be more than maximum pods.').waitFor();
    });

    it('of what somebody else has changed meanwhile is refused', async ({ world, enter }) => {
      const shop = world.deploy('shop');
      const page = await enter();
      await open(page, 'shop');
      const opened = page.waitForResponse((response) => response.request().method() === 'HEAD');
      await choose(page, 'Scale');
      await opened;
      const changed = { source_revision_config: { image_uri: 'a.example/b:2' } };
      await world.facade.call('PATCH', `/v2/deployments/${shop.metadata.uid}`, changed, { 'x-api-key': TOKEN });
      await page.getByLabel('Maximum pods').fill('4');
      await page.getByRole('dialog').getByRole('button', { name: 'Scale' }).click();
      await page.getByRole('dialog').getByText('Somebody has changed the deployment.').waitFor();
    });

    it('that takes its time, as a deletion does, is shown until it is done', async ({ world, enter }) => {
      const shop = world.deploy('shop');
      const page = await enter();
      await open(page, 'shop');
      const leaving = { ...shop, metadata: { ...shop.metadata, deletionTimestamp: new Date().toISOString() } };
      world.facade.records.put({ ...leaving, status: { ...shop.status, state: 'AWAITING_DELETE' } } as AppDeployment);
      await page.getByText('AWAITING_DELETE', { exact: true }).waitFor();
      expect(await page.locator('.head .menu').count()).toBe(0);
      world.facade.kube.erase(APP_DEPLOYMENTS, { namespace: TENANT.namespace, name: 'shop' });
      world.facade.records.drop(shop.metadata.uid ?? '');
      await page.getByRole('status').getByText('shop is deleted.').waitFor();
    });
  });

  describe('what the API does', () => {
    const specOf = (world: World, { metadata: { uid = '' } }: AppDeployment): AppDeployment['spec'] | undefined =>
      world.facade.records.byUid(uid)?.spec;

    it('deploys another image, and the same again', async ({ world, enter }) => {
      const shop = world.deploy('shop');
      const page = await enter();
      await open(page, 'shop');
      await page.getByRole('button', { name: 'Deploy', exact: true }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('textbox').fill('images.example/team/shop:2.0.0');
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText('A new revision of shop is created.').waitFor();
      expect(specOf(world, shop)?.sourceRevisionConfig.imageUri).toBe('images.example/team/shop:2.0.0');
      expect(specOf(world, shop)?.revisionSerial).toBe(2);
      await page.getByRole('button', { name: 'Deploy', exact: true }).click();
      await dialog.getByRole('button', { name: 'Deploy', exact: true }).click();
      await vi.waitFor(() => expect(specOf(world, shop)?.revisionSerial).toBe(3), LONG);
    });

    it('changes sizes and scales each part, and sends nothing else', async ({ world, enter }) => {
      const shop = world.deploy('shop', {
        spec: { sourceConfig: { resourceSpec: { queueMaxScale: 3, cpu: 0.5 } } },
      });
      const page = await enter();
      await open(page, 'shop');
      const dialog = page.getByRole('dialog');
      await choose(page, 'Scale');
      await dialog.getByLabel('Maximum queue workers pods').fill('7');
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
      expect(specOf(world, shop)?.sourceConfig.resourceSpec).toEqual({ queueMaxScale: 7, cpu: 0.5 });
      await choose(page, 'Scale');
      await dialog.getByRole('button', { name: 'Scale' }).click();
      await dialog.getByText('Nothing is changed.').waitFor();
      await page.keyboard.press('Escape');
      await choose(page, 'Sizes');
      await page.getByRole('group', { name: 'Server' }).getByLabel('CPU', { exact: true }).fill('');
      await page.getByRole('group', { name: 'PostgreSQL' }).getByLabel('Volume, GiB').fill('20');
      await page.getByRole('button', { name: 'Review and apply' }).click();
      await dialog.getByRole('button', { name: 'Apply' }).click();
      await page.getByRole('status').getByText('A new revision of shop is created.').waitFor();
      expect(specOf(world, shop)?.sourceConfig.resourceSpec).toEqual({ queueMaxScale: 7, dbStorageGi: 20 });
    });

    it('scales each named worker on its own, and says why a singleton has no second pod', async ({ world, enter }) => {
      const { shop } = deployTeam(world);
      const workers = (): unknown => specOf(world, shop)?.sourceConfig.runtime?.workers;
      const before = workers() as Readonly<Record<'mail' | 'beat', object>>;
      const page = await enter();
      await open(page, 'shop');
      await page.getByText('All facts').click();
      await page.getByText(/ mail 1–3 pods /).waitFor();
      const dialog = page.getByRole('dialog');
      await choose(page, 'Scale');
      await dialog.getByRole('group', { name: 'mail' }).getByLabel('Maximum mail pods').fill('5');
      await dialog.getByLabel('Maximum beat pods').fill('2');
      const single = ruled('spec.sourceConfig.runtime.workers[beat]', 'a singleton has one pod: remove minScale');
      world.facade.kube.failOn(({ verb }) => (verb === 'patch' ? new Invalid('x', [single]) : undefined));
      await page.keyboard.press('Enter');
      await dialog.getByRole('alert').getByText('runtime.workers.beat').waitFor();
      expect(workers()).toEqual(before);
      world.facade.kube.failOn(() => undefined);
      await dialog.getByLabel('Maximum beat pods').fill('1');
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
      expect(workers()).toEqual({ ...before, mail: { ...before.mail, maxScale: 5 } });
      expect(specOf(world, shop)?.sourceConfig.resourceSpec).toEqual({ minScale: 2, maxScale: 6, cpu: 0.5 });
      await page.getByText(/ mail 1–5 pods /).waitFor();
    });

    it('clones a deployment, and says why one cannot be cloned', async ({ world, enter }) => {
      const { shop } = deployTeam(world);
      world.deploy('pages', {
        spec: {
          sourceConfig: { runtime: { database: 'none' } },
          sourceRevisionConfig: { imageUri: 'elsewhere.example/pages:1' } as never,
        },
      });
      const page = await enter();
      await open(page, 'shop');
      const dialog = page.getByRole('dialog');
      await choose(page, 'Clone');
      expect(await accessibilityFindings(page)).toEqual([]);
      await dialog.getByLabel('Name', { exact: true }).fill('shop-2');
      await dialog.getByRole('button', { name: 'Clone' }).click();
      await dialog.getByText('needs a backup.').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('link', { name: '← All deployments' }).click();
      await open(page, 'pages');
      await choose(page, 'Clone');
      await dialog.getByLabel('Name', { exact: true }).fill('pages-2');
      await dialog.getByRole('button', { name: 'Clone' }).click();
      await page.getByRole('status').getByText('pages-2 is being created as pages is now.').waitFor();
      const namespace = shop.metadata.namespace;
      expect(world.facade.records.list().find(({ metadata }) => metadata.name === 'pages-2')?.metadata).toMatchObject({
        namespace,
      });
    });

    it('interrupts a build', async ({ world, enter }) => {
      const agent = world.deploy('agent', {
        spec: { source: 'internal_source', sourceRevisionConfig: { sourceTarballPath: 'uploads/1' } as never },
        revisions: [{ state: 'BUILDING', message: 'Step 2 of 6.' }],
      });
      const page = await enter();
      await open(page, 'agent');
      await tab(page, 'Revisions');
      await page.getByRole('button', { name: /^Interrupt/ }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Interrupt' }).click();
      await page.getByRole('status').getByText('is being interrupted.').waitFor();
      const { annotations } = world.facade.records.byUid(agent.metadata.uid ?? '')?.metadata ?? {};
      expect(annotations?.['davit.dev/interrupt']).toBe(serialRevisionId(agent.metadata.uid ?? '', 1));
    });

    it('shows the beginning of what was in the way of an earlier revision, and the rest when it is asked for', async ({
      world,
      enter,
    }) => {
      const long = `A newer revision replaced this one before it was deployed. Until then: ${'no such image '.repeat(30)}at the end.`;
      world.deploy('agent', {
        revisions: [
          { state: 'SKIPPED', message: long },
          { state: 'DEPLOYED', message: 'It serves.' },
        ],
      });
      const page = await enter();
      await open(page, 'agent');
      await tab(page, 'Revisions');
      await page.locator('.revisions summary').getByText('A newer revision replaced this one').waitFor();
      const rest = page.locator('.revisions details').getByText('at the end.');
      expect(await rest.isVisible()).toBe(false);
      await page.locator('.revisions summary').click();
      await rest.waitFor();
    });

    it('shows what a rollback changes, and what becomes of the data', async ({ world, enter }) => {
      deployTeam(world);
      world.deploy('pages', { spec: { sourceConfig: { runtime: { database: 'none' } } } });
      const page = await enter();
      await open(page, 'shop');
      await tab(page, 'Revisions');
      await page
        .getByRole('button', { name: /^Roll back to/ })
        .first()
        .click();
      const dialog = page.getByRole('dialog');
      await dialog
        .getByText(
          'source_revision_config.image_uri registry.example/team/shop:1.4.0 → registry.example/team/shop:1.3.1',
        )
        .waitFor();
      expect(await dialog.getByRole('listitem').count()).toBe(1);
      await page.keyboard.press('Escape');
      await choose(page, 'Delete');
      await dialog.getByText('Its PostgreSQL volume with all data is deleted too').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('link', { name: '← All deployments' }).click();
      await open(page, 'pages');
      await choose(page, 'Delete');
      await dialog.getByText('It has no PostgreSQL of its own').waitFor();
    });
  });

  describe('tasks', () => {
    const lines = (page: Page): Promise<string[]> =>
      page
        .getByRole('region', { name: 'Tasks' })
        .getByRole('listitem')
        .allInnerTexts()
        .then((texts) => texts.map((text) => text.replaceAll(/\s+/g, ' ')));

    it('are shown with their schedules, their last runs, and why these failed', async ({ world, enter }) => {
      const { shop } = deployTeam(world);
      const page = await enter();
      await open(page, 'shop');
      await tab(page, 'Tasks');
      await page.getByText('no such table: <b>sessions</b>').waitFor();
      expect(await lines(page)).toEqual([
        expect.stringMatching(
          /^clean 0 3 \* \* \* Europe\/Berlin *, next run (in \d+ (h|min|s)|is due) Run now Failed/,
        ),
        expect.stringMatching(
          /^Failed, exit code 3, began .* ago, took 9 s The command failed.* shop--clean-29701620 Log$/,
        ),
        expect.stringMatching(/^Succeeded, exit code 0, began .* ago, took 2 min shop--clean-29700180 Log$/),
        'prices @hourly, no run begins now The deployment is scaled to zero. Run now',
        expect.stringMatching(/^reindex runs on request Run now /),
        'Running shop--run-x7x2k Log',
      ]);
      // A change of the deployment brings them again.
      const tasks = [
        { name: 'reindex', state: 'OnDemand', runs: [{ job: 'shop--run-x7x2k', state: 'Succeeded' }] },
      ] as const;
      const now = world.facade.records.byUid(shop.metadata.uid ?? '') ?? shop;
      const [last, ...others] = now.status?.conditions ?? [];
      world.facade.records.put({
        ...now,
        status: { ...now.status, conditions: [{ ...last, message: 'Another one.' }, ...others], tasks },
      } as never);
      await page
        .getByRole('listitem')
        .filter({ hasText: /^Succeededshop--run-x7x2k/ })
        .waitFor();
      expect(await page.getByText('no such table').count()).toBe(0);
    });

    it('run now by the keyboard, once also where the first answer was lost', async ({ world, enter, visits }) => {
      const { shop } = deployTeam(world);
      seedServer(world, shop);
      const page = await enter();
      await open(page, 'shop');
      await tab(page, 'Tasks');
      await page.getByText('no such table').waitFor();
      await tabTo(page, 'Run now clean');
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Run clean now' });
      await dialog.getByText('Its command runs once').waitFor();
      expect(await dialog.getByText('goes on').count()).toBe(0);
      expect(await accessibilityFindings(page)).toEqual([]);
      const runs = '**/tasks/clean/runs';
      await page.route(runs, async (route) => {
        await route.fetch();
        await route.fulfill({ status: 503, json: { detail: 'The answer was lost.' } });
      });
      await tabTo(page, 'Run now');
      await page.keyboard.press('Enter');
      await dialog.getByRole('alert').getByText('The answer was lost.').waitFor();
      await page.unroute(runs);
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
      const jobs = world.facade.kube.objects(JOBS);
      expect(jobs.map(({ metadata }) => metadata.labels?.['davit.dev/task'])).toEqual(['clean']);
      await page.getByRole('status').getByText(`Job ${jobs[0]?.metadata.name} runs clean of shop.`).waitFor();
      expect(await focused(page)).toBe('Run now clean');
      expect(visits[0]?.requests.filter((request) => request.endsWith('/tasks/clean/runs'))).toHaveLength(2);
    });

    it('say that a run goes on, and in the words of the API why none may begin', async ({ world, enter }) => {
      const { shop } = deployTeam(world);
      seedServer(world, shop);
      const message = 'jobs.batch is forbidden: User "anna" cannot create resource "jobs"';
      world.facade.kube.failOn(({ kind }) =>
        kind === 'Job' ? new Forbidden('refused', { serverMessage: message }) : undefined,
      );
      const page = await enter();
      await open(page, 'shop');
      await tab(page, 'Tasks');
      await page.getByRole('button', { name: 'Run now reindex' }).click();
      const dialog = page.getByRole('dialog', { name: 'Run reindex now' });
      await dialog.getByText('The last run has not ended.').waitFor();
      await dialog.getByRole('button', { name: 'Run now' }).click();
      await dialog.getByRole('alert').getByText(message).waitFor();
      expect(world.facade.kube.objects(JOBS)).toEqual([]);
    });

    it('say a refusal, and are read again', async ({ world, enter }) => {
      deployTeam(world);
      const page = await enter();
      await page.route('**/tasks', (route) => route.fulfill({ status: 503, body: '{"detail":"Try again later."}' }));
      await open(page, 'shop');
      await tab(page, 'Tasks');
      const region = page.getByRole('region', { name: 'Tasks' });
      await region.getByRole('alert').getByText('Try again later.').waitFor();
      await page.unroute('**/tasks');
      await tabTo(page, 'Try again');
      await page.keyboard.press('Enter');
      await region.getByText('shop--run-x7x2k').waitFor();
      expect(await region.getByRole('alert').getByText(/./).count()).toBe(0);
    });

    it('are not asked for where there are none', async ({ world, enter, visits }) => {
      world.deploy('plain');
      const page = await enter();
      await open(page, 'plain');
      await tab(page, 'Tasks');
      await page.getByText('There are no tasks.').waitFor();
      expect(visits[0]?.requests.filter((request) => request.includes('/tasks'))).toEqual([]);
    });
  });

  it('a revision has who asked for it, what its commit says, and what the file of the commit gave', async ({
    world,
    enter,
  }) => {
    deployTeam(world);
    const page = await enter();
    await open(page, 'shop');
    await tab(page, 'Revisions');
    const newest = page.locator('.revisions tbody tr').first().locator('.message .sub');
    await newest.first().waitFor();
    expect(await newest.allInnerTexts()).toEqual([
      'requested by anna@example.com',
      'the commit says: Berta: Carts <b>keep</b> their order',
      'deploy/davit.yaml gave nothing; not taken: env.LOG_LEVEL',
    ]);
  });

  it('says the state of pods once for all parts, of each store its own, and how old the last backup is', async ({
    world,
    enter,
  }) => {
    const { shop } = deployTeam(world);
    world.facade.records.put({
      ...shop,
      metadata: {
        ...shop.metadata,
        annotations: { 'davit.dev/requested-by': `${shop.metadata.uid} ${shop.metadata.generation} anna@example.com` },
      },
      status: {
        ...shop.status,
        databaseBackup: {
          name: '20260702T010000Z-0a1b2c3d',
          lastSuccessAt: new Date(Date.now() - 3 * 3_600_000).toISOString(),
          sizeBytes: 12_345_678,
          lastFailureAt: new Date(Date.now() - 3_600_000).toISOString(),
          lastFailure: 'The store refuses <b>the key</b>.',
        },
        databaseVerification: { verifiedAt: new Date(Date.now() - 26 * 3_600_000).toISOString() },
        databaseArchive: {
          firstRecoverableAt: '2026-06-25T01:00:00Z',
          lastBackupAt: new Date(Date.now() - 5 * 3_600_000).toISOString(),
          lastFailureAt: new Date(Date.now() - 2 * 3_600_000).toISOString(),
        },
        conditions: [
          ...(shop.status?.conditions ?? []),
          {
            type: 'BackupReady',
            status: 'False',
            reason: 'BackupFailed',
            message: 'The last backup failed.',
            lastTransitionTime: '2026-07-02T01:00:00Z',
          },
        ],
      },
    });
    const page = await enter();
    await open(page, 'shop');
    await page.getByText('All facts').click();
    const made = page.getByRole('region', { name: 'What Davit created' });
    await made.getByText('backups').waitFor();
    const lines = (await made.getByRole('listitem').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
    expect(lines.filter((line) => line.includes('Every pod of every part'))).toEqual([
      expect.stringMatching(
        /^pods Every pod of every part .* , in order server 2–6 pods .* · mail 1–3 pods · beat 1 pod$/,
      ),
    ]);
    expect(lines).toContainEqual(expect.stringMatching(/^PostgreSQL PostgreSQL answers\./));
    expect(lines).toContainEqual(expect.stringMatching(/^backups needs attention The last backup failed\./));
    const now = await page.getByRole('region', { name: 'Facts' }).innerText();
    expect(now).toMatch(/Updated\s+\d+ s ago/);
    expect(now).toMatch(/Last changed by\s+anna@example\.com/);
    await tab(page, 'Data');
    const backups = page.getByRole('region', { name: 'Backups' }).getByRole('listitem');
    expect((await backups.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
      'The last backup failed 1 h ago The store refuses <b>the key</b>.',
      'The last base backup failed 2 h ago',
      'Archive any time since 2026-06-25 01:00 UTC 5 h since the last base backup Clone to a time…',
    ]);
    await page.getByText('the last 3 h ago, 11.8 MiB, verified 1 d ago').waitFor();
    // One choice is for all times.
    await page.getByRole('button', { name: 'Local time' }).click();
    await page.getByText(/any time since 6\/25\/2026/).waitFor();
    await page.getByRole('button', { name: 'UTC', exact: true }).click();
    await choose(page, 'Delete');
    await page.getByRole('dialog').getByText('Its backups stay in their store: a new deployment can start').waitFor();
  });

  describe('pods and events', () => {
    it('are shown, and read again when they are asked for: restarts, the last exit, and what the cluster reported', async ({
      world,
      enter,
    }) => {
      const { checkout } = deployTeam(world);
      const page = await enter();
      await open(page, 'checkout');
      await page.getByText('Pods (1)').click();
      const [pod] = await page.getByRole('list', { name: 'Pods' }).getByRole('listitem').allInnerTexts();
      expect(pod?.replaceAll(/\s+/g, ' ')).toMatch(
        /^server not ready, restarted 7 times, revision \w{8} Container server exited with code 1 \(Error\) .* ago checkout-5f4d7c9b8-x2x7k · created .* ago · uses 0\.012 of 1 CPU, 48 of 1024 MB$/,
      );
      const reports = page.getByRole('list', { name: 'Warnings, newest first' }).getByRole('listitem');
      expect((await reports.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
        expect.stringMatching(
          /^Warning: Back-off restarting failed container <b>server<\/b> Pod\/checkout-5f4d7c9b8-x2x7k · .* ago · 12 times$/,
        ),
      ]);
      world.report(checkout, { type: 'Normal', reason: 'Pulled', note: 'Container image was pulled' });
      await page.getByRole('button', { name: 'Read again' }).click();
      await page.getByRole('button', { name: 'Show all 2 events' }).click();
      await page.getByText('Container image was pulled').waitFor();
    });

    it('say that a cluster has no metrics, and show the command for a shell in each part', async ({ world, enter }) => {
      const { shop } = deployTeam(world);
      for (const [component, name] of [
        ['postgres', 'shop--postgres-0'],
        ['task', 'shop--run-1'],
      ] as const)
        world.facade.kube.seed(PODS, {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: {
            name,
            namespace: TENANT.namespace,
            labels: {
              'davit.dev/deployment': 'shop',
              'davit.dev/deployment-uid': shop.metadata.uid ?? '',
              'davit.dev/component': component,
            },
          },
          status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
        } as KubeObject);
      const page = await enter();
      await open(page, 'shop');
      const commands = page.locator('.command code');
      await page.getByText('Pods (3)').click();
      await page.getByText('CPU and memory are not known:').waitFor();
      await page.getByText('A shell').first().click();
      expect(await commands.allInnerTexts()).toEqual([
        'kubectl davit exec shop -n team-a -- sh',
        'kubectl davit exec shop -n team-a -c postgres -- sh',
      ]);
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.getByRole('button', { name: 'Copy the command for postgres' }).click();
      await page.getByRole('status').getByText('The command is copied.').waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
        'kubectl davit exec shop -n team-a -c postgres -- sh',
      );
      await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("refused"))');
      await page.getByRole('button', { name: 'Copy the command for server' }).click();
      await page.getByRole('status').getByText('The command is selected').waitFor();
      expect(await page.evaluate('getSelection().toString()')).toBe('kubectl davit exec shop -n team-a -- sh');
    });

    it('say what the API refuses', async ({ world, enter }) => {
      world.deploy('shop');
      const page = await enter();
      world.facade.kube.failOn(({ verb, kind }) =>
        verb === 'list' && kind === 'Event'
          ? new Forbidden('list', { serverMessage: 'events is forbidden' })
          : undefined,
      );
      await open(page, 'shop');
      await page.getByRole('alert').getByText('events is forbidden').waitFor();
    });
  });

  describe('logs', () => {
    it('follow what the pods write', async ({ world, enter }) => {
      const { shop } = deployTeam(world);
      const page = await enter();
      await open(page, 'shop');
      await page.getByText('GET /cart?id=<script>alert(1)</script> 404 2 ms').waitFor();
      world.write(shop, ['a line that came later']);
      await page.getByText('a line that came later').waitFor();
      expect(await page.getByText('GET /ok 200 1 ms').count()).toBe(0);
      await page.getByLabel('Health checks').check();
      expect(await page.getByText('GET /ok 200 1 ms').count()).toBe(2);
      await page.getByLabel('Level', { exact: true }).selectOption('ERROR');
      await page.getByText('a line that came later').waitFor({ state: 'detached' });
      await page.getByText('order 1887').waitFor();
    });

    it('are those of the build where the build has failed', async ({ world, enter }) => {
      deployTeam(world);
      const page = await enter();
      await open(page, 'agent');
      await page.getByText('No matching distribution found for langgraf').waitFor();
      expect(await page.getByLabel('Of', { exact: true }).inputValue()).toMatch(/^build /);
      await page.getByLabel('Of', { exact: true }).selectOption('pods');
      await page.getByText('No lines yet, or none match.').waitFor();
    });
  });

  describe.each([
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 1280 },
    { colorScheme: 'light', width: 320 },
    { colorScheme: 'dark', width: 320 },
  ] as const)('in $colorScheme at $width pixels', ({ colorScheme, width }) => {
    const shots = process.env['DAVIT_SCREENSHOTS'];

    it('every view is accessible, and none scrolls sideways', async ({ world, arrive }) => {
      deployTeam(world);
      offerSources(world);
      const page = await arrive({ colorScheme, viewport: { width, height: 800 } });
      async function isGood(view: string): Promise<void> {
        // The newest line has been scrolled to, and what is announced has been put in place.
        await page.waitForTimeout(200);
        expect([view, await accessibilityFindings(page)]).toEqual([view, []]);
        expect([view, await overflow(page)]).toEqual([view, 0]);
        if (shots === undefined) return;
        const picture = await page.screenshot({ fullPage: !view.includes('dialog') });
        await writeFile(join(shots, `${view}-${colorScheme}-${width}.png`), picture);
      }
      await page.getByLabel('Token').waitFor();
      await isGood('sign-in');
      await signIn(page);
      await page.getByRole('link', { name: 'shop', exact: true }).waitFor();
      await isGood('list');
      await page.getByRole('link', { name: 'New deployment' }).click();
      await page.getByLabel('Image').waitFor();
      await page.getByLabel('Name').fill('Shop');
      await page.getByLabel('Image').fill('registry.example/team/shop:1');
      await page.getByRole('button', { name: 'Create' }).click();
      await page.locator('#new-name-failure').getByText('Name must').waitFor();
      await isGood('new');
      for (const [source, field, view] of [
        ['A repository', 'Branch, tag or commit', 'new-repository'],
        ['A template', 'Template', 'new-template'],
        ['An upload of source code', 'Archive', 'new-upload'],
      ] as const) {
        await page.getByLabel('What it runs').selectOption({ label: source });
        await page.getByLabel(field).waitFor();
        await isGood(view);
      }
      await page.getByRole('link', { name: '← All deployments' }).click();
      await page.getByRole('link', { name: 'shop', exact: true }).waitFor();
      for (const name of ['shop', 'checkout', 'agent']) {
        await open(page, name);
        if (width < 720) await page.getByRole('button', { name: 'Show the log' }).click();
        await page.locator('.log .line').first().waitFor();
        await isGood(`${name}-log`);
        if (width < 720) await page.getByRole('button', { name: 'Hide the log' }).click();
        await page.getByRole('button', { name: 'Read again' }).waitFor();
        await page.getByText(/^Pods \(/).click();
        await isGood(name);
        await page.getByRole('link', { name: '← All deployments' }).click();
      }
      await open(page, 'shop');
      await page.locator('.head .menu summary').click();
      await isGood('menu');
      await page.keyboard.press('Escape');
      for (const name of ['Logs', 'Revisions', 'Configure', 'Data', 'Tasks', 'Access']) {
        await tab(page, name);
        await isGood(name.toLowerCase());
      }
      for (const [place, button, view] of [
        ['menu', 'Delete', 'delete-dialog'],
        ['Overview', 'Deploy', 'deploy-dialog'],
        ['Overview', 'Restart', 'restart-dialog'],
        ['menu', 'Scale', 'scale-dialog'],
        ['Configure', 'Change variables…', 'variable-dialog'],
        ['Revisions', /^Roll back to/, 'rollback-dialog'],
        ['Tasks', 'Run now clean', 'run-dialog'],
      ] as const) {
        if (place === 'menu') await choose(page, button);
        else {
          await tab(page, place);
          await page.getByRole('button', { name: button }).first().click();
        }
        await page.getByRole('dialog').waitFor();
        await isGood(view);
        await page.keyboard.press('Escape');
      }
    });
  });
});

/** A cause in the API server's refusal by a rule. */
function ruled(field: string, message: string): Invalid['causes'][number] {
  return { field, message, reason: 'FieldValueInvalid' };
}
