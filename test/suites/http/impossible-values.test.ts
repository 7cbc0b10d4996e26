// Values that no parameter can have: each is refused with what is wrong, or has no effect. None is an internal error.

import { afterAll, beforeEach, expect, it } from 'vitest';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { makeFacade, TENANT, TOKEN } from './facade.ts';

const facade = await makeFacade({ http: { ...defaultSettings().http, requestsPerMinute: 0 } });
let id: string;
// A test of its own may have deleted it.
beforeEach(() => {
  if (facade.records.byUid(id) !== undefined) return;
  id = facade.seed({ metadata: { name: 'own' } }).metadata.uid ?? '';
  const labels = {
    'davit.dev/deployment': 'own',
    'davit.dev/deployment-uid': id,
    'davit.dev/component': 'server',
    'davit.dev/revision': revisionOf(id),
  };
  facade.kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'own-1', namespace: TENANT.namespace, labels },
    status: { containerStatuses: [{ name: 'server', containerID: 'x' }] },
  } as KubeObject);
  facade.kube.texts.set(
    `/api/v1/namespaces/${TENANT.namespace}/pods/own-1/log?container=server`,
    `${IMPOSSIBLE_TIMES.map((time) => `${time} x\n`).join('')}`,
  );
});
const revisionOf = (of: string): string => serialRevisionId(of, 1);
afterAll(() => facade.app.close());

/** In the form of a time, and no time; or none that RFC 3339 can write in UTC. */
const IMPOSSIBLE_TIMES = [
  '9999-99-99T99:99:99.999999999Z',
  '2026-13-01T00:00:00.000000000Z',
  '2026-01-01T25:00:00.000000000Z',
  '2026-01-01T00:00:00.000000000+99:99',
  '0000-01-01T00:00:00.000000000+23:59',
  '9999-12-31T23:59:59.000000000-23:59',
];
const packed = (text: string): string => Buffer.from(text).toString('base64url');
const HOSTILE: readonly unknown[] = [
  -1,
  0,
  1,
  1.5,
  1e21,
  1e308,
  2 ** 31,
  2 ** 53 - 1,
  2 ** 53,
  2 ** 64,
  '1e3',
  '-0',
  '0x10',
  ' 1',
  '١',
  'NaN',
  '',
  '\0',
  '%',
  '%zz',
  '%00',
  '%ff',
  '\uD800',
  '\\',
  '../..',
  '__proto__',
  'toString',
  'null',
  '[]',
  '{}',
  '-999999-01-01T00:00:00Z',
  '+275760-09-13T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
  ...IMPOSSIBLE_TIMES,
  ...IMPOSSIBLE_TIMES.flatMap((time) => [packed(`${time} own-1/server 000000`), packed(`${time} `)]),
  ...IMPOSSIBLE_TIMES.map((time) => `v1~${time}~AAAAAAAA.${time}.0`),
  'v1~zzzzzzzzzzzzz',
  `v1~~${'AAAAAAAA.1.zzzzzzzzz~'.repeat(200)}`,
  'v1~~AAAAAAAA.0.0',
  'v1~1y2p0ij32e8e7~',
  [],
  {},
  true,
];

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly $ref?: string;
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
}
const { paths, components } = (await facade.app.inject('/openapi.json')).json<{
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}>();
const routes = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase() as 'GET',
    path,
    operation,
  })),
);

/** Answers of 500 and more to what `sent` describes. */
async function failures(method: 'GET', url: string, sent: object, of: unknown): Promise<unknown[]> {
  const headers = { 'x-api-key': TOKEN, 'x-tenant-id': TENANT.id };
  const answer = await facade.app.inject({ method, url, headers, ...sent });
  return answer.statusCode < 500 ? [] : [[answer.statusCode, url, of, answer.json<object>()]];
}

it.each(routes)('$name', async ({ method, path, operation }) => {
  const url = path.replace('{revision_id}', revisionOf(id)).replaceAll(/\{\w+\}/g, () => id);
  const found: unknown[] = [];
  const send = async (to: string, sent: object, of: unknown): Promise<void> => {
    found.push(...(await failures(method, to, sent, of)));
  };
  const { schema } = operation.requestBody?.content['application/json'] ?? {};
  const fields = schema?.$ref === undefined ? schema : components.schemas[schema.$ref.split('/').at(-1) ?? ''];
  for (const value of HOSTILE) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    for (const { name, in: place } of operation.parameters ?? []) {
      const encoded = encodeURIComponent(text.toWellFormed());
      if (place === 'query') {
        await send(`${url}?${name}=${encoded}`, {}, value);
        await send(`${url}?${name}=${text.replaceAll(/[^!-~]/g, '')}`, {}, value);
      }
      if (place === 'path')
        await send(
          path.replaceAll(/\{\w+\}/g, () => encoded),
          {},
          value,
        );
      if (place === 'path')
        await send(
          path.replaceAll(/\{\w+\}/g, () => text.replaceAll(/[^!-~]/g, '')),
          {},
          value,
        );
    }
    for (const name of Object.keys(fields?.properties ?? {}))
      for (const more of [{}, { order: 'asc' }])
        await send(url, { payload: { ...more, [name]: value } }, [name, value]);
  }
  expect(found).toEqual([]);
});
