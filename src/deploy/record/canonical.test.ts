import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aRecord, aRevision, aSpec, SETTINGS } from '../../../test/support/builders.ts';
import { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { Requested } from '../../kinds/app-revision.ts';
import { type StructuralSchema, structuralSchema } from '../../kinds/structural-schema.ts';
import { canonical } from './canonical.ts';
import { needsRevision } from './needs-revision.ts';
import { requestedOf, sameRequested } from './requested.ts';
import { wantedRevision } from './wanted-revision.ts';

const reference = (name: string): { name: string; secretName: string; secretKey: string } => ({
  name,
  secretName: 'mine',
  secretKey: 'key',
});

const container = (name: string): object => ({
  name,
  image: 'registry.example/helper:1',
  command: ['helper', '--serve'],
  env: [
    { name: 'B', value: 'b' },
    { name: 'A', value: '$(B)' },
  ],
  resources: { limits: { memory: '64Mi', cpu: '1' }, requests: { cpu: '50m' } },
  securityContext: { runAsUser: 0, capabilities: { drop: ['ALL'] } },
  volumeMounts: [{ name: 'scratch', mountPath: '/a', readOnly: false }],
});

/** Everything that a record can ask for, once. */
const full = aSpec({
  sourceConfig: {
    deploymentType: 'prod',
    env: [{ name: 'PLAIN', value: 'text' }],
    resourceSpec: {
      minScale: 0,
      cpu: 0.5,
      labels: { team: 'blue', tier: '' },
      annotations: { 'example.org/note': 'hello' },
      serviceAccountName: 'runner',
      imagePullSecrets: [{ name: 'one' }, { name: 'two' }],
      volumes: [
        { name: 'scratch', emptyDir: {} },
        { name: 'config', configMap: { name: 'settings', items: [{ key: 'a', path: 'a' }] } },
        { name: 'files', csi: { driver: 'files.example', volumeAttributes: { a: 'b' } } },
      ],
      volumeMounts: [
        { name: 'scratch', mountPath: '/one' },
        { name: 'config', mountPath: '/two' },
      ],
      initContainers: [container('first'), container('second')] as never,
      sidecars: [container('proxy')] as never,
    },
  },
  secrets: [reference('A'), reference('B')],
  secretReferences: [reference('C'), reference('D')],
});
const bare = aSpec();

const LISTS = ['volumes', 'volumeMounts', 'initContainers', 'sidecars', 'imagePullSecrets'];
const MAPS = ['labels', 'annotations'];
const CONTAINER_LISTS = ['args', 'command', 'env', 'envFrom', 'volumeMounts'];

type Json = Record<string, unknown>;

/** The same in another form: keys in another order, and what is absent said in one of the ways that there are. */
function reformed(value: unknown, pick: (most: number) => number, field = '', parent = ''): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => reformed(item, pick, '', field));
    return ['volumes', 'imagePullSecrets', 'secrets', 'secretReferences'].includes(field) && pick(1) === 1
      ? items.toReversed()
      : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, reformed(inner, pick, key, field)] as const);
  const isContainer = parent === 'initContainers' || parent === 'sidecars';
  const absent = (keys: readonly string[], forms: readonly unknown[]): (readonly [string, unknown])[] =>
    keys.filter((key) => !(key in value)).map((key) => [key, forms[pick(forms.length - 1)]] as const);
  const said = [
    ...entries,
    ...(field === 'resourceSpec'
      ? [...absent(LISTS, [undefined, null, []]), ...absent(MAPS, [undefined, null, {}]), ...absent(['dbCpu'], [null])]
      : []),
    ...(isContainer
      ? [
          ...absent(CONTAINER_LISTS, [undefined, null, []]),
          ...absent(['resources'], [undefined, null, {}, { limits: {} }, { requests: null, limits: {} }]),
        ]
      : []),
    ...(field === 'capabilities' ? absent(['add'], [undefined, null, []]) : []),
    ...(field === 'configMap' ? absent(['items'], [undefined, null, []]) : []),
  ];
  const turned = said.map((entry) => [pick(1000), entry] as const).toSorted(([a], [b]) => a - b);
  return Object.fromEntries(turned.map(([, entry]) => entry));
}

const picks = fc.infiniteStream(fc.nat()).map((stream) => (most: number) => Number(stream.next().value) % (most + 1));
const specs = fc.constantFrom(full, bare, aSpec({ sourceConfig: { resourceSpec: {} } }));

describe('another form of the same', () => {
  it('in the snapshot makes no revision', () => {
    fc.assert(
      fc.property(specs, picks, (spec, pick) => {
        const record = aRecord(spec);
        const revision = aRevision(record);
        const stored = reformed(revision.spec.requested, pick) as Requested;
        const older = { ...revision, spec: { ...revision.spec, requested: stored } };
        expect(wantedRevision(record, [older], SETTINGS)).toEqual({ current: older });
      }),
    );
  });

  it('in the record makes no revision', () => {
    fc.assert(
      fc.property(specs, picks, (spec, pick) => {
        const record = aRecord(spec);
        const revision = aRevision(record);
        const edited = reformed(spec, pick) as AppDeploymentSpec;
        expect(needsRevision(spec, edited)).toBe(false);
        expect(needsRevision(edited, spec)).toBe(false);
        expect(wantedRevision({ ...record, spec: edited }, [revision], SETTINGS)).toEqual({ current: revision });
      }),
    );
  });

  it('has one canonical form, which is its own', () => {
    fc.assert(
      fc.property(specs, picks, (spec, pick) => {
        const requested = requestedOf(spec);
        const form = canonical(reformed(requested, pick) as Requested);
        expect(form).toStrictEqual(canonical(requested));
        expect(canonical(form)).toStrictEqual(form);
      }),
    );
  });
});

/** Each leaf of `value`, changed to something else. */
function changes(value: unknown, replace: (inner: unknown) => unknown): unknown[] {
  if (Array.isArray(value))
    return value.flatMap((item: unknown, index) => changes(item, (inner) => replace(value.with(index, inner))));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value as Json).flatMap(([key, inner]) =>
      changes(inner, (other) => replace({ ...(value as Json), [key]: other })),
    );
  if (typeof value === 'number') return [replace(value + 1)];
  if (typeof value === 'boolean') return [replace(!value)];
  return [replace(`${String(value)}x`)];
}

it('whatever says something else is another', () => {
  const requested = requestedOf(full);
  const others = changes(requested, (value) => value) as Requested[];
  expect(others.length).toBeGreaterThan(60);
  expect(others.filter((other) => sameRequested(requested, other))).toEqual([]);
});

it.each<{ name: string; a: object; b: object }>([
  {
    name: 'an empty emptyDir is a volume',
    a: { volumes: [{ name: 'a', emptyDir: {} }] },
    b: { volumes: [{ name: 'a' }] },
  },
  {
    name: 'the order of containers is theirs',
    a: { sidecars: [{ name: 'a' }, { name: 'b' }] },
    b: { sidecars: [{ name: 'b' }, { name: 'a' }] },
  },
  {
    name: 'variables may use those before them',
    a: { sidecars: [{ name: 'a', env: [{ name: 'A' }, { name: 'B' }] }] },
    b: { sidecars: [{ name: 'a', env: [{ name: 'B' }, { name: 'A' }] }] },
  },
  { name: 'zero is not absent', a: { minScale: 0 }, b: {} },
  { name: 'an empty text is not absent', a: { labels: { a: '' } }, b: { labels: {} } },
])('$name', ({ a, b }) => {
  const asked = (resourceSpec: object): Requested => ({ ...requestedOf(bare), resourceSpec });
  expect(sameRequested(asked(a), asked(b))).toBe(false);
});

/** Paths under which the schema fills something in. */
function defaultsIn(schema: StructuralSchema, path = ''): string[] {
  const { properties, items, additionalProperties } = schema;
  return [
    ...('default' in schema ? [`${path}: ${JSON.stringify(schema['default'])}`] : []),
    ...Object.entries(properties ?? {}).flatMap(([key, inner]) => defaultsIn(inner, `${path}.${key}`)),
    ...(items ? defaultsIn(items, `${path}[]`) : []),
    ...(additionalProperties ? defaultsIn(additionalProperties, `${path}{}`) : []),
  ];
}

it('the schema fills in nothing that a stored snapshot would not have', () => {
  // A default of an existing kind shows in every record that is stored, and in no snapshot: each would get a revision.
  expect(defaultsIn(structuralSchema(AppDeploymentSpec))).toEqual([
    '.sourceConfig: {}',
    '.sourceRevisionConfig: {}',
    '.secrets: []',
    '.tracingProjectDeletionPolicy: "Retain"',
  ]);
});
