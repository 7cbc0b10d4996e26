// What a runtime makes of the pods and the Service.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aRecord, SETTINGS, TENANT } from '../../../test/support/builders.ts';
import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { PLATFORM_VARIABLES, ROLES, type Role } from '../../kinds/meta.ts';
import { PLATFORM_VALUES } from '../../kinds/platform-values.ts';
import type { ResourceSpec } from '../../kinds/resource-spec.ts';
import type { Runtime } from '../../kinds/runtime.ts';
import { drainingOf } from '../../kinds/runtime-part.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { makeRevision } from './app-revision.ts';
import { desiredChildren, migrationJob } from './desired.ts';
import type { Inputs } from './inputs.ts';

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly {
    readonly command?: readonly string[];
    readonly args?: readonly string[];
    readonly ports: readonly { containerPort: number }[];
    readonly startupProbe?: object;
    readonly readinessProbe: { readonly httpGet?: { readonly path: string; readonly port: string }; exec?: object };
    readonly livenessProbe?: object;
    readonly lifecycle?: object;
    readonly env: readonly { name: string; value?: string; valueFrom?: object }[];
  }[];
}

interface Waiting {
  readonly initContainers: readonly object[];
}

const PARTS = { queueMinScale: 1, orchestratorMinScale: 1, executorCpu: 1 };

function childrenOf(runtime?: Runtime, spec: Partial<AppDeploymentSpec> = {}): readonly KubeObject[] {
  const record = aRecord({ ...spec, sourceConfig: { resourceSpec: PARTS, ...(runtime && { runtime }) } });
  const wanted = wantedRevision(record, [], SETTINGS);
  if (!('create' in wanted)) throw new Error('no revision');
  return desiredChildren({
    record,
    revision: makeRevision(record, wanted.create),
    tenantId: TENANT,
    settings: SETTINGS,
  });
}

describe('a record without stores', () => {
  const NONE = { database: 'none', redis: 'none' } as const;
  const pods = (children: readonly KubeObject[]): unknown[] =>
    ROLES.map((role) => podOf(children, role) as object).map((pod) =>
      'initContainers' in pod ? pod.initContainers : 'absent',
    );

  it('has neither PostgreSQL nor Redis, no container that waits, and no URI', () => {
    const children = childrenOf({ ...NONE, migrate: { args: ['up'] } });
    expect(JSON.stringify(children)).not.toMatch(/shop--(postgres|redis)|_URI|wait-for/);
    expect([...new Set(children.map(({ kind }) => kind))]).toEqual(['Service', 'Deployment']);
    expect(pods(children)).toEqual(ROLES.map(() => 'absent'));
    const job = migrationJob(inputsOf({ ...NONE, migrate: { args: ['up'] } }));
    expect(JSON.stringify(job)).not.toMatch(/shop--(postgres|redis)|_URI|initContainers/);
  });

  it.each([
    ['database', 'redis', ['REDIS_URI'], ['wait-for-redis']],
    ['redis', 'postgres', ['POSTGRES_URI', 'DATABASE_URI'], ['wait-for-database']],
  ] as const)('%s none leaves the other store', (field, left, uris, waits) => {
    const children = childrenOf({ [field]: 'none' });
    expect(children.filter(({ kind }) => kind === 'StatefulSet').map(({ metadata }) => metadata.name)).toEqual([
      `shop--${left}`,
    ]);
    expect(
      envOf({ [field]: 'none' })
        .map(({ name }) => name)
        .filter((name) => name.endsWith('_URI')),
    ).toEqual(uris);
    expect(pods(children)).toEqual(ROLES.map(() => waits.map((name) => expect.objectContaining({ name }) as object)));
  });

  it('waits as before if the field is absent', () => {
    const waits = ['wait-for-database', 'wait-for-redis'].map((name) => expect.objectContaining({ name }) as object);
    expect(pods(childrenOf())).toEqual(ROLES.map(() => waits));
  });

  it('asks for 10 millicores in all at least', () => {
    const record = aRecord({ sourceConfig: { resourceSpec: { cpu: 0.01, memoryMb: 64 }, runtime: NONE } });
    const wanted = wantedRevision(record, [], SETTINGS);
    if (!('create' in wanted)) throw new Error('no revision');
    const revision = makeRevision(record, wanted.create);
    const children = desiredChildren({ record, revision, tenantId: TENANT, settings: SETTINGS });
    const requests = JSON.stringify(children).match(/"requests":\{[^}]*\}/g);
    expect(requests).toEqual(['"requests":{"cpu":"10m","memory":"64Mi"}']);
  });
});

function inputsOf(runtime: Runtime, resourceSpec: ResourceSpec = {}, more: Partial<AppDeploymentSpec> = {}): Inputs {
  const record = aRecord({ ...more, sourceConfig: { resourceSpec, runtime } });
  const wanted = wantedRevision(record, [], SETTINGS);
  if (!('create' in wanted)) throw new Error('no revision');
  const revision = makeRevision(record, wanted.create);
  return { record, revision, tenantId: TENANT, settings: SETTINGS };
}

function podOf(children: readonly KubeObject[], role: Role): PodSpec {
  const name = role === 'server' ? 'shop' : `shop--${role}`;
  const found = children.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name);
  return (found as unknown as { spec: { template: { spec: PodSpec } } }).spec.template.spec;
}

function envOf(
  runtime: Runtime,
  role: Role = 'server',
  spec: Partial<AppDeploymentSpec> = {},
): PodSpec['containers'][0]['env'] {
  return podOf(childrenOf(runtime, spec), role).containers[0]?.env ?? [];
}

it.each([undefined, {}, { server: {}, envNames: {}, without: [] }])('%j leaves every child as it was', (runtime) => {
  const plain = childrenOf().map((child) => JSON.stringify(child));
  expect(childrenOf(runtime).map((child) => JSON.stringify(child))).toEqual(plain);
});

it('port and health path are those of the image, in every part', () => {
  const children = childrenOf({ port: 5678, healthPath: '/healthz' });
  for (const role of ROLES) {
    const [container] = podOf(children, role).containers;
    expect(container?.ports).toEqual([{ name: 'http', containerPort: 5678, protocol: 'TCP' }]);
    expect(container?.readinessProbe.httpGet).toMatchObject({ path: '/healthz', port: 'http' });
    expect(container?.env.find(({ name }) => name === 'PORT')?.value).toBe('5678');
  }
});

describe('the health of a part', () => {
  const seen = (runtime: Runtime): unknown[] => {
    const children = childrenOf(runtime);
    return ROLES.map((role) => {
      const [container] = podOf(children, role).containers;
      const { readinessProbe, ports, env = [] } = container ?? {};
      const variable = (name: string): string | undefined => env.find((one) => one.name === name)?.value;
      return [ports?.[0]?.containerPort, variable('PORT'), variable('LISTEN'), readinessProbe?.httpGet?.path];
    });
  };
  const all = { port: 5678, healthPath: '/healthz', envNames: { LISTEN: 'port' } } as const;
  const USUAL = [5678, '5678', '5678', '/healthz'];

  it.each<[name: string, given: Partial<Record<Role, object>>, want: Partial<Record<Role, unknown[]>>]>([
    ['a port', { queue: { port: 5679 } }, { queue: [5679, '5679', '5679', '/healthz'] }],
    ['a path', { executor: { healthPath: '/live' } }, { executor: [5678, '5678', '5678', '/live'] }],
    [
      'both, of two parts',
      { server: { port: 1, healthPath: '/a' }, orchestrator: { port: 2, healthPath: '/b' } },
      { server: [1, '1', '1', '/a'], orchestrator: [2, '2', '2', '/b'] },
    ],
  ])('%s of its own takes the place of that of all parts', (_name, given, want) => {
    expect(seen({ ...all, ...given })).toEqual(ROLES.map((role) => want[role] ?? USUAL));
  });

  it("without those of all parts it takes the place of the platform's", () => {
    expect(seen({ queue: { port: 5679 } })[1]).toEqual([5679, '5679', undefined, '/ok']);
  });

  it('a migration has the port of all parts', () => {
    const runtime: Runtime = { ...all, server: { port: 1 }, migrate: { args: ['up'] } };
    const job = migrationJob(inputsOf(runtime)) as unknown as { spec: { template: { spec: PodSpec } } };
    const env = job.spec.template.spec.containers[0]?.env ?? [];
    expect(env.filter(({ name }) => name === 'PORT' || name === 'LISTEN').map(({ value }) => value)).toEqual([
      '5678',
      '5678',
    ]);
  });

  it('a command asks nothing of a port, and its pods are not killed for it', () => {
    const [queue] = podOf(childrenOf({ ...all, queue: { healthCommand: ['ping', '-v'] } }), 'queue').containers;
    expect(queue?.readinessProbe).toEqual({
      exec: { command: ['ping', '-v'] },
      periodSeconds: 10,
      timeoutSeconds: 10,
      failureThreshold: 3,
    });
    expect([queue?.startupProbe, queue?.livenessProbe]).toEqual([undefined, undefined]);
  });

  it('a command has the times of the record, and restarts its container if the record asks for it', () => {
    const health = { healthPeriodSeconds: 45, healthTimeoutSeconds: 20, healthFailureThreshold: 5 };
    const [queue] = podOf(childrenOf({ queue: { healthCommand: ['ping'], ...health } }), 'queue').containers;
    const probe = { exec: { command: ['ping'] }, periodSeconds: 45, timeoutSeconds: 20, failureThreshold: 5 };
    expect([queue?.startupProbe, queue?.readinessProbe, queue?.livenessProbe]).toEqual([undefined, probe, undefined]);
    const restarting = { healthCommand: ['ping'], ...health, healthRestart: true };
    const [killed] = podOf(childrenOf({ queue: restarting }), 'queue').containers;
    // The settings' 600 s before its rollout has failed.
    const startup = { ...probe, failureThreshold: 14 };
    expect([killed?.startupProbe, killed?.readinessProbe, killed?.livenessProbe]).toEqual([startup, probe, probe]);
  });

  it('a health path has the times of the record, and the port its own', () => {
    const [given] = podOf(
      childrenOf({ queue: { healthPeriodSeconds: 30, healthTimeoutSeconds: 9 } }),
      'queue',
    ).containers;
    const [usual] = podOf(childrenOf(), 'queue').containers;
    expect(given?.readinessProbe).toEqual({ ...usual?.readinessProbe, periodSeconds: 30, timeoutSeconds: 9 });
    expect([given?.startupProbe, given?.livenessProbe]).toEqual([usual?.startupProbe, usual?.livenessProbe]);
  });

  it.each([
    ['just written', 0, 0, ''],
    ['a little younger than it may be', -100, 0, ''],
    ['older', -140, 1, 'FILE was not written for 120 s\n'],
    ['not there', undefined, 1, 'FILE was not written for 120 s\n'],
  ] as const)('a heartbeat that is %s', (_name, seconds, code, printed) => {
    const folder = mkdtempSync(join(tmpdir(), 'heartbeat-'));
    const file = join(folder, 'a live $(one)');
    try {
      if (seconds !== undefined) writeFileSync(file, '');
      const time = Date.now() / 1000 + (seconds ?? 0);
      if (seconds !== undefined) utimesSync(file, time, time);
      const queue = { heartbeatFile: file, heartbeatMaxAgeSeconds: 120 };
      const [container] = podOf(childrenOf({ queue }), 'queue').containers;
      const probe = container?.readinessProbe.exec as { command: string[] } | undefined;
      const [program = '', ...words] = probe?.command ?? [];
      const { status, stdout } = spawnSync(program, words, { encoding: 'utf8' });
      expect([status, stdout.replace(file, 'FILE')]).toEqual([code, printed]);
      expect([container?.startupProbe, container?.livenessProbe]).toEqual([undefined, undefined]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('restarts no other part', () => {
    const plain = childrenOf(all).map((child) => JSON.stringify(child));
    const changed = childrenOf({ ...all, queue: { port: 5679 } });
    const others = changed.filter(({ metadata }) => metadata.name !== 'shop--queue');
    expect(plain).toEqual(expect.arrayContaining(others.map((child) => JSON.stringify(child))));
  });
});

it('each part has its own command', () => {
  const children = childrenOf({
    server: { args: ['--port', '$(PORT)'] },
    queue: { command: ['n8n'], args: ['worker'] },
  });
  const said = ROLES.map((role) => podOf(children, role).containers[0]).map((one) => [one?.command, one?.args]);
  expect(said).toEqual([
    [undefined, ['--port', '$(PORT)']],
    [['n8n'], ['worker']],
    [undefined, undefined],
    [undefined, undefined],
  ]);
});

describe('names of variables', () => {
  const all = Object.fromEntries(PLATFORM_VALUES.map((value) => [`X_${value.toUpperCase()}`, value]));
  const fromSecret = (name: string, key: string): object => ({ valueFrom: { secretKeyRef: { name, key } } });
  const POSTGRES = 'shop--postgres';
  const REDIS = 'shop--redis';

  it.each([
    ['server', '0'],
    ['queue', '10'],
  ] as const)('%s has every value under the names of the image, besides the usual ones', (role, jobs) => {
    const env = envOf({ envNames: all }, role);
    expect(env.filter(({ name }) => name.startsWith('X_'))).toEqual([
      { name: 'X_JOBS', value: jobs },
      { name: 'X_PORT', value: '8000' },
      { name: 'X_POSTGRES_DATABASE', value: 'app' },
      { name: 'X_POSTGRES_HOST', value: 'shop--postgres.team.svc' },
      { name: 'X_POSTGRES_PASSWORD', ...fromSecret(POSTGRES, 'password') },
      { name: 'X_POSTGRES_PORT', value: '5432' },
      { name: 'X_POSTGRES_URI', ...fromSecret(POSTGRES, 'uri') },
      { name: 'X_POSTGRES_USER', value: 'app' },
      { name: 'X_REDIS_HOST', value: 'shop--redis.team.svc' },
      { name: 'X_REDIS_PASSWORD', ...fromSecret(REDIS, 'password') },
      { name: 'X_REDIS_PORT', value: '6379' },
      { name: 'X_REDIS_URI', ...fromSecret(REDIS, 'uri') },
      { name: 'X_ROLE', value: role },
    ]);
    const usual = podOf(childrenOf(), role).containers[0]?.env;
    expect(env.filter(({ name }) => !name.startsWith('X_'))).toEqual(usual);
  });

  it('no password and no URI with one stands in a pod', () => {
    const clear = envOf({ envNames: all }).filter(
      ({ name, value }) => /PASSWORD|URI/.test(name) && value !== undefined,
    );
    expect(clear).toEqual([]);
  });

  it("the URI of an external store is that of the record's Secret", () => {
    const uri = { name: 'POSTGRES_URI_CUSTOM', secretName: 'mine', secretKey: 'uri' };
    const env = envOf({ envNames: { DB: 'postgres_uri' } }, 'server', { secretReferences: [uri] });
    expect(env.find(({ name }) => name === 'DB')).toEqual({ name: 'DB', ...fromSecret('mine', 'uri') });
  });

  const PASSWORD = { name: 'davit.postgres-password', ...fromSecret(POSTGRES, 'password') };
  const OWN = 'app:$(davit.postgres-password)@shop--postgres.team.svc:5432/app';
  it.each([
    ['postgres', '?sslmode=disable'],
    ['postgresql', '?sslmode=disable'],
    ['postgresql+psycopg', '?sslmode=disable'],
    ['postgresql+psycopg2', '?sslmode=disable'],
    ['postgresql+asyncpg', ''],
    ['postgres+pg8000', ''],
  ])('the scheme %s is that of every URI of PostgreSQL, in every part and in the migration', (scheme, query) => {
    const runtime: Runtime = { postgresUriScheme: scheme, envNames: { DB: 'postgres_uri' }, migrate: { args: ['up'] } };
    const job = migrationJob(inputsOf(runtime)) as unknown as { spec: { template: { spec: PodSpec } } };
    const lists = [...ROLES.map((role) => envOf(runtime, role)), job.spec.template.spec.containers[0]?.env ?? []];
    const value = `${scheme}://${OWN}${query}`;
    for (const env of lists) {
      // A variable can refer to earlier ones only.
      expect(env[0]).toEqual(PASSWORD);
      expect(env.filter(({ name }) => /^(POSTGRES_URI|DATABASE_URI|DB)$/.test(name))).toEqual(
        ['POSTGRES_URI', 'DATABASE_URI', 'DB'].map((name) => ({ name, value })),
      );
    }
    const others = (env: PodSpec['containers'][0]['env']): unknown =>
      env.filter(({ name }) => !/postgres-password|^(POSTGRES_URI|DATABASE_URI|DB)$/.test(name));
    expect(others(envOf(runtime))).toEqual(others(envOf({})));
  });

  it('a scheme changes nothing of what waits for the database, and of the Secret', () => {
    const others = (runtime: Runtime): unknown[] =>
      childrenOf(runtime)
        .filter(({ kind }) => kind !== 'Deployment')
        .map((child) => JSON.stringify(child));
    expect(others({ postgresUriScheme: 'postgres' })).toEqual(others({}));
    const waits = (runtime: Runtime): unknown =>
      (podOf(childrenOf(runtime), 'server') as object as Waiting).initContainers;
    expect(waits({ postgresUriScheme: 'postgres' })).toEqual(waits({}));
  });

  it('an image without a URI of PostgreSQL gets no password for one', () => {
    const env = envOf({ postgresUriScheme: 'postgres', without: ['POSTGRES_URI', 'DATABASE_URI'] });
    expect(JSON.stringify(env)).not.toMatch(/postgres-password|shop--postgres/);
  });

  it('without leaves out usual names, and one of them can have another value', () => {
    const without = ['DATABASE_URI', 'N_JOBS_PER_WORKER'] as const;
    const env = envOf({ without: [...without], envNames: { DATABASE_URI: 'redis_host' } });
    expect(env.filter(({ name }) => name === 'N_JOBS_PER_WORKER')).toEqual([]);
    expect(env.filter(({ name }) => name === 'DATABASE_URI')).toEqual([
      { name: 'DATABASE_URI', value: 'shop--redis.team.svc' },
    ]);
    expect(envOf({ without: [...PLATFORM_VARIABLES] })).toEqual([]);
  });
});

describe('migration', () => {
  interface Job extends KubeObject {
    readonly spec: {
      readonly template: { readonly metadata: { labels: object; annotations?: object }; readonly spec: PodSpec };
    };
  }
  const migrate = { command: ['up'], args: ['--all'], timeoutSeconds: 60 };
  const uri = { name: 'TOKEN', secretName: 'mine', secretKey: 'token' };
  const inputs = (runtime: Runtime, resourceSpec?: ResourceSpec): Inputs => ({
    ...inputsOf(runtime, resourceSpec, { secretReferences: [uri] }),
    secretDigests: { server: { pods: 'digest' } },
  });
  const made = (runtime: Runtime, resourceSpec?: ResourceSpec): Job | undefined =>
    migrationJob(inputs(runtime, resourceSpec)) as Job | undefined;

  it('is none where none is asked for', () => {
    expect(made({})).toBeUndefined();
  });

  it('is a Job that is tried once, with a pod that ends', () => {
    const job = made({ migrate });
    const id = inputs({ migrate }).revision.spec.id;
    expect(job).toMatchObject({
      kind: 'Job',
      metadata: {
        name: `shop--migrate-${id.slice(0, 8)}`,
        labels: { 'davit.dev/component': 'migrate', 'davit.dev/revision': id },
        ownerReferences: [{ kind: 'AppDeployment', name: 'shop' }],
      },
      spec: { backoffLimit: 0, activeDeadlineSeconds: 60 },
    });
    expect(job?.spec.template.metadata.annotations).toBeUndefined();
    expect(job?.spec.template.spec).toMatchObject({ restartPolicy: 'Never', terminationGracePeriodSeconds: 30 });
  });

  it("has the server's pod, but for what serves", () => {
    const spec: ResourceSpec = {
      serviceAccountName: 'runner',
      volumes: [{ name: 'v', emptyDir: {} }],
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
      labels: { team: 'blue' },
      cpu: 0.5,
    };
    const job = made({ migrate, server: { command: ['serve'] }, envNames: { ROLE: 'role', JOBS: 'jobs' } }, spec);
    const pod = job?.spec.template.spec;
    const server = podOf(desiredChildren(inputs({ envNames: { ROLE: 'role', JOBS: 'jobs' } }, spec)), 'server');
    const {
      containers: [container],
      restartPolicy: _r,
      terminationGracePeriodSeconds: _t,
      ...rest
    } = { restartPolicy: '', ...pod } as PodSpec & { restartPolicy: string };
    const {
      containers: [serving],
      terminationGracePeriodSeconds: _g,
      ...same
    } = server;
    expect(rest).toEqual(same);
    const {
      ports: _p,
      readinessProbe: _h,
      lifecycle: _l,
      env,
      startupProbe: _s,
      livenessProbe: _v,
      ...kept
    } = (serving ?? {}) as Record<string, unknown>;
    expect(container).toEqual({
      ...kept,
      name: 'davit-migration',
      command: ['up'],
      args: ['--all'],
      env: (env as { name: string; value?: string }[]).map((one) => {
        if (one.name === 'DAVIT_ROLE' || one.name === 'ROLE') return { ...one, value: 'migrate' };
        if (one.name === 'N_JOBS_PER_WORKER' || one.name === 'JOBS') return { ...one, value: '0' };
        if (one.name === 'OTEL_RESOURCE_ATTRIBUTES')
          return { ...one, value: one.value?.replace('davit.role=server', 'davit.role=migrate') };
        return one;
      }),
    });
    expect(job?.spec.template.metadata.labels).toMatchObject({ team: 'blue', 'davit.dev/component': 'migrate' });
  });
});

describe('draining', () => {
  it.each<[name: string, role: Role, runtime: Runtime | undefined, grace: number, hook: object | undefined]>([
    ['a server waits before SIGTERM', 'server', undefined, 35, { sleep: { seconds: 5 } }],
    ['another part does not', 'queue', undefined, 30, undefined],
    [
      'a given time holds for all of it',
      'server',
      { server: { terminationGracePeriodSeconds: 600 } },
      600,
      { sleep: { seconds: 5 } },
    ],
    [
      'of another part alone',
      'server',
      { queue: { terminationGracePeriodSeconds: 600 } },
      35,
      { sleep: { seconds: 5 } },
    ],
    [
      'a short one shortens the wait',
      'server',
      { server: { terminationGracePeriodSeconds: 3 } },
      3,
      { sleep: { seconds: 2 } },
    ],
    ['and takes it away', 'server', { server: { terminationGracePeriodSeconds: 1 } }, 1, undefined],
    [
      'a given wait comes before the usual time to end',
      'queue',
      { queue: { preStop: { sleep: { seconds: 60 } } } },
      90,
      { sleep: { seconds: 60 } },
    ],
    [
      'a command takes the place of the wait',
      'server',
      { server: { preStop: { exec: { command: ['drain'] } } } },
      30,
      { exec: { command: ['drain'] } },
    ],
  ])('%s', (_name, role, runtime, grace, hook) => {
    expect(drainingOf(role, runtime?.[role])).toEqual({
      terminationGracePeriodSeconds: grace,
      ...(hook && { preStop: hook }),
    });
    const pod = podOf(childrenOf(runtime), role);
    expect(pod.terminationGracePeriodSeconds).toBe(grace);
    expect(pod.containers[0]?.lifecycle).toEqual(hook && { preStop: hook });
  });
});

describe('plain variables', () => {
  const env = [
    { name: 'Z', value: 'last letter, first' },
    { name: 'A', value: '$(API_KEY) of $(Z)' },
    { name: 'EMPTY', value: '' },
  ];
  const secrets = [{ name: 'API_KEY', secretName: 'shop--vars-1', secretKey: 'API_KEY' }];
  const secretReferences = [{ name: 'LICENSE', secretName: 'mine', secretKey: 'key' }];
  const runtime: Runtime = { envNames: { DB: 'postgres_uri' }, migrate: { args: ['up'] } };

  function inputsWith(given: typeof env | undefined): Inputs {
    const record = aRecord({
      secrets,
      secretReferences,
      sourceConfig: { resourceSpec: PARTS, runtime, ...(given && { env: given }) },
    });
    const wanted = wantedRevision(record, [], SETTINGS);
    if (!('create' in wanted)) throw new Error('no revision');
    return { record, revision: makeRevision(record, wanted.create), tenantId: TENANT, settings: SETTINGS };
  }
  const names = (list: readonly { readonly name: string }[] | undefined): string[] =>
    (list ?? []).map(({ name }) => name);

  it('are the last ones of every part and of the migration, in their own order', () => {
    const inputs = inputsWith(env);
    const children = desiredChildren(inputs);
    for (const role of ROLES) {
      const own = podOf(children, role).containers[0]?.env;
      expect(names(own).slice(-6)).toEqual(['DB', 'API_KEY', 'LICENSE', 'Z', 'A', 'EMPTY']);
      expect(own?.slice(-3)).toEqual(env);
    }
    const job = migrationJob(inputs) as unknown as { spec: { template: { spec: PodSpec } } };
    expect(job.spec.template.spec.containers[0]?.env.slice(-3)).toEqual(env);
  });

  it('are in nothing but the containers with the image of the record', () => {
    const [before, after] = [desiredChildren(inputsWith(undefined)), desiredChildren(inputsWith(env))];
    const others = (children: readonly KubeObject[]): KubeObject[] =>
      children.filter(({ kind }) => kind !== 'Deployment');
    expect(others(after)).toEqual(others(before));
    expect(JSON.stringify(after).split('last letter, first').length - 1).toBe(ROLES.length);
  });

  it('that are none change no byte', () => {
    expect(JSON.stringify(desiredChildren(inputsWith([])))).toBe(
      JSON.stringify(desiredChildren(inputsWith(undefined))),
    );
  });
});
