// The controller's check of the platform's limits: it applies to new values, not to running revisions.

import { expect, it } from 'vitest';
import { anObserved, aRecord, aRevision, UID } from '../../../test/support/builders.ts';
import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { Runtime } from '../../kinds/runtime.ts';
import { Settings } from '../../kinds/settings.ts';
import type { Entry } from './entry.ts';
import { checkPolicy } from './policy.ts';

const EXTERNAL: Partial<AppDeploymentSpec> = {
  secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'uri' }],
};
const LIMITED = Settings.parse({ limits: { cpu: 2 } });
const large = aRecord({ sourceConfig: { resourceSpec: { cpu: 4, queueCpuLimit: 8 } } });

it('more than the platform allows is said, with every field and its limit', () => {
  expect(checkPolicy(anObserved(large), LIMITED)).toMatchObject({
    is: 'stalled',
    reason: 'LimitExceeded',
    message: 'resource_spec exceeds the limits of this platform: cpu at most 2, queueCpuLimit at most 2.',
  });
});

it('a revision that was made before the limit goes on', () => {
  expect(checkPolicy(anObserved(large, { revisions: [aRevision(large)] }), LIMITED).is).toBe('pass');
});

it('a scale beyond the limit is refused though it makes no revision, and one in force goes on', () => {
  const scaled = (maxScale: number, inForce: number): Entry => {
    const record = aRecord({ sourceConfig: { resourceSpec: { cpu: 4, maxScale } } });
    const status = { resourceSpec: { maxScale: inForce } };
    const made = aRevision(aRecord({ sourceConfig: { resourceSpec: { cpu: 4, maxScale: 2 } } }));
    return checkPolicy(
      anObserved({ ...record, status }, { revisions: [made] }),
      Settings.parse({ limits: { cpu: 2, scale: 10 } }),
    );
  };
  expect(scaled(50, 2)).toMatchObject({
    reason: 'LimitExceeded',
    message: 'resource_spec exceeds the limits of this platform: maxScale at most 10.',
  });
  expect(scaled(10, 2).is).toBe('pass');
  expect(scaled(50, 50).is).toBe('pass');
});

it('several instances need a driver that has them: that of the record, of its revisions, or of the settings', () => {
  const record = aRecord({ sourceConfig: { database: { instances: 2 } } });
  expect(checkPolicy(anObserved(record), Settings.parse({}))).toMatchObject({
    is: 'stalled',
    reason: 'InstancesNotOffered',
    message:
      'database.instances: only driver cloudnative-pg has instances: leave instances out, or set driver to cloudnative-pg.',
  });
  expect(checkPolicy(anObserved(record, { revisions: [aRevision(record)] }), Settings.parse({})).is).toBe('pass');
  expect(checkPolicy(anObserved(record), Settings.parse({ database: { driver: 'cloudnative-pg' } })).is).toBe('pass');
  const named = aRecord({ sourceConfig: { database: { driver: 'cloudnative-pg', instances: 2 } } });
  expect(checkPolicy(anObserved(named), Settings.parse({})).is).toBe('pass');
});

it('where the platform makes no databases, a record has to bring both', () => {
  const external = (name: string): object => ({ name, secretName: 'outside', secretKey: 'uri' });
  const entryOf = (names: string[], runtime: Runtime = {}): Entry =>
    checkPolicy(
      anObserved(aRecord({ secretReferences: names.map(external) as never, sourceConfig: { runtime } })),
      Settings.parse({ database: { own: false } }),
    );
  const words = (of: string, fields: string): string =>
    `This platform provides no databases: set ${of}, or set ${fields} of runtime to none.`;
  expect(entryOf([])).toMatchObject({
    reason: 'OwnDatabaseForbidden',
    message: words('POSTGRES_URI_CUSTOM, REDIS_URI_CUSTOM', 'database, redis'),
  });
  const onlyRedis = words('REDIS_URI_CUSTOM', 'redis');
  expect(entryOf(['POSTGRES_URI_CUSTOM'])).toMatchObject({ reason: 'OwnDatabaseForbidden', message: onlyRedis });
  expect(entryOf([], { database: 'none' }).message).toBe(onlyRedis);
  expect(entryOf(['POSTGRES_URI_CUSTOM'], { redis: 'none' }).reason).toBe('Accepted');
  expect(entryOf([], { database: 'none', redis: 'none' }).reason).toBe('Accepted');
  expect(entryOf(['POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM']).reason).toBe('Accepted');
});

it.each<{ name: string; spec?: Partial<AppDeploymentSpec>; tenantId?: null; settings?: object; want: string }>([
  { name: 'all well', want: 'pass Accepted' },
  { name: 'no tenant', tenantId: null, want: 'stalled NotATenant' },
  { name: 'a source of the other hosting', spec: { source: 'internal_docker' }, want: 'stalled SourceNotAllowed' },
  {
    name: 'a template that nobody offers',
    spec: { source: 'internal_template' },
    settings: { hosting: 'cloud' },
    want: 'stalled TemplateNotFound',
  },
  {
    name: 'a listener that is not there',
    spec: { sourceConfig: { listenerId: UID, listenerConfig: { k8sNamespace: 'team' } } },
    want: 'stalled ListenerNotFound',
  },
  {
    name: 'an integration that is not there',
    spec: { source: 'codehost', sourceConfig: { integrationId: UID, repoUrl: 'https://github.com/a/b' } },
    settings: { hosting: 'cloud' },
    want: 'stalled IntegrationNotFound',
  },
  {
    name: 'an image of another repository',
    spec: { source: 'internal_docker', sourceRevisionConfig: { imageUri: 'docker.io/other:1' } },
    settings: { hosting: 'cloud', builds: { registry: { host: 'registry.example' } } },
    want: 'stalled ImageNotAllowed',
  },
  {
    name: 'an image where there is no registry',
    spec: { source: 'internal_docker', sourceRevisionConfig: { imageUri: 'docker.io/other:1' } },
    settings: { hosting: 'cloud' },
    want: 'pass Accepted',
  },
  { name: 'no databases here', settings: { database: { own: false } }, want: 'stalled OwnDatabaseForbidden' },
  {
    name: 'a token for the API where nobody gets tokens',
    spec: { sourceConfig: { runtime: { apiToken: true } } },
    settings: { http: { podUrl: 'https://api.svc' } },
    want: 'stalled ApiTokenNotOffered',
  },
  {
    name: 'a token for an API without an address',
    spec: { sourceConfig: { runtime: { apiToken: true } } },
    settings: { oauth: { hosts: [{ host: 'idp.example' }] } },
    want: 'stalled ApiTokenNotOffered',
  },
  {
    name: 'a token for the API',
    spec: { sourceConfig: { runtime: { apiToken: true } } },
    settings: { oauth: { hosts: [{ host: 'idp.example' }] }, http: { publicUrl: 'https://davit.example' } },
    want: 'pass Accepted',
  },
  {
    name: 'above a limit',
    spec: { sourceConfig: { resourceSpec: { cpu: 4 } } },
    settings: { limits: { cpu: 2 } },
    want: 'stalled LimitExceeded',
  },
  {
    name: 'a pool of nodes that the platform does not list',
    spec: { sourceConfig: { runtime: { queue: { placement: { nodeSelector: { pool: 'gpu' } } } } } },
    want: 'stalled PlacementNotAllowed',
  },
  {
    name: 'a pool of nodes that the platform lists',
    spec: { sourceConfig: { runtime: { queue: { placement: { nodeSelector: { pool: 'gpu' } } } } } },
    settings: { placement: { allowed: { nodeSelector: { pool: ['gpu'] } } } },
    want: 'pass Accepted',
  },
  {
    name: 'a privileged sidecar',
    spec: {
      sourceConfig: {
        resourceSpec: { sidecars: [{ name: 'a', image: 'a', securityContext: { privileged: true } }] },
      },
    },
    want: 'stalled PodPolicyViolated',
  },
  {
    name: "another tenant's image",
    spec: { sourceRevisionConfig: { imageUri: 'r.example/other-22222222/shop:1' } },
    settings: { builds: { registry: { host: 'r.example' } } },
    want: 'stalled ImageNotAllowed',
  },
  {
    name: "a sidecar with another tenant's image",
    spec: { sourceConfig: { resourceSpec: { sidecars: [{ name: 'a', image: 'r.example/other-22222222/shop:1' }] } } },
    settings: { builds: { registry: { host: 'r.example' } } },
    want: 'stalled ImageNotAllowed',
  },
  {
    name: 'two at once: the first is told',
    tenantId: null,
    spec: { source: 'internal_docker' },
    want: 'stalled NotATenant',
  },
])('$name: $want', ({ spec = {}, tenantId, settings = {}, want }) => {
  const observed = anObserved(aRecord(spec), tenantId === null ? { tenantId } : {});
  const { is, reason } = checkPolicy(observed, Settings.parse(settings));
  expect(`${is} ${reason}`).toBe(want);
});

it.each<{
  name: string;
  made?: Partial<AppDeploymentSpec>;
  asks?: Partial<AppDeploymentSpec>;
  has?: 'postgres';
  want: string;
}>([
  { name: 'a revision without a database that needs one', want: 'stalled DatabaseDriverUnknown' },
  { name: 'a revision with its own PostgreSQL', has: 'postgres', want: 'pass Accepted' },
  {
    name: 'a record that asks for another driver',
    asks: { sourceConfig: { database: { driver: 'cloudnative-pg' } } },
    want: 'stalled DatabaseDriverUnknown',
  },
  { name: 'a revision with an external database', made: EXTERNAL, want: 'pass Accepted' },
  {
    name: 'a revision that does without PostgreSQL',
    made: { sourceConfig: { runtime: { database: 'none' } } },
    want: 'pass Accepted',
  },
  { name: 'a record that names an external database now', asks: EXTERNAL, want: 'pass Accepted' },
  {
    name: 'a record that does without PostgreSQL now',
    asks: { sourceConfig: { runtime: { database: 'none' } } },
    want: 'pass Accepted',
  },
])('$name: $want', ({ made = {}, asks = made, has, want }) => {
  const { spec, ...revision } = aRevision(aRecord(made));
  const { postgres, ...resolved } = spec.resolved;
  const newest = { ...revision, spec: { ...spec, resolved: { ...resolved, ...(has && { postgres }) } } };
  const { is, reason } = checkPolicy(anObserved(aRecord(asks), { revisions: [newest] }), Settings.parse({}));
  expect(`${is} ${reason}`).toBe(want);
});
