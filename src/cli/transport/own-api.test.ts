// What a command reads where the routes run in its own process: what it needs, and no more.

import { expect, it } from 'vitest';
import { aRecord } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { Forbidden, Unauthorized } from '../../runtime/errors.ts';
import { CONFIG_MAPS } from '../../runtime/kube/api-resources.ts';

/** Verb and kind of each read, without what every command reads: the settings and who asks. */
async function readsOf(args: readonly string[]): Promise<string[]> {
  const cli = makeOwnCli({ record: aRecord() });
  const reads: string[] = [];
  cli.kube.failOn(({ verb, kind }) => {
    if ((verb === 'get' || verb === 'list') && kind !== 'ConfigMap') reads.push(`${verb} ${kind}`);
    return undefined;
  });
  expect((await cli.run(args)).code).toBe(0);
  return [...new Set(reads)].toSorted();
}

const OF_ONE = ['get AppDeployment', 'get Namespace', 'list AppRevision'];
const OFFERED = ['list AppTemplate', 'list CodeHostIntegration', 'list Listener'];

it('a look at one deployment reads it alone, with its revisions', async () => {
  expect(await readsOf(['env', 'shop', 'list'])).toEqual(OF_ONE);
});

it('a change also reads what it may name', async () => {
  expect(await readsOf(['env', 'shop', 'set', 'A=1'])).toEqual([...OF_ONE, ...OFFERED].toSorted());
});

it('the platform is shown without a deployment being read', async () => {
  expect(await readsOf(['platform'])).toEqual(['get Namespace', ...OFFERED]);
});

it('the platform shows its limit of requests, which one process has not', async () => {
  const cli = makeOwnCli({ settings: { http: { requestsPerMinute: 2 } } });
  const api = await cli.api();
  for (let asked = 0; asked < 4; asked += 1)
    expect(await api.call('GET', '/v2/platform')).toMatchObject({ limits: { requests_per_minute: 2 } });
});

it.each([
  ['{', 'has no JSON'],
  ['[]', 'has no settings of this version'],
  ['{"limits":5}', 'has no settings of this version'],
])('settings that are %s are refused in a sentence', async (text, why) => {
  const cli = makeOwnCli();
  const ref = { namespace: 'davit-system', name: 'davit-platform' };
  await cli.kube.mergePatch(CONFIG_MAPS, ref, { data: { 'settings.json': text } }, { fieldManager: 'test' });
  await expect(cli.api()).rejects.toThrow(`ConfigMap davit-platform in namespace davit-system ${why}. Use `);
});

it.each([
  [
    new Forbidden('refused', { serverMessage: 'User "ed" cannot impersonate resource "users"' }),
    'User "ed" cannot impersonate resource "users". Leave out --as, or ask for the right to impersonate that user.',
  ],
  [new Forbidden('refused', { serverMessage: 'no' }), /^Davit is not installed in namespace davit-system: /],
  [
    new Unauthorized('refused', { serverMessage: 'Unauthorized' }),
    /^The Kubernetes API server does not accept the cred/,
  ],
])('a refusal of the API server is told: %s', async (refusal, words) => {
  const cli = makeOwnCli();
  cli.kube.failOn(() => refusal);
  await expect(cli.api()).rejects.toThrow(words);
});
