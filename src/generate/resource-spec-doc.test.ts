import { describe, expect, it } from 'vitest';
import { aRecord, SETTINGS, TENANT } from '../../test/support/builders.ts';
import type { SourceConfig } from '../api/app-deployment.ts';
import { ResourceSpec } from '../api/resource-spec.ts';
import { Runtime } from '../api/runtime.ts';
import { type StructuralSchema, structuralSchema } from '../api/structural-schema.ts';
import type { KubeObject } from '../kube/client.ts';
import { effectiveNumbers } from '../record/resolve.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { makeRevision } from '../resources/app-revision.ts';
import { desiredChildren, migrationJob } from '../resources/desired.ts';
import { ROWS, type Row } from './resource-spec-doc.ts';
import { MIGRATION_JOB, RUNTIME_ROWS } from './runtime-doc.ts';

/** Every field that a person can set: what is free-form, a map of a person's own or a plain value has no parts. */
function leavesOf(schema: StructuralSchema, path = ''): string[] {
  const isFree = schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties !== undefined;
  if (isFree) return [path];
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
  const wanted = wantedRevision(record, [], SETTINGS);
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
      ? here.find((item: { name?: string; mountPath?: string; type?: string }) =>
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

describe('runtime', () => {
  const resourceSpec = { queueMinScale: 1, queueMaxScale: 5, orchestratorMinScale: 1, executorCpu: 1 };
  const withoutRuntime = childrenOf({ resourceSpec });

  it('every field of the schema has a row, and every row a field', () => {
    const fields = leavesOf(structuralSchema(Runtime)).map(withoutListOfTexts);
    expect(RUNTIME_ROWS.map(({ field }) => field).toSorted()).toEqual(fields.toSorted());
    expect(RUNTIME_ROWS).toHaveLength(43);
  });
  it.each(RUNTIME_ROWS.map((row): [string, Row<Runtime>] => [row.field, row]))(
    '%s becomes what the table says',
    (_field, row) => {
      expect(Runtime.safeParse(row.given).error).toBeUndefined();
      expectEffects(row, childrenOf({ resourceSpec, runtime: row.given }), withoutRuntime);
    },
  );
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
