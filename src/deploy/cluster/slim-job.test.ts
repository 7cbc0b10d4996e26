import { describe, expect, it } from 'vitest';
import { slimCronJob, slimJob } from './slim.ts';

const LARGE = 'x'.repeat(1_000_000);
const LABELS = { 'davit.dev/deployment': 'shop', 'davit.dev/component': 'task', 'davit.dev/task': 'clean' };
const POD_LABELS = { 'davit.dev/component': 'task', 'davit.dev/revision': 'r1' };
const OWNER = { apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', name: 'shop', uid: 'record' };
const LARGE_POD = { containers: [{ name: 'main', env: [{ name: 'A', value: LARGE }], args: [LARGE] }] };
const metadata = {
  name: 'shop---backup',
  namespace: 'team',
  uid: 'u',
  creationTimestamp: '2026-02-01T00:00:00Z',
  labels: LABELS,
  annotations: { 'davit.dev/restore-request': 'asked' },
  ownerReferences: [OWNER],
};
const largeMetadata = {
  ...metadata,
  managedFields: [{ manager: LARGE }],
  annotations: { ...metadata.annotations, note: LARGE },
};
const manyLabels = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`x${n}`, 'y'.repeat(63)]));

describe('slimJob', () => {
  const conditions = [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'It failed.' }];
  const used = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: { activeDeadlineSeconds: 60, suspend: false, template: { metadata: { labels: POD_LABELS } } },
    status: { startTime: '2026-02-01T00:00:00Z', completionTime: '2026-02-01T00:01:00Z', conditions },
  };
  const whole = {
    ...used,
    metadata: largeMetadata,
    spec: {
      ...used.spec,
      selector: { matchLabels: { a: LARGE } },
      template: { metadata: { labels: { ...POD_LABELS, x: 'y' }, annotations: { a: LARGE } }, spec: LARGE_POD },
    },
    status: { ...used.status, uncountedTerminatedPods: { failed: [LARGE] } },
  };

  it('keeps what is used, and no more', () => {
    expect(slimJob(whole)).toEqual(used);
    expect(slimJob(used)).toEqual(used);
  });

  it('is a few kilobytes, whatever a tenant has written', () => {
    const wordy = Array.from({ length: 100 }, () => ({ ...conditions[0], message: 'x'.repeat(10_000) }));
    const worst = slimJob({
      ...whole,
      metadata: { ...largeMetadata, labels: { ...LABELS, ...manyLabels } },
      status: { ...whole.status, conditions: wordy as typeof conditions },
    });
    expect(worst.metadata.labels).toMatchObject(LABELS);
    expect(JSON.stringify(worst).length).toBeLessThan(100_000);
  });

  it('takes one without spec and status', () => {
    const bare = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'bare' } };
    expect(slimJob(bare)).toEqual(bare);
  });
});

describe('slimCronJob', () => {
  const spec = {
    schedule: '0 2 * * *',
    suspend: true,
    jobTemplate: { spec: { template: { metadata: { labels: { ...POD_LABELS, x: 'y' } }, spec: LARGE_POD } } },
  };
  const whole = { apiVersion: 'batch/v1', kind: 'CronJob', metadata: largeMetadata, spec };

  it('keeps one whole that Davit has applied, because its fields are compared', () => {
    const annotations = { ...largeMetadata.annotations, 'davit.dev/applied': 'digest' };
    const applied = { ...whole, metadata: { ...largeMetadata, annotations } };
    const { managedFields: _fields, ...own } = applied.metadata;
    expect(slimCronJob(applied)).toEqual({ ...applied, metadata: own });
  });

  it('keeps of another one what is used', () => {
    expect(slimCronJob(whole)).toEqual({
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata,
      spec: { suspend: true, jobTemplate: { spec: { template: { metadata: { labels: POD_LABELS } } } } },
    });
  });
});
