// Who reaches a deployment, on a real API server: its policy follows the list, and the recipe of a lock in docs/deploy.md is taken as it
// stands there.

import { beforeAll, expect, inject, it } from 'vitest';
import { fences, textOf } from '../../support/documents/documented.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
beforeAll(async () => {
  tenant = await davit.tenant('access');
});

const inTenant = (...args: string[]): Promise<string> => davit.kubectl([...args, '-n', tenant.namespace]);
const until = (object: string, path: string): Promise<string> =>
  inTenant('wait', object, `--for=jsonpath=${path}`, '--timeout=60s');

it("the documents' lock runs beside the agent, and the list of namespaces is the policy of the server, without a new revision", async () => {
  const [manifest] = fences(textOf('docs/deploy.md'), 'yaml').filter((text) => text.includes('guarded-lock'));
  await davit.kubectl(['apply', '--validate=strict', '-n', tenant.namespace, '-f', '-'], manifest);
  await until('appd/guarded', '{.status.phase}=DEPLOYED');
  const lock = '{.spec.template.spec.initContainers[?(@.name=="lock")].volumeMounts[0].mountPath}';
  expect(await inTenant('get', 'deployment', 'guarded', '-o', `jsonpath=${lock}`)).toBe('/etc/nginx/conf.d');
  const revision = await inTenant('get', 'appd', 'guarded', '-o', 'jsonpath={.status.latestRevisionId}');

  const policy = `networkpolicy/guarded--server`;
  const change = (access: object): Promise<string> =>
    inTenant('patch', 'appd', 'guarded', '--type=merge', '-p', JSON.stringify({ spec: { sourceConfig: { access } } }));
  await change({ from: ['front'] });
  const label = '.spec.ingress[0].from[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name';
  await inTenant('wait', '--for=create', policy, '--timeout=60s');
  await until(policy, `{${label}}=front`);
  await change({ from: ['back'] });
  await until(policy, `{${label}}=back`);
  await change({ from: null });
  await inTenant('wait', '--for=delete', policy, '--timeout=60s');
  expect(await inTenant('get', 'appd', 'guarded', '-o', 'jsonpath={.status.latestRevisionId}')).toBe(revision);
  await expect(change({ lock: 'nobody' })).rejects.toThrow('no sidecar has this name');
  await expect(change({ from: ['No Namespace'] })).rejects.toThrow('should match');
});
