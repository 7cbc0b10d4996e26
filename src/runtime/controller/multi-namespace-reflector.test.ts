import { pino } from 'pino';
import { afterEach, expect, it, vi } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { makeFakeKube } from '../../../test/support/fake-kube/fake-kube.ts';
import { Forbidden } from '../errors.ts';
import { CONFIG_MAPS, NAMESPACES } from '../kube/api-resources.ts';
import type { KubeObject } from '../kube/client.ts';
import { cacheMaker, combineReflectors } from './multi-namespace-reflector.ts';
import { makeReflector, type Reflector } from './reflector.ts';

let stopping = new AbortController();
afterEach(() => {
  stopping.abort();
  stopping = new AbortController();
});

function aConfigMap(namespace: string): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: 'a' } };
}

it('are one store, in which other namespaces have nothing', async () => {
  const kube = makeFakeKube();
  const clock = makeFakeClock();
  const watching = { client: kube, log: pino({ level: 'silent' }) };
  const both: Reflector = cacheMaker(watching, ['t1', 't2'])(CONFIG_MAPS, { clock });
  const told: string[] = [];
  both.onChange(({ type, object }) => told.push(`${type} ${object.metadata.namespace}/${object.metadata.name}`));
  for (const namespace of ['t1', 't2', 't3']) kube.seed(CONFIG_MAPS, aConfigMap(namespace));
  kube.seed(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 't2' } });
  kube.failOn(({ verb, ref }) => (verb === 'list' && ref?.namespace === 't2' ? new Forbidden('not yet') : undefined));
  void both.run(stopping.signal);
  await clock.advance(0);
  expect(both.hasSynced()).toBe(false);
  expect(both.status()).toMatchObject({ synced: false, lastError: 'not yet' });
  expect(both.observedResourceVersion()).toBe('0');
  kube.failOn(undefined);
  await clock.advance(1000);
  expect(both.hasSynced()).toBe(true);
  expect(told.sort()).toEqual(['added t1/a', 'added t2/a']);
  expect(both.list()).toHaveLength(2);
  expect(both.list('t3')).toEqual([]);
  expect(both.get({ namespace: 't2', name: 'a' })).toBeDefined();
  expect(both.byUid(both.get({ namespace: 't2', name: 'a' })?.metadata.uid ?? '')?.metadata.namespace).toBe('t2');
  expect(both.isAtLeast({ namespace: 't1', name: 'a' }, '99999')).toBe(false);
  // There it will never show anything: nothing to wait for.
  expect(both.isAtLeast({ namespace: 't3', name: 'a' }, '99999')).toBe(true);
});

it('a deletion is told only to the cache that has the object', async () => {
  const kube = makeFakeKube();
  const clock = makeFakeClock();
  const parts = ['t1', 't2'].map((namespace) => {
    kube.seed(CONFIG_MAPS, aConfigMap(namespace));
    return makeReflector({ client: kube, log: pino({ level: 'silent' }), resource: CONFIG_MAPS, namespace, clock });
  });
  const told = parts.map((part) => vi.spyOn(part, 'overlayDeleted'));
  const both = combineReflectors(new Map(parts.map((part) => [part.namespace ?? '', part])));
  void both.run(stopping.signal);
  await clock.advance(0);
  const { uid = '', resourceVersion = '' } = both.get({ namespace: 't2', name: 'a' })?.metadata ?? {};
  both.overlayDeleted(uid, resourceVersion);
  expect(told.map(({ mock }) => mock.calls.length)).toEqual([0, 1]);
  expect(both.list()).toHaveLength(1);
});

it('are none to be combined where none are named', () => {
  expect(() => combineReflectors(new Map())).toThrow('none given');
});
