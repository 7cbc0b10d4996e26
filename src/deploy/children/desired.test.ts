import { existsSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { aRecord, SETTINGS, TENANT, UID } from '../../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { ROLES } from '../../kinds/meta.ts';
import { quantity } from '../../kinds/quantity.ts';
import { Settings } from '../../kinds/settings.ts';
import { serialRevisionId } from '../record/revision-id.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { makeRevision } from './app-revision.ts';
import { desiredChildren } from './desired.ts';
import type { Inputs } from './inputs.ts';
import { makeTracingProject } from './tracing-project.ts';
import { WAIT_FOR_DATABASE_SCRIPT, WAIT_FOR_REDIS_SCRIPT } from './wait-scripts.ts';

function inputs(record: AppDeployment, more: Partial<Inputs> = {}): Inputs {
  const settings = more.settings ?? SETTINGS;
  const wanted = wantedRevision(record, [], settings);
  if (!('create' in wanted)) throw new Error('no revision');
  return { record, revision: makeRevision(record, wanted.create), tenantId: TENANT, settings, ...more };
}

const external = (name: string): { name: string; secretName: string; secretKey: string } => ({
  name,
  secretName: 'outside',
  secretKey: 'uri',
});

const everything: Partial<AppDeploymentSpec> = {
  sourceConfig: {
    deploymentType: 'prod',
    resourceSpec: {
      minScale: 2,
      cpu: 0.5,
      memoryMb: 1536,
      queueMaxScale: 4,
      orchestratorMemoryMb: 512,
      executorCpu: 0.25,
      dbStorageGi: 50,
      dbMaxConnections: 300,
      redisMemoryMb: 512,
      labels: { team: 'blue' },
      annotations: { 'example.org/note': 'hello' },
      serviceAccountName: 'shop',
      imagePullSecrets: [{ name: 'registry' }],
      volumes: [
        { name: 'scratch', emptyDir: { sizeLimit: '1Gi' } },
        { name: 'config', configMap: { name: 'shop-config' } },
      ],
      volumeMounts: [{ name: 'config', mountPath: '/config', readOnly: true }],
      initContainers: [{ name: 'migrate', image: 'registry.example/shop:2', command: ['migrate'] }],
      sidecars: [{ name: 'proxy', image: 'registry.example/proxy:1', args: ['--listen', ':9000'] }],
    },
  },
  sourceRevisionConfig: { imageUri: 'registry.example/shop:2' },
  secrets: [{ name: 'API_KEY', secretName: 'shop--vars-abc123', secretKey: 'API_KEY' }],
  secretReferences: [{ name: 'SMTP_PASSWORD', secretName: 'mail', secretKey: 'password' }],
};

it.each([
  { name: 'plain', given: inputs(aRecord()) },
  {
    name: 'everything',
    given: inputs(aRecord(everything), {
      settings: Settings.parse({
        tracing: { otlpEndpoint: 'http://collector.observability:4318' },
        database: { storageClassName: 'fast' },
        images: { pullPolicy: 'Always' },
      }),
      secretDigests: Object.fromEntries(ROLES.map((role) => [role, { pods: 'feedface', workload: 'k.feedface' }])),
    }),
  },
  {
    name: 'external',
    given: inputs(
      aRecord({
        sourceConfig: { resourceSpec: { sidecars: [{ name: 'proxy', image: 'registry.example/proxy:1' }] } },
        secretReferences: [external('POSTGRES_URI_CUSTOM'), external('REDIS_URI_CUSTOM')],
      }),
    ),
  },
])('makes the children of test/golden/$name.yaml', ({ name, given }) => {
  const file = new URL(`../../../test/golden/${name}.yaml`, import.meta.url);
  expect(existsSync(file), `${file.pathname} is missing`).toBe(true);
  // The scripts are long and have tests of their own: the files name them.
  const text = JSON.stringify(desiredChildren(given), (_key, value: unknown) =>
    value === WAIT_FOR_DATABASE_SCRIPT
      ? 'WAIT_FOR_DATABASE_SCRIPT'
      : value === WAIT_FOR_REDIS_SCRIPT
        ? 'WAIT_FOR_REDIS_SCRIPT'
        : value,
  );
  const want = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as unknown);
  expect(JSON.parse(text)).toEqual(want);
});

it.each([undefined, 'dev_free', 'dev', 'dev_zero'] as const)(
  'fits a laptop without any size given (%s): less than half a core and one GiB for server, PostgreSQL and Redis',
  (deploymentType) => {
    const record = aRecord({ sourceConfig: deploymentType ? { deploymentType } : {} });
    const workloads = desiredChildren(inputs(record)).filter(({ kind }) => /^(Deployment|StatefulSet)$/.test(kind));
    const pods = (workloads as unknown as Workload[]).flatMap(({ spec: { replicas, template } }) =>
      Array.from({ length: replicas }, () => template.spec),
    );
    expect(pods).toHaveLength(3);
    // The scheduler counts the larger of what the containers ask for together and of the largest init container.
    const asked = (resource: 'cpu' | 'memory'): number =>
      sum(
        pods.map(({ containers, initContainers = [] }) =>
          Math.max(sum(requests(containers, resource)), ...requests(initContainers, resource)),
        ),
      );
    expect(asked('cpu')).toBeLessThan(0.5);
    expect(asked('memory')).toBeLessThan(2 ** 30);
    for (const { containers } of pods) {
      for (const { resources } of containers) {
        expect(Number(quantity(resources.limits.cpu))).toBeGreaterThan(Number(quantity(resources.requests.cpu)));
      }
    }
  },
);

type Amounts = Readonly<Record<'cpu' | 'memory', string>>;
interface Sized {
  readonly resources: { readonly requests: Amounts; readonly limits: Amounts };
}
interface Workload {
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: Sized[]; readonly initContainers?: Sized[] } };
  };
}

function requests(containers: readonly Sized[], resource: 'cpu' | 'memory'): number[] {
  return containers.map(({ resources }) => Number(quantity(resources.requests[resource])));
}
function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

const listed = (given: Inputs): string[] =>
  desiredChildren(given).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
const stores = [
  'NetworkPolicy shop--postgres',
  'NetworkPolicy shop--redis',
  'Service shop--postgres',
  'PersistentVolumeClaim shop--postgres',
  'StatefulSet shop--postgres',
  'Service shop--redis',
  'StatefulSet shop--redis',
];

it.each([
  { name: 'plain', given: inputs(aRecord()), want: [...stores, 'Service shop', 'Deployment shop'] },
  {
    name: 'waiting for a build',
    given: inputs(aRecord({ source: 'codehost', sourceRevisionConfig: { repoRef: 'main' } })),
    want: stores,
  },
  {
    name: 'elsewhere',
    given: inputs(aRecord({ sourceConfig: { listenerId: UID, listenerConfig: { k8sNamespace: 'team' } } })),
    want: [],
  },
  {
    name: 'an external database',
    given: inputs(aRecord({ secrets: [external('POSTGRES_URI_CUSTOM')] })),
    want: [
      'NetworkPolicy shop--redis',
      'Service shop--redis',
      'StatefulSet shop--redis',
      'Service shop',
      'Deployment shop',
    ],
  },
  {
    name: 'all roles',
    given: inputs(aRecord(everything)),
    want: [
      ...stores,
      'Service shop',
      'Deployment shop',
      'Deployment shop--queue',
      'Deployment shop--orchestrator',
      'Deployment shop--executor',
      'HorizontalPodAutoscaler shop',
      'HorizontalPodAutoscaler shop--queue',
      'HorizontalPodAutoscaler shop--orchestrator',
      'PodDisruptionBudget shop',
    ],
  },
])('makes what a record needs: $name', ({ given, want }) => {
  expect(listed(given)).toEqual(want);
});

const replicas = (given: Inputs): unknown =>
  Object.fromEntries(
    desiredChildren(given)
      .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
      .map((child) => [
        `${child.kind} ${child.metadata.name}`,
        (child as { spec?: { replicas?: number } }).spec?.replicas,
      ]),
  );

it.each([
  {
    name: 'zero',
    spec: { minScale: 0, maxScale: 0, queueCpu: 1, executorCpu: 1 },
    want: {
      'StatefulSet shop--postgres': 1,
      'StatefulSet shop--redis': 1,
      'Deployment shop': 0,
      'Deployment shop--queue': 0,
      'Deployment shop--executor': 0,
    },
  },
  {
    name: 'from zero',
    spec: { minScale: 0, maxScale: 3 },
    want: { 'StatefulSet shop--postgres': 1, 'StatefulSet shop--redis': 1, 'Deployment shop': 1 },
  },
  {
    name: 'several',
    spec: { minScale: 3, maxScale: 5, queueMinScale: 2, executorCpu: 1 },
    want: {
      'StatefulSet shop--postgres': 1,
      'StatefulSet shop--redis': 1,
      'Deployment shop': 3,
      'Deployment shop--queue': 2,
      'Deployment shop--executor': 1,
    },
  },
])('scales: $name', ({ spec, want }) => {
  expect(replicas(inputs(aRecord({ sourceConfig: { resourceSpec: spec } })))).toEqual(want);
});

it('leaves replicas to the autoscaler of a role', () => {
  const given = inputs(aRecord(everything), { autoscaled: new Set(['server'] as const) });
  const [server] = desiredChildren(given).filter(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'shop',
  );
  expect((server as { spec?: object } | undefined)?.spec).not.toHaveProperty('replicas');
});

it('leaves the pods of the database and of Redis alone when only the image changes', () => {
  const before = desiredChildren(inputs(aRecord()));
  const after = desiredChildren(
    inputs(
      aRecord({ sourceRevisionConfig: { imageUri: 'registry.example/shop:2' }, revisionSerial: 2 }, { generation: 2 }),
    ),
  );
  expect(after.filter(({ kind }) => kind !== 'Deployment')).toEqual(before.filter(({ kind }) => kind !== 'Deployment'));
});

it('lets no label or annotation of a record take the place of ours', () => {
  const ours = {
    'app.kubernetes.io/name': 'shop',
    'davit.dev/deployment': 'shop',
    'davit.dev/component': 'server',
    'davit.dev/revision': serialRevisionId(UID, 1),
  };
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...Object.keys(ours), 'team', 'x/y'), fc.constantFrom('a', 'b')),
      (labels) => {
        const server = desiredChildren(inputs(aRecord({ sourceConfig: { resourceSpec: { labels } } }))).at(-1);
        expect(server).toMatchObject({
          kind: 'Deployment',
          spec: { template: { metadata: { labels: { ...labels, ...ours } } } },
        });
      },
    ),
  );
});

it('gives an owner to what can be made again, and to nothing else', () => {
  const owned = Object.fromEntries(
    desiredChildren(inputs(aRecord())).map(({ kind, metadata }) => [kind, metadata.ownerReferences]),
  );
  const owner = [{ apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', name: 'shop', uid: UID, controller: true }];
  expect(owned).toEqual({
    NetworkPolicy: owner,
    Service: owner,
    StatefulSet: owner,
    Deployment: owner,
    PersistentVolumeClaim: undefined,
  });
  expect(makeTracingProject(aRecord()).metadata.ownerReferences).toBeUndefined();
});
