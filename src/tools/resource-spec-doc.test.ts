import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { anObserved, aRecord, SETTINGS, TENANT } from '../../test/support/builders.ts';
import type { Observed, Pod, Workload } from '../deploy/assess/observed.ts';
import { isResizing } from '../deploy/assess/resizing.ts';
import { makeRevision } from '../deploy/children/app-revision.ts';
import { desiredChildren } from '../deploy/children/desired.ts';
import { plan } from '../deploy/plan/plan.ts';
import { keepingResized } from '../deploy/plan/pod-resize.ts';
import { effectiveNumbers } from '../deploy/record/resolve.ts';
import { wantedRevision } from '../deploy/record/wanted-revision.ts';
import type { SourceConfig } from '../kinds/app-deployment.ts';
import { PLATFORM_VALUES } from '../kinds/platform-values.ts';
import { type Measure, NUMBER_FIELDS, ResourceSpec } from '../kinds/resource-spec.ts';
import { Runtime } from '../kinds/runtime.ts';
import { SERVER_DRAIN_SECONDS, STOP_SECONDS } from '../kinds/runtime-part.ts';
import { structuralSchema } from '../kinds/structural-schema.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { effectsOf, fieldsOf } from './effects.ts';
import { CHANGES, type Consequence, defaultsOf, EXAMPLE, RESOURCE_SPEC_EXAMPLES } from './resource-spec-doc.ts';
import { RUNTIME_EXAMPLES } from './runtime-doc.ts';

describe('every field of the schema', () => {
  const resourceSpec = fieldsOf('resourceSpec', structuralSchema(ResourceSpec), RESOURCE_SPEC_EXAMPLES);
  const runtime = fieldsOf('runtime', structuralSchema(Runtime), RUNTIME_EXAMPLES);

  it('is documented: one that vanishes from the schema is noticed', () => {
    expect([resourceSpec.length, runtime.length]).toEqual([91, 135]);
  });
  it('has an effect, but for the restart policy of a sidecar, which is always the same', () => {
    const without = [...resourceSpec, ...runtime].filter(({ effects }) => effects.length === 0);
    expect(without.map(({ field }) => field)).toEqual(['sidecars[].restartPolicy']);
  });
  it('has an example that the schema takes', () => {
    for (const example of RESOURCE_SPEC_EXAMPLES)
      expect(ResourceSpec.safeParse(example.resourceSpec).error).toBeUndefined();
    for (const example of RUNTIME_EXAMPLES) expect(Runtime.safeParse(example.runtime).error).toBeUndefined();
  });
});

it('what differs is found by the names of elements, and by their places where they have none', () => {
  const pod = (containers: readonly object[]): ReadonlyMap<string, unknown> =>
    new Map([['Pod shop', { metadata: { labels: { 'example.org/a': 'same' } }, containers }]]);
  const before = pod([{ name: 'wait' }, { name: 'server', args: ['a'], env: [{ name: 'A', value: '1' }] }]);
  const after = pod([{ name: 'server', args: ['a', 'b'], env: [{ name: 'A', value: '2' }], ports: [{ port: 80 }] }]);
  expect(effectsOf(new Map([...before, ['Job old', {}]]), new Map([...after, ['Job new', {}]]))).toEqual([
    { object: 'Pod shop', at: 'containers[server].args', is: ['a', 'b'] },
    { object: 'Pod shop', at: 'containers[server].env[A].value', is: '2' },
    { object: 'Pod shop', at: 'containers[server].ports', is: [{ port: 80 }] },
    { object: 'Pod shop', at: 'containers[wait]', is: undefined },
    { object: 'Job new', at: '', is: {} },
    { object: 'Job old', at: '', is: undefined },
  ]);
  const labels = (value: string): ReadonlyMap<string, unknown> => new Map([['Pod', { labels: { 'a.b/c': value } }]]);
  expect(effectsOf(labels('1'), labels('2'))).toEqual([{ object: 'Pod', at: 'labels[a.b/c]', is: '2' }]);
  const secrets = (...list: readonly object[]): ReadonlyMap<string, unknown> => new Map([['Pod', { secrets: list }]]);
  expect(effectsOf(secrets({}), secrets({ name: 'b' }))).toEqual([{ object: 'Pod', at: 'secrets[b].name', is: 'b' }]);
});

it.each([undefined, 'dev', 'prod'] as const)(
  'the defaults of queue workers, orchestrator and executor are those of the server: %s',
  (type) => {
    const defaults = defaultsOf(type);
    const ofServer = new Map(
      NUMBER_FIELDS.flatMap(({ part, measure, field }) => (part === 'server' ? [[measure, field]] : [])),
    );
    for (const { part, measure, field } of NUMBER_FIELDS.filter((one) => /queue|orchestrator|executor/.test(one.part)))
      expect([part, measure, defaults[field]]).toEqual([part, measure, defaults[ofServer.get(measure) ?? '']]);
  },
);

it('a field without an example is refused', () => {
  expect(() => fieldsOf('runtime', structuralSchema(Runtime), [])).toThrow('document runtime.port: no example has it');
});

function childrenOf(sourceConfig: SourceConfig): readonly KubeObject[] {
  const record = aRecord({ sourceConfig });
  const wanted = wantedRevision(record, [], SETTINGS);
  if (!('create' in wanted)) throw new Error('no revision');
  return desiredChildren({
    record,
    revision: makeRevision(record, wanted.create),
    tenantId: TENANT,
    settings: SETTINGS,
  });
}

describe('what a change restarts', () => {
  const AMOUNTS: Record<Measure, number> = {
    minScale: 2,
    maxScale: 8,
    cpu: 0.5,
    cpuLimit: 2,
    memoryMb: 512,
    memoryLimitMb: 2048,
    storageGi: 20,
    maxConnections: 200,
  };
  /** Every number, so that none follows another. */
  const base = Object.fromEntries(NUMBER_FIELDS.map(({ field, measure }) => [field, AMOUNTS[measure]]));
  const before = childrenOf({ resourceSpec: base });

  it('is said of every number', () => {
    expect(CHANGES.flatMap(({ fields }) => fields).toSorted()).toEqual(
      NUMBER_FIELDS.map(({ field }) => field).toSorted(),
    );
  });

  it.each(NUMBER_FIELDS)('$field', ({ field, measure }) => {
    const change = CHANGES.find(({ fields }) => fields.includes(field));
    const changed = (factor: number): Consequence =>
      consequenceOf(before, childrenOf({ resourceSpec: { ...base, [field]: AMOUNTS[measure] * factor } }));
    expect({ larger: changed(1.5), smaller: changed(0.5) }).toEqual({
      larger: change?.larger,
      smaller: change?.smaller,
    });
  });
});

/** By what differs, where everything of `before` runs. */
function consequenceOf(before: readonly KubeObject[], after: readonly KubeObject[]): Consequence {
  const templateOf = (object: KubeObject | undefined): unknown =>
    (object as { spec?: { template?: unknown } } | undefined)?.spec?.template;
  const found = after.filter((object, index) => !isDeepStrictEqual(object, before[index]));
  const [one] = found.filter(({ kind }) => kind !== 'PodDisruptionBudget');
  const there = before.find(({ kind, metadata }) => kind === one?.kind && metadata.name === one.metadata.name);
  if (!one || !there) throw new Error('nothing has changed');
  if (one.kind === 'PersistentVolumeClaim') {
    const { refusals } = plan([one], {
      ...anObserved(aRecord({ sourceConfig: { resourceSpec: { dbStorageGi: 1 } } })),
      children: [there],
    });
    return refusals.some(({ reason }) => reason === 'StorageCannotShrink') ? 'refused' : 'grow';
  }
  if (one.kind === 'StatefulSet') {
    const [kept] = keepingResized([one], running(there));
    return kept && isResizing(kept as Workload) ? 'resize' : 'replace';
  }
  return isDeepStrictEqual(templateOf(one), templateOf(there)) ? 'scale' : 'rollout';
}

/** The pod of a StatefulSet runs, as a kubelet says it. */
function running(set: KubeObject): Observed {
  const { template } = (set as KubeObject & { spec: { template: Pod } }).spec;
  const [container] = template.spec?.containers ?? [];
  const ofSet = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: set.metadata.name, uid: 'set', controller: true };
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', generation: 1, labels: { 'controller-revision-hash': 'a' }, ownerReferences: [ofSet] },
    spec: template.spec ?? {},
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [{ ...container, name: container?.name ?? '', state: { running: {} } }],
    },
  };
  const status = { observedGeneration: 1, updateRevision: 'a' };
  const there = { ...set, metadata: { ...set.metadata, uid: 'set', generation: 1 }, status } as KubeObject;
  return anObserved(aRecord(), { children: [there], pods: [pod] });
}

it('docs/porting.md lists every value of the platform, and the times of a pod that ends', () => {
  const page = readFileSync(new URL('../../docs/porting.md', import.meta.url), 'utf8');
  const listed = [...page.matchAll(/^\| `([a-z_]+)` \| [^|]*\|$/gm)].map(([, value]) => value);
  expect(listed).toEqual(PLATFORM_VALUES);
  const text = page.replaceAll(/\s+/g, ' ');
  expect(text).toContain(`a server waits ${SERVER_DRAIN_SECONDS} s before SIGTERM`);
  expect(text).toContain(`then has ${STOP_SECONDS} s to end`);
});

it('the numbers of the example are those in force', () => {
  const wanted = wantedRevision(aRecord({ sourceConfig: { resourceSpec: EXAMPLE } }), [], SETTINGS);
  if (!('create' in wanted)) throw new Error('no revision');
  expect(effectiveNumbers(wanted.create.resolved)).toEqual(EXAMPLE);
});

it('a sidecar starts before what needs it and ends after it; the init containers of the record come last', () => {
  const resourceSpec = {
    initContainers: [{ name: 'migrate', image: 'a' }],
    sidecars: [{ name: 'proxy', image: 'a' }],
  };
  const [deployment] = childrenOf({ resourceSpec }).filter(({ kind }) => kind === 'Deployment') as unknown as {
    spec: { template: { spec: { initContainers: { name: string; restartPolicy?: string }[] } } };
  }[];
  const listed = deployment?.spec.template.spec.initContainers.map(({ name, restartPolicy }) => [name, restartPolicy]);
  expect(listed).toEqual([
    ['wait-for-database', undefined],
    ['wait-for-redis', undefined],
    ['proxy', 'Always'],
    ['migrate', undefined],
  ]);
});
