// Secrets that records name change, on a real API server: each content is rolled out once, and its values are nowhere.

import { beforeAll, expect, inject, it } from 'vitest';
import { aManifest } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
beforeAll(async () => {
  tenant = await davit.tenant('rotation');
});

const kubectl = (...args: readonly string[]): Promise<string> => davit.kubectl(['-n', tenant.namespace, ...args]);

function secret(name: string, value: string): object {
  const metadata = { name, namespace: tenant.namespace };
  return { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { value } };
}
async function put(name: string, value: string): Promise<void> {
  await davit.kubectl(['apply', '-f', '-'], secret(name, value));
}

/** One more for every roll, and for nothing else in these tests. */
async function rolls(): Promise<number> {
  return Number(await kubectl('get', 'deployment', 'turning', '-o', 'jsonpath={.metadata.generation}'));
}
async function untilReady(): Promise<void> {
  await kubectl('wait', '--for=condition=Ready', 'appd/turning', '--timeout=180s');
}
/** Long enough that what is held back would have happened. */
const aWhile = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2500));

it('each content is rolled out once, together with simultaneous changes', async () => {
  await put('first', 'canary-one');
  await put('second', 'canary-two');
  await davit.kubectl(
    ['apply', '-f', '-'],
    aManifest(
      { name: 'turning', namespace: tenant.namespace },
      {
        secretReferences: ['first', 'second'].map((name) => ({
          name: name.toUpperCase(),
          secretName: name,
          secretKey: 'value',
        })),
      },
    ),
  );
  await untilReady();
  expect(await rolls()).toBe(1);

  await put('first', 'canary-three');
  await put('second', 'canary-four');
  await eventually(async () => expect(await rolls()).toBe(2));
  await untilReady();

  // Gone and back with the same content; another controller; then again, with other content.
  await kubectl('delete', 'secret', 'first');
  await eventually(async () =>
    expect(
      await kubectl(
        'get',
        'appd',
        'turning',
        '-o',
        'jsonpath={.status.conditions[?(@.type=="ReferencesResolved")].message}',
      ),
    ).toContain('Secret first'),
  );
  await put('first', 'canary-three');
  await untilReady();
  await davit.killPart('controller');
  await put('second', 'canary-five');
  await eventually(async () => expect(await rolls()).toBe(3));
  await untilReady();
  await aWhile();
  expect(await rolls()).toBe(3);
  expect(await kubectl('get', 'appr', '-o', 'jsonpath={.items[*].status.state}')).toBe('DEPLOYED');
});

it('values are only in their Secrets', async () => {
  const kinds = 'appd,appr,deployments,replicasets,statefulsets,pods,events';
  const everything = await davit.kubectl(['get', kinds, '-A', '-o', 'yaml']);
  for (const value of ['canary-one', 'canary-three', 'canary-five']) {
    for (const form of [value, Buffer.from(value).toString('base64')]) expect(everything).not.toContain(form);
  }
});

it("the key is in Davit's namespace, and is immutable", async () => {
  const key = await davit.kubectlJson<{ immutable: boolean; data: Record<string, string> }>([
    '-n',
    'davit-system',
    'get',
    'secret',
    'davit-hmac',
  ]);
  expect(key.immutable).toBe(true);
  expect(Buffer.from(key.data['key'] ?? '', 'base64')).toHaveLength(32);
});
