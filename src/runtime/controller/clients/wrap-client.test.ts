import { expect, it } from 'vitest';
import { makeFakeKube } from '../../../../test/support/fake-kube/fake-kube.ts';
import { CONFIG_MAPS } from '../../kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../kube/client.ts';
import { type Sending, wrapClient } from './wrap-client.ts';

const ref = { namespace: 'team', name: 'a' };
const object: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref };
const mine = new AbortController().signal;

const READS = {
  get: (client) => client.get(CONFIG_MAPS, ref, { signal: mine }),
  list: (client) => client.list(CONFIG_MAPS, { namespace: 'team', signal: mine }),
  listAll: (client) => client.listAll(CONFIG_MAPS, { namespace: 'team', signal: mine }),
} satisfies Requests;
const WRITES = {
  create: (client) => client.create(CONFIG_MAPS, object, { signal: mine }),
  replace: (client) => client.replace(CONFIG_MAPS, object, { signal: mine }),
  apply: (client) => client.apply(CONFIG_MAPS, object, { fieldManager: 'test', signal: mine }),
  mergePatch: (client) => client.mergePatch(CONFIG_MAPS, ref, {}, { signal: mine }),
  jsonPatch: (client) => client.jsonPatch(CONFIG_MAPS, ref, [], { signal: mine }),
  remove: (client) => client.remove(CONFIG_MAPS, ref, { uid: 'u', signal: mine }),
} satisfies Requests;
type Requests = Partial<Record<keyof KubeClient, (client: KubeClient) => Promise<unknown>>>;

/** A client that answers with the options that it was given. */
function echoing(): KubeClient {
  const verbs = Object.keys({ ...READS, ...WRITES });
  const echoes = verbs.map((verb) => [verb, (...all: unknown[]) => Promise.resolve(all.at(-1))] as const);
  return { ...makeFakeKube(), ...Object.fromEntries(echoes) };
}

it.each([
  ...Object.entries(READS).map(([verb, request]) => ({ verb, request, writes: false })),
  ...Object.entries(WRITES).map(([verb, request]) => ({ verb, request, writes: true })),
])('$verb goes through it, and keeps what its caller has said', async ({ verb, request, writes }) => {
  const seen: Sending[] = [];
  const another = new AbortController().signal;
  const client = wrapClient(echoing(), (sending, send) => {
    seen.push(sending);
    return send({ signal: another });
  });
  const given: unknown = await request(client);
  expect(seen).toEqual([{ writes, namespace: 'team', signal: mine }]);
  expect(given).toMatchObject({
    ...(verb === 'apply' && { fieldManager: 'test' }),
    ...(verb === 'remove' && { uid: 'u' }),
    ...(verb.startsWith('list') && { namespace: 'team' }),
  });
  expect((given as { signal: unknown }).signal).toBe(another);
});

it('a list of all namespaces is in none', async () => {
  const seen: string[] = [];
  const client = wrapClient(echoing(), ({ namespace }, send) => {
    seen.push(namespace);
    return send();
  });
  await client.listAll(CONFIG_MAPS);
  expect(seen).toEqual(['']);
});
