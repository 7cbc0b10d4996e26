// What a namespace's own rules do to the pods of a record, on a real API server: Pod Security, LimitRanges and quota are
// found before anything changes, are said in the API server's words, and what ran goes on running.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import { makeRevision } from '../../../src/deploy/children/app-revision.ts';
import { desiredChildren } from '../../../src/deploy/children/desired.ts';
import { hasDrifted } from '../../../src/deploy/plan/drift.ts';
import { wantedRevision } from '../../../src/deploy/record/wanted-revision.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import type { AppRevision } from '../../../src/kinds/app-revision.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aManifest } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;

interface Conditions {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

function record(name: string, resourceSpec: object = {}, more: object = {}): object {
  return aManifest({ name, namespace: tenant.namespace }, { sourceConfig: { resourceSpec }, ...more });
}

function inNamespace(...args: string[]): string[] {
  return ['-n', tenant.namespace, ...args];
}

async function apply(object: object): Promise<void> {
  await davit.kubectl(inNamespace('apply', '-f', '-'), object);
}

async function readyOf(name: string): Promise<Conditions | undefined> {
  const { status } = await davit.kubectlJson<AppDeployment>(inNamespace('get', 'appd', name));
  return (status?.conditions as readonly Conditions[] | undefined)?.find(({ type }) => type === 'Ready');
}

async function isRefused(name: string, words: string): Promise<void> {
  await eventually(async () =>
    expect(await readyOf(name)).toMatchObject({
      status: 'False',
      reason: 'PodsRefused',
      message: expect.stringContaining(words),
    }),
  );
}

async function isReady(name: string): Promise<void> {
  await davit.kubectl(inNamespace('wait', '--for=condition=Ready', `appd/${name}`, '--timeout=180s'));
}

/** Name and uid of everything that runs of a record, and of what makes it run. */
async function running(name: string): Promise<string[]> {
  const { items } = await davit.kubectlJson<{ items: KubeObject[] }>(
    inNamespace('get', 'deployments,statefulsets,replicasets,pods', '-l', `davit.dev/deployment=${name}`),
  );
  return items.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`).toSorted();
}

beforeAll(async () => {
  tenant = await davit.tenant('pod-security');
});

describe('a namespace that enforces the restricted standard', () => {
  const label = 'pod-security.kubernetes.io/enforce';

  it('rejects baseline pods: a condition says so, nothing runs, and it continues when the label is removed', async () => {
    await davit.kubectl(['label', 'namespace', tenant.namespace, `${label}=restricted`]);
    await apply(record('baseline'));
    await isRefused('baseline', 'violates PodSecurity "restricted:latest"');
    expect(await running('baseline')).toEqual([]);
    const revisions = await davit.kubectlJson<{ items: AppRevision[] }>(inNamespace('get', 'appr'));
    expect(revisions.items.map(({ status }) => status?.state)).toEqual(['DEPLOY_FAILED']);
    await davit.kubectl(['label', 'namespace', tenant.namespace, `${label}-`]);
    await isReady('baseline');
  });

  it('accepts every pod of the restricted policy', async () => {
    await davit.kubectl(['label', 'namespace', tenant.namespace, `${label}=restricted`]);
    const settings = Settings.parse({ pods: { policy: 'restricted' } });
    const parts = {
      queueMinScale: 1,
      orchestratorMinScale: 1,
      executorCpu: 1,
      initContainers: [{ name: 'migrate', image: 'registry.example/app:1' }],
      sidecars: [{ name: 'proxy', image: 'registry.example/app:1' }],
    };
    const given = record('rendered', parts) as AppDeployment;
    const seen: AppDeployment = {
      ...given,
      metadata: { ...given.metadata, uid: '11111111-1111-4111-8111-111111111111', generation: 1 },
      spec: { ...given.spec, secrets: [] },
    };
    const wanted = wantedRevision(seen, [], settings);
    if (!('create' in wanted)) throw new Error('no revision');
    const revision = makeRevision(seen, wanted.create);
    const workloads = desiredChildren({ record: seen, revision, tenantId: tenant.id, settings }).filter(
      ({ kind }) => kind === 'Deployment' || kind === 'StatefulSet',
    ) as unknown as { metadata: { name: string }; spec: { template: { metadata: object; spec: object } } }[];
    expect(workloads).toHaveLength(6);
    for (const { metadata, spec } of workloads) {
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...spec.template.metadata, name: metadata.name, namespace: tenant.namespace },
        spec: spec.template.spec,
      };
      expect(await davit.kubectl(['create', '--dry-run=server', '-f', '-'], pod)).toContain('created');
    }
    await davit.kubectl(['label', 'namespace', tenant.namespace, `${label}-`]);
  });
});

describe('running pods', () => {
  it('are not affected by a change that a LimitRange rejects, and its correction is rolled out', async () => {
    await apply(record('limited', { memoryMb: 256 }));
    await isReady('limited');
    const before = await running('limited');
    await apply({
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: { name: 'small', namespace: tenant.namespace },
      spec: { limits: [{ type: 'Container', max: { memory: '6Gi' } }] },
    });
    await apply(record('limited', { memoryMb: 8192 }));
    await isRefused('limited', 'maximum memory usage per Container is 6Gi');
    expect(await running('limited')).toEqual(before);
    const { status } = await davit.kubectlJson<AppDeployment>(inNamespace('get', 'appd', 'limited'));
    expect(status?.state).toBe('READY');
    await apply(record('limited', { memoryMb: 512 }));
    await isReady('limited');
    await davit.kubectl(inNamespace('delete', 'limitrange', 'small'));
  });

  it('are not affected by a change that exceeds a quota, except a StatefulSet, which replaces its pod', async () => {
    await apply(record('quota'));
    await isReady('quota');
    const before = await running('quota');
    const { items } = await davit.kubectlJson<{ items: KubeObject[] }>(inNamespace('get', 'pods'));
    await apply({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'full', namespace: tenant.namespace },
      spec: { hard: { pods: String(items.length) } },
    });
    await eventually(async () => {
      const quota = await davit.kubectlJson<{ status?: { used?: { pods?: string } } }>(
        inNamespace('get', 'resourcequota', 'full'),
      );
      expect(quota.status?.used?.pods).toBe(String(items.length));
    });
    await apply(record('quota', { memoryMb: 640, dbMaxConnections: 200 }));
    await isRefused('quota', 'exceeded quota: full');
    expect(await running('quota')).toEqual(before);
    await davit.kubectl(inNamespace('delete', 'resourcequota', 'full'));
    await isReady('quota');
    expect(await running('quota')).not.toEqual(before);
  });
});

describe('a record with everything set', () => {
  it('is accepted and comes up, and its children equal the rendered ones', async () => {
    await apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'shop', namespace: tenant.namespace } });
    await apply({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'shop-data', namespace: tenant.namespace },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    const container = (name: string): object => ({
      name,
      image: 'registry.example/helper:1',
      imagePullPolicy: 'Always',
      command: ['helper'],
      args: ['--port', '9000'],
      workingDir: '/work',
      env: [
        { name: 'PLAIN', value: 'text' },
        { name: 'FROM', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
      envFrom: [{ configMapRef: { name: 'shop-config', optional: true } }],
      resources: { limits: { cpu: '200m', memory: '64Mi' }, requests: { cpu: '0.1', memory: '65536Ki' } },
      volumeMounts: [{ name: 'empty', mountPath: '/scratch', subPath: 'inner', mountPropagation: 'HostToContainer' }],
      securityContext: { readOnlyRootFilesystem: true, runAsUser: 1000, capabilities: { drop: ['ALL'] } },
    });
    const everything = {
      minScale: 2,
      maxScale: 2,
      cpu: 0.5,
      cpuLimit: 1.5,
      memoryMb: 512,
      memoryLimitMb: 3072,
      queueMinScale: 2,
      queueMaxScale: 2,
      queueCpu: 0.25,
      queueCpuLimit: 3,
      queueMemoryMb: 1536,
      queueMemoryLimitMb: 5120,
      orchestratorMinScale: 1,
      orchestratorMaxScale: 1,
      orchestratorCpu: 0.1,
      orchestratorCpuLimit: 2.5,
      orchestratorMemoryMb: 256,
      orchestratorMemoryLimitMb: 6144,
      executorCpu: 0.75,
      executorCpuLimit: 4,
      executorMemoryMb: 1024,
      executorMemoryLimitMb: 7168,
      redisCpu: 0.2,
      redisCpuLimit: 0.9,
      redisMemoryMb: 300,
      redisMemoryLimitMb: 1000,
      dbCpu: 0.3,
      dbCpuLimit: 0.8,
      dbMemoryMb: 700,
      dbMemoryLimitMb: 8192,
      dbStorageGi: 25,
      dbMaxConnections: 250,
      labels: { team: 'blue' },
      annotations: { 'example.org/note': 'hello' },
      serviceAccountName: 'shop',
      imagePullSecrets: [{ name: 'registry' }],
      volumes: [
        { name: 'config-map', configMap: { name: 'shop-config', optional: true } },
        { name: 'secret', secret: { secretName: 'shop-keys', optional: true, defaultMode: 0o400 } },
        { name: 'empty', emptyDir: { sizeLimit: '1024Mi' } },
        { name: 'claim', persistentVolumeClaim: { claimName: 'shop-data', readOnly: true } },
        { name: 'nfs', nfs: { server: 'files.example', path: '/exports/shop' } },
        { name: 'projected', projected: { sources: [{ configMap: { name: 'shop-config', optional: true } }] } },
        { name: 'downward', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
        { name: 'csi', csi: { driver: 'secrets.example', volumeAttributes: { kind: 'shop' } } },
      ],
      volumeMounts: [
        { name: 'empty', mountPath: '/scratch', subPathExpr: '$(DAVIT_ROLE)', readOnly: true },
        { name: 'csi', mountPath: '/csi', mountPropagation: 'None' },
      ],
      initContainers: [container('migrate')],
      sidecars: [{ ...container('proxy'), restartPolicy: 'Always' }],
    };
    await apply(record('everything', everything));
    await isReady('everything');
    const seen = await davit.kubectlJson<AppDeployment>(inNamespace('get', 'appd', 'everything'));
    const revision = await davit.kubectlJson<AppRevision>(
      inNamespace('get', 'appr', seen.status?.latestRevision ?? ''),
    );
    const desired = desiredChildren({ record: seen, revision, tenantId: tenant.id, settings: Settings.parse({}) });
    expect(desired.filter(({ kind }) => kind === 'Deployment')).toHaveLength(4);
    for (const wanted of desired) {
      const there = await davit.kubectlJson<KubeObject>(inNamespace('get', wanted.kind, wanted.metadata.name));
      expect(hasDrifted(wanted, there), `${wanted.kind} ${wanted.metadata.name}`).toBe(false);
    }
    const shown = seen.status?.resourceSpec ?? {};
    const numbers = Object.fromEntries(Object.entries(everything).filter(([, value]) => typeof value === 'number'));
    expect(shown).toEqual(numbers);
    const { body } = await davit.call(tenant, 'GET', `/v2/deployments/${seen.metadata.uid}`);
    expect(body.source_config.resource_spec).toMatchObject({ db_max_connections: 250, executor_memory_limit_mb: 7168 });
  });
});
