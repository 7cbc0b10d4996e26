// How deployments look at a glance, for every state that the controller reports.

import { expect, it } from 'vitest';
import { SEEN_RECORDS } from '../../test/support/status-samples.ts';
import { presentDeployment } from '../deploy/http/presenter.ts';
import type { Revision } from '../deploy/http/revisions/payloads.ts';
import { REVISION_STATES } from '../kinds/revision-states.ts';
import { Runtime } from '../kinds/runtime.ts';
import { defaultSettings } from '../kinds/settings.ts';
import { toSnake } from '../runtime/http/casing.ts';
import {
  advice,
  aspectsOf,
  canRollBackTo,
  noticesOf,
  numbersOf,
  partsOf,
  patchOf,
  phaseOf,
  ranOf,
  scaleOf,
  type Tone,
  toneOf,
  toneOfCondition,
  toneOfPart,
  wordOf,
} from './health.ts';

const TONES: Readonly<Record<string, Tone>> = {
  'not observed yet': 'busy',
  'not looked at yet, read past the API server that fills in a status': 'busy',
  'just made': 'busy',
  'waiting for its database': 'busy',
  rolling: 'busy',
  'an image that cannot be pulled, so far': 'bad',
  'broken: past its deadline': 'bad',
  healthy: 'good',
  'healthy, with a change that nobody has looked at': 'good',
  'pods that the API server refuses, beside old ones that serve': 'bad',
  'a Secret that is missing': 'bad',
  paused: 'busy',
  'not a tenant': 'bad',
  'waiting for a push': 'busy',
  'scaled to zero': 'off',
  'being deleted': 'busy',
};
const shown = SEEN_RECORDS.map(({ name, record }) => ({
  name,
  deployment: presentDeployment(record, { tenantId: 'a', settings: defaultSettings(), revisions: [] }),
}));

it('each has a tone', () => {
  expect(Object.fromEntries(shown.map(({ name, deployment }) => [name, toneOf(deployment)]))).toEqual(TONES);
});

it('one that is paused says so: nothing is in progress', () => {
  const words = new Set(shown.map(({ deployment }) => wordOf(deployment)));
  expect(words).toEqual(new Set(['in order', 'in progress', 'needs attention', 'not running', 'paused']));
  const paused = shown.find(({ name }) => name === 'paused')?.deployment;
  expect(paused && wordOf(paused)).toBe('paused');
});

it.each([
  ['BUILDING', 'UNKNOWN', 'latest revision: building'],
  ['AWAITING_DEPLOY', 'READY', 'latest revision: awaiting deploy'],
  ['BUILD_FAILED', 'READY', 'latest revision: build failed'],
  ['DEPLOYED', 'READY', undefined],
  [null, 'UNUSED', undefined],
  ['DEPLOYED', 'AWAITING_DELETE', undefined],
  ['BUILDING', 'AWAITING_DELETE', undefined],
] as const)('phase %s beside status %s', (phase, status, word) => {
  const deployment = shown.find(({ name }) => name === 'healthy')?.deployment;
  if (deployment === undefined) throw new Error('no sample');
  expect(phaseOf({ ...deployment, phase, status })).toBe(word);
});

it.each([
  ['langgraph.json', 'upload, built from langgraph.json'],
  [null, 'upload, built from its files'],
])('an upload with configuration file %s runs "%s"', (path, ran) => {
  const none = { image_uri: null, repo_ref: null, repo_commit_sha: null };
  const config = { ...none, source_tarball_path: 'uploads/1', workflow_config_path: path };
  expect(ranOf({ source_revision_config: config } as Revision)).toBe(ran);
});

it('only revisions with an image can be rolled back to', () => {
  const states = REVISION_STATES.filter((status) => canRollBackTo({ status } as Revision));
  expect(states).toEqual(['AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOYED', 'DEPLOY_FAILED']);
});

it('a plain deployment has three parts with their sizes', () => {
  const healthy = shown.find(({ name }) => name === 'healthy')?.deployment;
  if (healthy === undefined) throw new Error('no sample');
  expect(partsOf(healthy).map(({ name, sizes, condition }) => [name, sizes.join(', '), condition?.reason])).toEqual([
    ['server', '1 pod, 0.25–1 CPU, 512–1024 MB', 'Serving'],
    ['PostgreSQL', '0.1–1 CPU, 256–1024 MB, 10 GiB volume', 'Answering'],
    ['Redis', '0.05–0.5 CPU, 128 MB', 'Answering'],
  ]);
  expect(aspectsOf(healthy).map(({ name }) => name)).toContain('platform rules');
  expect(scaleOf(healthy)).toBe('1');
});

it('workers stand between the other parts and the stores, with what the record asks for', () => {
  const healthy = shown.find(({ name }) => name === 'healthy')?.deployment;
  if (healthy === undefined) throw new Error('no sample');
  const workers = { constructor: { command: ['build'], singleton: true }, mailer: { command: ['mail'], maxScale: 4 } };
  const runtime = toSnake(Runtime, { workers });
  const deployment = { ...healthy, source_config: { ...healthy.source_config, runtime } };
  expect(partsOf(deployment).map(({ name, prefix, sizes }) => [name, prefix, sizes.join(', ')])).toEqual([
    ['server', '', '1 pod, 0.25–1 CPU, 512–1024 MB'],
    ['constructor', 'constructor.', '1 pod'],
    ['mailer', 'mailer.', '1–4 pods'],
    ['PostgreSQL', 'db_', '0.1–1 CPU, 256–1024 MB, 10 GiB volume'],
    ['Redis', 'redis_', '0.05–0.5 CPU, 128 MB'],
  ]);
  expect(numbersOf(deployment)['constructor.max_scale']).toBe(1);
  expect(scaleOf(deployment)).toBe('3–6');
  const resourceSpec = { ...deployment.source_config.resource_spec, max_scale: 0 };
  const source = { ...deployment.source_config, resource_spec: resourceSpec };
  expect(scaleOf({ ...deployment, source_config: source })).toBe('0');
});

it('a task that fails has a line among the parts', () => {
  const healthy = shown.find(({ name }) => name === 'healthy')?.deployment;
  if (healthy === undefined) throw new Error('no sample');
  const failed = { type: 'TasksReady', status: 'False', reason: 'TaskFailed', message: 'nightly failed.' } as const;
  const condition = { ...failed, last_transition_time: '2026-02-02T00:00:00Z' };
  const [line] = aspectsOf({ ...healthy, conditions: [condition] });
  expect(line).toMatchObject({ name: 'tasks', condition });
  expect(toneOfCondition(condition)).toBe('bad');
});

it('of a cluster that does not report, parts are as they were, with the time since when', () => {
  const healthy = shown.find(({ name }) => name === 'healthy')?.deployment;
  if (healthy === undefined) throw new Error('no sample');
  const silent = {
    type: 'Ready',
    status: 'Unknown',
    reason: 'ListenerSilent',
    message: 'It does not report.',
    last_transition_time: '2026-02-03T00:00:00Z',
  } as const;
  const conditions = [silent, ...healthy.conditions.filter(({ type }) => type !== 'Ready')];
  const made = (deployment: typeof healthy) => [...partsOf(deployment), ...aspectsOf(deployment)];
  expect(new Set(made(healthy).map(({ asOf }) => asOf))).toEqual(new Set([undefined]));
  const parts = made({ ...healthy, conditions });
  expect(new Set(parts.map(({ asOf }) => asOf))).toEqual(new Set(['2026-02-03T00:00:00Z']));
  expect(parts.map((part) => toneOfPart(part))).not.toContain('good');
  expect(made(healthy).map((part) => toneOfPart(part))).toContain('good');
});

it.each<[string, Partial<Revision>, string[]]>([
  ['nobody and nothing', {}, []],
  ['a caller', { requested_by: 'anna' }, ['requested by anna']],
  ['a message without an author', { commit_message: 'Faster' }, ['the commit says: Faster']],
  [
    'a file',
    {
      from_file: {
        path: 'davit.yaml',
        fields: [
          { field: 'env.A', value: '1' },
          { field: 'runtime.port', value: '3000' },
        ],
        not_taken: [],
      },
    },
    ['davit.yaml gave env.A, runtime.port'],
  ],
  [
    'a file that the deployment wins over',
    { from_file: { path: 'davit.yaml', fields: [], not_taken: ['env.A', 'tasks'] } },
    ['davit.yaml gave nothing; not taken: env.A, tasks'],
  ],
])('a revision of %s is told as that', (_what, has, notices) => {
  const revision = { requested_by: null, commit_author: null, commit_message: null, from_file: null, ...has };
  expect(noticesOf(revision as Revision)).toEqual(notices);
});

it('changed numbers are a patch of sizes and of workers', () => {
  expect(patchOf({ min_scale: 2 })).toEqual({ resource_spec: { min_scale: 2 } });
  const changes = { cpu: null, 'constructor.max_scale': 0, 'mailer.min_scale': 1, 'mailer.max_scale': 3 };
  expect(patchOf(changes)).toEqual({
    resource_spec: { cpu: null },
    runtime: { workers: { constructor: { max_scale: 0 }, mailer: { min_scale: 1, max_scale: 3 } } },
  });
});

it.each([
  { reason: 'Serving', says: undefined },
  { reason: 'SecretMissing', says: 'Create it. The deployment then continues automatically.' },
  // The message says it.
  { reason: 'NameConflict', says: 'Rename or delete that object, or create the record with another name.' },
  { reason: 'VolumeNotMounted', says: expect.stringContaining('Create the ConfigMap') },
  { reason: 'PodPolicyViolated', says: undefined },
  { reason: 'OfANewerController', says: undefined },
])('what to do about $reason', ({ reason, says }) => {
  expect(advice(reason)).toEqual(says);
});

it('backups that wait for their schedule are not in progress', () => {
  const condition = { type: 'BackupReady', status: 'Unknown', reason: 'BackupPending', message: 'None yet.' } as const;
  expect(toneOfCondition({ ...condition, last_transition_time: '2026-02-02T00:00:00Z' })).toBe('off');
});
