// Many revisions on a real API server: how many are kept, which always are, and that there is no way back to the others.

import { beforeAll, expect, inject, it } from 'vitest';
import { aManifest, aPayload } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
beforeAll(async () => {
  tenant = await davit.tenant('history');
});

const body = (name: string, n: number): object => ({
  source_revision_config: { image_uri: `registry.example/${name}:${n}` },
  secrets: [{ name: 'KEY', value: `value-${n}` }],
});

async function kept(): Promise<string[]> {
  const { items } = await davit.kubectlJson<{
    items: { spec: { id: string; deploymentGeneration: number }; status?: { state?: string } }[];
  }>(['get', 'appr', '-n', tenant.namespace]);
  return items.toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration).map(({ spec }) => spec.id);
}

it('of 25 revisions the newest ten are kept, and those that were deployed before many that failed', async () => {
  const created = await davit.call(tenant, 'POST', '/v2/deployments', aPayload('long-lived', body('app', 1)));
  const { id } = created.body;
  const ids: string[] = [created.body.latest_revision_id];
  await davit.kubectl(['wait', '--for=condition=Ready', 'appd/long-lived', '-n', tenant.namespace, '--timeout=180s']);

  async function deployed(name: string, n: number): Promise<void> {
    const { status, body: answer } = await davit.call(tenant, 'PATCH', `/v2/deployments/${id}`, body(name, n));
    expect([status, answer.detail]).toEqual([200, undefined]);
    ids.push(answer.latest_revision_id);
    // Made, so that none of them is overtaken before it is.
    await eventually(async () => {
      const found = await davit.call(tenant, 'GET', `/v2/deployments/${id}/revisions/${answer.latest_revision_id}`);
      expect(found.body.status).not.toBe('CREATING');
    });
  }
  // The stand-in finds no image of this name, so that the first revision goes on serving.
  for (let n = 2; n <= 24; n += 1) {
    await deployed('missing', n);
  }
  await eventually(async () => expect(await kept()).toEqual([ids[0], ...ids.slice(-10)]));
  expect((await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body).toMatchObject({
    status: 'READY',
    active_revision_id: ids[0],
  });

  await deployed('app', 25);
  await davit.kubectl(['wait', '--for=condition=Ready', 'appd/long-lived', '-n', tenant.namespace, '--timeout=180s']);
  const left = [ids[0], ...ids.slice(-10)];
  await eventually(async () => expect(await kept()).toEqual(left));
  const listed = await davit.call(tenant, 'GET', `/v2/deployments/${id}/revisions?limit=100`);
  expect(listed.body.resources.map((one: { id: string }) => one.id)).toEqual(left.toReversed());

  const back = await davit.call(tenant, 'POST', `/v2/deployments/${id}/revisions/${ids[3]}/redeploy`);
  expect([back.status, back.body.detail]).toEqual([404, `Revision ID ${ids[3]} not found.`]);
});

it('with kubectl: a rollback restores values and defaults, and missing values are a condition', async () => {
  const kubectl = (...args: readonly string[]): Promise<string> => davit.kubectl(['-n', tenant.namespace, ...args]);
  const put = async (more: object): Promise<void> => {
    await davit.kubectl(['apply', '-f', '-'], aManifest({ name: 'by-hand', namespace: tenant.namespace }, more));
    await eventually(async () => {
      const seen =
        '{.metadata.generation}/{.status.observedGeneration}/{.status.conditions[?(@.type=="Ready")].status}';
      const [generation, observed, ready] = (await kubectl('get', 'appd', 'by-hand', '-o', `jsonpath=${seen}`)).split(
        '/',
      );
      expect([observed, ready]).toEqual([generation, 'True']);
    });
  };
  const image = (tag: number): object => ({ sourceRevisionConfig: { imageUri: `registry.example/app:${tag}` } });
  const shown = (path: string): Promise<string> => kubectl('get', 'appd', 'by-hand', '-o', `jsonpath={${path}}`);
  const said = (): Promise<string> =>
    kubectl('get', 'events', '--field-selector', 'reason=RollbackIgnored', '-o', 'jsonpath={.items[*].message}');

  await put(image(1));
  const first = await shown('.status.latestRevisionId');
  await put(image(2));
  await put({ ...image(1), rollbackTo: first, revisionSerial: 1 });
  expect(await shown('.status.image')).toBe('registry.example/app:1');
  expect(await shown('.status.activeRevisionId')).toBe(await shown('.status.latestRevisionId'));
  expect(await said()).toBe('');

  await put({ ...image(2), rollbackTo: first, revisionSerial: 2 });
  expect(await shown('.status.image')).toBe('registry.example/app:2');
  await eventually(async () => expect(await said()).toContain('has other values than that revision'));
});
