// Who reaches a deployment, and the tokens that people gave to agents: on the tab Access and on the tenant's page.

import type { Locator, Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { LISTENERS, type Listener } from '../../../src/kinds/listener.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { PERSISTENT_VOLUME_CLAIMS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { startOAuthServer } from '../../support/oauth-server.ts';
import { makePeople } from '../../support/people.ts';
import { callsTo } from '../../support/running-davit.ts';
import { TENANT } from '../http/facade.ts';
import { accessibilityFindings, open } from './browser.ts';
import { chooseTenant, heading, isGoodEverywhere, it, missing, signInAgain, tab, tabTo, why } from './fixtures.ts';
import { makeWorld, TOKEN, type World } from './world.ts';

const HOSTILE = '<img src=x onerror=alert(1)>\u202E';
const MINE = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
const PUBLIC = 'https://davit.example';

/** A platform with an OAuth server, at which the person of the page has given a token to agent triage. */
const withTokens = it.extend<{ readonly world: World }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the parameter's names
  world: async ({}, use) => {
    const server = await startOAuthServer([`${PUBLIC}/v2/auth/callback/idp`]);
    const settings = defaultSettings();
    const hosts = [{ host: server.host, addresses: ['127.0.0.1'], ca: server.ca }];
    const world = await makeWorld({
      settings: { oauth: { ...settings.oauth, hosts }, http: { ...settings.http, publicUrl: PUBLIC } },
    });
    const tenant = { ...TENANT, token: TOKEN };
    const people = makePeople({ publicUrl: PUBLIC, apiUrl: world.url, call: callsTo(world.url), tenant, server });
    people.user = 'somebody';
    await people.provider('idp', { name: '<img src=x onerror=alert(1)>' });
    await people.give({ agent_id: 'triage <b>' });
    await use(world);
    await world.close();
    await server.close();
  },
});

async function enterAccess(enter: () => Promise<Page>): Promise<Page> {
  const page = await enter();
  await chooseTenant(page, 'Access and tokens');
  await heading(page, 'Access');
  return page;
}

describe.skipIf(missing !== undefined).concurrent(`access${why}`, () => {
  it('to a deployment: its addresses, who reaches it, and the listener that runs it', async ({ world, enter }) => {
    const seed = (conditions: object[]): void => {
      world.facade.kube.seed<Listener>(LISTENERS, {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'Listener',
        metadata: { name: 'edge', namespace: TENANT.namespace, uid: MINE },
        spec: { namespaces: ['shops'] },
        status: { version: HOSTILE, lastSeenAt: new Date().toISOString(), conditions },
      } as unknown as Listener);
      world.facade.listeners.fill();
    };
    seed([]);
    world.deploy('shop', {
      url: 'https://shop.apps.example.com',
      spec: {
        sourceConfig: {
          customUrl: 'https://shop.apps.example.com',
          access: { from: ['shops', 'tools'], lock: 'key-keeper' },
          listenerId: MINE,
          listenerConfig: { k8sNamespace: 'shops' },
        },
      },
      conditions: { AddressReady: ['False', 'Progressing', `Waits for ${HOSTILE}`] },
    });
    world.deploy('open');
    const page = await enter();
    await open(page, 'shop');
    await tab(page, 'Access');
    const card = page.getByRole('region', { name: 'Addresses and callers' });
    await card.getByText('need a key, which sidecar key-keeper checks').waitFor();
    await card.getByText("the deployment's own, shops, tools").waitFor();
    await card.getByText('Waits for <img src=x onerror=alert(1)>\uFFFD').waitFor();
    const listener = card.getByRole('listitem').filter({ hasText: 'Listener' });
    await listener.getByText('Listener edge').waitFor();
    await listener.getByText('has stopped reporting').waitFor();
    await listener.getByText('Davit <img src=x onerror=alert(1)>\uFFFD').waitFor();
    // This platform issues no tokens, and the API says which setting it lacks.
    await page.getByText('This platform issues no tokens').waitFor();
    await isGoodEverywhere(page, 'access-tab');
    world.facade.kube.failOn(({ kind }) =>
      kind === 'Listener' ? new Forbidden('no', { serverMessage: 'no' }) : undefined,
    );
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('link', { name: '← All deployments' }).click();
    await open(page, 'open');
    await tab(page, 'Access');
    await card.getByText('anyone who can reach its Service').waitFor();
    await card.getByText('From your machine: kubectl davit open open -n team-a').waitFor();
    await card.getByText("the platform's default").waitFor();
    expect(await listener.count()).toBe(0);
  });

  withTokens(
    'of a tenant: providers, tokens with revoke, connections, and what became of tokens',
    async ({ enter }) => {
      const page = await enterAccess(enter);
      await page.getByRole('region', { name: 'Providers' }).getByText('<img src=x onerror=alert(1)>').waitFor();
      const tokens = page.getByRole('region', { name: 'Your tokens' });
      await tokens.getByText('for agent triage <b>').waitFor();
      const events = page.getByRole('region', { name: 'Token history' });
      await events.getByText('consented').waitFor();
      await isGoodEverywhere(page, 'access-tenant');
      await page.setViewportSize({ width: 1280, height: 900 });
      const dialog = page.getByRole('dialog');
      await tokens.getByRole('button', { name: 'Take away… the token of idp from triage <b>' }).click();
      expect(await accessibilityFindings(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Take away' }).click();
      await page.getByRole('status').getByText('triage <b> may no longer use the token of idp.').waitFor();
      await tokens.getByText('may use the token').waitFor({ state: 'detached' });
      // By the keyboard alone.
      await tabTo(page, 'Revoke… the token of idp');
      await page.keyboard.press('Enter');
      await dialog.getByText('It is revoked at the provider and deleted.').waitFor();
      await tabTo(page, 'Revoke');
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText('The token of idp is revoked.').waitFor();
      await tokens.getByText('None.', { exact: true }).waitFor();
      await events.getByText('revoked').waitFor();
    },
  );

  withTokens('shows on the tab of a deployment the tokens that it got', async ({ world, enter }) => {
    const record = world.deploy('shop');
    world.deploy('cart');
    const page = await enterAccess(enter);
    // As if the pod of shop had asked: no pod has a credential here.
    await page.route('**/v2/auth/token-events', async (route) => {
      const response = await route.fetch();
      const events = (await response.json()) as { token_id: string | null }[];
      const id = record.metadata.uid;
      await route.fulfill({
        response,
        json: events.map((event) => ({ ...event, deployment_id: id, deployment: 'shop' })),
      });
    });
    await page.getByRole('link', { name: '← All deployments' }).click();
    await open(page, 'shop');
    await tab(page, 'Access');
    const tokens = page.getByRole('region', { name: 'Your tokens that it received' });
    await tokens.getByRole('button', { name: 'Revoke… the token of idp' }).waitFor();
    await page.getByRole('region', { name: 'Token history' }).getByText('consented').waitFor();
    await page.getByRole('link', { name: '← All deployments' }).click();
    await open(page, 'cart');
    await tab(page, 'Access');
    await tokens.getByText('None.', { exact: true }).waitFor();
  });

  withTokens(
    'says of what was revoked in another tab, and of what the person may not do, what the API says',
    async ({ world, enter }) => {
      const [one, other] = [await enterAccess(enter), await enterAccess(enter)];
      const revoke = async (page: Page): Promise<void> => {
        await page.getByRole('button', { name: 'Revoke… the token of idp' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
      };
      await one.getByRole('button', { name: 'Revoke… the token of idp' }).click();
      await revoke(other);
      await other.getByRole('status').getByText('The token of idp is revoked.').waitFor();
      await one.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
      await one
        .getByRole('alert')
        .getByText(/^Token ID .* not found\.$/)
        .waitFor();
      // A viewer, who may neither have tokens nor list providers and volumes.
      world.facade.kube.allow(({ resource }) => resource === 'appdeployments');
      world.facade.clock.ms += 60_000;
      const page = await enterAccess(enter);
      for (const words of [
        /^You may not get tokens of all OAuth providers/,
        /oauthproviders/,
        /persistentvolumeclaims/,
      ])
        await page.getByRole('alert').getByText(words).first().waitFor();
      expect(await accessibilityFindings(page)).toEqual([]);
    },
  );

  withTokens('goes on with the next token where the one before ends in the midst', async ({ enter }) => {
    const page = await enterAccess(enter);
    await page.getByRole('button', { name: 'Revoke… the token of idp' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke the token of idp' });
    const path = '**/v2/auth/tokens/*';
    await page.route(path, (route) => route.fulfill({ status: 401, json: { detail: 'The token has expired.' } }));
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await signInAgain(page, path);
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('status').getByText('The token of idp is revoked.').waitFor();
  });

  it('of a tenant has what deleted deployments have left', async ({ world, enter }) => {
    world.facade.kube.seed(PERSISTENT_VOLUME_CLAIMS, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name: 'gone--postgres',
        namespace: TENANT.namespace,
        creationTimestamp: '2026-01-02T00:00:00Z',
        labels: {
          'davit.dev/deployment': 'gone',
          'davit.dev/component': 'postgres',
          'davit.dev/deployment-uid': '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11',
        },
      },
      spec: { resources: { requests: { storage: '2Gi' } } },
    } as KubeObject);
    const enterRetained = async (): Promise<[Page, Locator]> => {
      const page = await enter();
      await chooseTenant(page, 'Access and tokens');
      const card = page.getByRole('region', { name: 'Databases of deleted deployments' });
      await card.getByText('pod/0, 2.0 GiB').waitFor();
      return [page, card];
    };
    world.facade.kube.allow(({ verb }) => verb === 'get' || verb === 'list');
    const [, viewed] = await enterRetained();
    expect(await viewed.getByRole('button').count()).toBe(0);
    world.facade.kube.allow(() => true);
    world.facade.clock.ms += 60_000;
    const [page, card] = await enterRetained();
    await card.getByRole('button').waitFor();
    // Nobody is here who could adopt it.
    expect(await card.getByRole('button').allInnerTexts()).toEqual(['Delete…']);
    await card.getByRole('button').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Type gone to confirm').fill('gone');
    await page.keyboard.press('Enter');
    await card.getByText('None.', { exact: true }).waitFor();
    expect(world.facade.kube.objects(PERSISTENT_VOLUME_CLAIMS)).toEqual([]);
  });
});
