// Records that are wrong, through both doors of a real API server: each is refused at both, or accepted at both and then
// reported in the API server's own words. Nothing of a wrong record runs, a corrected one does, and a calm one beside
// them is left alone.

import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  context,
  expectFindings,
  type Finding,
  hostile,
  type Parts,
  payloadSpec,
  refused,
  refusedBackups,
  refusedRestores,
  refusedRuntimes,
  refusedTasks,
  refusedVariables,
  scratch,
  sidecar,
} from '../../support/bad-records.ts';
import { aManifest, aPayload } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
const dispatcher = new Agent({ connect: { ca: inject('davit').ca } });
let tenant: Tenant;

/** Only the rendered pod shows it: accepted, tried, and said in the API server's words. */
const reported: readonly { readonly name: string; readonly spec: Parts; readonly says: string }[] = [
  {
    name: 'a volume with a field that there is not',
    spec: { volumes: [{ name: 'v', emptyDir: { size: '1Gi' } }] },
    says: 'unknown field "spec.volumes[0].emptyDir.size"',
  },
  {
    name: 'a host path among projected sources',
    spec: { volumes: [{ name: 'v', projected: { sources: [{ hostPath: { path: '/' } }] } }] },
    says: 'unknown field',
  },
  {
    name: 'a config map whose name is a number',
    spec: { volumes: [{ name: 'v', configMap: { name: 5 } }] },
    says: 'cannot unmarshal number',
  },
  {
    name: 'a claim without a name',
    spec: { volumes: [{ name: 'v', persistentVolumeClaim: {} }] },
    says: 'claimName: Required value',
  },
  {
    name: 'a secret without a name',
    spec: { volumes: [{ name: 'v', secret: {} }] },
    says: 'secretName: Required value',
  },
  {
    name: 'an NFS export without a server',
    spec: { volumes: [{ name: 'v', nfs: { path: '/a' } }] },
    says: 'server: Required value',
  },
  {
    name: 'a CSI volume without a driver',
    spec: { volumes: [{ name: 'v', csi: {} }] },
    says: 'driver: Required value',
  },
  {
    name: 'a fact of the pod that there is not',
    spec: { volumes: [{ name: 'v', downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'spec.secret' } }] } }] },
    says: 'spec.secret',
  },
  {
    name: 'a variable whose name has a =',
    spec: sidecar({ env: [{ name: 'A=B', value: '1' }] }),
    says: "other than '='",
  },
  {
    name: 'a variable with two values',
    spec: sidecar({ env: [{ name: 'A', value: '1', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
    says: 'may not be specified when `value` is not empty',
  },
  { name: 'a source of variables that is none', spec: sidecar({ envFrom: [{}] }), says: 'must specify one of' },
  {
    name: "a sidecar's limit below its request",
    spec: sidecar({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
    says: 'must be less than or equal to cpu limit',
  },
  {
    name: 'an amount that is a word',
    spec: sidecar({ resources: { limits: { cpu: 'lots' } } }),
    says: 'quantities must match',
  },
  {
    name: 'a negative amount',
    spec: sidecar({ resources: { limits: { memory: '-1Gi' } } }),
    says: 'must be greater than or equal to 0',
  },
  {
    name: 'a resource that there is not',
    spec: sidecar({ resources: { limits: { gpus: 1 } } }),
    says: 'must be a standard resource',
  },
  {
    name: 'a sub path that leaves the volume',
    spec: { ...scratch, volumeMounts: [{ name: 'v', mountPath: '/v', subPath: '../../etc' }] },
    says: "must not contain '..'",
  },
  { name: 'a user that there cannot be', spec: context({ runAsUser: -1 }), says: 'must be between 0 and' },
  {
    name: 'a privilege that contradicts another',
    spec: context({ allowPrivilegeEscalation: false, procMount: 'Default', runAsGroup: -5 }),
    says: 'must be between 0 and',
  },
  {
    name: 'a service account that is not there',
    spec: { serviceAccountName: 'nobody' },
    says: 'serviceaccount "nobody" not found',
  },
  {
    name: 'a working folder that is a number',
    spec: sidecar({ securityContext: { runAsNonRoot: 'yes' } }),
    says: 'cannot unmarshal string',
  },
];

const EXTERNAL = ['POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM'].map((name) => ({
  name,
  secretName: 'stores',
  secretKey: 'uri',
}));

function record(name: string, resourceSpec: Parts): object {
  return aManifest(
    { name, namespace: tenant.namespace },
    { sourceConfig: { resourceSpec }, secretReferences: EXTERNAL },
  );
}

function payload(name: string, resourceSpec: Parts): object {
  return aPayload(name, {
    source_config: { resource_spec: payloadSpec(resourceSpec) },
    secret_references: EXTERNAL.map(({ name: variable, secretName, secretKey }) => ({
      name: variable,
      secret_name: secretName,
      secret_key: secretKey,
    })),
  });
}

/** What kubectl would be told, as the same person that calls the HTTP API. */
async function atTheApiServer(
  method: string,
  name: string,
  body: object,
): Promise<{ status: number; message: string }> {
  const path = `/apis/davit.dev/v1alpha1/namespaces/${tenant.namespace}/appdeployments${name}`;
  const response = await fetch(new URL(path, davit.server), {
    method,
    dispatcher,
    headers: {
      authorization: `Bearer ${tenant.token}`,
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { message?: string };
  return { status: response.status, message: answer.message ?? '' };
}

interface Seen {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string };
  readonly status?: {
    readonly state?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

async function listed(kind: string): Promise<readonly Seen[]> {
  return (await davit.kubectlJson<{ items: Seen[] }>(['get', kind, '-n', tenant.namespace])).items;
}

function readyOf(seen: Seen | undefined): { status: string; reason: string; message: string } | undefined {
  return seen?.status?.conditions?.find(({ type }) => type === 'Ready');
}

beforeAll(async () => {
  tenant = await davit.tenant('bad-records');
  await davit.kubectl([
    'create',
    'secret',
    'generic',
    'stores',
    '-n',
    tenant.namespace,
    '--from-literal=uri=redis://a',
  ]);
  expect((await atTheApiServer('POST', '', record('calm', {}))).message).toBe('');
  await davit.kubectl(['wait', '--for=condition=Ready', 'appd/calm', '-n', tenant.namespace, '--timeout=180s']);
});
afterAll(() => dispatcher.close());

/** The findings of a creation with this source_config, and with references of these names to a Secret that is there. */
async function refusedOverHttp(
  config: object,
  references: readonly string[],
): Promise<Parameters<typeof expectFindings>[0]> {
  const secretReferences = references.map((name) => ({ name, secret_name: 'stores', secret_key: 'uri' }));
  const payload = aPayload('refused', { source_config: config, secret_references: secretReferences });
  const { status, body } = await davit.call(tenant, 'POST', '/v2/deployments', payload);
  expect(status).toBe(422);
  return body.detail;
}

/** Beside a pattern kubectl is told in words what the HTTP API says. */
function expectSaid(
  direct: { readonly status: number; readonly message?: string },
  kubectl: string,
  http: string | readonly Finding[],
): void {
  expect([direct.status, direct.message]).toEqual([422, expect.stringContaining(kubectl)]);
  if (kubectl !== 'should match') return;
  const words = typeof http === 'string' ? [http] : http.map(([, msg]) => msg);
  for (const one of words) expect(direct.message).toContain(one);
}

describe('rejected over HTTP and with kubectl', () => {
  it('has enough rows', () => {
    expect(hostile.length).toBeGreaterThanOrEqual(30);
    expect(refused.length + reported.length).toBeGreaterThanOrEqual(40);
  });
  it.each([...refused, ...hostile])('$name', async ({ spec, says: [kubectl, http] }) => {
    const direct = await atTheApiServer('POST', '', record('refused', spec));
    expectSaid(direct, kubectl, http);
    const { status, body } = await davit.call(tenant, 'POST', '/v2/deployments', payload('refused', spec));
    expect(status).toBe(422);
    expectFindings(body.detail, http);
  });
  it.each(refusedRuntimes)('a runtime with $name', async ({ runtime, payload: sent, secrets = [], kubectl, http }) => {
    const secretReferences = secrets.map((name) => ({ name, secretName: 'stores', secretKey: 'uri' }));
    const manifest = aManifest(
      { name: 'refused', namespace: tenant.namespace },
      { sourceConfig: { runtime }, secretReferences },
    );
    const direct = await atTheApiServer('POST', '', manifest);
    expectSaid(direct, kubectl, http);
    expectFindings(await refusedOverHttp({ runtime: sent }, secrets), http, 'runtime');
  });
  it.each(refusedVariables)('plain variables with $name', async ({ env, secrets = [], envNames, kubectl, http }) => {
    const references = secrets.map((name) => ({ name, secretName: 'stores', secretKey: 'uri' }));
    for (const list of ['secrets', 'secretReferences']) {
      const manifest = aManifest(
        { name: 'refused', namespace: tenant.namespace },
        { sourceConfig: { env, ...(envNames && { runtime: { envNames } }) }, [list]: references },
      );
      const direct = await atTheApiServer('POST', '', manifest);
      expectSaid(direct, kubectl, http);
    }
    const config = { env, ...(envNames && { runtime: { env_names: envNames } }) };
    expectFindings(await refusedOverHttp(config, secrets), http, 'env');
  });
  /** `kubectl`: what the API server says of these fields of sourceConfig; `http`: what the API says of `sent`, below `at`. */
  async function expectRefused(
    config: object,
    sent: object,
    { kubectl, http }: { readonly kubectl: string; readonly http: readonly Finding[] },
    at: string,
  ): Promise<void> {
    const manifest = aManifest({ name: 'refused', namespace: tenant.namespace }, { sourceConfig: config });
    const direct = await atTheApiServer('POST', '', manifest);
    expectSaid(direct, kubectl, http);
    const { status, body } = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      aPayload('refused', { source_config: sent }),
    );
    expect(status).toBe(422);
    expectFindings(body.detail, http, at);
  }
  it.each(refusedTasks)('tasks with $name', ({ tasks, ...words }) =>
    expectRefused({ tasks }, { tasks: tasks.map(payloadSpec) }, words, 'tasks'),
  );
  it.each(refusedBackups)('backups with $name', ({ part: backup, ...words }) =>
    expectRefused({ database: { backup } }, { database: { backup: payloadSpec(backup) } }, words, 'database.backup'),
  );
  it.each(refusedRestores)('restores with $name', ({ part: restore, ...words }) =>
    expectRefused(
      { database: { restore } },
      { database: { restore: payloadSpec(restore) } },
      words,
      'database.restore',
    ),
  );
  it('fields of pods that records do not have are dropped', async () => {
    const fields = {
      hostNetwork: true,
      hostPID: true,
      hostIPC: true,
      nodeName: 'somewhere',
      securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] },
      maxScale: 0,
      sidecars: [
        {
          name: 'helper',
          image: 'helper:1',
          ports: [{ hostPort: 22, containerPort: 22 }],
          lifecycle: { postStart: { exec: { command: ['id'] } } },
          volumeDevices: [{ name: 'disk', devicePath: '/dev/sda' }],
        },
      ],
    };
    expect(await atTheApiServer('POST', '', record('dropped', fields))).toMatchObject({ status: 201 });
    const made = await davit.call(tenant, 'POST', '/v2/deployments', payload('dropped-too', fields));
    expect(made.status).toBe(201);
    for (const name of ['dropped', 'dropped-too']) {
      const { spec } = await davit.kubectlJson<{ spec: { sourceConfig: { resourceSpec: unknown } } }>([
        'get',
        'appd',
        name,
        '-n',
        tenant.namespace,
      ]);
      expect(spec.sourceConfig.resourceSpec).toEqual({
        maxScale: 0,
        sidecars: [{ name: 'helper', image: 'helper:1' }],
      });
    }
    await davit.kubectl(['delete', 'appd', 'dropped', 'dropped-too', '-n', tenant.namespace, '--timeout=180s']);
  });
  it('none of them was created', async () => {
    expect((await listed('appd')).map(({ metadata }) => metadata.name)).toEqual(['calm']);
  });
});

describe('accepted over HTTP and with kubectl, dry-run, and reported', () => {
  const named = reported.map((row, number) => ({ ...row, byKubectl: `k${number}`, byHttp: `h${number}` }));
  let calm: Seen | undefined;
  beforeAll(async () => {
    calm = (await listed('appd')).find(({ metadata }) => metadata.name === 'calm');
    await Promise.all(
      named.map(async ({ name, spec, byKubectl, byHttp }) => {
        const direct = await atTheApiServer('POST', '', record(byKubectl, spec));
        expect(direct, name).toMatchObject({ status: 201 });
        const { status, body } = await davit.call(tenant, 'POST', '/v2/deployments', payload(byHttp, spec));
        expect(status, `${name}: ${JSON.stringify(body)}`).toBe(201);
      }),
    );
  });

  it.each(named)('$name', async ({ says, byKubectl, byHttp }) => {
    await eventually(async () => {
      const records = await listed('appd');
      const verdicts = [byKubectl, byHttp].map((name) =>
        readyOf(records.find(({ metadata }) => metadata.name === name)),
      );
      const verdict = { status: 'False', reason: 'PodsRefused', message: expect.stringContaining(says) };
      expect(verdicts).toEqual([expect.objectContaining(verdict), expect.objectContaining(verdict)]);
    });
  });

  it('none of them has pods, and the valid record is unchanged', async () => {
    const deployments = await listed('deployments');
    expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['calm']);
    const records = await listed('appd');
    expect(records.find(({ metadata }) => metadata.name === 'calm')).toEqual(calm);
  });

  it('each of them comes up after its correction', async () => {
    const correction = { spec: { sourceConfig: { resourceSpec: null } } };
    await Promise.all(named.map(({ byKubectl }) => atTheApiServer('PATCH', `/${byKubectl}`, correction)));
    await eventually(async () => {
      const records = await listed('appd');
      const states = named.map(({ name, byKubectl }) => [
        name,
        records.find(({ metadata }) => metadata.name === byKubectl)?.status?.state,
      ]);
      expect(states).toEqual(named.map(({ name }) => [name, 'READY']));
    }, 60_000);
  });
});
