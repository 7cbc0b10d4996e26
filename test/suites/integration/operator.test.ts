// The operator that src/runtime/README.md shows, twice, on a real API server.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  LEASES,
  NAMESPACES,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { type ClusterAccess, loadKubeConfigFile } from '../../../src/runtime/kube/config.ts';
import { type HttpKubeClient, makeKubeClient } from '../../../src/runtime/kube/http-client.ts';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { freePort } from '../../cluster/control-plane.ts';
import { eventually } from '../../support/running-davit.ts';
import { runOperator } from './operator.ts';

const GREETINGS = { group: 'example.dev', version: 'v1', kind: 'Greeting', plural: 'greetings', namespaced: true };
const namespace = 'greetings';
const ref = { namespace, name: 'hello' };

let cluster: Cluster;
let access: ClusterAccess;
let client: HttpKubeClient;
interface Running {
  readonly port: number;
  readonly done: Promise<void>;
  stop(): Promise<void>;
}
const running: Running[] = [];

beforeAll(async () => {
  cluster = await startCluster({ pods: 'off' });
  access = await loadKubeConfigFile({ path: cluster.kubeconfig });
  client = makeKubeClient({ access, userAgent: 'test' });
  await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const object = (properties: object): object => ({ type: 'object', properties });
  const spec = { ...object({ text: { type: 'string' } }), required: ['text'] };
  const status = object({ observedGeneration: { type: 'integer' }, text: { type: 'string' } });
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'greetings.example.dev' },
    spec: {
      group: GREETINGS.group,
      names: { kind: GREETINGS.kind, plural: GREETINGS.plural },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: object({ spec, status }) },
        },
      ],
    },
  } as KubeObject);
  for (let count = 0; count < 2; count += 1) {
    const port = await freePort('127.0.0.1');
    const ends = new AbortController();
    const done = runOperator(access, namespace, port, ends.signal);
    await eventually(() => page({ port }, '/livez'));
    running.push({
      port,
      done,
      async stop() {
        ends.abort();
        await done;
      },
    });
  }
}, 900_000);

afterAll(async () => {
  await Promise.all(running.map((one) => one.stop()));
  await client?.close();
  await cluster?.stop();
}, 60_000);

const greet = (text: string): Promise<KubeObject> =>
  client.apply(
    GREETINGS,
    { apiVersion: 'example.dev/v1', kind: 'Greeting', metadata: ref, spec: { text } } as KubeObject,
    { fieldManager: 'person' },
  );
const said = async (): Promise<string | undefined> =>
  (await client.get<KubeObject & { data?: { text?: string } }>(CONFIG_MAPS, ref)).data?.text;
const page = async ({ port }: Pick<Running, 'port'>, path: string): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}${path}`)).text();
const leads = async (one: Running): Promise<boolean> => /^greeter_leader\{.*\} 1$/m.test(await page(one, '/metrics'));

describe('an operator of sixty lines', () => {
  it('makes a child, reports a status, repairs what somebody changes, and then writes nothing', async () => {
    await greet('hello');
    await eventually(async () => expect(await said()).toBe('hello'));
    await eventually(async () =>
      expect(await client.get(GREETINGS, ref)).toMatchObject({ status: { observedGeneration: 1, text: 'hello' } }),
    );
    await client.mergePatch(CONFIG_MAPS, ref, { data: { text: 'changed' } });
    await eventually(async () => expect(await said()).toBe('hello'));
    const versions = async (): Promise<unknown[]> =>
      [await client.get(GREETINGS, ref), await client.get(CONFIG_MAPS, ref)].map((one) => one.metadata.resourceVersion);
    const before = await versions();
    // Both are looked at again, and nothing is written.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await versions()).toEqual(before);
  });

  it('has one leader, whose work another process takes over', async () => {
    for (const one of running) expect(await page(one, '/readyz')).toContain('ok');
    const leading = await Promise.all(running.map(leads));
    expect(leading.filter(Boolean)).toHaveLength(1);
    await running[leading.indexOf(true)]?.stop();
    await greet('hello again');
    await eventually(async () => expect(await said()).toBe('hello again'));
    expect(await leads(running[leading.indexOf(false)] as Running)).toBe(true);
    const metrics = await page(running[leading.indexOf(false)] as Running, '/metrics');
    expect(metrics).toMatch(/^greeter_reconcile_total\{controller="greetings",result="done"\} [1-9]/m);
  });

  it('deletes the child before its object goes', async () => {
    const { uid = '' } = (await client.get(GREETINGS, ref)).metadata;
    await client.remove(GREETINGS, ref, { uid });
    await eventually(() => expect(client.get(GREETINGS, ref)).rejects.toThrow('not found'));
    await expect(client.get(CONFIG_MAPS, ref)).rejects.toThrow('not found');
    await Promise.all(running.map((one) => one.stop()));
    expect(await client.get(LEASES, { namespace, name: 'greeter' })).toMatchObject({ spec: { holderIdentity: '' } });
  });

  it('is what the README shows', async () => {
    const readme = await readFile(join(import.meta.dirname, '../../../src/runtime/README.md'), 'utf8');
    const shown = /```ts\n([\s\S]*?)```/.exec(readme)?.[1]?.trim();
    const own = await readFile(join(import.meta.dirname, 'operator.ts'), 'utf8');
    expect(shown).toBe(own.slice(own.indexOf('const GREETINGS')).trim());
  });
});
