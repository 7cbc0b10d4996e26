// What named workers become.

import { describe, expect, it } from 'vitest';
import { aRecord, SETTINGS, TENANT } from '../../../test/support/builders.ts';
import type { Runtime } from '../../kinds/runtime.ts';
import { Settings } from '../../kinds/settings.ts';
import type { RuntimeWorker } from '../../kinds/workers.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { makeRevision } from './app-revision.ts';
import { desiredChildren } from './desired.ts';
import type { Inputs } from './inputs.ts';

const COMMAND = ['celery', 'worker'];

interface Rendered extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly podManagementPolicy?: string;
    readonly selector: object;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly serviceAccountName?: string;
        readonly imagePullSecrets?: readonly object[];
        readonly nodeSelector?: object;
        readonly containers: readonly {
          readonly name: string;
          readonly command?: readonly string[];
          readonly resources: object;
          readonly readinessProbe?: object;
          readonly livenessProbe?: object;
          readonly env: readonly { readonly name: string; readonly value?: string }[];
        }[];
      };
    };
  };
}

function childrenOf(
  workers: NonNullable<Runtime['workers']>,
  { settings = SETTINGS, more = {}, sizes = {} }: { settings?: Settings; more?: Partial<Inputs>; sizes?: object } = {},
): readonly KubeObject[] {
  const record = aRecord({ sourceConfig: { resourceSpec: sizes, runtime: { workers } } });
  const wanted = wantedRevision(record, [], settings);
  if (!('create' in wanted)) throw new Error('no revision');
  return desiredChildren({
    record,
    revision: makeRevision(record, wanted.create),
    tenantId: TENANT,
    settings,
    ...more,
  });
}
const found = (children: readonly KubeObject[], kind: string, name: string): Rendered => {
  const one = children.find((child) => child.kind === kind && child.metadata.name === name);
  if (!one) throw new Error(`no ${kind} ${name}`);
  return one as Rendered;
};
const kindsOf = (children: readonly KubeObject[], name: string): string[] =>
  children.filter(({ metadata }) => metadata.name === name).map(({ kind }) => kind);

it('is a Deployment with the image, the command and the name of the worker', () => {
  const children = childrenOf({ mailer: { command: COMMAND, cpu: 0.5, memoryMb: 300 } });
  const { metadata, spec } = found(children, 'Deployment', 'shop--mailer');
  expect(metadata.labels).toMatchObject({ 'davit.dev/component': 'mailer', 'davit.dev/deployment': 'shop' });
  expect(spec.selector).toEqual({
    matchLabels: { 'davit.dev/deployment': 'shop', 'davit.dev/component': 'mailer' },
  });
  const [container] = spec.template.spec.containers;
  expect(container).toMatchObject({
    name: 'mailer',
    image: 'registry.example/shop:1',
    command: COMMAND,
    resources: { requests: { cpu: '500m', memory: '300Mi' }, limits: { cpu: '1', memory: '1Gi' } },
  });
  const env = new Map(container?.env.map(({ name, value }) => [name, value]));
  expect([env.get('DAVIT_ROLE'), env.get('N_JOBS_PER_WORKER')]).toEqual(['mailer', '10']);
  expect(kindsOf(children, 'shop--mailer')).toEqual(['Deployment']);
});

it('changes no other part', () => {
  const withOut = (children: readonly KubeObject[]): readonly KubeObject[] =>
    children.filter(({ kind, metadata }) => kind !== 'NetworkPolicy' && metadata.name !== 'shop--mailer');
  const before = childrenOf({}, { sizes: { queueMinScale: 1 } });
  const after = childrenOf({ mailer: { command: COMMAND } }, { sizes: { queueMinScale: 1 } });
  // The revision has another id.
  const text = (children: readonly KubeObject[]): string =>
    JSON.stringify(withOut(children)).replaceAll(/"davit\.dev\/(applied|revision)":"[^"]*"/g, '');
  expect(text(after)).toBe(text(before));
});

it('has the service account and the pull secrets of the record, and the place of queue workers', () => {
  const settings = Settings.parse({ placement: { queue: { nodeSelector: { pool: 'batch' } } } });
  const sizes = { serviceAccountName: 'robot', imagePullSecrets: [{ name: 'mine' }] };
  const { spec } = found(
    childrenOf({ mailer: { command: COMMAND } }, { settings, sizes }),
    'Deployment',
    'shop--mailer',
  );
  expect(spec.template.spec).toMatchObject({
    serviceAccountName: 'robot',
    imagePullSecrets: [{ name: 'mine' }],
    nodeSelector: { pool: 'batch' },
  });
});

describe('its scale', () => {
  it.each<{ name: string; worker: Partial<RuntimeWorker>; replicas: number; kinds: string[] }>([
    { name: 'one pod by default', worker: {}, replicas: 1, kinds: ['Deployment'] },
    { name: 'none', worker: { maxScale: 0 }, replicas: 0, kinds: ['Deployment'] },
    {
      name: 'a range, with an autoscaler and a budget',
      worker: { minScale: 2, maxScale: 4 },
      replicas: 2,
      kinds: ['Deployment', 'HorizontalPodAutoscaler', 'PodDisruptionBudget'],
    },
    { name: 'two', worker: { minScale: 2 }, replicas: 2, kinds: ['Deployment', 'PodDisruptionBudget'] },
    { name: 'a singleton', worker: { singleton: true }, replicas: 1, kinds: ['StatefulSet'] },
    {
      name: 'a singleton that is stopped',
      worker: { singleton: true, maxScale: 0 },
      replicas: 0,
      kinds: ['StatefulSet'],
    },
  ])('$name', ({ worker, replicas, kinds }) => {
    const children = childrenOf({ mailer: { command: COMMAND, ...worker } });
    expect(kindsOf(children, 'shop--mailer')).toEqual(kinds);
    expect((children.find(({ metadata }) => metadata.name === 'shop--mailer') as Rendered).spec.replicas).toBe(
      replicas,
    );
  });

  it('is zero while the deployment is', () => {
    const children = childrenOf(
      { mailer: { command: COMMAND }, one: { command: COMMAND, singleton: true } },
      { sizes: { maxScale: 0 } },
    );
    expect(found(children, 'Deployment', 'shop--mailer').spec.replicas).toBe(0);
    expect(found(children, 'StatefulSet', 'shop--one').spec.replicas).toBe(0);
  });
});

describe('its health', () => {
  const containerOf = (worker: Partial<RuntimeWorker>): Rendered['spec']['template']['spec']['containers'][number] => {
    const { spec } = found(childrenOf({ mailer: { command: COMMAND, ...worker } }), 'Deployment', 'shop--mailer');
    const [container] = spec.template.spec.containers;
    if (!container) throw new Error('no container');
    return container;
  };
  it('nothing is asked of one that names none, and its pod counts after ten seconds', () => {
    expect(Object.keys(containerOf({})).filter((field) => field.endsWith('Probe'))).toEqual([]);
    const { spec } = found(childrenOf({ mailer: { command: COMMAND } }), 'Deployment', 'shop--mailer');
    expect(spec.minReadySeconds).toBe(10);
  });
  it('its port is asked if it names one', () => {
    expect(containerOf({ port: 9000 }).readinessProbe).toMatchObject({ httpGet: { path: '/ok', port: 'http' } });
  });
  it('its heartbeat restarts it where that is asked for', () => {
    const container = containerOf({ heartbeatFile: '/tmp/alive', healthRestart: true });
    expect(container.livenessProbe).toMatchObject({ exec: { command: expect.arrayContaining(['/tmp/alive', '60']) } });
  });
});

it('a singleton is replaced also where its pod does not become ready', () => {
  const { spec } = found(childrenOf({ one: { command: COMMAND, singleton: true } }), 'StatefulSet', 'shop--one');
  expect(spec).toMatchObject({ podManagementPolicy: 'Parallel', serviceName: 'shop--one', minReadySeconds: 10 });
});

it('may reach the stores, and so may the pods of workers that are gone from the record', () => {
  const sources = (more: Partial<Inputs>): unknown =>
    (
      found(childrenOf({ mailer: { command: COMMAND } }, { more }), 'NetworkPolicy', 'shop--postgres') as unknown as {
        spec: { ingress: { from: { podSelector: { matchExpressions: { values: string[] }[] } }[] }[] };
      }
    ).spec.ingress[0]?.from[0]?.podSelector.matchExpressions[0]?.values;
  const known = ['server', 'queue', 'orchestrator', 'executor', 'migrate', 'task'];
  expect(sources({})).toEqual([...known, 'mailer']);
  expect(sources({ otherWorkers: ['old', 'mailer'] })).toEqual([...known, 'mailer', 'old']);
});

it('may be called what every object inherits', () => {
  const children = childrenOf({ constructor: { command: COMMAND }, mailer: { command: COMMAND, singleton: true } });
  expect(kindsOf(children, 'shop--constructor')).toEqual(['Deployment']);
  expect(found(children, 'Deployment', 'shop--constructor').spec.template.spec.containers[0]?.command).toEqual(COMMAND);
});
