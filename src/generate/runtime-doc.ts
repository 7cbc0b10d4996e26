// The table of docs/runtime.md: what each field of a Runtime becomes. A test makes the children of each row's record and
// compares, and finds a field of the schema without a row.

import { MIGRATION_CONTAINER, ROLES } from '../schema/meta.ts';
import type { Runtime } from '../schema/runtime.ts';
import { effectsTable, type Row } from './resource-spec-doc.ts';
import { withTable } from './sections.ts';

const SERVER = 'Deployment shop';
const POD = 'spec.template.spec';

/** The fields of one part. `field`: the path of the part in the table; `givenTo`: a runtime whose part has these fields. */
function partRows(part: string, field: string, givenTo: (own: object) => Runtime): Row<Runtime>[] {
  const object = part === 'server' ? SERVER : `${SERVER}--${part}`;
  const container = `${POD}.containers[${part}]`;
  const row = (name: string, example: unknown, at: string, given: object = { [name]: example }): Row<Runtime> => ({
    field: `${field}.${name}`,
    given: givenTo(given),
    example,
    effects: [{ object, at, is: example }],
  });
  const heartbeat = (name: string, example: unknown, at: number, more: object): Row<Runtime> => ({
    ...row(name, example, '', { [name]: example, ...more }),
    effects: [{ object, at: `${container}.readinessProbe.exec.command[${at}]`, is: String(example) }],
  });
  return [
    row('command', ['serve'], `${container}.command`),
    row('args', ['--port', '$(PORT)'], `${container}.args`),
    {
      ...row('port', 9191, `${container}.ports[http].containerPort`),
      effects: [
        { object, at: `${container}.ports[http].containerPort`, is: 9191 },
        { object, at: `${container}.env[PORT].value`, is: '9191' },
      ],
    },
    row('healthPath', '/alive', `${container}.readinessProbe.httpGet.path`),
    row('healthCommand', ['ping'], `${container}.readinessProbe.exec.command`),
    heartbeat('heartbeatFile', '/tmp/alive', 3, {}),
    heartbeat('heartbeatMaxAgeSeconds', 30, 4, { heartbeatFile: '/tmp/alive' }),
    row('healthPeriodSeconds', 30, `${container}.readinessProbe.periodSeconds`),
    row('healthTimeoutSeconds', 20, `${container}.readinessProbe.timeoutSeconds`),
    row('healthFailureThreshold', 5, `${container}.readinessProbe.failureThreshold`),
    {
      ...row('healthRestart', true, '', { healthRestart: true, healthCommand: ['ping'] }),
      effects: [{ object, at: `${container}.livenessProbe.exec.command`, is: ['ping'] }],
    },
    row('terminationGracePeriodSeconds', 600, `${POD}.terminationGracePeriodSeconds`),
    row('preStop.sleep.seconds', 20, `${container}.lifecycle.preStop.sleep.seconds`, {
      preStop: { sleep: { seconds: 20 } },
    }),
    row('preStop.exec.command', ['drain'], `${container}.lifecycle.preStop.exec.command`, {
      preStop: { exec: { command: ['drain'] } },
    }),
  ];
}

const PARTS = ROLES.flatMap((role) => partRows(role, role, (own) => ({ [role]: own })));

/** The worker of the table. Periods of a health check have an effect only where there is one. */
const WORKER = 'mailer';
function workerWith(own: object): Runtime {
  const [name = ''] = Object.keys(own);
  const isOfCheck = /^health(Period|Timeout|Failure)/.test(name);
  return { workers: { [WORKER]: { command: ['work'], ...(isOfCheck && { healthPath: '/ok' }), ...own } } };
}

function workerRow(
  name: string,
  example: unknown,
  at: string,
  is: unknown,
  object = `${SERVER}--${WORKER}`,
): Row<Runtime> {
  return {
    field: `workers.NAME.${name}`,
    given: workerWith({ [name]: example }),
    example,
    effects: [{ object, at, is }],
  };
}

const SIZES = `${POD}.containers[${WORKER}].resources`;
const WORKERS: readonly Row<Runtime>[] = [
  ...partRows(WORKER, 'workers.NAME', workerWith),
  workerRow('minScale', 2, 'spec.replicas', 2),
  workerRow('maxScale', 4, 'spec.maxReplicas', 4, `HorizontalPodAutoscaler shop--${WORKER}`),
  workerRow('singleton', true, 'spec.replicas', 1, `StatefulSet shop--${WORKER}`),
  workerRow('cpu', 0.5, `${SIZES}.requests.cpu`, '500m'),
  workerRow('cpuLimit', 3, `${SIZES}.limits.cpu`, '3'),
  workerRow('memoryMb', 300, `${SIZES}.requests.memory`, '300Mi'),
  workerRow('memoryLimitMb', 3000, `${SIZES}.limits.memory`, '3000Mi'),
];

/** Stands for the Job of a revision, whose name ends with the beginning of the revision's id. */
export const MIGRATION_JOB = 'Job shop--migrate';

function migrateRow(name: string, example: unknown, at: string, more: object = {}): Row<Runtime> {
  return {
    field: `migrate.${name}`,
    given: { migrate: { [name]: example, ...more } },
    example,
    effects: [{ object: MIGRATION_JOB, at, is: example }],
  };
}

function storeRows(field: 'database' | 'redis', variables: readonly string[], waits: string): Row<Runtime>[] {
  const gone = [...variables.map((name) => `containers[server].env[${name}]`), `initContainers[${waits}]`];
  return [
    {
      field,
      given: { [field]: 'none' },
      example: 'none',
      effects: gone.map((at) => ({ object: SERVER, at: `${POD}.${at}`, is: undefined })),
    },
  ];
}

const PENDING = "SELECT count(*) FROM run WHERE status = 'pending'";

export const RUNTIME_ROWS: readonly Row<Runtime>[] = [
  {
    field: 'port',
    given: { port: 2026 },
    example: 2026,
    effects: [
      { object: SERVER, at: `${POD}.containers[server].ports[http].containerPort`, is: 2026 },
      { object: SERVER, at: `${POD}.containers[server].env[PORT].value`, is: '2026' },
    ],
  },
  {
    field: 'healthPath',
    given: { healthPath: '/healthz' },
    example: '/healthz',
    effects: [{ object: SERVER, at: `${POD}.containers[server].readinessProbe.httpGet.path`, is: '/healthz' }],
  },
  ...storeRows('database', ['POSTGRES_URI', 'DATABASE_URI'], 'wait-for-database'),
  ...storeRows('redis', ['REDIS_URI'], 'wait-for-redis'),
  ...PARTS,
  ...WORKERS,
  migrateRow('command', ['aegra', 'db', 'upgrade'], `${POD}.containers[${MIGRATION_CONTAINER}].command`),
  migrateRow('args', ['db', 'upgrade'], `${POD}.containers[${MIGRATION_CONTAINER}].args`),
  migrateRow('timeoutSeconds', 300, 'spec.activeDeadlineSeconds', { args: ['db', 'upgrade'] }),
  {
    field: 'queueDepth.query',
    given: { queueDepth: { query: PENDING } },
    example: PENDING,
    effects: [{ object: 'ScaledObject shop--queue', at: 'spec.triggers[postgresql].metadata.query', is: PENDING }],
  },
  {
    field: 'queueDepth.perPod',
    given: { queueDepth: { query: PENDING, perPod: 5 } },
    example: 5,
    effects: [
      { object: 'ScaledObject shop--queue', at: 'spec.triggers[postgresql].metadata.targetQueryValue', is: '5' },
    ],
  },
  {
    field: 'envNames',
    given: { envNames: { DB_HOST: 'postgres_host', DB_PASSWORD: 'postgres_password' } },
    example: { DB_HOST: 'postgres_host', DB_PASSWORD: 'postgres_password' },
    effects: [
      { object: SERVER, at: `${POD}.containers[server].env[DB_HOST].value`, is: 'shop--postgres.team.svc' },
      {
        object: SERVER,
        at: `${POD}.containers[server].env[DB_PASSWORD].valueFrom.secretKeyRef`,
        is: { name: 'shop--postgres', key: 'password' },
      },
    ],
  },
  {
    field: 'postgresUriScheme',
    given: { postgresUriScheme: 'postgresql+asyncpg' },
    example: 'postgresql+asyncpg',
    effects: ['POSTGRES_URI', 'DATABASE_URI'].map((name) => ({
      object: SERVER,
      at: `${POD}.containers[server].env[${name}].value`,
      is: 'postgresql+asyncpg://app:$(davit.postgres-password)@shop--postgres.team.svc:5432/app',
    })),
  },
  {
    field: 'apiToken',
    given: { apiToken: true },
    example: true,
    effects: [
      {
        object: SERVER,
        at: `${POD}.containers[server].env[DAVIT_API_TOKEN_FILE].value`,
        is: '/var/run/secrets/davit.dev/token',
      },
      {
        object: SERVER,
        at: `${POD}.volumes[davit-api-token].projected.sources`,
        is: [{ serviceAccountToken: { audience: 'davit', expirationSeconds: 3600, path: 'token' } }],
      },
    ],
  },
  {
    field: 'without',
    given: { without: ['N_JOBS_PER_WORKER'] },
    example: ['N_JOBS_PER_WORKER'],
    effects: [{ object: SERVER, at: `${POD}.containers[server].env[N_JOBS_PER_WORKER]`, is: undefined }],
  },
];

/** docs/runtime.md with its table of fields regenerated. */
export function withRuntimeTable(page: string): string {
  return withTable(page, 'src/generate/runtime-doc.ts', effectsTable(RUNTIME_ROWS, apiName));
}

/** Names that are Kubernetes' own, below pre_stop, have no capitals; keys of env_names are no names of fields. */
function apiName(field: string): string {
  return field.replaceAll(/(?<![A-Z.])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
