// What the controller's caches hold of objects that a tenant has given the labels of a deployment. All tenants share that memory.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { APP_LOGS } from '../../../src/kinds/app-log.ts';
import { PODS, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController } from '../../kit/memory/controller.ts';
import { aServer, putRecord } from '../../kit/memory/record.ts';

const LARGE = 'x'.repeat(500_000);
/** More than the used part of an object has. */
const SMALL = 5000;

it('is little of pods, Secrets and Jobs, and whole of the kinds for which docs/tenants.md names quotas', async () => {
  const kube = aServer();
  putRecord(kube);
  const controller = await aController(kube);
  const caches = [controller.caches.pods, controller.caches.tracingProjects, ...controller.caches.children.values()];
  for (const { resource } of caches) {
    const large = {
      apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
      kind: resource.kind,
      metadata: {
        name: 'large',
        namespace: 'team',
        labels: { 'davit.dev/deployment': 'shop' },
        annotations: { note: LARGE },
      },
      spec: { containers: [{ name: 'a', args: [LARGE] }], jobTemplate: { spec: LARGE }, note: LARGE },
      ...(resource === SECRETS && { data: { a: LARGE } }),
    };
    kube.seed(resource, large as KubeObject);
  }
  await controller.reconcile();
  const sizes = caches.map(({ resource, get }) => ({
    resource,
    size: JSON.stringify(get({ namespace: 'team', name: 'large' })).length,
  }));
  const small = sizes.filter(({ size }) => size < SMALL).map(({ resource }) => resource.kind);
  expect(small.toSorted()).toEqual([APP_LOGS.kind, 'CronJob', 'Job', PODS.kind, SECRETS.kind, 'TracingProject']);
  const tenants = readFileSync('docs/tenants.md', 'utf8');
  const quotas = sizes
    .filter(({ size }) => size >= SMALL)
    .map(({ resource: { group, plural } }) => `count/${group === '' ? plural : `${plural}.${group}`}`);
  expect(quotas.filter((quota) => !tenants.includes(`\`${quota}\``))).toEqual([]);
  // Small ones, of which there may be any number.
  for (const quota of ['pods', 'jobs.batch', 'secrets', 'tracingprojects.davit.dev'])
    expect(tenants).toContain(`\`count/${quota}\``);
  // One that Davit has applied is compared, and anybody may write that it has.
  expect(tenants).toContain('`count/cronjobs.batch`');
});
