// Who reaches whom, read from the policies as a network plug-in reads them.

import { describe, expect, it } from 'vitest';
import { aRecord, TENANT } from '../../../test/support/builders.ts';
import { type Component, ROLES } from '../../kinds/meta.ts';
import { Settings } from '../../kinds/settings.ts';
import { commonLabels } from '../record/labels.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { makeRevision } from './app-revision.ts';
import { desiredChildren } from './desired.ts';
import type { Inputs } from './inputs.ts';
import { makeNetworkPolicies, type NetworkPolicy } from './network.ts';

type Labels = Readonly<Record<string, string>>;
interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}
interface Place {
  readonly pod: Labels;
  readonly namespace: 'team' | 'ingress' | 'elsewhere';
}

const NAMESPACES: Readonly<Record<Place['namespace'], Labels>> = {
  team: { 'kubernetes.io/metadata.name': 'team' },
  ingress: { 'kubernetes.io/metadata.name': 'ingress' },
  elsewhere: { 'kubernetes.io/metadata.name': 'elsewhere' },
};
const PORTS = { http: 8000, postgres: 5432, redis: 6379, other: 9000 };

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      expect(operator).toBe('In');
      return values.includes(labels[key] ?? '');
    })
  );
}

/** Source: networking.k8s.io/v1 NetworkPolicy. A pod that no policy selects is open; rules add up. */
function reaches(policies: readonly NetworkPolicy[], from: Place, to: Labels, port: number): boolean {
  const own = policies.filter(({ spec }) => selects(spec?.podSelector as Selector, to));
  if (own.length === 0) return true;
  return own
    .flatMap(({ spec }) => spec?.ingress ?? [])
    .some(({ from: peers, ports }) => {
      const isPeer = (peers ?? []).some(({ podSelector, namespaceSelector }) => {
        const isThere = namespaceSelector
          ? selects(namespaceSelector as Selector, NAMESPACES[from.namespace])
          : from.namespace === 'team';
        return isThere && (!podSelector || selects(podSelector as Selector, from.pod));
      });
      const numbers = ports?.map((one) => (typeof one.port === 'string' ? PORTS[one.port as 'http'] : one.port));
      return (peers === undefined || isPeer) && (numbers?.includes(port) ?? true);
    });
}

function inputs(settings: object = {}, spec: Parameters<typeof aRecord>[0] = {}): Inputs {
  const record = aRecord(spec);
  const parsed = Settings.parse(settings);
  const wanted = wantedRevision(record, [], parsed);
  if (!('create' in wanted)) throw new Error('no revision');
  return { record, revision: makeRevision(record, wanted.create), tenantId: TENANT, settings: parsed };
}

function of(component: Component, deployment = 'shop'): Labels {
  const record = aRecord();
  return commonLabels({ ...record, metadata: { ...record.metadata, name: deployment } }, component);
}
const inTeam = (pod: Labels): Place => ({ pod, namespace: 'team' });
const GUARDED = { address: { kind: 'ingress', controllerNamespaceLabels: NAMESPACES.ingress } };

const own = ROLES.map((role) => ({ name: `its ${role}`, from: inTeam(of(role)), stores: true }));
const others = [
  { name: "another deployment's server", from: inTeam(of('server', 'other')), stores: false },
  { name: "another deployment's database", from: inTeam(of('postgres', 'other')), stores: false },
  { name: 'its own database', from: inTeam(of('postgres')), stores: false },
  { name: 'its own Redis', from: inTeam(of('redis')), stores: false },
  { name: 'a pod of the tenant that is not of Davit', from: inTeam({ app: 'debug' }), stores: false },
  {
    name: 'a pod of another namespace with the labels of its server',
    from: { pod: of('server'), namespace: 'elsewhere' as const },
    stores: false,
  },
  { name: 'the ingress controller', from: { pod: {}, namespace: 'ingress' as const }, stores: false },
];

describe.each([
  { name: 'without a guarded server', settings: {} },
  { name: 'with one', settings: GUARDED },
])('PostgreSQL and Redis, $name', ({ settings }) => {
  const policies = makeNetworkPolicies(inputs(settings));
  it.each([...own, ...others])('$name: $stores', ({ from, stores }) => {
    expect(reaches(policies, from, of('postgres'), PORTS.postgres)).toBe(stores);
    expect(reaches(policies, from, of('redis'), PORTS.redis)).toBe(stores);
  });
  it('and on no other port', () => {
    const server = inTeam(of('server'));
    expect(reaches(policies, server, of('postgres'), PORTS.other)).toBe(false);
    expect(reaches(policies, server, of('redis'), PORTS.other)).toBe(false);
  });
});

it.each([
  {
    name: 'the ingress controller, where it listens',
    settings: GUARDED,
    from: 'ingress',
    port: PORTS.http,
    want: true,
  },
  {
    name: "the ingress controller, a sidecar's port",
    settings: GUARDED,
    from: 'ingress',
    port: PORTS.other,
    want: false,
  },
  { name: 'its tenant, where it listens', settings: GUARDED, from: 'team', port: PORTS.http, want: true },
  { name: "its tenant, a sidecar's port", settings: GUARDED, from: 'team', port: PORTS.other, want: true },
  { name: 'another tenant', settings: GUARDED, from: 'elsewhere', port: PORTS.http, want: false },
  {
    name: 'another tenant, where nothing says whence addresses lead to it',
    settings: {},
    from: 'elsewhere',
    port: PORTS.http,
    want: true,
  },
] as const)('the server is reached by $name: $want', ({ settings, from, port, want }) => {
  expect(reaches(makeNetworkPolicies(inputs(settings)), { pod: {}, namespace: from }, of('server'), port)).toBe(want);
});

it.each([
  { from: undefined, settings: GUARDED, reached: ['team', 'ingress'] },
  { from: undefined, settings: {}, reached: ['team', 'ingress', 'elsewhere'] },
  { from: [], settings: GUARDED, reached: ['team'] },
  { from: [], settings: {}, reached: ['team'] },
  { from: ['elsewhere'], settings: GUARDED, reached: ['team', 'elsewhere'] },
  { from: ['elsewhere', 'ingress'], settings: {}, reached: ['team', 'ingress', 'elsewhere'] },
])('access from $from: $reached', ({ from, settings, reached }) => {
  const policies = makeNetworkPolicies(inputs(settings, { sourceConfig: { ...(from && { access: { from } }) } }));
  const places = ['team', 'ingress', 'elsewhere'] as const;
  expect(places.filter((namespace) => reaches(policies, { pod: {}, namespace }, of('server'), PORTS.http))).toEqual(
    reached,
  );
});

it('nothing that pods send is held back: DNS, external databases, the world', () => {
  const policies = makeNetworkPolicies(inputs(GUARDED));
  expect(policies.map(({ spec }) => [spec?.policyTypes, spec?.egress])).toEqual(
    policies.map(() => [['Ingress'], undefined]),
  );
});

it.each(['migrate', 'task'])(
  'a %s of another revision reaches the stores, whatever the newest one has',
  (component) => {
    const policies = makeNetworkPolicies(inputs());
    const pod = inTeam({ ...of('server'), 'davit.dev/component': component });
    expect(reaches(policies, pod, of('postgres'), PORTS.postgres)).toBe(true);
    expect(reaches(policies, pod, of('redis'), PORTS.redis)).toBe(true);
  },
);

it('an external store has no policy, and the pods of every workload have the labels that the policies ask for', () => {
  const external = ['POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM'].map((name) => ({
    name,
    secretName: 's',
    secretKey: 'k',
  }));
  expect(makeNetworkPolicies(inputs({}, { secretReferences: external }))).toEqual([]);
  const resourceSpec = { queueCpu: 1, orchestratorCpu: 1, executorCpu: 1 };
  const given = inputs({}, { sourceConfig: { resourceSpec } });
  const pods = desiredChildren(given).filter(({ kind }) => kind === 'Deployment') as unknown as {
    spec: { template: { metadata: { labels: Labels } } };
  }[];
  const policies = makeNetworkPolicies(given);
  const reached = pods.map(({ spec }) =>
    reaches(policies, inTeam(spec.template.metadata.labels), of('postgres'), PORTS.postgres),
  );
  expect(reached).toEqual(ROLES.map(() => true));
});
