// The main line on a real API server: a record made at either door becomes children, status and, in the end, nothing.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import { FIELD_MANAGER } from '../../../src/kinds/meta.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aManifest, aPayload, NO_STORES } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
beforeAll(async () => {
  tenant = await davit.tenant('line');
});

interface Listed {
  readonly items: {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly resourceVersion: string };
  }[];
}

function record(name: string, spec: object = {}): object {
  return aManifest({ name, namespace: tenant.namespace }, spec);
}

async function statusOf(id: string): Promise<string> {
  return (await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body.status;
}

async function untilReady(name: string): Promise<void> {
  await davit.kubectl(['wait', '--for=condition=Ready', `appd/${name}`, '-n', tenant.namespace, '--timeout=180s']);
}

async function condition(
  name: string,
  type: string,
): Promise<{ status: string; reason: string; message: string } | undefined> {
  const { status } = await davit.kubectlJson<{
    status?: { conditions?: { type: string; status: string; reason: string; message: string }[] };
  }>(['get', 'appd', name, '-n', tenant.namespace]);
  return status?.conditions?.find((one) => one.type === type);
}

/** Every namespaced object there is, of every kind, except what Kubernetes itself keeps in a namespace. */
async function everything(namespace: string): Promise<string[]> {
  const kinds = (await davit.kubectl(['api-resources', '--verbs=list', '--namespaced', '-o', 'name']))
    .trim()
    .split('\n');
  const listed = kinds.filter((kind) => !kind.startsWith('events'));
  const { items } = await davit.kubectlJson<Listed>(['get', listed.join(','), '-n', namespace]);
  return items.map((item) => `${item.kind} ${item.metadata.name}`);
}

describe('over HTTP', () => {
  it('a deployment goes from AWAITING_DATABASE to READY over HTTP and with kubectl', async () => {
    const created = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('by-http', { secrets: [{ name: 'API_KEY', value: 'canary-7f3a' }] }),
    );
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      name: 'by-http',
      source: 'external_docker',
      status: 'AWAITING_DATABASE',
      active_revision_id: null,
      tenant_id: tenant.id,
      secrets: [{ name: 'API_KEY', value: 'canary-7f3a' }],
    });
    await untilReady('by-http');
    await eventually(async () => expect(await statusOf(created.body.id)).toBe('READY'));
    const { body } = await davit.call(tenant, 'GET', `/v2/deployments/${created.body.id}`);
    expect(body.active_revision_id).toBe(created.body.latest_revision_id);
    const listed = await davit.call(tenant, 'GET', '/v2/deployments?name=by-http');
    expect(listed.body.resources[0].secrets).toEqual([{ name: 'API_KEY', value: '' }]);
    expect(await davit.kubectl(['get', 'appd', 'by-http', '-n', tenant.namespace])).toMatch(/by-http\s+READY/);
  });

  it('creates a tracing project of the same name', async () => {
    const project = await davit.kubectlJson<{ status: { deploymentUid: string } }>([
      'get',
      'trp',
      'by-http',
      '-n',
      tenant.namespace,
    ]);
    const { metadata } = await davit.kubectlJson<{ metadata: { uid: string } }>([
      'get',
      'appd',
      'by-http',
      '-n',
      tenant.namespace,
    ]);
    expect(project.status.deploymentUid).toBe(metadata.uid);
  });

  it("a secret's value is only in its Secret", async () => {
    const kinds = 'appd,appr,trp,deployments,statefulsets,services,configmaps,pods,events,networkpolicies';
    expect(await davit.kubectl(['get', kinds, '-A', '-o', 'yaml'])).not.toContain('canary-7f3a');
  });

  it('a taken name is 409, and leaves no Secret', async () => {
    const before = await davit.kubectlJson<Listed>(['get', 'secrets', '-n', tenant.namespace]);
    const again = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('by-http', { secrets: [{ name: 'A', value: 'x' }] }),
    );
    expect([again.status, again.body.detail]).toEqual([
      409,
      expect.stringMatching(/^A deployment named "by-http" already exists\. .* GET \/v2\/deployments\?name=by-http /),
    ]);
    const after = await davit.kubectlJson<Listed>(['get', 'secrets', '-n', tenant.namespace]);
    expect(after.items.map((item) => item.metadata.name)).toEqual(before.items.map((item) => item.metadata.name));
  });

  it('all errors of the schema are answered at once, each with its location, and then those of the rules', async () => {
    const { status, body } = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('Bad--Name', {
        source_config: { resource_spec: { cpu: 0, memory_mb: 'much' } },
        source_revision_config: {},
      }),
    );
    expect(status).toBe(422);
    expect(body.detail.map((finding: { loc: string[] }) => finding.loc.join('.'))).toEqual(
      expect.arrayContaining([
        'body.name',
        'body.source_config.resource_spec.cpu',
        'body.source_config.resource_spec.memory_mb',
      ]),
    );
    const corrected = aPayload('good-name', { source_config: {}, source_revision_config: {} });
    const rules = await davit.call(tenant, 'POST', '/v2/deployments', corrected);
    expect([rules.status, rules.body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'))]).toEqual([
      422,
      ['body.source_revision_config.image_uri'],
    ]);
  });
});

describe('with kubectl', () => {
  it('the same record comes up the same way, and HTTP shows it', async () => {
    await davit.kubectl(['apply', '-f', '-'], record('by-kubectl'));
    await untilReady('by-kubectl');
    await eventually(async () => {
      const { body } = await davit.call(tenant, 'GET', '/v2/deployments?name=by-kubectl');
      expect(body.resources[0]).toMatchObject({ name: 'by-kubectl', status: 'READY' });
    });
  });

  it('only its own pods can reach its database and Redis, on their ports', async () => {
    const { items } = await davit.kubectlJson<{ items: { metadata: { name: string }; spec: object }[] }>([
      'get',
      'networkpolicies',
      '-n',
      tenant.namespace,
      '-l',
      'davit.dev/deployment=by-kubectl',
    ]);
    const closed = (component: string, port: number): object => ({
      podSelector: { matchLabels: { 'davit.dev/deployment': 'by-kubectl', 'davit.dev/component': component } },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [
            {
              podSelector: {
                matchLabels: { 'davit.dev/deployment': 'by-kubectl' },
                matchExpressions: [
                  {
                    key: 'davit.dev/component',
                    operator: 'In',
                    values: ['server', 'queue', 'orchestrator', 'executor', 'migrate', 'task'],
                  },
                ],
              },
            },
          ],
          ports: [{ port, protocol: 'TCP' }],
        },
      ],
    });
    expect(Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec]))).toEqual({
      'by-kubectl--postgres': closed('postgres', 5432),
      'by-kubectl--redis': closed('redis', 6379),
    });
  });

  it('a source that the hosting mode does not allow is rejected over HTTP and with kubectl', async () => {
    await expect(davit.kubectl(['apply', '-f', '-'], record('cloudy', { source: 'internal_docker' }))).rejects.toThrow(
      /self-hosted/,
    );
    const { status, body } = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('cloudy', { source: 'internal_docker' }),
    );
    expect([status, body.detail[0].loc]).toEqual([422, ['body', 'source']]);
  });

  it('a change of source is refused', async () => {
    await expect(
      davit.kubectl([
        'patch',
        'appd',
        'by-kubectl',
        '-n',
        tenant.namespace,
        '--type=merge',
        '-p',
        '{"spec":{"source":"codehost"}}',
      ]),
    ).rejects.toThrow(/source cannot be changed/);
  });
});

describe('missing and conflicting objects are conditions that resolve automatically', () => {
  it('a missing Secret, then a missing key', async () => {
    await davit.kubectl(
      ['apply', '-f', '-'],
      record('needs-secret', {
        sourceConfig: NO_STORES,
        secretReferences: [{ name: 'TOKEN', secretName: 'mine', secretKey: 'token' }],
      }),
    );
    await eventually(async () =>
      expect(await condition('needs-secret', 'ReferencesResolved')).toMatchObject({
        status: 'False',
        reason: 'SecretMissing',
        message: expect.stringContaining('Secret mine'),
      }),
    );
    await davit.kubectl(['create', 'secret', 'generic', 'mine', '-n', tenant.namespace, '--from-literal=other=1']);
    await eventually(async () =>
      expect(await condition('needs-secret', 'ReferencesResolved')).toMatchObject({
        reason: 'SecretKeyMissing',
        message: expect.stringContaining('key token in Secret mine'),
      }),
    );
    await davit.kubectl(['patch', 'secret', 'mine', '-n', tenant.namespace, '-p', '{"stringData":{"token":"t"}}']);
    await untilReady('needs-secret');
  });

  it('an image that cannot be pulled, and a corrected one', async () => {
    await davit.kubectl(
      ['apply', '-f', '-'],
      record('no-image', { sourceConfig: NO_STORES, sourceRevisionConfig: { imageUri: 'registry.example/missing:1' } }),
    );
    await eventually(async () =>
      expect(await condition('no-image', 'WorkloadsReady')).toMatchObject({
        status: 'False',
        reason: 'ImagePullFailed',
        message: expect.stringContaining('registry.example/missing:1'),
      }),
    );
    await davit.kubectl(['apply', '-f', '-'], record('no-image', { sourceConfig: NO_STORES }));
    await untilReady('no-image');
  });

  it('a volume that the kubelet cannot mount, with its message', async () => {
    await davit.kubectl(
      ['apply', '-f', '-'],
      record('unmounted', {
        sourceConfig: NO_STORES,
        sourceRevisionConfig: { imageUri: 'registry.example/unmounted:1' },
      }),
    );
    const uid = await eventually(async () => {
      const selected = 'davit.dev/deployment=unmounted,davit.dev/component=server';
      const uids = await davit.kubectl([
        'get',
        'pods',
        '-n',
        tenant.namespace,
        '-l',
        selected,
        '-o',
        'jsonpath={.items[*].metadata.uid}',
      ]);
      expect(uids).not.toBe('');
      return uids;
    });
    // As the kubelet makes it.
    await davit.kubectl(['create', '-f', '-'], {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'unmounted.1', namespace: tenant.namespace },
      involvedObject: { kind: 'Pod', namespace: tenant.namespace, name: 'unmounted', uid },
      reason: 'FailedMount',
      type: 'Warning',
      source: { component: 'kubelet' },
      message: 'MountVolume.SetUp failed for volume "v" : configmap "settings" not found',
    });
    await eventually(async () =>
      expect(await condition('unmounted', 'WorkloadsReady')).toMatchObject({
        reason: 'VolumeNotMounted',
        message: expect.stringContaining('configmap "settings" not found'),
      }),
    );
    await davit.kubectl(['apply', '-f', '-'], record('unmounted', { sourceConfig: NO_STORES }));
    await untilReady('unmounted');
  });

  it("a foreign object with a child's name is not changed", async () => {
    await davit.kubectl(['create', 'service', 'clusterip', 'taken', '--tcp=1234', '-n', tenant.namespace]);
    await davit.kubectl(['apply', '-f', '-'], record('taken', { sourceConfig: NO_STORES }));
    await eventually(async () =>
      expect(await condition('taken', 'Stalled')).toMatchObject({
        status: 'True',
        reason: 'NameConflict',
        message: expect.stringContaining('Service taken'),
      }),
    );
    expect(
      await davit.kubectl(['get', 'service', 'taken', '-n', tenant.namespace, '-o', 'jsonpath={.spec.ports[0].port}']),
    ).toBe('1234');
    await davit.kubectl(['delete', 'service', 'taken', '-n', tenant.namespace]);
    // Nothing of ours watches a foreign object: the next look comes with the next change, or with a restart.
    await davit.kubectl(['annotate', 'appd', 'taken', '-n', tenant.namespace, 'example.com/look=again']);
    await untilReady('taken');
  });

  it('a record outside of a tenant has a condition', async () => {
    await davit.kubectl(['apply', '-f', '-'], {
      ...record('stray'),
      metadata: { name: 'stray', namespace: 'default' },
    });
    await eventually(async () => {
      const said = await davit.kubectl([
        'get',
        'appd',
        'stray',
        '-n',
        'default',
        '-o',
        'jsonpath={.status.conditions[?(@.type=="Stalled")].reason}',
      ]);
      expect(said).toBe('NotATenant');
    });
    await davit.kubectl(['delete', 'appd', 'stray', '-n', 'default']);
  });
});

describe('level-based', () => {
  it('a child that is deleted or edited is restored', async () => {
    await davit.kubectl(['delete', 'service', 'by-kubectl', '-n', tenant.namespace]);
    await davit.kubectl(['scale', 'deployment', 'by-kubectl', '--replicas=3', '-n', tenant.namespace]);
    await eventually(async () => {
      await davit.kubectl(['get', 'service', 'by-kubectl', '-n', tenant.namespace]);
      expect(
        await davit.kubectl([
          'get',
          'deployment',
          'by-kubectl',
          '-n',
          tenant.namespace,
          '-o',
          'jsonpath={.spec.replicas}',
        ]),
      ).toBe('1');
    });
    await untilReady('by-kubectl');
  });

  it('edits of a child are reverted, also orders and values that a merge cannot', async () => {
    const container = (name: string): object => ({ name, image: 'registry.example/helper:1' });
    const resourceSpec = {
      minScale: 2,
      maxScale: 2,
      volumes: [{ name: 'v', emptyDir: {} }],
      sidecars: [container('s')],
      initContainers: [container('b'), container('a')],
    };
    await davit.kubectl(['apply', '-f', '-'], record('edited', { sourceConfig: { resourceSpec } }));
    await untilReady('edited');
    const children = ['deployment/edited', 'service/edited', 'networkpolicy/edited--redis', 'pdb/edited'];
    const specs = async (): Promise<unknown[]> =>
      (await davit.kubectlJson<{ items: { spec: unknown }[] }>(['get', ...children, '-n', tenant.namespace])).items.map(
        ({ spec }) => spec,
      );
    const before = await specs();
    const edit = (child: string, operations: readonly object[]): Promise<string> =>
      davit.kubectl(['patch', child, '-n', tenant.namespace, '--type=json', '-p', JSON.stringify(operations)]);
    const pod = '/spec/template/spec';
    await Promise.all([
      edit('deployment/edited', [
        { op: 'move', from: `${pod}/initContainers/2`, path: `${pod}/initContainers/4` },
        { op: 'move', from: `${pod}/containers/0/env/0`, path: `${pod}/containers/0/env/1` },
        { op: 'replace', path: `${pod}/containers/0/ports/0/containerPort`, value: 8001 },
        { op: 'replace', path: `${pod}/volumes/0`, value: { name: 'v', configMap: { name: 'theirs' } } },
      ]),
      edit('service/edited', [{ op: 'replace', path: '/spec/ports/0/port', value: 81 }]),
      edit('networkpolicy/edited--redis', [{ op: 'add', path: '/spec/ingress/0/ports/0', value: { port: 1 } }]),
      edit('pdb/edited', [
        { op: 'remove', path: '/spec/maxUnavailable' },
        { op: 'add', path: '/spec/minAvailable', value: 2 },
      ]),
    ]);
    await eventually(async () => expect(await specs()).toEqual(before));
    await untilReady('edited');
    // The correction owns nothing beside the applies: what the record no longer has goes from the pods.
    interface Deployment extends KubeObject {
      readonly spec: { readonly template: { readonly spec: { readonly initContainers: { name: string }[] } } };
    }
    const deployment = ['get', 'deployment/edited', '-n', tenant.namespace, '--show-managed-fields'];
    await eventually(async () => {
      const { managedFields = [] } = (await davit.kubectlJson<Deployment>(deployment)).metadata;
      const own = managedFields.filter(({ manager, subresource }) => manager === FIELD_MANAGER && !subresource);
      expect(own.map(({ operation }) => operation)).toEqual(['Apply']);
    });
    const fewer = { spec: { sourceConfig: { resourceSpec: { initContainers: [container('b')] } } } };
    const patch = ['patch', 'appd', 'edited', '-n', tenant.namespace, '--type=merge', '-p', JSON.stringify(fewer)];
    await davit.kubectl(patch);
    await eventually(async () => {
      const { spec } = await davit.kubectlJson<Deployment>(deployment);
      const names = spec.template.spec.initContainers.map(({ name }) => name);
      expect(names).toEqual(['wait-for-database', 'wait-for-redis', 's', 'b']);
    });
    const corrected = ['get', 'events', '-n', tenant.namespace, '--field-selector=reason=DriftCorrected', '-o', 'json'];
    await eventually(async () =>
      expect(await davit.kubectl(corrected)).toContain('Service edited was changed and has been put back: spec.ports'),
    );
    await davit.kubectl(['delete', 'appd', 'edited', '-n', tenant.namespace, '--wait=false']);
  });

  it('a paused record is not changed, and has a condition', async () => {
    await davit.kubectl(['annotate', 'appd', 'by-kubectl', '-n', tenant.namespace, 'davit.dev/paused=true']);
    await eventually(async () =>
      expect(await condition('by-kubectl', 'Stalled')).toMatchObject({ status: 'True', reason: 'Paused' }),
    );
    await davit.kubectl(['annotate', 'appd', 'by-kubectl', '-n', tenant.namespace, 'davit.dev/paused-']);
    await untilReady('by-kubectl');
  });

  it('a controller that is killed during a rollout finishes it after its restart', async () => {
    await davit.kubectl(['apply', '-f', '-'], record('survivor'));
    await davit.killPart('controller');
    await untilReady('survivor');
  });

  it('the steady state writes nothing', async () => {
    const kinds = 'appd,appr,trp,deployments,statefulsets,services,secrets,persistentvolumeclaims,networkpolicies';
    const versions = async (): Promise<string[]> =>
      (await davit.kubectlJson<Listed>(['get', kinds, '-n', tenant.namespace])).items.map(
        (item) => `${item.kind}/${item.metadata.name}@${item.metadata.resourceVersion}`,
      );
    let before: string[] = [];
    await eventually(async () => {
      before = await versions();
      await new Promise((resolve) => setTimeout(resolve, 5000));
      expect(await versions()).toEqual(before);
    }, 60_000);
    expect(before.length).toBeGreaterThan(20);
  });
});

describe('deletion', () => {
  it('over HTTP: AWAITING_DELETE, then 404, and only the tracing project remains', async () => {
    const own = await davit.tenant('gone');
    const inNamespace = { ...record('short'), metadata: { name: 'short', namespace: own.namespace } };
    const atFirst = await everything(own.namespace);
    const created = await davit.call(
      own,
      'POST',
      '/v2/deployments',
      aPayload('short', { secrets: [{ name: 'A', value: 'b' }] }),
    );
    await davit.kubectl(['wait', '--for=condition=Ready', 'appd/short', '-n', own.namespace, '--timeout=180s']);
    expect((await davit.call(own, 'DELETE', `/v2/deployments/${created.body.id}`)).status).toBe(204);
    const seen = new Set<string>();
    await eventually(async () => {
      const { status, body } = await davit.call(own, 'GET', `/v2/deployments/${created.body.id}`);
      if (status === 200) seen.add(body.status);
      expect(status).toBe(404);
    });
    expect([...seen]).toEqual(['AWAITING_DELETE']);
    await eventually(async () =>
      expect((await everything(own.namespace)).filter((object) => !atFirst.includes(object))).toEqual([
        'TracingProject short',
      ]),
    );
    // The name is free again, and the old tracing project is taken up.
    await davit.kubectl(['apply', '-f', '-'], inNamespace);
    await davit.kubectl(['wait', '--for=condition=Ready', 'appd/short', '-n', own.namespace, '--timeout=180s']);
  });

  it('the deletion of a namespace deletes its records', async () => {
    const doomed = await davit.tenant('doomed');
    await davit.kubectl(['apply', '-f', '-'], {
      ...record('inside', { sourceConfig: NO_STORES }),
      metadata: { name: 'inside', namespace: doomed.namespace },
    });
    await davit.kubectl(['wait', '--for=condition=Ready', 'appd/inside', '-n', doomed.namespace, '--timeout=180s']);
    await davit.kubectl(['delete', 'namespace', doomed.namespace, '--timeout=180s']);
  });
});
