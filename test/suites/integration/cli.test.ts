// `kubectl davit` as a person runs it: the built file on the PATH, found by kubectl as its plugin.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { aManifest } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { writePlugin } from '../../support/plugin.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
let folder: string;

beforeAll(async () => {
  tenant = await davit.tenant('cli');
  folder = await mkdtemp(join(tmpdir(), 'davit-cli-'));
  await writePlugin(folder);
  await symlink(davit.kubectlPath, join(folder, 'kubectl'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function plugin(...args: string[]): Promise<Ran> {
  const path = [folder, dirname(process.execPath), process.env['PATH']].join(delimiter);
  const env = { ...process.env, KUBECONFIG: davit.kubeconfig, PATH: path };
  try {
    const { stdout, stderr } = await promisify(execFile)(join(folder, 'kubectl'), ['davit', ...args], { env });
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout, err: stderr };
  }
}

function apply(image: string): Promise<string> {
  return davit.kubectl(
    ['apply', '-f', '-'],
    aManifest({ name: 'shop', namespace: tenant.namespace }, { sourceRevisionConfig: { imageUri: image } }),
  );
}

it('waits, shows the tree, and rolls back', async () => {
  const { namespace } = tenant;
  await apply('registry.example/app:1');
  expect(await plugin('wait', 'shop', '-n', namespace, '--timeout', '60')).toMatchObject({ code: 0, err: '' });
  await apply('registry.example/app:2');
  expect((await plugin('wait', 'shop', '-n', namespace, '--timeout', '60')).out).toMatch(/Ready: /);

  const status = await plugin('status', 'shop', '-n', namespace);
  expect(status.code).toBe(0);
  expect(status.out).toMatch(/^cli\/shop {2}READY\n {2}ok Ready: The latest revision is deployed and serving/);
  expect(status.out).toMatch(/DEPLOYED, active {2}registry\.example\/app:2\n.*DEPLOYED {2}registry\.example\/app:1/);
  expect(status.out).toMatch(/─ postgres {2}StatefulSet shop--postgres {2}1\/1 ready/);
  expect((await plugin('status', '-n', namespace)).out).toMatch(/shop\s+READY/);

  const back = await plugin('rollback', 'shop', '-n', namespace);
  expect(back).toMatchObject({ code: 0, out: expect.stringMatching(/^shop is being rolled back to shop--/) });
  const promised = / as (shop--[0-9a-f]{8});/.exec(back.out)?.[1] ?? '';
  await eventually(async () => {
    const image = ['get', 'appr', promised, '-n', namespace, '-o', 'jsonpath={.spec.resolved.image} {.status.state}'];
    expect(await davit.kubectl(image)).toBe('registry.example/app:1 DEPLOYED');
  });
});

it.each([
  ['there is no such deployment', ['status', 'nope'], 1, /NotFound.*"nope"/],
  ['there is no such command', ['fly', 'shop'], 2, /Unknown command "fly"\./],
  ['a name is missing', ['wait'], 2, /Which deployment\?/],
  ['a flag is unknown', ['status', '--colour'], 2, /--colour/],
  ['a number is none', ['wait', 'shop', '--timeout', 'soon'], 2, /--timeout must be a whole number/],
  ['a revision is unknown', ['rollback', 'shop', '--to', 'x'], 1, /No revision matches "x"/],
])('reports the error when %s', async (_name, args, code, words) => {
  const ran = await plugin(...args, '-n', tenant.namespace);
  expect(ran).toMatchObject({ code, err: expect.stringMatching(words) });
});
