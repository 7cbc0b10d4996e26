// `kubectl davit` as a person runs it: the built file on the PATH, found by kubectl as its plugin. cli-doors.test.ts has its many commands.

import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { aManifest } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';
import { type BuiltPlugin, buildPlugin } from './built-plugin.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
let built: BuiltPlugin;

beforeAll(async () => {
  tenant = await davit.tenant('cli');
  built = await buildPlugin(davit);
});
afterAll(() => built?.close());
const plugin: BuiltPlugin['run'] = (...args) => built.run(...args);

function apply(image: string): Promise<string> {
  return davit.kubectl(
    ['apply', '-f', '-'],
    aManifest({ name: 'shop', namespace: tenant.namespace }, { sourceRevisionConfig: { imageUri: image } }),
  );
}

it('waits, shows the tree, and rolls back', async () => {
  const { namespace } = tenant;
  await apply('registry.example/app:1');
  expect(await plugin('wait', 'shop', '-n', namespace, '--timeout', '180')).toMatchObject({ code: 0, err: '' });
  await apply('registry.example/app:2');
  expect((await plugin('wait', 'shop', '-n', namespace, '--timeout', '180')).out).toMatch(/Ready: /);

  const status = await plugin('status', 'shop', '-n', namespace);
  expect(status.code).toBe(0);
  expect(status.out).toMatch(/^cli\/shop {2}READY\n {2}ok Ready: The latest revision is deployed and serving/);
  expect(status.out).toMatch(/DEPLOYED, active {2}registry\.example\/app:2\n.*DEPLOYED {2}registry\.example\/app:1/);
  expect(status.out).toMatch(/─ postgres {2}1\/1 ready/);
  expect((await plugin('status', '-n', namespace)).out).toMatch(/shop\s+READY/);

  const back = await plugin('rollback', 'shop', '-n', namespace);
  expect(back).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /^What changes from shop--.*\n.*image_uri +registry\.example\/app:2 -> registry\.example\/app:1\nshop is being rolled back to shop--/,
    ),
  });
  const promised = / as (shop--[0-9a-f]{8});/.exec(back.out)?.[1] ?? '';
  await eventually(async () => {
    const image = ['get', 'appr', promised, '-n', namespace, '-o', 'jsonpath={.spec.resolved.image} {.status.state}'];
    expect(await davit.kubectl(image)).toBe('registry.example/app:1 DEPLOYED');
  });
});

it('says what it needs where there is no kubeconfig', async () => {
  const nowhere = ['--kubeconfig', '/dev/null', '-n', tenant.namespace];
  const byHttp = ['--server', davit.apiUrl, '--token', tenant.token];
  for (const [command, ...args] of [
    ['exec', 'shop', ...nowhere, '--', 'true'],
    ['listener', 'revoke', 'edge', ...nowhere],
    ['open', 'shop', '--port', '0', ...nowhere, ...byHttp],
  ])
    expect(await plugin(command ?? '', ...args)).toEqual({
      code: 1,
      out: '',
      err: `${command} needs kubectl and a kubeconfig: Davit's HTTP API cannot do this. Name the kubeconfig with --kubeconfig or KUBECONFIG.\n`,
    });
  expect(await plugin('env', 'shop', 'list', ...nowhere)).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /^env needs kubectl and a kubeconfig, or the address of Davit's HTTP API and a token\. /,
    ),
  });
});

it.each([
  [
    'is not there',
    () => ['-n', 'nowhere'],
    /^Namespace nowhere does not exist, is not a tenant, or you have no role there\. Name another one with --namespace, or ask for davit-viewer or davit-editor in it\.\n$/,
  ],
  [
    'is none of the caller',
    () => ['-n', tenant.namespace, '--as', 'nobody@example.com'],
    /^Namespace cli does not exist, is not a tenant, or you have no role there\. Name another one with --namespace, or ask for davit-viewer or davit-editor in it\.\n$/,
  ],
])('lists nothing of a namespace that %s, and says that once', async (_what, flags, words) => {
  expect(await plugin('status', ...flags())).toEqual({ code: 1, out: '', err: expect.stringMatching(words) });
});
