// The walk of test/harness/walk on a real API server: many records at once, changed step by step. After each step the children
// are compared with what the API server would make of a fresh record's (by dry runs), its defaults and orders included.

import fc from 'fast-check';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { desiredChildren } from '../../../src/deploy/children/desired.ts';
import { autoscaledParts } from '../../../src/deploy/record/scale.ts';
import { scaledBy } from '../../../src/deploy/record/scaled.ts';
import type { AppDeployment, AppDeploymentSpec } from '../../../src/kinds/app-deployment.ts';
import type { AppRevision } from '../../../src/kinds/app-revision.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { SECRETS_ANNOTATION } from '../../../src/kinds/meta.ts';
import type { ResourceSpec } from '../../../src/kinds/resource-spec.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { BUILT_IN_RESOURCES, makeResourceRegistry } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aChange, changed, NAMED } from '../../harness/walk/changes.ts';
import { differencesOf } from '../../harness/walk/picture.ts';
import { aSpec } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

/** As in test/harness/walk: more with DAVIT_WALKS=40. */
const RECORDS = Number(process.env['DAVIT_WALKS'] ?? 6);
const STEPS = 10;
const LONGEST_MS = 120_000 + RECORDS * 120_000;
const SEED = Number(process.env['DAVIT_WALK_SEED'] ?? 20_260_202);

const davit: Attached = attach(inject('davit'));
const dispatcher = new Agent({ connect: { ca: inject('davit').ca } });
const registry = makeResourceRegistry(BUILT_IN_RESOURCES);
let tenant: Tenant;

beforeAll(async () => {
  tenant = await davit.tenant('walk');
  const named = (kind: string, name: string, more: object = {}): object => ({
    apiVersion: 'v1',
    kind,
    metadata: { name, namespace: tenant.namespace },
    ...more,
  });
  const objects = [
    ...Object.entries(NAMED.secrets).map(([name, keys]) =>
      named('Secret', name, { stringData: Object.fromEntries(keys.map((key) => [key, 'redis://a'])) }),
    ),
    ...NAMED.configMaps.map((name) => named('ConfigMap', name, { data: { a: 'b' } })),
    ...NAMED.serviceAccounts.map((name) => named('ServiceAccount', name)),
    ...NAMED.claims.map((name) =>
      named('PersistentVolumeClaim', name, {
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      }),
    ),
  ];
  await davit.kubectl(['apply', '-f', '-'], objects.map((object) => JSON.stringify(object)).join('\n'));
});
afterAll(() => dispatcher.close());

async function send(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
  const response = await fetch(new URL(path, davit.server), {
    method,
    dispatcher,
    headers: { authorization: `Bearer ${tenant.token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

function recordsPath(name = ''): string {
  return `/apis/davit.dev/v1alpha1/namespaces/${tenant.namespace}/appdeployments${name}`;
}

/** Few pods: what is looked at are templates. */
function small(given: AppDeploymentSpec): AppDeploymentSpec {
  // This platform issues no tokens. Pods with one are those of api-server/oauth.test.ts.
  const { apiToken: _token, ...runtime } = given.sourceConfig.runtime ?? {};
  const spec = { ...given, sourceConfig: { ...given.sourceConfig, ...(given.sourceConfig.runtime && { runtime }) } };
  const { resourceSpec } = spec.sourceConfig;
  if (!resourceSpec) return spec;
  // A volume cannot shrink: a record that once was larger differs from a fresh one, and says so.
  const { dbStorageGi: _, ...rest } = resourceSpec;
  const entries = Object.entries(rest).map(([field, value]) => {
    if (field.endsWith('Scale')) return [field, Math.min(value as number, 2)];
    return [field, /Cpu(Limit)?$|^cpu/.test(field) ? Math.min(value as number, 1) : value];
  });
  return { ...spec, sourceConfig: { ...spec.sourceConfig, resourceSpec: Object.fromEntries(entries) as ResourceSpec } };
}

async function all<T>(kinds: string): Promise<T[]> {
  return (await davit.kubectlJson<{ items: T[] }>(['get', kinds, '-n', tenant.namespace])).items;
}

/** Everything of the records is as their latest generation wants it, or it is said why not. */
async function settled(): Promise<AppDeployment[]> {
  return eventually(
    async () => {
      const records = await all<AppDeployment>('appd');
      const late = records.flatMap(({ metadata, status }) => {
        const isSeen = status?.observedGeneration === metadata.generation;
        const ready = conditionOf(status?.conditions, 'Ready');
        return isSeen && ready?.status === 'True' ? [] : [`${metadata.name}: ${ready?.reason} ${ready?.message}`];
      });
      expect(late).toEqual([]);
      return records;
    },
    60_000,
    250,
  );
}

interface Child extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** What only the API server, or a controller beside ours, puts there. */
const OTHERS: ReadonlySet<string> = new Set(['clusterIP', 'clusterIPs', 'volumeName', 'replicas', 'resources']);

function contentOf({ kind, metadata, spec }: Child): [string, unknown] {
  const own = Object.fromEntries(
    Object.entries(spec ?? {}).filter(
      ([field]) => !OTHERS.has(field) || (field === 'resources' && kind !== 'PersistentVolumeClaim'),
    ),
  );
  return [`${kind} ${metadata.name}`, withoutDigest({ labels: metadata.labels, spec: own })];
}

/** The digest of the Secrets' values is keyed by what only Davit knows. */
function withoutDigest(content: object): unknown {
  return JSON.parse(
    JSON.stringify(content, (field, value: unknown) => {
      if (field !== 'annotations' || typeof value !== 'object' || value === null) return value;
      const others = Object.entries(value).filter(([key]) => key !== SECRETS_ANNOTATION);
      return others.length > 0 ? Object.fromEntries(others) : undefined;
    }),
  ) as unknown;
}

/** What the API server would make of a fresh record's children. */
async function freshChildren(record: AppDeployment, made: AppRevision): Promise<Map<string, unknown>> {
  const settings = Settings.parse({});
  const revision = scaledBy(record.spec, made, settings);
  const autoscaled = new Set(autoscaledParts(revision.spec.resolved));
  const children = desiredChildren({ record, revision, tenantId: tenant.id, settings, autoscaled });
  const answers = await Promise.all(
    children.map(async (child) => {
      const { group, version, plural } = registry.resourceOf(child);
      const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
      const path = `${base}/namespaces/${tenant.namespace}/${plural}?dryRun=All`;
      const other = { ...child, metadata: { ...child.metadata, name: `dry-${child.metadata.name}` } };
      const { status, body } = await send('POST', path, other);
      expect(status, JSON.stringify(body)).toBe(201);
      const answered = body as Child;
      return contentOf({
        ...answered,
        kind: child.kind,
        metadata: { ...answered.metadata, name: child.metadata.name },
      });
    }),
  );
  return new Map(answers);
}

const KINDS =
  'deployments,statefulsets,services,persistentvolumeclaims,networkpolicies,horizontalpodautoscalers,poddisruptionbudgets';

it(
  `${RECORDS} records, ${STEPS} changes each: the children are those of fresh records`,
  async () => {
    const changes = fc.sample(aChange(), { numRuns: RECORDS * STEPS, seed: SEED });
    const names = Array.from({ length: RECORDS }, (_, index) => `walker-${index}`);
    const specs = new Map<string, AppDeploymentSpec>();
    // As kubectl makes one: no serial, a change alone is a new revision.
    const { revisionSerial: _serial, ...first } = aSpec();
    await Promise.all(
      names.map(async (name) => {
        specs.set(name, first);
        const record = { apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', metadata: { name }, spec: first };
        expect(await send('POST', recordsPath(), record)).toMatchObject({ status: 201 });
      }),
    );
    const states = new Set<string>();
    for (let step = 0; step < STEPS; step += 1) {
      const before = new Map((await all<AppDeployment>('appd')).map((record) => [record.metadata.name, record]));
      await Promise.all(
        names.map(async (name, index) => {
          const change = changes[index * STEPS + step];
          const spec = small(changed(specs.get(name) ?? first, change ?? { path: [], value: undefined }));
          specs.set(name, spec);
          const { resourceVersion: _, managedFields: __, ...metadata } = before.get(name)?.metadata ?? { name };
          const record = { apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', metadata, spec };
          const answer = await eventually(async () => {
            const { body } = await send('GET', recordsPath(`/${name}`));
            const { resourceVersion } = (body as AppDeployment).metadata;
            const sent = await send('PUT', recordsPath(`/${name}`), {
              ...record,
              metadata: { ...metadata, resourceVersion },
            });
            expect(sent.status).not.toBe(409);
            return sent;
          });
          expect(answer, JSON.stringify(change)).toMatchObject({ status: 200 });
        }),
      );
      const records = await settled();
      const revisions = await all<AppRevision>('appr');
      const children = await all<Child>(KINDS);
      await Promise.all(
        records.map(async (record) => {
          const { name } = record.metadata;
          const revision = revisions.find(({ metadata }) => metadata.name === record.status?.latestRevision);
          if (!revision) throw new Error(`${name} has no revision.`);
          const own = children.filter(({ metadata }) => metadata.labels?.['davit.dev/deployment'] === name);
          const differences = differencesOf(new Map(own.map(contentOf)), await freshChildren(record, revision));
          expect(differences, `seed ${SEED}, step ${step}, ${name}`).toEqual([]);
          states.add(JSON.stringify(revision.spec.requested));
        }),
      );
    }
    process.stdout.write(
      `  walk for real: seed ${SEED}, ${RECORDS * STEPS} steps, ${states.size} states, 0 differences\n`,
    );
  },
  LONGEST_MS,
);
