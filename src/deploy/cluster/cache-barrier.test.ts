import { pino } from 'pino';
import { expect, it } from 'vitest';
import { makeFakeKube } from '../../../test/support/fake-kube/fake-kube.ts';
import { APP_DEPLOYMENTS } from '../../kinds/app-deployment.ts';
import { Forbidden, Unavailable } from '../../runtime/errors.ts';
import { INGRESSES } from '../../runtime/kube/api-resources.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { type CatchUpOptions, waitForFreshCaches } from './cache-barrier.ts';

const log = pino({ level: 'silent' });

/** Caches that are up to date except for the objects named in `behind`. */
function caches(behind: Set<string>): CatchUpOptions['caches'] {
  const cache = (resource: object): object => ({
    resource,
    isInstalled: () => true,
    isAtLeast: ({ name }: { name: string }) => !behind.has(name),
  });
  const namespaces = { get: ({ name }: { name: string }) => (name === 'gone' ? undefined : {}) };
  const all = { records: cache(APP_DEPLOYMENTS), addresses: cache(INGRESSES), namespaces };
  return all as unknown as CatchUpOptions['caches'];
}

it.each(['a record', 'an address'])('waits until the caches show %s that the previous leader wrote', async (what) => {
  const kube = makeFakeKube();
  const labels = { 'davit.dev/deployment': 'late' };
  const late = (kind: string): KubeObject => ({
    apiVersion: '',
    kind,
    metadata: { namespace: 'team', name: 'late', labels },
  });
  if (what === 'a record') kube.seed(APP_DEPLOYMENTS, late('AppDeployment'));
  else kube.seed(INGRESSES, late('Ingress'));
  let refusals = 2;
  kube.failOn(({ verb }) => (verb === 'list' && refusals-- > 0 ? new Unavailable('busy') : undefined));
  const behind = new Set(['late']);
  let isDone = false;
  const done = waitForFreshCaches({
    client: kube,
    caches: caches(behind),
    namespaces: [],
    log,
    signal: new AbortController().signal,
  }).then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(isDone).toBe(false);
  behind.clear();
  await done;
  expect(isDone).toBe(true);
});

it('does not wait for a namespace that was deleted with its Role', async () => {
  const kube = makeFakeKube();
  kube.failOn(({ ref }) => (ref.namespace === 'gone' ? new Forbidden('no Role') : undefined));
  const { signal } = new AbortController();
  await waitForFreshCaches({ client: kube, caches: caches(new Set()), namespaces: ['team', 'gone'], log, signal });
});

it('does not wait for a foreign Ingress, and stops waiting when leadership is lost', async () => {
  const kube = makeFakeKube();
  const foreign = { apiVersion: '', kind: 'Ingress', metadata: { namespace: 'team', name: 'foreign' } };
  kube.seed(INGRESSES, foreign);
  const leading = new AbortController();
  const options = { client: kube, namespaces: ['team'], log, signal: leading.signal };
  await waitForFreshCaches({ ...options, caches: caches(new Set(['foreign'])) });
  kube.seed(APP_DEPLOYMENTS, { ...foreign, kind: 'AppDeployment' });
  const done = waitForFreshCaches({ ...options, caches: caches(new Set(['foreign'])) });
  leading.abort();
  await done;
});
