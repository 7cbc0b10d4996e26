import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, aStore } from '../../../test/support/builders.ts';
import type { Observed, ObservedCondition, Pod, PodContainer, Workload } from '../assess/observed.ts';
import { keepingResized, resizeSteps, untilGivenUpMs } from './pod-resize.ts';

const record = aRecord();
const revision = aRevision(record);
const DATABASE = aStore('postgres');
const NOW = new Date('2026-01-01T00:01:30Z');

type Resources = NonNullable<PodContainer['resources']>;

function sizes(cpu: string, limit = '1Gi'): Resources {
  return { requests: { cpu, memory: '256Mi' }, limits: { cpu: '1', memory: limit } };
}
const SMALL = sizes('100m');
const LARGE = sizes('200m', '2Gi');

interface SetDetails {
  readonly template?: Resources;
  readonly container?: object;
  readonly pods?: object;
  readonly strategy?: object;
  readonly status?: object;
  readonly metadata?: object;
}

function aSet({ template = SMALL, container, pods, strategy, status, metadata }: SetDetails = {}): Workload {
  return {
    ...DATABASE,
    metadata: { ...DATABASE.metadata, ...metadata },
    spec: {
      replicas: 1,
      updateStrategy: { type: 'RollingUpdate', ...strategy },
      template: {
        spec: {
          containers: [
            { name: 'postgres', image: 'p:1', args: ['-c', 'max_connections=100'], resources: template, ...container },
          ],
          ...pods,
        },
      },
    },
    status: {
      observedGeneration: 1,
      replicas: 1,
      readyReplicas: 1,
      updateRevision: 'new',
      updatedReplicas: 1,
      ...status,
    },
  } as Workload;
}

interface PodDetails {
  readonly hash?: string;
  readonly generation?: number | undefined;
  readonly asked?: Resources;
  readonly has?: Resources | undefined;
  readonly ready?: boolean;
  readonly conditions?: readonly ObservedCondition[];
  readonly observedGeneration?: number;
  readonly metadata?: object;
}

function theirs(details: PodDetails = {}): Pod {
  const { hash = 'new', generation = 1, asked = SMALL, ready = true, conditions = [], observedGeneration } = details;
  const has = 'has' in details ? details.has : asked;
  const pod = aPod('postgres', revision, {
    main: [{ name: 'postgres', state: { running: {} }, ...(has && { resources: has }) }],
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }, ...conditions],
  });
  const { uid = '' } = DATABASE.metadata;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(!('generation' in details && details.generation === undefined) && { generation }),
      labels: { ...pod.metadata.labels, 'controller-revision-hash': hash },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'shop--postgres', uid, controller: true }],
      ...details.metadata,
    },
    spec: { containers: [{ name: 'istio-proxy' }, { name: 'postgres', resources: asked }] },
    status: { ...pod.status, ...(observedGeneration !== undefined && { observedGeneration }) },
  };
}

function seen(set: Workload, ...pods: readonly Pod[]): Observed {
  return anObserved(record, { children: [set], pods });
}

const ON_DELETE = { type: 'OnDelete' };
const SINGLETON = { ...DATABASE.metadata.labels, 'davit.dev/component': 'scheduler' };
const RESIZING = { 'davit.dev/resizing': 'true' };
const DONE = { hash: 'new', generation: 2, asked: LARGE };
const pending = (reason: string, observedGeneration?: number): ObservedCondition => ({
  type: 'PodResizePending',
  status: 'True',
  reason,
  message: 'no room',
  ...(observedGeneration !== undefined && { observedGeneration }),
});
const failing = (since: string): ObservedCondition => ({
  type: 'PodResizeInProgress',
  status: 'True',
  reason: 'Error',
  lastTransitionTime: since,
});

interface Row {
  reason: string;
  there?: SetDetails;
  wanted?: SetDetails;
  pod?: PodDetails;
  kept: boolean;
}

describe('the pod of a StatefulSet whose sizes are changed', () => {
  const begins: readonly Row[] = [
    { reason: 'it is given more', kept: true },
    { reason: 'it is given less CPU', wanted: { template: sizes('50m') }, kept: true },
    { reason: 'nothing changes', wanted: { template: SMALL }, kept: false },
    { reason: 'the same amounts are written otherwise', wanted: { template: sizes('0.1', '1024Mi') }, kept: false },
    { reason: 'memory is taken away', wanted: { template: sizes('200m', '512Mi') }, kept: false },
    {
      reason: 'its arguments change too',
      wanted: { template: LARGE, container: { args: ['-c', 'max_connections=9'] } },
      kept: false,
    },
    { reason: 'its image changes too', wanted: { template: LARGE, container: { image: 'p:2' } }, kept: false },
    { reason: 'a volume comes too', wanted: { template: LARGE, pods: { volumes: [{ name: 'a' }] } }, kept: false },
    { reason: 'a node selector goes too', there: { pods: { nodeSelector: { disk: 'fast' } } }, kept: false },
    {
      reason: 'a node selector by a label that every object inherits goes too',
      there: { pods: { nodeSelector: { disk: 'fast', constructor: 'x' } } },
      wanted: { template: LARGE, pods: { nodeSelector: { disk: 'fast' } } },
      kept: false,
    },
    {
      reason: 'one of two tolerations goes too',
      there: { pods: { tolerations: [{ key: 'a' }] } },
      wanted: { template: LARGE, pods: { tolerations: [] } },
      kept: false,
    },
    {
      reason: 'the API server has filled in fields',
      there: { container: { terminationMessagePath: '/dev/termination-log' }, pods: { dnsPolicy: 'ClusterFirst' } },
      kept: true,
    },
    { reason: 'it is of an earlier template: that rollout is under way', pod: { hash: 'old' }, kept: false },
    { reason: 'the template has not been seen yet', there: { status: { observedGeneration: 0 } }, kept: false },
    { reason: 'it is not Ready', pod: { ready: false }, kept: false },
    { reason: 'its kubelet does not say what is in force', pod: { has: undefined }, kept: false },
    {
      reason: 'it was admitted without a limit',
      pod: { asked: { requests: { cpu: '1', memory: '1Gi' } } },
      kept: false,
    },
    { reason: 'it is going', pod: { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }, kept: false },
    { reason: 'another workload owns it', pod: { metadata: { ownerReferences: [] } }, kept: false },
    {
      reason: 'the StatefulSet is going',
      there: { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
      kept: false,
    },
    { reason: "the StatefulSet is somebody else's", there: { metadata: { labels: {} } }, kept: false },
    { reason: 'somebody has set a partition', there: { strategy: { rollingUpdate: { partition: 0 } } }, kept: false },
  ];
  it.each(begins)('$reason: kept $kept', ({ there, wanted = { template: LARGE }, pod, kept }) => {
    const manifest = aSet(wanted);
    const [made] = keepingResized([manifest], seen(aSet(there), theirs(pod))) as [Workload];
    expect(made.spec?.updateStrategy).toEqual(kept ? ON_DELETE : { type: 'RollingUpdate' });
    expect({ ...made, spec: { ...made.spec, updateStrategy: {} } }).toEqual({
      ...manifest,
      ...(kept && { metadata: { ...manifest.metadata, annotations: RESIZING } }),
      spec: { ...manifest.spec, updateStrategy: {} },
    });
  });

  const goesOn: readonly Row[] = [
    { reason: 'it has not been resized yet', pod: { hash: 'old' }, kept: true },
    {
      reason: 'OnDelete set by a person',
      there: { metadata: {} },
      pod: { hash: 'old', asked: LARGE },
      kept: false,
    },
    {
      reason: 'the StatefulSet of a singleton',
      there: { metadata: { annotations: RESIZING, labels: SINGLETON } },
      wanted: { template: LARGE, metadata: { labels: SINGLETON } },
      pod: { hash: 'old' },
      kept: false,
    },
    { reason: 'it has its sizes, and not yet the label', pod: { ...DONE, hash: 'old' }, kept: true },
    { reason: 'its label has not been counted yet', pod: DONE, there: { status: { updatedReplicas: 0 } }, kept: true },
    { reason: 'its sizes are not in force yet', pod: { ...DONE, has: SMALL }, kept: true },
    { reason: 'it is done', pod: DONE, kept: false },
    { reason: 'a new pod, with the sizes that a webhook gives it', pod: { asked: SMALL }, kept: false },
    {
      reason: 'other sizes are asked for meanwhile',
      wanted: { template: sizes('300m', '2Gi') },
      pod: { hash: 'old' },
      kept: true,
    },
    {
      reason: 'less memory is asked for meanwhile',
      wanted: { template: SMALL },
      pod: { hash: 'old', generation: 2, asked: LARGE },
      kept: true,
    },
    {
      reason: 'another image is asked for meanwhile',
      wanted: { template: LARGE, container: { image: 'p:2' } },
      pod: { hash: 'old' },
      kept: false,
    },
    {
      reason: 'it is going',
      pod: { hash: 'old', metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
      kept: false,
    },
  ];
  it.each(goesOn)('under way, $reason: kept $kept', ({ there, wanted = { template: LARGE }, pod, kept }) => {
    const set = aSet({ template: LARGE, strategy: ON_DELETE, metadata: { annotations: RESIZING }, ...there });
    const [made] = keepingResized([aSet(wanted)], seen(set, theirs(pod))) as [Workload];
    expect(made.spec?.updateStrategy).toEqual(kept ? ON_DELETE : { type: 'RollingUpdate' });
  });
});

describe('the next step', () => {
  const rows: readonly { reason: string; set?: SetDetails; pod?: PodDetails; does: string | undefined }[] = [
    { reason: 'it has the earlier sizes', pod: { hash: 'old' }, does: 'resize' },
    {
      reason: 'asked back to what it was before the kubelet had room',
      set: { template: SMALL },
      pod: { hash: 'new', generation: 2, asked: LARGE, has: SMALL, conditions: [pending('Deferred')] },
      does: 'resize',
    },
    { reason: 'the kubelet has not done it', pod: { ...DONE, hash: 'old', has: SMALL }, does: undefined },
    {
      reason: 'the kubelet has not reported on it',
      pod: { ...DONE, hash: 'old', generation: 3, observedGeneration: 2 },
      does: undefined,
    },
    {
      reason: 'the kubelet is at it',
      pod: { ...DONE, hash: 'old', conditions: [{ type: 'PodResizeInProgress', status: 'True' }] },
      does: undefined,
    },
    { reason: 'the kubelet has done it', pod: { ...DONE, hash: 'old', observedGeneration: 2 }, does: 'note' },
    { reason: 'it has its label', pod: DONE, does: undefined },
    {
      reason: 'the node has no room at present',
      pod: { ...DONE, hash: 'old', has: SMALL, conditions: [pending('Deferred', 2)] },
      does: undefined,
    },
    {
      reason: 'the node is too small',
      pod: { ...DONE, hash: 'old', has: SMALL, conditions: [pending('Infeasible', 2)] },
      does: undefined,
    },
    {
      reason: 'its runtime fails',
      pod: { ...DONE, hash: 'old', has: SMALL, conditions: [failing('2026-01-01T00:01:00Z')] },
      does: undefined,
    },
    {
      reason: 'its runtime fails for ever',
      pod: { ...DONE, hash: 'old', has: SMALL, conditions: [failing('2026-01-01T00:00:00Z')] },
      does: 'replace',
    },
    {
      reason: 'less memory',
      set: { template: SMALL },
      pod: { hash: 'old', generation: 2, asked: LARGE },
      does: 'replace',
    },
    {
      reason: 'less memory, back to the template that it was made from',
      set: { template: SMALL },
      pod: { hash: 'new', generation: 2, asked: LARGE },
      does: 'replace',
    },
    {
      reason: 'less memory for one that is in recovery',
      set: { template: SMALL },
      pod: { hash: 'old', generation: 2, asked: LARGE, ready: false },
      does: undefined,
    },
    {
      reason: 'a webhook gives a new pod other sizes: it is not replaced for ever',
      pod: { hash: 'new', generation: 1, asked: SMALL },
      does: undefined,
    },
    {
      reason: 'the StatefulSet replaces its pods itself',
      set: { strategy: { type: 'RollingUpdate' } },
      pod: { hash: 'old' },
      does: undefined,
    },
    {
      reason: 'the template has not been seen yet',
      set: { status: { observedGeneration: 0 } },
      pod: { hash: 'old' },
      does: undefined,
    },
    {
      reason: 'the pod is going',
      pod: { hash: 'old', metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
      does: undefined,
    },
    {
      reason: "the StatefulSet is somebody else's",
      set: { metadata: { labels: {}, annotations: RESIZING } },
      pod: { hash: 'old' },
      does: undefined,
    },
    {
      reason: 'a person has set OnDelete, and the pod is of an older template of the same sizes',
      set: { metadata: {} },
      pod: { ...DONE, hash: 'old' },
      does: undefined,
    },
    {
      reason: 'the StatefulSet is that of a singleton',
      set: { metadata: { labels: SINGLETON, annotations: RESIZING } },
      pod: { hash: 'old' },
      does: undefined,
    },
  ];
  it.each(rows)('$reason: $does', ({ set, pod, does }) => {
    const observed = seen(
      aSet({ template: LARGE, strategy: ON_DELETE, metadata: { annotations: RESIZING }, ...set }),
      theirs(pod),
    );
    expect(resizeSteps(observed, new Set(), NOW).map((step) => step.do)).toEqual(does === undefined ? [] : [does]);
  });

  it('waits while the StatefulSet is being applied', () => {
    const observed = seen(
      aSet({ template: LARGE, strategy: ON_DELETE, metadata: { annotations: RESIZING } }),
      theirs({ hash: 'old' }),
    );
    expect(resizeSteps(observed, new Set(['shop--postgres']), NOW)).toEqual([]);
  });

  it('changes the own container alone, wherever it stands, and no other pod of that name', () => {
    const observed = seen(
      aSet({ template: LARGE, strategy: ON_DELETE, metadata: { annotations: RESIZING } }),
      theirs({ hash: 'old' }),
    );
    const at = '/spec/containers/1';
    expect(resizeSteps(observed, new Set(), NOW)[0]?.patch).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'uid-pod-postgres' },
      { op: 'test', path: `${at}/name`, value: 'postgres' },
      { op: 'replace', path: `${at}/resources/requests/cpu`, value: '200m' },
      { op: 'replace', path: `${at}/resources/requests/memory`, value: '256Mi' },
      { op: 'replace', path: `${at}/resources/limits/cpu`, value: '1' },
      { op: 'replace', path: `${at}/resources/limits/memory`, value: '2Gi' },
    ]);
  });

  it('names the newest template on the pod', () => {
    const observed = seen(
      aSet({ template: LARGE, strategy: ON_DELETE, metadata: { annotations: RESIZING } }),
      theirs({ ...DONE, hash: 'old' }),
    );
    expect(resizeSteps(observed, new Set(), NOW)[0]?.patch).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'uid-pod-postgres' },
      { op: 'replace', path: '/metadata/labels/controller-revision-hash', value: 'new' },
    ]);
  });

  it.each([
    { reason: 'it fails since 30 s', since: '2026-01-01T00:01:00Z', waits: 30_001 },
    { reason: 'it was given up', since: '2026-01-01T00:00:00Z', waits: undefined },
  ])('is looked for again: $reason', ({ since, waits }) => {
    const pod = theirs({ ...DONE, hash: 'old', has: SMALL, conditions: [failing(since)] });
    expect(
      untilGivenUpMs(
        seen(aSet({ template: LARGE, strategy: ON_DELETE, metadata: { annotations: RESIZING } }), pod),
        NOW,
      ),
    ).toBe(waits);
    expect(untilGivenUpMs(seen(aSet({ template: LARGE }), pod), NOW)).toBeUndefined();
  });
});
