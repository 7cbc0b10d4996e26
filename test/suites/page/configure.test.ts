// The tab Configure in a headless Chromium: the file as text and fields, variables in one dialog, and folders that the browser packs.

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, type TestContext, vi } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment, type AppDeploymentSpec } from '../../../src/kinds/app-deployment.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { TENANT } from '../http/facade.ts';
import { accessibilityFindings, open, overflow, signIn, type Visit, visit } from './browser.ts';
import { browser, it, missing, signInAgain, tab, tabTo, why } from './fixtures.ts';
import { makeWorld, type World } from './world.ts';

const SPEC: Partial<AppDeploymentSpec> = {
  sourceConfig: {
    env: [{ name: 'LEVEL', value: 'info' }],
    resourceSpec: { cpu: 0.5, memoryMb: 512 },
    runtime: {
      port: 3000,
      server: { command: ['serve', '--port', '$(PORT)'] },
      workers: { jobs: { command: ['work'], cpu: 1 } },
    },
    tasks: [{ name: 'clean', schedule: '0 3 * * *', command: ['clean'] }],
  },
  secrets: [
    { name: 'API_KEY', secretName: 'shop--vars-1', secretKey: 'API_KEY' },
    { name: 'OLD', secretName: 'shop--vars-1', secretKey: 'OLD' },
  ],
};

/** Longer than a busy machine takes. */
const LONG = { timeout: 180_000 };

const area = (page: Page): Locator => page.getByRole('textbox', { name: 'davit.yaml' });
const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true });
const said = (page: Page, sentence: string): Promise<void> =>
  vi.waitFor(async () => expect(await page.locator('main').innerText()).toContain(sentence), {
    timeout: 20_000,
    interval: 200,
  });
const now = ({ facade }: World, name = 'shop'): AppDeployment | undefined =>
  facade.records.list().find(({ metadata }) => metadata.name === name);

async function configure(world: World, page: Page): Promise<AppDeployment> {
  const shop = world.deploy('shop', { spec: SPEC });
  page.setDefaultTimeout(20_000);
  await page.reload();
  await signIn(page);
  await open(page, 'shop');
  await tab(page, 'Configure');
  await area(page).waitFor();
  return shop;
}

async function change(page: Page, from: string, to: string): Promise<void> {
  const text = await area(page).inputValue();
  expect(text).toContain(from);
  await area(page).fill(text.replace(from, to));
}

/** As somebody else would with kubectl. */
async function meddle({ facade }: World, spec: object): Promise<void> {
  const ref = { namespace: TENANT.namespace, name: 'shop' };
  const written = await facade.kube.mergePatch<AppDeployment>(
    APP_DEPLOYMENTS,
    ref,
    { spec },
    { fieldManager: 'kubectl' },
  );
  facade.records.put(written);
}

async function folder(
  files: Readonly<Record<string, string>>,
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'davit-folder-'));
  onTestFinished(() => rm(path, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, 'agent', name)), { recursive: true });
    await writeFile(join(path, 'agent', name), text);
  }
  return join(path, 'agent');
}

describe.skipIf(missing !== undefined).concurrent(`configuring${why}`, () => {
  describe('the file', () => {
    it(
      'is changed as text or by fields, which show the same, and applied as one revision',
      LONG,
      async ({ world, enter }) => {
        const page = await enter();
        await configure(world, page);
        const serial = now(world)?.spec.revisionSerial ?? 0;
        await page.getByLabel('Port').fill('8080');
        expect(await area(page).inputValue()).toContain('port: 8080\n');
        await change(page, 'cpu: 0.5\n', 'cpu: 0.75\n');
        expect(await page.getByRole('group', { name: 'Server' }).getByLabel('CPU', { exact: true }).inputValue()).toBe(
          '0.75',
        );
        await page
          .getByRole('group', { name: 'Server' })
          .getByLabel('Command')
          .fill('serve "two words" --port $(PORT)');
        expect(await area(page).inputValue()).toContain('command: [serve, two words, --port, $(PORT)]\n');
        await button(page, 'Remove worker jobs').click();
        await page.getByRole('textbox', { name: 'New task' }).fill('nightly');
        await button(page, 'Add new task').click();
        await page.getByRole('group', { name: 'Task nightly' }).getByLabel('Command').fill('sweep');
        await change(page, '  memory_mb: 512\n', '');
        await button(page, 'Review and apply').click();
        const dialog = page.getByRole('dialog', { name: 'Changes of shop' });
        await dialog.getByText('runtime.port').waitFor();
        const changes = await dialog.locator('.changes li').allInnerTexts();
        expect(changes).toEqual(
          expect.arrayContaining([
            'runtime.port 3000 → 8080',
            'resource_spec.cpu 0.5 → 0.75',
            'tasks[nightly].command added: ["sweep"]',
          ]),
        );
        expect(await accessibilityFindings(page)).toEqual([]);
        await dialog.getByRole('button', { name: 'Apply' }).click();
        await said(page, 'A new revision of shop is created.');
        expect(now(world)?.spec).toMatchObject({ revisionSerial: serial + 1, secrets: SPEC.secrets });
        expect(now(world)?.spec.sourceConfig).toEqual({
          env: [{ name: 'LEVEL', value: 'info' }],
          resourceSpec: { cpu: 0.75 },
          runtime: { port: 8080, server: { command: ['serve', 'two words', '--port', '$(PORT)'] } },
          tasks: [
            { name: 'clean', schedule: '0 3 * * *', command: ['clean'] },
            { name: 'nightly', command: ['sweep'] },
          ],
        });
        expect(await button(page, 'Review and apply').isDisabled()).toBe(true);
      },
    );

    it('shows each error at its line, in the words of the API', LONG, async ({ world, enter }) => {
      const page = await enter();
      await configure(world, page);
      const before = now(world);
      await change(page, 'port: 3000', 'port: 99999');
      await change(page, 'cpu: 0.5\n', 'cpus: 0.5\n');
      await button(page, 'Check').click();
      await page.getByRole('alert').getByText('runtime.port must be at most 65535').waitFor();
      const lines = (await area(page).inputValue()).split('\n');
      for (const [text, sentence] of [
        ['  port: 99999', 'runtime.port must be at most 65535'],
        ['  cpus: 0.5', 'resource_spec.cpus is not a known field: did you mean cpu?'],
      ] as const) {
        const line = page.getByRole('alert').getByRole('listitem').filter({ hasText: sentence });
        await line.getByRole('button').click();
        expect(await line.getByRole('button').innerText()).toBe(`Line ${lines.indexOf(text) + 1}`);
        expect(
          await page.evaluate(
            '(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.activeElement)',
          ),
        ).toBe(text);
      }
      expect(await accessibilityFindings(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      await area(page).fill('runtime: [\n');
      await page.getByText('The text cannot be read as fields.').waitFor();
      await button(page, 'Review and apply').click();
      await page.getByRole('alert').getByRole('listitem').first().waitFor();
      expect(await page.getByRole('dialog').count()).toBe(0);
      await button(page, 'Discard').click();
      await button(page, 'Check').click();
      await said(page, 'No error is found. Nothing differs.');
      expect(now(world)).toEqual(before);
    });

    it(
      'asks for the values of secrets that it names, which are made here and sent with it',
      LONG,
      async ({ world, enter, visits }) => {
        const page = await enter();
        await configure(world, page);
        const serial = now(world)?.spec.revisionSerial ?? 0;
        await change(page, 'secrets: [API_KEY, OLD]', 'secrets: [API_KEY, OLD, SESSION]');
        await button(page, 'Review and apply').click();
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('button', { name: 'Generate Value of SESSION' }).click();
        const value = await dialog.getByLabel('Value of SESSION', { exact: true }).inputValue();
        expect(value).toMatch(/^[\w-]{43}$/);
        await dialog.getByRole('button', { name: 'Apply' }).click();
        await said(page, 'A new revision of shop is created.');
        expect(now(world)?.spec.revisionSerial).toBe(serial + 1);
        expect(now(world)?.spec.secrets.map(({ name }) => name)).toEqual(['API_KEY', 'OLD', 'SESSION']);
        expect(JSON.stringify(world.facade.kept())).toContain(Buffer.from(value).toString('base64'));
        expect(await page.locator('html').innerHTML()).not.toContain(value);
        expect(visits[0]?.requests.some((request) => request.includes('secrets=values'))).toBe(false);
      },
    );

    it(
      'that somebody else has changed meanwhile is reviewed against that; nothing typed is lost',
      LONG,
      async ({ world, enter }) => {
        const page = await enter();
        await configure(world, page);
        await page.getByLabel('Port').fill('8080');
        await button(page, 'Review and apply').click();
        await page.getByRole('dialog').getByText('3000 → 8080').waitFor();
        await meddle(world, { sourceConfig: { runtime: { healthPath: '/up' } } });
        await page.getByRole('button', { name: 'Apply', exact: true }).click();
        await page.getByText('Somebody else changed shop while you were editing.').waitFor();
        expect(await page.getByRole('dialog').count()).toBe(0);
        expect(now(world)?.spec.sourceConfig.runtime?.port).toBe(3000);
        expect(await area(page).inputValue()).toContain('port: 8080');
        await button(page, 'Review my changes').click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText('removed: /up').waitFor();
        await page.keyboard.press('Escape');
        await page.getByLabel('Health path').fill('/up');
        await button(page, 'Review and apply').click();
        await dialog.getByRole('button', { name: 'Apply' }).click();
        await said(page, 'A new revision of shop is created.');
        expect(now(world)?.spec.sourceConfig.runtime).toMatchObject({ port: 8080, healthPath: '/up' });
      },
    );

    it('that somebody else has restarted meanwhile is changed as it was reviewed', LONG, async ({ world, enter }) => {
      const page = await enter();
      await configure(world, page);
      await page.getByLabel('Port').fill('8080');
      await button(page, 'Review and apply').click();
      await page.getByRole('dialog').getByText('3000 → 8080').waitFor();
      await meddle(world, { revisionSerial: 7 });
      await page.getByRole('button', { name: 'Apply', exact: true }).click();
      await said(page, 'A new revision of shop is created.');
      expect(now(world)?.spec.sourceConfig.runtime?.port).toBe(8080);
    });

    it(
      'keeps what is typed while another tab is shown, the token ends and the API is away',
      LONG,
      async ({ world, enter, visits }) => {
        const page = await enter();
        await configure(world, page);
        await page.getByLabel('Port').fill('8080');
        await tab(page, 'Tasks');
        await page.getByRole('heading', { name: 'Tasks' }).first().waitFor();
        await tab(page, 'Configure');
        expect(await page.getByLabel('Port').inputValue()).toBe('8080');
        const file = '**/v2/deployments/file?*';
        await page.route(file, (route) => route.abort());
        await button(page, 'Check').click();
        await page.getByText('The API cannot be reached.').first().waitFor();
        await page.unroute(file);
        await page.route(file, (route) => route.fulfill({ status: 401, json: { detail: 'The token has expired.' } }));
        await button(page, 'Check').click();
        await signInAgain(page, file);
        expect(await area(page).inputValue()).toContain('port: 8080');
        await button(page, 'Check').click();
        await said(page, 'Fields that change: 1.');
        // Leaving asks; the dialog of the browser is refused, then taken.
        const back = page.getByRole('link', { name: '← All deployments' });
        await back.click();
        expect(await area(page).count()).toBe(1);
        page.removeAllListeners('dialog');
        page.on('dialog', (dialog) => void dialog.accept());
        await back.click();
        await page.getByRole('heading', { level: 1, name: 'Deployments' }).waitFor();
        await open(page, 'shop');
        await tab(page, 'Configure');
        expect(await page.getByLabel('Port').inputValue()).toBe('8080');
        expect(visits[0]?.complaints.splice(0)).toEqual([
          expect.stringContaining('dialog: Your changes are not applied.'),
        ]);
      },
    );

    it('is changed by the keyboard alone', LONG, async ({ world, enter }) => {
      const page = await enter();
      await configure(world, page);
      await area(page).focus();
      await tabTo(page, 'Port');
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.type('8080');
      await button(page, 'Check').focus();
      await tabTo(page, 'Review and apply');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      await tabTo(page, 'Apply');
      await page.keyboard.press('Enter');
      await said(page, 'A new revision of shop is created.');
      expect(now(world)?.spec.sourceConfig.runtime?.port).toBe(8080);
    });

    it('of hostile values is text, and a refusal is in the words of the API', LONG, async ({ world, enter }) => {
      const page = await enter();
      const hostile = '<img src=x onerror=alert(1)>\u202Etxt';
      world.deploy('evil', { spec: { sourceConfig: { env: [{ name: 'A', value: hostile }] } } });
      await configure(world, page);
      world.facade.kube.failOn(({ verb }) =>
        verb === 'patch' || verb === 'update'
          ? new Forbidden('patch shop', { serverMessage: 'You may only look.' })
          : undefined,
      );
      await page.getByLabel('Port').fill('8080');
      await button(page, 'Check').click();
      await page.getByRole('alert').getByText('You may only look.').waitFor();
      await button(page, 'Discard').click();
      await page.getByRole('link', { name: '← All deployments' }).click();
      await open(page, 'evil');
      await tab(page, 'Configure');
      await area(page).waitFor();
      expect(await area(page).inputValue()).toContain(String.raw`<img src=x onerror=alert(1)>\U0000202etxt`);
      expect(await page.locator('img').count()).toBe(0);
    });
  });

  describe('variables', () => {
    it(
      'of all kinds are changed at once, as one revision, and no value is read',
      LONG,
      async ({ world, enter, visits }) => {
        const page = await enter();
        await configure(world, page);
        const serial = now(world)?.spec.revisionSerial ?? 0;
        await button(page, 'Change variables…').click();
        const dialog = page.getByRole('dialog', { name: 'Variables of shop' });
        // While the dialog is open.
        const env = [
          { name: 'LEVEL', value: 'info' },
          { name: 'REGION', value: 'eu' },
        ];
        await meddle(world, { sourceConfig: { env } });
        await dialog.getByLabel('Value of LEVEL', { exact: true }).fill('debug');
        await dialog.getByRole('button', { name: 'Remove OLD' }).click();
        await dialog.getByRole('button', { name: 'Generate Value of API_KEY' }).click();
        const made = await dialog.getByLabel('Value of API_KEY', { exact: true }).inputValue();
        await dialog.getByRole('button', { name: 'Add a variable' }).click();
        await dialog.getByLabel('Name of variable 4').fill('not a name');
        await dialog.getByLabel('Value of not a name', { exact: true }).fill('two\nlines');
        await dialog.getByText('Paste a .env file').click();
        await dialog.getByLabel('Text of a .env file').fill('# more\nMORE="1"\nLEVEL=debug\nbroken');
        await dialog.getByRole('button', { name: 'Add as plain text' }).click();
        await dialog.getByText('.env:4:1: This line sets no variable.').waitFor();
        await dialog.getByLabel('Text of a .env file').fill('# more\nMORE="1"\nLEVEL=debug\n');
        await dialog.getByRole('button', { name: 'Add as plain text' }).click();
        expect(await accessibilityFindings(page)).toEqual([]);
        await dialog.getByRole('button', { name: 'Apply' }).click();
        await dialog.getByRole('alert').getByText('not a name').waitFor();
        await dialog.getByLabel('Name of not a name').fill('TWO');
        await dialog.getByRole('button', { name: 'Apply' }).click();
        await said(page, 'The variables of shop are changed.');
        const { spec } = now(world) ?? {};
        expect(spec?.revisionSerial).toBe(serial + 1);
        expect(spec?.secrets.map(({ name }) => name)).toEqual(['API_KEY', 'TWO']);
        expect(spec?.sourceConfig.env).toEqual([
          { name: 'LEVEL', value: 'debug' },
          { name: 'REGION', value: 'eu' },
          { name: 'MORE', value: '1' },
        ]);
        expect(made).toMatch(/^[\w-]{43}$/);
        expect(await page.locator('html').innerHTML()).not.toContain(made);
        const own = visits[0]?.requests.filter((request) => request.includes('/v2/deployments/')) ?? [];
        expect(own.filter((request) => request.startsWith('PATCH'))).toHaveLength(2);
        expect(own.filter((request) => request.endsWith(String(now(world)?.metadata.uid)))).toEqual([]);
      },
    );
  });

  describe('a folder', () => {
    async function withRegistry(
      visits: Visit[],
      { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
    ): Promise<{ world: World; page: Page }> {
      const world = await makeWorld({ hasRegistry: true });
      onTestFinished(() => world.close());
      const visited = await visit(browser, world.url);
      visits.push(visited);
      await signIn(visited.page);
      await visited.page.getByRole('heading', { level: 1, name: 'Deployments', exact: true }).waitFor();
      return { world, page: visited.page };
    }

    const FILES = {
      Dockerfile: 'FROM scratch\n',
      'app.py': 'print()',
      'run.sh': '#!/bin/sh\n',
      '.env': 'SECRET=canary-of-env',
      'node_modules/x/index.js': 'x',
      'node_modules/y/index.js': 'y',
      'notes.txt': 'n',
      '.dockerignore': '*.txt\n',
      'davit.yaml': 'name: other\nworkflow_config_path: Dockerfile\nresource_spec: {cpu: 0.5}\n',
    };

    it(
      'is packed here and deployed as a new deployment, with its davit.yaml, then as a new version',
      LONG,
      async ({ visits, onTestFinished }) => {
        const { world, page } = await withRegistry(visits, { onTestFinished });
        const path = await folder(FILES, { onTestFinished });
        await symlink('app.py', join(path, 'link.py'));
        await page.getByRole('link', { name: 'New deployment' }).click();
        await page.getByLabel('Name').fill('agent');
        await page.getByLabel('What it runs').selectOption({ label: 'An upload of source code' });
        await page.getByText('At most 200 MiB, packed.').waitFor();
        const sent: Buffer[] = [];
        await page.route('**/v1/uploads/**', async (route) => {
          const body = route.request().postDataBuffer();
          if (body) sent.push(body);
          await route.continue();
        });
        await page.getByLabel('Folder').setInputFiles(path);
        await page.getByText(/^agent: \d files, .* Its davit\.yaml applies\.$/).waitFor();
        expect(await page.getByLabel('Configuration file or Dockerfile').inputValue()).toBe('Dockerfile');
        await page.getByText('Left out: 4 files').click();
        expect(await page.locator('.packed li').allInnerTexts()).toEqual([
          '.env',
          'node_modules/ 2 files',
          'notes.txt',
        ]);
        expect(await accessibilityFindings(page)).toEqual([]);
        await page.getByText('More: port').click();
        await page.getByLabel('Port').fill('3000');
        await page.getByRole('button', { name: 'Create' }).click();
        await said(page, 'agent is created.');
        const [record, ...others] = world.facade.records.list();
        expect(others).toEqual([]);
        expect(record?.spec).toMatchObject({
          source: 'internal_source',
          sourceConfig: { resourceSpec: { cpu: 0.5 }, runtime: { port: 3000 } },
          sourceRevisionConfig: {
            sourceTarballPath: expect.stringMatching(/^uploads\/[0-9a-f]{32}$/),
            workflowConfigPath: 'Dockerfile',
          },
        });
        const archive = join(dirname(path), 'sent.tar.gz');
        await writeFile(archive, sent[0] ?? Buffer.alloc(0));
        const listed = execFileSync('tar', ['-tzvf', archive], { encoding: 'utf8' });
        expect(listed).toMatch(/^-rwxr-xr-x .* run\.sh$/m);
        expect(listed).toMatch(/^-rw-r--r-- .* app\.py$/m);
        // Chromium lists no links.
        expect(listed).not.toMatch(/\.env|node_modules|notes|link|\.\./);

        await page.getByRole('link', { name: 'Deploy', exact: true }).click();
        await page.getByLabel('Folder').setInputFiles(path);
        await page.getByText(/^agent: \d files/).waitFor();
        expect(await accessibilityFindings(page)).toEqual([]);
        await page.getByRole('button', { name: 'Upload and deploy' }).click();
        await said(page, 'A new revision of agent is created.');
        const after = now(world, 'agent')?.spec;
        expect(after?.sourceRevisionConfig.sourceTarballPath).not.toBe(
          record?.spec.sourceRevisionConfig.sourceTarballPath,
        );
        expect(after?.sourceConfig.runtime?.port).toBe(3000);
      },
    );

    it('of 1,000 files is packed, and names are text', LONG, async ({ visits, onTestFinished }) => {
      const { world, page } = await withRegistry(visits, { onTestFinished });
      const many = Array.from({ length: 1000 }, (_, at) => [`src/${at % 50}/f${at}.py`, `${at}`]);
      const hostile = '<img src=x onerror=alert(1)>';
      const path = await folder(
        { ...Object.fromEntries(many), [hostile]: '', Dockerfile: '', '.dockerignore': '*>\n' },
        { onTestFinished },
      );
      await page.getByRole('link', { name: 'New deployment' }).click();
      await page.getByLabel('Name').fill('agent');
      await page.getByLabel('What it runs').selectOption({ label: 'An upload of source code' });
      await page.getByLabel('Folder').setInputFiles(path);
      await page.getByText('agent: 1002 files, ').waitFor();
      await page.getByText('Left out: 1 files').click();
      expect(await page.locator('.packed li').allInnerTexts()).toEqual([hostile]);
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { level: 1, name: 'agent', exact: true }).waitFor({ timeout: 100_000 });
      expect(now(world, 'agent')?.spec.sourceRevisionConfig.sourceTarballPath).toBeDefined();
    });

    it(
      'without its configuration file, or one that changes while it is read, is not sent',
      LONG,
      async ({ visits, onTestFinished }) => {
        const { world, page } = await withRegistry(visits, { onTestFinished });
        const path = await folder({ 'app.py': 'print()' }, { onTestFinished });
        await page.getByRole('link', { name: 'New deployment' }).click();
        await page.getByLabel('Name').fill('agent');
        await page.getByLabel('What it runs').selectOption({ label: 'An upload of source code' });
        await page.getByRole('button', { name: 'Create' }).click();
        await page.locator('#new-folder-failure').getByText('Choose a folder, or an archive.').waitFor();
        await page.getByLabel('Folder').setInputFiles(path);
        await page.locator('#new-config-failure').getByText('agent has no file langgraph.json.').waitFor();
        await page.getByRole('button', { name: 'Create' }).click();
        expect(await page.getByText('has no file').count()).toBe(1);
        // Gone while it is typed, so that the button stays where it is when the field is left.
        await page.getByLabel('Configuration file or Dockerfile').fill('app.py');
        await expect.poll(() => page.getByText('has no file').count()).toBe(0);
        await page.getByText('agent: 1 file,').waitFor();
        await writeFile(join(path, 'app.py'), 'print("more than before")');
        await page.getByRole('button', { name: 'Create' }).click();
        await page.locator('#new-folder-failure').getByText('app.py changed while it was packed').waitFor();
        expect(world.facade.records.list()).toEqual([]);
      },
    );
  });

  it.for([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
    ['dark', 390],
  ] as const)(
    'is accessible, and scrolls sideways nowhere: %s at %i pixels',
    LONG,
    async ([colorScheme, width], { world, enter }) => {
      const page = await enter({ colorScheme, viewport: { width, height: 900 } });
      await configure(world, page);
      await page.getByLabel('Port').fill('99999');
      await button(page, 'Check').click();
      await page.getByRole('alert').getByText('runtime.port must be at most 65535').waitFor();
      expect(await accessibilityFindings(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      await button(page, 'Discard').click();
      await button(page, 'Change variables…').click();
      await button(page, 'Add a variable').click();
      await page.getByText('Paste a .env file').click();
      await page.getByRole('button', { name: 'Generate Value of API_KEY' }).click();
      expect(await accessibilityFindings(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
    },
  );
});
