// The tab Data of the page over the facade and the in-memory API server: every act on data, and what may go wrong with it.

import type { Page } from 'playwright-core';
import { describe, expect, vi } from 'vitest';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../../src/kinds/datastore-operation.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { PERSISTENT_VOLUME_CLAIMS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { TENANT } from '../http/facade.ts';
import { accessibilityFindings, open } from './browser.ts';
import { focused, isGoodEverywhere, it, LONG, missing, signInAgain, tab, tabTo, why } from './fixtures.ts';
import { type World } from './world.ts';

const HOSTILE = '<img src=x onerror=alert(1)>\u202E';
const [NEWEST, OLDER, EARLIER] = [
  '20261128T020000Z-0000000a',
  '20261127T020000Z-0000000b',
  '20261101T020000Z-0000000c',
];

type Status = NonNullable<AppDeployment['status']>;

/** A deployment whose database has data, backups and a database before it. */
function deployWithData(
  world: World,
  more: Partial<Status> = {},
  driver: 'pod' | 'cloudnative-pg' = 'pod',
): AppDeployment {
  const record = world.deploy('shop', {
    spec: { sourceConfig: { database: { backup: {}, ...(driver !== 'pod' && { driver }) } } },
    conditions: {
      BackupReady: ['True', 'BackedUp', 'The last backup is of 6 h ago.'],
    },
  });
  const iso = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
  const status: Status = {
    ...record.status,
    databaseVolumeUid: 'v',
    databaseDrivers: [
      { driver: 'pod', postgresVersion: 18 },
      { driver: 'cloudnative-pg', postgresVersion: 18 },
    ],
    databasesKept: [{ driver: 'pod', number: 3 }],
    databaseBackup: { name: NEWEST, lastSuccessAt: iso(6), sizeBytes: 1_200_000_000 },
    databaseBackups: {
      listedAt: iso(6),
      count: 3,
      newest: [
        { name: NEWEST, takenAt: iso(6), sizeBytes: 1_200_000_000, number: 0, verified: true, postgresVersion: 17 },
        { name: OLDER, takenAt: iso(30), sizeBytes: 1_100_000_000, number: 3, byHand: true, postgresVersion: 17 },
        { name: EARLIER, takenAt: iso(600), sizeBytes: 900_000_000, earlier: true },
      ],
    },
    databaseArchive: { firstRecoverableAt: iso(200), lastBackupAt: iso(20) },
    datastores: {
      postgres: { image: 'postgres:17.6-trixie', version: '17.6', available: 'postgres:17.9-trixie' },
      redis: { image: 'valkey:8.1', version: '8.1.1', available: 'valkey:8.2' },
    },
    ...more,
  };
  const withStatus = { ...record, status } as AppDeployment;
  world.facade.records.put(withStatus);
  return withStatus;
}

const operations = ({ facade }: World): DatastoreOperation[] =>
  facade.kube.objects<DatastoreOperation>(DATASTORE_OPERATIONS);

function seedOperation(world: World, name: string, spec: object, status?: object): void {
  world.facade.kube.seed(DATASTORE_OPERATIONS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'DatastoreOperation',
    metadata: { name, namespace: TENANT.namespace, creationTimestamp: new Date(Date.now() - 90_000).toISOString() },
    spec: { deployment: 'shop', ...spec },
    ...(status && { status }),
  } as KubeObject);
}

async function enterData(enter: () => Promise<Page>): Promise<Page> {
  const page = await enter();
  await open(page, 'shop');
  await tab(page, 'Data');
  await page.getByRole('heading', { name: 'Operations' }).waitFor();
  return page;
}

describe.skipIf(missing !== undefined).concurrent(`the tab Data${why}`, () => {
  it('looks calm in light and dark, on a desk and a telephone', async ({ world, enter }) => {
    deployWithData(world);
    const at = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();
    seedOperation(
      world,
      'shop-move',
      { action: 'Restore', restore: { backup: NEWEST }, requestedBy: 'ada' },
      {
        phase: 'Loading',
        startedAt: at(1),
        move: { from: { driver: 'pod', number: 0 }, to: { driver: 'pod', number: 4 } },
        conditions: [
          {
            type: 'Complete',
            status: 'False',
            reason: 'Loading',
            message: `Loading ${HOSTILE}.`,
            lastTransitionTime: at(1),
          },
        ],
      },
    );
    seedOperation(
      world,
      'shop-back',
      { action: 'Backup', requestedBy: HOSTILE },
      { phase: 'Succeeded', startedAt: at(9), endedAt: at(8) },
    );
    const page = await enterData(enter);
    await isGoodEverywhere(page, 'data');
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('button', { name: `Restore… ${OLDER}` }).click();
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('asks for each act that is possible, with what it does, what is lost, and the name where something is', async ({
    world,
    enter,
  }) => {
    deployWithData(world);
    const page = await enterData(enter);
    const dialog = page.getByRole('dialog');
    const known = new Set<string>();
    const ask = async (button: string, words: RegExp, isTyped: boolean): Promise<unknown> => {
      await page.getByRole('button', { name: button, exact: true }).click();
      await dialog.getByText(words).first().waitFor();
      expect([button, await dialog.getByLabel('Type shop to confirm').count()]).toEqual([button, isTyped ? 1 : 0]);
      if (isTyped) await dialog.getByLabel('Type shop to confirm').fill('shop');
      await dialog.locator('button[type=submit]').click();
      await page.getByRole('status').getByText('is requested. See its progress under Operations.').waitFor();
      const [made, ...others] = operations(world).filter(({ metadata }) => !known.has(metadata.name));
      expect([made?.spec.deployment, others]).toEqual(['shop', []]);
      known.add(made?.metadata.name ?? '');
      const { deployment: _deployment, requestedBy: _by, key: _key, ...spec } = made?.spec ?? {};
      await page.getByText(made?.metadata.name ?? '', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Dismiss' }).click();
      return spec;
    };
    expect(await ask('Back up now… shop', /^This backs up the database now\. Nothing stops/, false)).toEqual({
      action: 'Backup',
    });
    expect(await ask('Move… shop', /a Cluster of CloudNativePG with all data/, false)).toEqual({ action: 'Move' });
    expect(await ask('Upgrade… shop', /and the time to dump and load 1\.1 GiB\./, false)).toEqual({
      action: 'Upgrade',
    });
    expect(await ask('Return… shop', /^Data written since then stays in database pod\/0\.$/, true)).toEqual({
      action: 'Return',
    });
    expect(await ask('Delete… PostgreSQL pod/3', /^Database 3 is deleted: its volume, all data/, true)).toEqual({
      action: 'DeletePrevious',
      deletePrevious: { number: 3 },
    });
    expect(
      await ask('Patch… PostgreSQL', /^It restarts with postgres:17\.9-trixie in place of postgres:17\.6/, false),
    ).toEqual({ action: 'Patch', patch: { datastore: 'postgres' } });
    expect(await ask('Patch… Redis', /^Redis of shop has no volume, so a restart loses its queue\.$/, true)).toEqual({
      action: 'Patch',
      patch: { datastore: 'redis' },
      accept: ['QueueLost'],
    });
    expect(
      await ask(`Restore… ${OLDER}`, /^Data written in the last 1 d, since .* will not be in the next database/, true),
    ).toEqual({
      action: 'Restore',
      restore: { backup: OLDER },
    });
    expect(await ask(`Restore… ${EARLIER}`, /and the time to load 858\.3 MiB\./, true)).toEqual({
      action: 'Restore',
      restore: { backup: EARLIER, from: 'shop' },
    });
    // To a time between backups a clone leads.
    await page.getByRole('button', { name: 'Clone to a time… shop' }).click();
    await dialog.getByLabel('Time').waitFor();
  });

  it('is worked with by the keyboard alone, and keeps what was typed until the name fits', async ({ world, enter }) => {
    deployWithData(world);
    const page = await enterData(enter);
    await tabTo(page, `Restore… ${NEWEST}`);
    await page.keyboard.press('Enter');
    const field = page.getByLabel('Type shop to confirm');
    await field.waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('typed');
    await page.keyboard.type('sho');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('That is not its name. Type shop to confirm.').waitFor();
    expect([await field.inputValue(), operations(world)]).toEqual(['sho', []]);
    await page.keyboard.type('p');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Restore of shop is requested.').waitFor();
    await vi.waitFor(async () => expect(await focused(page)).toBe(`Restore… ${NEWEST}`), LONG);
  });

  it('says of what is not possible why not, in the words of the API', async ({ world, enter }) => {
    deployWithData(world, { databaseVolumeUid: undefined as never, databasesKept: [] });
    const page = await enterData(enter);
    const labels = await page.getByRole('region', { name: 'Databases' }).locator('header button').allInnerTexts();
    expect(labels).toEqual(['Back up now…']);
    await page.getByText('Not possible now').click();
    await page.getByText('Move, Upgrade: The database of shop has no data yet.').waitFor();
    await page.getByText('Return: shop has no previous database to return to').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('offers a backup by its name where none is listed', async ({ world, enter }) => {
    deployWithData(world, { databaseBackups: undefined as never });
    const page = await enterData(enter);
    await page.getByRole('button', { name: 'Restore… shop' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Backup').fill(OLDER);
    await dialog.getByLabel('Type shop to confirm').fill('shop');
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await vi.waitFor(() => expect(operations(world)).toMatchObject([{ spec: { restore: { backup: OLDER } } }]), LONG);
  });

  it('follows an operation, and cancels it', async ({ world, enter }) => {
    deployWithData(world);
    const move = { from: { driver: 'pod', number: 0 }, to: { driver: 'pod', number: 4 } };
    const spec = { action: 'Upgrade' };
    seedOperation(world, 'shop-up', spec, { phase: 'Stopping', move });
    const page = await enterData(enter);
    await page.getByText('Upgrade stopping').waitFor();
    const value = (): Promise<string | null> => page.getByRole('progressbar').getAttribute('value');
    const before = await value();
    seedOperation(world, 'shop-up', spec, { phase: 'Loading', move });
    await page.getByText('Upgrade loading').waitFor();
    expect(Number(await value())).toBeGreaterThan(Number(before));
    await page.getByRole('button', { name: 'Cancel… shop-up' }).click();
    await page.getByRole('dialog').getByText('shop starts again on its current database.').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel the operation' }).click();
    await page.getByRole('status').getByText('Upgrade of shop is cancelled.').waitFor();
    await page.getByText('None.', { exact: true }).waitFor();
    expect(operations(world)).toEqual([]);
  });

  it('learns that another tab has cancelled it, also while its dialog is open', async ({ world, enter }) => {
    deployWithData(world);
    seedOperation(world, 'shop-up', { action: 'Backup' }, { phase: 'Running' });
    const [one, other] = [await enterData(enter), await enterData(enter)];
    await one.getByRole('button', { name: 'Cancel… shop-up' }).click();
    await other.getByRole('button', { name: 'Cancel… shop-up' }).click();
    await other.getByRole('button', { name: 'Cancel the operation' }).click();
    await other.getByRole('status').getByText('Backup of shop is cancelled.').waitFor();
    await one.getByText('None.', { exact: true }).waitFor();
    await one.getByRole('button', { name: 'Cancel the operation' }).click();
    await one.getByRole('alert').getByText('Deployment "shop" has no operation "shop-up".').waitFor();
  });

  it('refuses what the person may not do in the words of the API server, and keeps what was typed', async ({
    world,
    enter,
  }) => {
    deployWithData(world);
    seedOperation(world, 'shop-up', { action: 'Backup' }, { phase: 'Running' });
    world.facade.kube.failOn(({ verb, kind }) =>
      kind === 'DatastoreOperation' && verb !== 'list' && verb !== 'get'
        ? new Forbidden('no', { serverMessage: `ada may not ${verb} datastoreoperations` })
        : undefined,
    );
    const page = await enterData(enter);
    const buttons = page.locator('.rows button, .card header button');
    const labels = await buttons.evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
    expect(labels).toHaveLength(12);
    const dialog = page.getByRole('dialog');
    for (const label of labels.filter((one) => one !== 'Clone to a time… shop')) {
      await page.getByRole('button', { name: label ?? '', exact: true }).click();
      const typed = dialog.getByRole('textbox');
      if ((await typed.count()) > 0) await typed.fill('shop');
      await dialog.locator('button[type=submit]').click();
      const verb = label?.startsWith('Cancel') ? 'delete' : 'create';
      await dialog.getByRole('alert').getByText(`ada may not ${verb} datastoreoperations`).waitFor();
      if ((await typed.count()) > 0) expect(await typed.inputValue()).toBe('shop');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    }
  });

  it('says that operations may not be listed, and offers none', async ({ world, enter }) => {
    deployWithData(world);
    world.facade.kube.failOn(({ verb, kind }) =>
      kind === 'DatastoreOperation' && verb === 'list'
        ? new Forbidden('no', { serverMessage: 'ada may not list datastoreoperations' })
        : undefined,
    );
    const page = await enter();
    await open(page, 'shop');
    await tab(page, 'Data');
    await page.getByRole('alert').getByText('ada may not list datastoreoperations').waitFor();
    await page.getByText('17.6').first().waitFor();
    expect(await page.getByRole('button', { name: /…/ }).allInnerTexts()).toEqual(['Clone to a time…']);
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('asks again with the token of now when the one before ends, and once where an answer was lost', async ({
    world,
    enter,
  }) => {
    deployWithData(world);
    const page = await enterData(enter);
    await page.getByRole('button', { name: `Restore… ${NEWEST}` }).click();
    const dialog = page.getByRole('dialog', { name: 'Restore: shop' });
    await dialog.getByLabel('Type shop to confirm').fill('shop');
    const path = '**/operations';
    await page.route(path, (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 401, json: { detail: 'The token has expired. Send another one.' } })
        : route.fallback(),
    );
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await signInAgain(page, path);
    expect(await dialog.getByLabel('Type shop to confirm').inputValue()).toBe('shop');
    await page.route(path, async (route) => {
      if (route.request().method() === 'POST') await route.fetch();
      await route.abort();
    });
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await dialog.getByRole('alert').getByText('The API cannot be reached.').waitFor();
    await page.unroute(path);
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await page.getByRole('status').getByText('Restore of shop is requested.').waitFor();
    expect(operations(world)).toHaveLength(1);
  });

  it('adopts what a deleted deployment of the name has left, or deletes it', async ({ world, enter }) => {
    const record = world.deploy('shop', {
      state: 'AWAITING_DATABASE',
      conditions: { Ready: ['False', 'DatabaseKept', 'A database of the name is kept.'] },
    });
    const seed = (name: string, deployment: string): void =>
      void world.facade.kube.seed(PERSISTENT_VOLUME_CLAIMS, {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: {
          name,
          namespace: TENANT.namespace,
          creationTimestamp: '2026-01-02T00:00:00Z',
          labels: {
            'davit.dev/deployment': deployment,
            'davit.dev/component': 'postgres',
            'davit.dev/deployment-uid': '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11',
          },
        },
        spec: { resources: { requests: { storage: '2Gi' } } },
      } as KubeObject);
    seed('shop--postgres', 'shop');
    seed('other--postgres', 'other');
    const page = await enterData(enter);
    const card = page.getByRole('region', { name: 'Databases of deleted deployments' });
    await card.getByText('pod/0, 2.0 GiB').waitFor();
    expect(await card.getByText('other').count()).toBe(0);
    expect(await accessibilityFindings(page)).toEqual([]);
    const dialog = page.getByRole('dialog');
    const refusal = (): Forbidden => new Forbidden('no', { serverMessage: 'ada may not do that' });
    world.facade.kube.failOn(({ verb }) => (verb === 'patch' || verb === 'delete' ? refusal() : undefined));
    for (const act of ['Adopt', 'Delete']) {
      await card.getByRole('button', { name: `${act}… shop--postgres` }).click();
      if (act === 'Delete') await dialog.getByLabel('Type shop to confirm').fill('shop');
      await dialog.getByRole('button', { name: act }).click();
      await dialog.getByRole('alert').getByText('ada may not do that').waitFor();
      await page.keyboard.press('Escape');
    }
    world.facade.kube.failOn(() => undefined);
    await card.getByRole('button', { name: 'Adopt… shop--postgres' }).click();
    await dialog.getByRole('button', { name: 'Adopt' }).click();
    await page.getByRole('status').getByText('shop uses the database with its data.').waitFor();
    const adopted = world.facade.records.byUid(record.metadata.uid ?? '')?.metadata.annotations;
    expect(adopted?.['davit.dev/adopt-database']).toBe('8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11');
    await card.getByRole('button', { name: 'Delete… shop--postgres' }).click();
    await dialog.getByText('Its volume of 2.0 GiB with all data of a deleted shop is deleted').waitFor();
    await dialog.getByLabel('Type shop to confirm').fill('shop');
    await page.keyboard.press('Enter');
    await card.waitFor({ state: 'detached' });
    const left = world.facade.kube.objects(PERSISTENT_VOLUME_CLAIMS).map(({ metadata }) => metadata.name);
    expect(left).toEqual(['other--postgres']);
  });
});
