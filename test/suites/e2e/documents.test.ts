// The commands of docs/api.md and those of docs/start.md, run as they stand there by a shell that has curl, kubectl
// and nothing of ours.

import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { quantity } from '../../../src/kinds/quantity.ts';
import { fences, openShell, type Shell, scriptsOf, textOf } from '../../support/documents/documented.ts';
import { type Attached, attach } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let shell: Shell;
beforeAll(async () => {
  shell = await openShell(davit.kubeconfig, { kubectl: davit.kubectlPath });
});
afterAll(() => shell.close());

it.skipIf(davit.node !== 'real')('a new user gets from nothing to a deployment, and back', async () => {
  const blocks = scriptsOf('docs/api.md', '## From nothing to a deployment, and back');
  expect(blocks.length).toBeGreaterThan(8);
  // What each block printed, apart from the others.
  const script = blocks.map((commands, n) => `printf '\\n== %s\\n' ${n}\n${commands}`).join('\n');
  const out = await shell.run([script], { API: davit.apiUrl, IMAGE: davit.images.sample });
  const printed = out.split(/\n== \d+\n/);
  const list = printed.find((text) => text.startsWith('{"resources":[{'));
  expect(list).toMatch(/"name":"shop".*"value":""/);
  expect(list).not.toContain('correct horse');
  expect(out).toContain('"status":"DEPLOYED"');
  expect(out).toMatch(/\{"logs":\[\{"id":/);
});

interface Pods {
  readonly items: {
    readonly spec: { readonly containers: { readonly resources: { readonly requests: { readonly cpu: string } } }[] };
  }[];
}

it.skipIf(davit.node !== 'real')(
  'the examples of docs/start.md are READY on two cores, beside a sample without sizes',
  async () => {
    const tenant = await davit.tenant('readme');
    const inTenant = (...args: readonly string[]): Promise<string> => davit.kubectl(['-n', tenant.namespace, ...args]);
    const hello = {
      name: 'hello',
      source: 'external_docker',
      source_config: {},
      source_revision_config: { image_uri: davit.images.sample },
      secrets: [],
    };
    expect(await davit.call(tenant, 'POST', '/v2/deployments', hello)).toMatchObject({ status: 201 });
    // What the demo's line of exports sets.
    const kubeconfig = join(shell.folder, 'demo-kubeconfig');
    await copyFile(davit.kubeconfig, kubeconfig);
    await davit.kubectl(['config', 'set-context', '--current', '--namespace=readme', '--kubeconfig', kubeconfig]);

    const [, section = ''] = textOf('docs/start.md').split('\n## A deployment\n');
    await writeFile(join(shell.folder, 'shop.yaml'), fences(section, 'yaml')[0] ?? '');
    const typed = [...(fences(section, 'console')[0] ?? '').matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command);
    const curl = fences(section, 'sh')[0] ?? '';
    expect([typed.length, curl]).toEqual([4, expect.stringContaining('"name": "cart"')]);
    const out = await shell.run([`export KUBECONFIG=${kubeconfig}`, ...typed, curl], {
      API: davit.apiUrl,
      TOKEN: tenant.token,
    });
    expect(out).toMatch(/shop +READY +DEPLOYED +True +1\/1/);
    await inTenant('wait', '--for=condition=Ready', 'appd', '--all', '--timeout=120s');
    expect((await inTenant('get', 'appd', '-o', 'name')).trim().split('\n')).toHaveLength(3);

    const { items } = await davit.kubectlJson<Pods>(['get', 'pods', '-n', tenant.namespace]);
    const cores = items
      .flatMap(({ spec }) => spec.containers)
      .reduce((sum, { resources }) => sum + Number(quantity(resources.requests.cpu)), 0);
    expect([items.length, cores < 2]).toEqual([9, true]);
    await inTenant('delete', 'appd', '--all', '--timeout=120s');
  },
);
