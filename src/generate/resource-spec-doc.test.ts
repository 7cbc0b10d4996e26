import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { anObserved, aRecord, SETTINGS, TENANT } from '../../test/support/builders.ts';
import type { Observed, Pod, Workload } from '../deployments/assess/observed.ts';
import { isResizing } from '../deployments/assess/resizing.ts';
import { makeRevision } from '../deployments/children/app-revision.ts';
import { desiredChildren, migrationJob } from '../deployments/children/desired.ts';
import { plan } from '../deployments/plan/plan.ts';
import { keepingResized } from '../deployments/plan/store-resize.ts';
import { effectiveNumbers } from '../deployments/record/resolve.ts';
import { wantedRevision } from '../deployments/record/wanted-revision.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import type { SourceConfig } from '../schema/app-deployment.ts';
import { PLATFORM_VALUES } from '../schema/platform-values.ts';
import { type Measure, NUMBER_FIELDS, ResourceSpec } from '../schema/resource-spec.ts';
import { Runtime } from '../schema/runtime.ts';
import { SERVER_DRAIN_SECONDS, STOP_SECONDS } from '../schema/runtime-part.ts';
import { type StructuralSchema, structuralSchema } from '../schema/structural-schema.ts';
import { CHANGES, type Consequence, ROWS, type Row } from './resource-spec-doc.ts';
import { MIGRATION_JOB, RUNTIME_ROWS } from './runtime-doc.ts';

/** Every field that a person can set: what is free-form, a map of a person's own or a plain value has no parts. */
function leavesOf(schema: StructuralSchema, path = ''): string[] {
  const { additionalProperties: values } = schema;
  if (values?.properties) return leavesOf(values, `${path}.NAME`);
  if (schema['x-kubernetes-preserve-unknown-fields'] === true || values !== undefined) return [path];
  if (schema.items) return leavesOf(schema.items, `${path}[]`);
  const parts = Object.entries(schema.properties ?? {});
  if (parts.length === 0) return [path];
  return parts.flatMap(([name, part]) => leavesOf(part, path === '' ? name : `${path}.${name}`));
}

function withoutListOfTexts(field: string): string {
  return field.replace(/\[\]$/, '');
}

it('every field of the schema has a row, and every row a field', () => {
  const fields = leavesOf(structuralSchema(ResourceSpec)).map(withoutListOfTexts);
  expect(ROWS.map(({ field }) => field).toSorted()).toEqual(fields.toSorted());
  // So that a field that vanishes from schema and table alike is noticed.
  expect(ROWS).toHaveLength(91);
});

/** The migration's Job has the name by which the table calls it. */
function childrenOf(sourceConfig: SourceConfig): readonly KubeObject[] {
  const record = aRecord({ sourceConfig });
  const withApi = { ...SETTINGS, http: { ...SETTINGS.http, podUrl: 'https://davit-api.davit-system.svc' } };
  const wanted = wantedRevision(record, [], withApi);
  if (!('create' in wanted)) throw new Error('no revision');
  const revision = makeRevision(record, wanted.create);
  const inputs = { record, revision, tenantId: TENANT, settings: SETTINGS, keda: true };
  const job = migrationJob(inputs);
  const name = MIGRATION_JOB.replace('Job ', '');
  return [...desiredChildren(inputs), ...(job ? [{ ...job, metadata: { ...job.metadata, name } }] : [])];
}

function valueAt(children: readonly KubeObject[], object: string, path: string): unknown {
  let here: unknown = children.find(({ kind, metadata }) => `${kind} ${metadata.name}` === object);
  for (const [, plain, bracketed] of path.matchAll(/([^.[\]]+)|\[([^\]]+)\]/g)) {
    const step = plain ?? bracketed ?? '';
    here = Array.isArray(here)
      ? /^\d+$/.test(step)
        ? here[Number(step)]
        : here.find((item: { name?: string; mountPath?: string; type?: string }) =>
            [item.mountPath, item.name, item.type].includes(step),
          )
      : (here as Record<string, unknown> | undefined)?.[step];
  }
  return here;
}

const without = childrenOf({});

/** Holds the children of a record against its row. A row whose value is there without the field would show nothing. */
function expectEffects(
  { effects }: Row<unknown>,
  children: readonly KubeObject[],
  otherwise: readonly KubeObject[],
): void {
  for (const { object, at, is } of effects) {
    expect(valueAt(children, object, at), `${object} ${at}`).toEqual(is);
    expect(valueAt(otherwise, object, at), `${object} ${at} without the field`).not.toEqual(is);
  }
}

it.each(ROWS.map((row): [string, Row] => [row.field, row]))('%s becomes what the table says', (_field, row) => {
  expect(ResourceSpec.safeParse(row.given).error).toBeUndefined();
  expectEffects(row, childrenOf({ resourceSpec: row.given }), without);
});

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

describe('runtime', () => {
  const resourceSpec = { queueMinScale: 1, queueMaxScale: 5, orchestratorMinScale: 1, executorCpu: 1 };
  const withoutRuntime = childrenOf({ resourceSpec });

  it('every field of the schema has a row, and every row a field', () => {
    const fields = leavesOf(structuralSchema(Runtime)).map(withoutListOfTexts);
    expect(RUNTIME_ROWS.map(({ field }) => field).toSorted()).toEqual(fields.toSorted());
    expect(RUNTIME_ROWS).toHaveLength(90);
  });
  it.each(RUNTIME_ROWS.map((row): [string, Row<Runtime>] => [row.field, row]))(
    '%s becomes what the table says',
    (_field, row) => {
      expect(Runtime.safeParse(row.given).error).toBeUndefined();
      expectEffects(row, childrenOf({ resourceSpec, runtime: row.given }), withoutRuntime);
    },
  );

  const page = readFileSync(new URL('../../docs/runtime.md', import.meta.url), 'utf8');

  it('docs/runtime.md lists every value of the platform, and the times of a pod that ends', () => {
    const listed = [...page.matchAll(/^\| `([a-z_]+)` \| [^|]*\|$/gm)].map(([, value]) => value);
    expect(listed).toEqual(PLATFORM_VALUES);
    const text = page.replaceAll(/\s+/g, ' ');
    expect(text).toContain(`a server waits ${SERVER_DRAIN_SECONDS} s before SIGTERM`);
    expect(text).toContain(`then has ${STOP_SECONDS} s to end`);
  });
});

it.each(ROWS.filter(({ example }) => typeof example === 'number'))(
  '$field is shown as in force',
  ({ field, given }) => {
    const wanted = wantedRevision(aRecord({ sourceConfig: { resourceSpec: given } }), [], SETTINGS);
    if (!('create' in wanted)) throw new Error('no revision');
    expect(effectiveNumbers(wanted.create.resolved)[field]).toBe((given as Record<string, unknown>)[field]);
  },
);

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
