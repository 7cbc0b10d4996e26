import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import { expect, it } from 'vitest';
import { aRecord, TENANT } from '../../../test/support/builders.ts';
import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { AppRevisionSpec } from '../../kinds/app-revision.ts';
import { COMPONENTS } from '../../kinds/meta.ts';
import type { ChosenPlacement } from '../../kinds/placement.ts';
import { Settings } from '../../kinds/settings.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { makeRevision } from './app-revision.ts';
import { desiredChildren } from './desired.ts';

const ALL_PARTS: Partial<AppDeploymentSpec> = {
  sourceConfig: {
    resourceSpec: {
      queueCpu: 1,
      orchestratorCpu: 1,
      executorCpu: 1,
      imagePullSecrets: [{ name: 'mine' }, { name: 'hub' }],
    },
  },
};
const PLACED = Settings.parse({
  images: { registry: 'mirror.example/hub', pullSecrets: ['hub', 'mirror'] },
  placement: Object.fromEntries(
    COMPONENTS.map((part) => [
      part,
      {
        nodeSelector: { pool: part },
        tolerations: [{ key: 'dedicated', operator: 'Equal', value: part, effect: 'NoSchedule' }],
        topologySpread: [{ topologyKey: 'topology.kubernetes.io/zone' }],
        priorityClassName: part,
      },
    ]),
  ),
});
const PLAIN = Settings.parse({});

/** The pods of each part, of a revision made under `then` by a controller of the settings `now`. */
function pods(then: Settings, now: Settings, spec = ALL_PARTS): Map<string, IPodSpec> {
  const record = aRecord(spec);
  const wanted = wantedRevision(record, [], then);
  if (!('create' in wanted)) throw new Error('no revision');
  // As the API server keeps it: what the schema does not know would be dropped.
  const revision = makeRevision(record, AppRevisionSpec.parse(JSON.parse(JSON.stringify(wanted.create))));
  const children = desiredChildren({ record, revision, tenantId: TENANT, settings: now });
  return new Map(
    children
      .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
      .map((child) => {
        const { metadata, spec } = child as KubeObject & { spec: { template: { spec: IPodSpec } } };
        return [metadata.labels?.['davit.dev/component'] ?? '', spec.template.spec];
      }),
  );
}

it('every part is placed as the platform says', () => {
  const made = pods(PLACED, PLACED);
  expect([...made.keys()].toSorted()).toEqual([...COMPONENTS].toSorted());
  for (const [part, pod] of made)
    expect(pod).toMatchObject({
      nodeSelector: { pool: part },
      tolerations: [{ key: 'dedicated', operator: 'Equal', value: part, effect: 'NoSchedule' }],
      topologySpreadConstraints: [
        {
          topologyKey: 'topology.kubernetes.io/zone',
          maxSkew: 1,
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: { 'davit.dev/deployment': 'shop', 'davit.dev/component': part } },
        },
      ],
      priorityClassName: part,
    });
});

const CHOSEN: ChosenPlacement = {
  nodeSelector: { pool: 'gpu' },
  tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists' }],
  runtimeClassName: 'nvidia',
  hostUsers: false,
  resources: { 'nvidia.com/gpu': 1, 'ephemeral-storage': '10Gi' },
};

it('a part has what its record chooses, beside the platform, and no other part does', () => {
  const runtime = { queue: { placement: CHOSEN }, workers: { embed: { command: ['embed'], placement: CHOSEN } } };
  const made = pods(PLACED, PLACED, { sourceConfig: { ...ALL_PARTS.sourceConfig, runtime } });
  for (const part of ['queue', 'embed'])
    expect(made.get(part)).toMatchObject({
      nodeSelector: { pool: 'gpu' },
      tolerations: [
        { key: 'dedicated', operator: 'Equal', value: 'queue', effect: 'NoSchedule' },
        { key: 'nvidia.com/gpu', operator: 'Exists' },
      ],
      runtimeClassName: 'nvidia',
      hostUsers: false,
      containers: [
        {
          resources: {
            requests: { 'nvidia.com/gpu': 1, 'ephemeral-storage': '10Gi', cpu: expect.any(String) },
            limits: { 'nvidia.com/gpu': 1, 'ephemeral-storage': '10Gi', memory: expect.any(String) },
          },
        },
      ],
    });
  const before = pods(PLACED, PLACED);
  for (const part of ['server', 'orchestrator', 'executor', 'redis', 'postgres'])
    expect(spread(made.get(part))).toEqual(spread(before.get(part)));
});

/** Without what names the revision. */
function spread({
  nodeSelector,
  tolerations,
  runtimeClassName,
  hostUsers,
  containers,
}: Partial<IPodSpec> = {}): object {
  return { nodeSelector, tolerations, runtimeClassName, hostUsers, resources: containers?.map((one) => one.resources) };
}

it('what records may choose is no placement of the platform', () => {
  const allowed = Settings.parse({ placement: { allowed: { runtimeClasses: ['gvisor'] } } });
  expect(pods(allowed, allowed)).toEqual(pods(PLAIN, PLAIN));
});

it("the platform's images come from its registry, the record's from where it says; pull secrets are those of both, once", () => {
  const made = pods(PLACED, PLACED);
  const images = (part: string): unknown => [
    ...(made.get(part)?.initContainers ?? []).map(({ image }) => image),
    made.get(part)?.containers[0]?.image,
  ];
  expect(images('postgres')).toEqual(['mirror.example/hub/pgvector/pgvector:0.8.6-pg17-trixie']);
  expect(images('server')).toEqual([
    'mirror.example/hub/pgvector/pgvector:0.8.6-pg17-trixie',
    'mirror.example/hub/valkey/valkey:8.1.10-trixie',
    'registry.example/shop:1',
  ]);
  expect(made.get('server')?.imagePullSecrets).toEqual([{ name: 'hub' }, { name: 'mine' }, { name: 'mirror' }]);
  expect(made.get('redis')?.imagePullSecrets).toEqual([{ name: 'hub' }, { name: 'mirror' }]);
});

it('a changed setting changes no pod of a revision that there is, in either direction', () => {
  expect(pods(PLAIN, PLACED)).toEqual(pods(PLAIN, PLAIN));
  expect(pods(PLACED, PLAIN)).toEqual(pods(PLACED, PLACED));
});

it.each([
  { placement: { server: { nodeSelectors: {} } } },
  { placement: { servers: {} } },
  { placement: { allowed: { nodeSelectors: {} } } },
  { placement: { allowed: { runtimeClasses: ['No Class'] } } },
  { placement: { redis: { tolerations: [{ keys: 'a' }] } } },
  { placement: { redis: { priorityClassName: 'No Class' } } },
  { images: { registry: 'https://mirror.example' } },
  { images: { registry: 'mirror.example/' } },
  { limits: { cpus: 1 } },
  { deploymentType: 'production' },
])('a setting that is wrong is refused: %j', (given) => {
  expect(Settings.safeParse(given).success).toBe(false);
});
