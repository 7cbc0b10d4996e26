// Records that another cluster is to run, before a real API server: the same verdict over HTTP and with kubectl.

import { beforeAll, expect, inject, it } from 'vitest';
import { aManifest, aPayload } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Answer, type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
let other: Tenant;
let id: string;

beforeAll(async () => {
  [tenant, other] = [await davit.tenant('listeners'), await davit.tenant('listeners-other')];
  await davit.kubectl(['create', '-f', '-'], {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'edge', namespace: tenant.namespace },
    spec: { namespaces: ['shops'] },
  });
  const uid = ['get', 'lsn', 'edge', '-n', tenant.namespace, '-o', 'jsonpath={.metadata.uid}'];
  id = (await davit.kubectl(uid)).trim();
});

function post(who: Tenant, name: string, namespace: string): Promise<Answer> {
  return davit.call(
    who,
    'POST',
    '/v2/deployments',
    aPayload(name, { source_config: { listener_id: id, listener_config: { k8s_namespace: namespace } } }),
  );
}
function reason(name: string, type: string): Promise<string> {
  const path = `jsonpath={.status.conditions[?(@.type=="${type}")].reason}`;
  return davit.kubectl(['get', 'appd', name, '-n', tenant.namespace, '-o', path]);
}

it('over HTTP: accepted with a Listener of the tenant, and not reconciled', async () => {
  const made = await eventually(async () => {
    const answer = await post(tenant, 'away', 'shops');
    expect([answer.status, answer.body.detail]).toEqual([201, undefined]);
    return answer.body;
  });
  expect(made).toMatchObject({ status: 'UNKNOWN', source_config: { listener_id: id } });
  await eventually(async () => expect(await reason('away', 'Stalled')).toBe('ListenerSilent'));
  expect(await davit.kubectl(['get', 'deployments,apprevisions', '-n', tenant.namespace, '-o', 'name'])).toBe('');
  const { body } = await davit.call(tenant, 'GET', '/v2/deployments?remote_reconciled=true');
  expect(body.resources.map((one: { name: string }) => one.name)).toEqual(['away']);
});

it("over HTTP: rejected with another tenant's Listener, and for a namespace that it does not list", async () => {
  expect((await post(other, 'away', 'shops')).body.detail).toMatchObject([{ msg: 'is not a Listener of this tenant' }]);
  expect((await post(tenant, 'astray', 'kube-system')).body.detail).toMatchObject([
    { loc: ['body', 'source_config', 'listener_config', 'k8s_namespace'] },
  ]);
});

it('with kubectl: a condition', async () => {
  await davit.kubectl(
    ['create', '-f', '-'],
    aManifest(
      { name: 'by-hand', namespace: tenant.namespace },
      { sourceConfig: { listenerId: id, listenerConfig: { k8sNamespace: 'tools' } } },
    ),
  );
  await eventually(async () => expect(await reason('by-hand', 'PolicyAccepted')).toBe('ListenerNotFound'));
  const more = JSON.stringify({ spec: { namespaces: ['shops', 'tools'] } });
  await davit.kubectl(['patch', 'lsn', 'edge', '-n', tenant.namespace, '--type=merge', '-p', more]);
  await eventually(async () => expect(await reason('by-hand', 'PolicyAccepted')).toBe('Accepted'));
});

it('over HTTP: an administrator of the tenant writes listeners, an editor only reads them', async () => {
  const body = { compute_type: 'k8s', compute_id: 'far', compute_config: { k8s_namespaces: ['shops'] } };
  const refused = await davit.call(tenant, 'POST', '/v2/listeners', body);
  expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('"listeners"')]);
  await davit.kubectl(['create', '-f', '-'], {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'admin', namespace: other.namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'davit-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'team', namespace: other.namespace }],
  });
  const made = await eventually(async () => {
    const answer = await davit.call(other, 'POST', '/v2/listeners', body);
    expect(answer.status).toBe(201);
    return answer.body;
  });
  expect(made).toMatchObject({ ...body, connected: false, version: null });
  expect(await davit.call(other, 'POST', '/v2/listeners', body)).toMatchObject({ status: 409 });
  const path = `/v2/listeners/${made.id}`;
  const changed = await davit.call(other, 'PATCH', path, { compute_config: { k8s_namespaces: [] } });
  expect(changed.body.compute_config).toEqual({ k8s_namespaces: null });
  expect((await davit.call(tenant, 'GET', path)).status).toBe(404);
  expect((await davit.call(other, 'DELETE', path)).status).toBe(204);
  await eventually(async () => expect((await davit.call(other, 'GET', path)).status).toBe(404));
});
