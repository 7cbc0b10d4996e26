// `kubectl davit secrets` against the facade: what is stored, and that no value is printed.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeHttpApi } from '../../../src/cli/transport/http-api.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { type Serving, serve } from '../../../src/main/server.ts';
import { type CliRan, type CliWorld, runCli } from '../../support/cli-world.ts';
import { aBody, type Facade, makeFacade, TENANT, TOKEN } from './facade.ts';

let facade: Facade;
let serving: Serving;
beforeEach(async () => {
  facade = await makeFacade();
  serving = await serve(facade.app, { host: '127.0.0.1', port: 0 });
  const secrets = [{ name: 'KEPT', value: 'canary-kept' }];
  expect((await facade.call('POST', '/v2/deployments', aBody({ secrets }))).status).toBe(201);
});
afterEach(() => serving.close());

function secrets(args: readonly string[], world: CliWorld = {}): Promise<CliRan> {
  const api = makeHttpApi({ server: serving.url, token: TOKEN, namespace: TENANT.namespace });
  return runCli(['secrets', 'shop', ...args], { ...world, api });
}
function record(): AppDeployment {
  const [found] = facade.records.list();
  if (found === undefined) throw new Error('there is no record');
  return found;
}
const names = (): string[] => record().spec.secrets.map(({ name }) => name);

it('sets one variable beside the others, and removes it', async () => {
  const set = await secrets(['set', 'API_KEY'], { input: 'canary-new\n' });
  expect(set).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringMatching(/^API_KEY of shop is set; revision shop--/),
  });
  expect(names()).toEqual(['KEPT', 'API_KEY']);
  const { body } = await facade.call('GET', `/v2/deployments/${record().metadata.uid}`);
  expect(body.secrets).toContainEqual({ name: 'API_KEY', value: 'canary-new' });

  const again = await secrets(['set', 'API_KEY'], { input: 'canary-new' });
  expect(again.out).toBe('API_KEY of shop is set, as it was before: no new revision.');
  const removed = await secrets(['unset', 'API_KEY']);
  expect(removed).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^API_KEY of shop is removed; revision shop--/),
  });
  expect(names()).toEqual(['KEPT']);
  expect([set, again, removed].map(({ out, err }) => `${out}${err}`).join('')).not.toContain('canary');
});

it.each<[string, string[], CliWorld, number, RegExp]>([
  ['a variable of the platform', ['set', 'PORT'], { input: '1' }, 1, /PORT|platform/],
  ['a name that is none', ['set', '1-A'], { input: '1' }, 2, /not beginning with a digit/],
  ['one that is not there', ['unset', 'NONE'], {}, 1, /NONE/],
])('refuses %s', async (_what, args, world, code, words) => {
  expect(await secrets(args, world)).toMatchObject({ code, err: expect.stringMatching(words) });
  expect(names()).toEqual(['KEPT']);
});
