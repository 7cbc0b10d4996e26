// A lock in front of an agent, as docs/deploy.md has it: what it asks for, and what it never passes on.

import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { aRecord, TENANT } from '../../../test/support/builders.ts';
import { fences, textOf } from '../../../test/support/documents/documented.ts';
import { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { API_TOKEN_AUDIENCE, ROLES } from '../../kinds/meta.ts';
import { Settings } from '../../kinds/settings.ts';
import { specBreaches } from '../../kinds/spec-rules.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { makeRevision } from './app-revision.ts';
import { desiredChildren, migrationJob, taskChildren } from './desired.ts';

const manifest = fences(textOf('docs/deploy.md'), 'yaml').find((text) => text.includes('guarded-lock')) ?? '';
const [secret, written] = parseAllDocuments(manifest).map((one) => one.toJS() as Record<string, unknown>);
const spec = AppDeploymentSpec.parse(written?.['spec']);
const files = secret?.['stringData'] as Record<string, string>;

function podsOf(of: AppDeploymentSpec, given: object = {}): IPodSpec[] {
  const settings = Settings.parse(given);
  const record = aRecord(of);
  const wanted = wantedRevision(record, [], settings);
  if (!('create' in wanted)) throw new Error('no revision');
  const inputs = { record, revision: makeRevision(record, wanted.create), tenantId: TENANT, settings };
  const children = [...desiredChildren(inputs), ...taskChildren(inputs), migrationJob(inputs)];
  return children.flatMap(podSpecs) as IPodSpec[];
}

/** Every pod's spec within an object. */
function podSpecs(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return 'containers' in value ? [value] : Object.values(value).flatMap(podSpecs);
}

it('the recipe is a record that keeps every rule, and its lock takes the port of the server', () => {
  expect(spec).toMatchObject(written?.['spec'] as object);
  expect([...specBreaches(spec)]).toEqual([]);
  const [server] = podsOf(spec).filter(({ containers }) => containers[0]?.name === 'server');
  const [main] = server?.containers ?? [];
  const { port } = spec.sourceConfig.runtime ?? {};
  expect(main?.ports).toEqual([{ name: 'http', containerPort: port, protocol: 'TCP' }]);
  expect(main?.readinessProbe?.httpGet).toMatchObject({ path: '/ok' });
  expect(files['default.conf']).toContain(`listen ${port};`);
  const [inner = ''] = main?.command?.slice(-1) ?? [];
  expect(Number(inner)).not.toBe(port);
  expect(main?.command).toContain('127.0.0.1');
  expect(server?.initContainers).toContainEqual(expect.objectContaining({ name: 'lock', restartPolicy: 'Always' }));
  expect(server?.volumes).toContainEqual({ name: 'lock', secret: { secretName: 'guarded-lock' } });
  const upstreams = [...(files['default.conf'] ?? '').matchAll(/proxy_pass (\S+);/g)].map(([, url]) => url);
  expect(new Set(upstreams)).toEqual(new Set([`http://127.0.0.1:${inner}`]));
});

it('the lock takes keys and tokens out of what it passes on, and asks for a key everywhere but at the health path', () => {
  const config = files['default.conf'] ?? '';
  for (const header of ['X-Api-Key', 'Authorization', 'Cookie'])
    expect(config).toContain(`proxy_set_header ${header} "";`);
  // A proxy_set_header within a location would take the place of all those above.
  const [, health = '', rest = ''] = config.split('location ');
  expect([health, rest].filter((body) => body.includes('proxy_set_header'))).toEqual([]);
  expect(health).toMatch(/^= \/ok /);
  expect(rest).toMatch(/^\/ \{\s+if \(\$known = 0\) \{ return 401; \}/);
});

it('a lock that is no sidecar is refused', () => {
  const { resourceSpec: _none, ...sourceConfig } = spec.sourceConfig;
  expect([...specBreaches({ ...spec, sourceConfig })].map(({ at }) => at.join('.'))).toEqual([
    'sourceConfig.access.lock',
  ]);
});

it("no pod of a tenant's code has a token that the API server takes", () => {
  const every: AppDeploymentSpec = {
    ...spec,
    sourceConfig: {
      resourceSpec: { queueMinScale: 1, orchestratorMinScale: 1, executorCpu: 1 },
      runtime: {
        apiToken: true,
        workers: { mailer: { command: ['mail'] } },
        migrate: { command: ['migrate'] },
      },
      tasks: [{ name: 'clean', schedule: '@daily', command: ['clean'] }],
    },
  };
  const pods = podsOf(every, {
    http: { publicUrl: 'https://davit.example' },
    oauth: { hosts: [{ host: 'idp.example' }] },
  });
  expect(pods.length).toBeGreaterThanOrEqual(ROLES.length + 5);
  for (const pod of pods) expect(pod.automountServiceAccountToken).toBe(false);
  const audiences = [...JSON.stringify(pods).matchAll(/"serviceAccountToken":\{"audience":"([^"]*)"/g)].map(
    ([, one]) => one,
  );
  expect(new Set(audiences)).toEqual(new Set([API_TOKEN_AUDIENCE]));
  expect(JSON.stringify(pods).match(/"serviceAccountToken"/g)).toHaveLength(audiences.length);
});
