// What the chart renders for people's tokens: nothing, until the settings list a host of an OAuth server.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Settings } from '../../../src/kinds/settings.ts';
import { ENTRY_KINDS } from '../../../src/tokens/oauth/names.ts';
import {
  type ChartRenderer,
  type Manifest,
  makeChartRenderer,
  manifestNamed as named,
} from '../../support/rendered-chart.ts';

let chart: ChartRenderer;
beforeAll(async () => {
  chart = await makeChartRenderer();
});
afterAll(() => chart?.close());

const ON = 'settings.oauth.hosts[0].host=tracker.example.com';
const namesOf = (manifests: readonly Manifest[]): string[] =>
  manifests.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
const settingsOf = (manifests: readonly Manifest[]): Settings =>
  Settings.parse(parse(named(manifests, 'ConfigMap', 'davit-settings')['data']['settings.yaml'] as string));

it('has no rights and no namespace for them without a host', async () => {
  const [off, on] = await Promise.all([chart.render(), chart.render('--set', ON)]);
  expect(
    namesOf(on)
      .filter((name) => !namesOf(off).includes(name))
      .toSorted(),
  ).toEqual([
    'Namespace /davit-oauth',
    'ResourceQuota davit-oauth/no-pods',
    'Role davit-oauth/davit-api-oauth',
    'Role davit-system/davit-api-own',
    'RoleBinding davit-oauth/davit-api-oauth',
    'RoleBinding davit-system/davit-api-own',
  ]);
  expect(named(on, 'Role', 'davit-api-own')['rules']).toEqual([
    { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
    { apiGroups: [''], resources: ['secrets'], resourceNames: ['davit-oauth-keys'], verbs: ['get', 'patch'] },
  ]);
  expect(settingsOf(on).oauth.hosts).toEqual([{ host: 'tracker.example.com', addresses: [] }]);
});

it('lets the API make every kind of Secret that it makes for people, and no other', async () => {
  const policy = JSON.stringify(named(await chart.render('--set', ON), 'ValidatingAdmissionPolicy', 'davit-api'));
  expect(/\^\(([a-z|]+)\)-\[0-9a-f-\]\+\$/.exec(policy)?.[1]?.split('|').toSorted()).toEqual(ENTRY_KINDS.toSorted());
});

it("takes the address of people's pages from the Ingress of the API, unless it is set", async () => {
  const ingress = 'api.ingress.enabled=true,api.ingress.host=davit.example.com';
  const urlOf = async (set: string): Promise<string | undefined> =>
    settingsOf(await chart.render('--set', set)).http.publicUrl;
  expect(await urlOf(ON)).toBe(undefined);
  expect(await urlOf(ingress)).toBe('https://davit.example.com');
  expect(await urlOf(`${ingress},settings.http.basePath=/api`)).toBe('https://davit.example.com/api');
  expect(await urlOf(`${ingress},settings.http.publicUrl=https://other.example.com`)).toBe('https://other.example.com');
});

it('signs in on the page only where the issuer knows the way back', async () => {
  const oidc = 'settings.http.oidc.issuer=https://id.example.com,settings.http.oidc.clientId=davit';
  const ingress = 'api.ingress.enabled=true,api.ingress.host=davit.example.com';
  expect(settingsOf(await chart.render('--set', `${ingress},${oidc}`)).http.oidc?.issuer).toBe(
    'https://id.example.com',
  );
  await expect(chart.render('--set', oidc)).rejects.toThrow(
    'settings.http.oidc needs settings.http.publicUrl or api.ingress',
  );
});

it('gives the right to tokens by one role, which no other role contains', async () => {
  const roles = (await chart.render('--set', ON)).filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role');
  const giving = roles.filter((role) => JSON.stringify(role['rules']).includes('authenticate'));
  expect(giving.map(({ metadata }) => metadata.name)).toEqual(['davit-agent']);
  expect(JSON.stringify(giving)).not.toContain('aggregate-to');
});
