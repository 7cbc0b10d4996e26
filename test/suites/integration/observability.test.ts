// What a running Davit logs and measures while a deployment becomes READY, another one fails, and both are deleted: what people
// see who have the log and the metrics and nothing else.

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { aPayload } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';
import { type Line, linesOf, type Scrape, scrape, sumOf } from '../../support/telemetry.ts';

const davit: Attached = attach(inject('davit'));
const NAMESPACE = 'observed';
type Part = 'controller' | 'api';
const monitoring = readFileSync(join(import.meta.dirname, '../../../docs/monitoring.md'), 'utf8');
/** About what does not happen here: builds and their registry, tasks, backups, lost data, failures, a certificate of its own. */
const WAITS =
  /^davit_(builds|build_(?!info)|registry|code_host|databases_at_risk|database_(archives|backups|verifications)|tasks$|watch_|certificate|deployment_|deployments_(unavailable|degraded|omitted))/;

let tenant: Tenant;
let before: Readonly<Record<Part, Scrape>>;
let during: Readonly<Record<Part, Scrape>>;
let after: Readonly<Record<Part, Scrape>>;
let since: number;
/** The messages of the conditions Ready while the deployments were there. */
const messages: Record<string, string> = {};
const both = async (): Promise<Readonly<Record<Part, Scrape>>> => ({
  controller: await scrape(davit, 'controller'),
  api: await scrape(davit, 'api'),
});

beforeAll(async () => {
  tenant = await davit.tenant(NAMESPACE);
  since = Date.now();
  before = await both();
  const create = async (name: string, image: string): Promise<string> => {
    const source = { source_revision_config: { image_uri: image } };
    const { status, body } = await davit.call(tenant, 'POST', '/v2/deployments', aPayload(name, source));
    expect([status, body.detail]).toEqual([201, undefined]);
    return body.id as string;
  };
  const [works, fails] = [
    await create('works', 'registry.example/app:1.0'),
    await create('fails', 'registry.example/missing:1'),
  ];
  const stateOf = async (
    name: string,
  ): Promise<Record<string, { status: string; reason: string; message: string }>> => {
    const { status } = await davit.kubectlJson<{
      status?: { conditions?: { type: string; status: string; reason: string; message: string }[] };
    }>(['get', 'appd', name, '-n', NAMESPACE]);
    return Object.fromEntries((status?.conditions ?? []).map((one) => [one.type, one]));
  };
  await eventually(async () => {
    const [up, down] = [await stateOf('works'), await stateOf('fails')];
    expect([up['Ready']?.status, down['Ready']?.reason]).toEqual(['True', 'ImagePullFailed']);
    messages['works'] = up['Ready']?.message ?? '';
    messages['fails'] = down['Ready']?.message ?? '';
    const { body } = await davit.call(tenant, 'GET', `/v2/deployments/${fails}/revisions`);
    // After its progress deadline.
    expect(body.resources[0].status).toBe('DEPLOY_FAILED');
  }, 60_000);
  during = await both();
  for (const id of [works, fails]) {
    const { status } = await davit.call(tenant, 'DELETE', `/v2/deployments/${id}`);
    expect(status).toBe(204);
  }
  await eventually(async () => {
    const { body } = await davit.call(tenant, 'GET', '/v2/deployments');
    expect(body.resources).toEqual([]);
    after = await both();
  }, 60_000);
});

describe('the log of the controller', () => {
  const about = async (name: string): Promise<Line[]> =>
    (await linesOf(davit, 'controller')).filter((line) => line['namespace'] === NAMESPACE && line['name'] === name);

  it('tells the life of a deployment that works, in its order', async () => {
    const lines = await about('works');
    const steps = lines.map(({ msg, status, reason }) => [msg, status, reason].filter(Boolean).join(' '));
    const wanted = ['Revision changed DEPLOYING', 'Revision changed DEPLOYED', 'Deleted'];
    // On a busy machine the pods may be ready before the first report, and nothing is said of a state that was not reported.
    expect([wanted, wanted.slice(1)]).toContainEqual(steps.filter((step) => wanted.includes(step)));
    expect(steps).toContain('Condition Ready changed True Serving');
    expect(steps.at(-1)).toBe('Deleted');
    const serving = lines.find(({ reason }) => reason === 'Serving');
    expect(serving?.['message']).toBe(messages['works']);
    expect(new Set(lines.map(({ level, part }) => `${level} ${part}`))).toEqual(new Set(['info controller']));
    expect(lines.every(({ time }) => Date.parse(time) >= since)).toBe(true);
  });

  it('says of one that fails why, in the words of its status', async () => {
    const lines = await about('fails');
    const failed = lines.find(({ msg, reason }) => msg === 'Condition Ready changed' && reason === 'ImagePullFailed');
    expect(failed).toMatchObject({ kind: 'AppDeployment', namespace: NAMESPACE, name: 'fails', status: 'False' });
    expect(failed?.['message']).toContain('registry.example/missing:1');
    expect(messages['fails']).toContain('registry.example/missing:1');
    const revision = lines.find(({ msg, status }) => msg === 'Revision changed' && status === 'DEPLOY_FAILED');
    expect(revision).toMatchObject({ kind: 'AppDeployment', revision: expect.any(String) });
    expect(revision?.['message']).toContain('registry.example/missing:1');
    expect(lines.at(-1)?.msg).toBe('Deleted');
  });

  it('says nothing twice', async () => {
    for (const name of ['works', 'fails']) {
      const steps = (await about(name)).filter(({ msg }) => msg.startsWith('Condition Ready'));
      const told = steps.map(({ status, reason }) => `${String(status)} ${String(reason)}`);
      expect(told.some((step, index) => step === told[index + 1])).toBe(false);
    }
  });
});

describe('the log of the API', () => {
  it('names user, tenant and deployment of each request', async () => {
    const requests = (await linesOf(davit, 'api')).filter(
      ({ msg, tenant: of }) => msg === 'Request' && of === NAMESPACE,
    );
    expect(requests.every(({ user }) => user === `system:serviceaccount:${NAMESPACE}:team`)).toBe(true);
    const of = (method: string): Line[] => requests.filter((line) => line['method'] === method);
    expect(of('POST').map(({ deployment, status }) => [deployment, status])).toEqual([
      ['works', 201],
      ['fails', 201],
    ]);
    expect(of('DELETE').map(({ deployment, status }) => [deployment, status])).toEqual([
      ['works', 204],
      ['fails', 204],
    ]);
  });

  it('has no token', async () => {
    const text = await readFile(join(davit.logs, 'davit-api.log'), 'utf8');
    expect(text).not.toContain(tenant.token);
  });
});

describe('the metrics', () => {
  const grown = (part: Part, metric: string, labels: Readonly<Record<string, string>> = {}): number =>
    sumOf(after[part], metric, labels) - sumOf(before[part], metric, labels);

  it('count rollouts by their result', () => {
    expect(grown('controller', 'davit_rollout_duration_seconds_count', { result: 'deployed' })).toBe(1);
    expect(grown('controller', 'davit_rollout_duration_seconds_count', { result: 'failed' })).toBe(1);
    // The deadline of the set-up, and not much more.
    const seconds = grown('controller', 'davit_rollout_duration_seconds_sum', { result: 'failed' });
    expect(seconds).toBeGreaterThanOrEqual(20);
    expect(seconds).toBeLessThan(60);
  });

  it('show deployments by state and reason while they are there', () => {
    const labels = { ready: 'False', reason: 'ImagePullFailed' };
    const failing = (samples: Scrape): number => sumOf(samples, 'davit_deployments', labels);
    expect([
      failing(during.controller) - failing(before.controller),
      failing(after.controller) - failing(before.controller),
    ]).toEqual([1, 0]);
    const serving = (samples: Scrape): number => sumOf(samples, 'davit_deployments', { state: 'READY', ready: 'True' });
    expect([
      serving(during.controller) - serving(before.controller),
      serving(after.controller) - serving(before.controller),
    ]).toEqual([1, 0]);
  });

  it('count reconciles, requests to the API server and those of the HTTP API', () => {
    expect(grown('controller', 'davit_reconcile_total', { result: 'done' })).toBeGreaterThan(2);
    expect(grown('controller', 'davit_kube_request_duration_seconds_count', { verb: 'apply' })).toBeGreaterThan(10);
    expect(grown('controller', 'davit_reconcile_total', { result: 'error' })).toBe(0);
    const route = '/v2/deployments';
    expect(grown('api', 'davit_http_requests_total', { method: 'POST', route, code: '201' })).toBe(2);
    expect(grown('api', 'davit_http_requests_total', { method: 'DELETE', code: '204' })).toBe(2);
    const slow = (le: string): number =>
      grown('api', 'davit_http_request_duration_seconds_bucket', {
        le,
        method: 'GET',
        route: '/v2/deployments/:deployment_id',
      });
    expect(slow('+Inf') - slow('10')).toBe(0);
  });

  it('all have series in processes that work, but for those that wait for what they are about', () => {
    const named = [...monitoring.matchAll(/^\| `(davit_[a-z_]+)` \|/gm)].map(([, name = '']) => name);
    const seen = [...during.controller.keys(), ...during.api.keys()];
    const has = (name: string): boolean => seen.some((series) => new RegExp(`^${name}(_bucket)?({|$)`).test(series));
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !has(name) && !WAITS.test(name))).toEqual([]);
    // An alert fires where no process leads.
    expect(sumOf(during.controller, 'davit_leader', { lease: 'davit-controller' })).toBe(1);
  });

  it('name no tenant, no deployment and no user', () => {
    for (const samples of [after.controller, after.api])
      for (const series of samples.keys()) expect(series).not.toMatch(new RegExp(`${NAMESPACE}|works|fails"`));
  });
});
