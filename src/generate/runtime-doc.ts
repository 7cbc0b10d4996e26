// docs/runtime.md: what each field of a Runtime is for and what it becomes. A test makes the children of each row's record and
// compares, and finds a field of the schema without a row.

import { MIGRATION_CONTAINER, ROLES } from '../schema/meta.ts';
import {
  PLATFORM_VALUES,
  type PlatformValue,
  type Runtime,
  SERVER_DRAIN_SECONDS,
  STOP_SECONDS,
} from '../schema/runtime.ts';
import { effectsTable, type Row } from './resource-spec-doc.ts';

const SERVER = 'Deployment shop';
const POD = 'spec.template.spec';

const PARTS: readonly Row<Runtime>[] = ROLES.flatMap((role) => {
  const object = role === 'server' ? SERVER : `${SERVER}--${role}`;
  const container = `${POD}.containers[${role}]`;
  const row = (name: string, example: unknown, at: string, given: object = { [name]: example }): Row<Runtime> => ({
    field: `${role}.${name}`,
    given: { [role]: given },
    example,
    effects: [{ object, at, is: example }],
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
    row('terminationGracePeriodSeconds', 600, `${POD}.terminationGracePeriodSeconds`),
    row('preStop.sleep.seconds', 20, `${container}.lifecycle.preStop.sleep.seconds`, {
      preStop: { sleep: { seconds: 20 } },
    }),
    row('preStop.exec.command', ['drain'], `${container}.lifecycle.preStop.exec.command`, {
      preStop: { exec: { command: ['drain'] } },
    }),
  ];
});

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
    field: 'without',
    given: { without: ['N_JOBS_PER_WORKER'] },
    example: ['N_JOBS_PER_WORKER'],
    effects: [{ object: SERVER, at: `${POD}.containers[server].env[N_JOBS_PER_WORKER]`, is: undefined }],
  },
];

const VALUES: Readonly<Record<PlatformValue, string>> = {
  postgres_uri: 'the URI that `POSTGRES_URI` has, from a Secret',
  postgres_host: "host of the deployment's own PostgreSQL",
  postgres_port: 'its port',
  postgres_user: 'its user',
  postgres_password: 'its password, from a Secret',
  postgres_database: 'its database',
  redis_uri: 'the URI that `REDIS_URI` has, from a Secret',
  redis_host: "host of the deployment's own Redis",
  redis_port: 'its port',
  redis_password: 'its password, from a Secret',
  jobs: 'number of jobs that a pod processes at a time: `N_JOBS_PER_WORKER`; 0 for a main service with queue workers',
  role: '`server`, `queue`, `orchestrator` or `executor`: `DAVIT_ROLE`',
  port: 'the port: `PORT`',
};

/** The text of docs/runtime.md. */
export function runtimePage(): string {
  return `<!-- Generated from src/generate/runtime-doc.ts by \`npm run generate\`. Do not edit. -->
# Images that were not written for Davit

An image needs nothing else than to listen on \`PORT\` and to answer \`GET /ok\`. For one that does otherwise, \`source_config.runtime\` (in an
AppDeployment \`spec.sourceConfig.runtime\`, names in camel case) says how it is run. Every field is optional. A change makes a
revision, and a rollback takes the old values. Pods of a record without the field are the same as before.

\`\`\`json
{
  "source_config": {
    "runtime": {
      "port": 2026,
      "health_path": "/health",
      "server": {"command": ["aegra", "serve"]},
      "migrate": {"command": ["aegra", "db", "upgrade"]},
      "env_names": {"DATABASE_URL": "postgres_uri", "WORKER_COUNT": "jobs"},
      "without": ["N_JOBS_PER_WORKER"]
    }
  }
}
\`\`\`

**In a PATCH** \`runtime\` is merged field by field, and each part (${ROLES.map((role) => `\`${role}\``).join(', ')}, \`migrate\`, \`queue_depth\`) likewise. What is left out stays as it is; null sets a field
back to its default. A list or a map that is sent (\`command\`, \`args\`, \`pre_stop\`, \`env_names\`, \`without\`) takes the place of the one before, and an empty one takes it
away. \`"runtime": null\` changes nothing.

## Port and health path

\`port\` and \`health_path\` hold for all parts: the Service leads to the port, the startup and liveness probes open it, and the readiness probe asks for the health path. A part
that listens elsewhere has its own \`port\` and \`health_path\`, such as \`"queue": {"port": 5679, "health_path": "/healthz/readiness"}\`.

A queue worker that listens on nothing has a \`health_command\` instead, such as \`"queue": {"health_command": ["celery", "-A", "app", "inspect", "ping"]}\`. It runs in the
container every 10 s, within 10 s, and a pod is ready while it exits with 0. No other probe is made: a worker whose process hangs is not restarted, only one that ends. For an image that
can only tell its health by running, \`["true"]\` does.

## Without a database or Redis

\`database: none\` and \`redis: none\` are for an image that needs no PostgreSQL, or no Redis. Davit then creates none, sets no \`POSTGRES_URI\`, \`DATABASE_URI\` or \`REDIS_URI\`, and no
container waits for one. DatabaseReady or RedisReady is True with reason \`NotNeeded\`, and the status never waits for it. Such a deployment can request
10 millicores in all: \`"resource_spec": {"cpu": 0.01, "memory_mb": 64}\`.

- **A deployment that has a database** keeps its volume and its password when \`database: none\` is set. DatabaseReady says so. When the field is removed (\`null\` in a PATCH), PostgreSQL starts again with
  the same data. \`databaseDeletionPolicy\` decides what the deletion of the record does with them.
- **A deployment that has a Redis** loses what its Redis holds: Redis keeps it in memory only.
- **An external store** contradicts \`none\`: the record is refused while \`secrets\` or \`secret_references\` has \`POSTGRES_URI_CUSTOM\` or \`REDIS_URI_CUSTOM\`.
- \`queue_depth\` needs the own database, and \`env_names\` has no values of a store that does not exist: both are refused.

## Commands

\`command\` and \`args\` of a part are those of its container, as in a pod: \`command\` replaces the image's entrypoint. There is no shell. \`$(NAME)\` is replaced by the
value of a variable of the container, such as \`$(PORT)\`. They are part of the record, which viewers can read: put passwords in \`secrets\`.

## Names of variables

\`env_names\` gives the platform's values to the image under its own names, besides the usual ones:

| Value | Meaning |
|---|---|
${PLATFORM_VALUES.map((value) => `| \`${value}\` | ${VALUES[value]} |`).join('\n')}

Passwords, and URIs with passwords, are references to Secrets in the pods, never text. The parts of an external store (\`POSTGRES_URI_CUSTOM\`, \`REDIS_URI_CUSTOM\`)
are not known: its \`…_uri\` can be given another name, and the parts are secrets of the record. A name must not be one of the record's
\`secrets\` or \`secret_references\`. A usual name can be given another value if \`without\` names it as well.

\`without\` lists usual variables that the image cannot bear. They are not set. A secret cannot have one of these names either.

## Draining

When a rollout, a scale-down or the drain of a node ends a pod, the pod is taken out of the Service at the same time, \`pre_stop\` runs, then the container gets
SIGTERM, and is killed \`termination_grace_period_seconds\` after the beginning. A server waits ${SERVER_DRAIN_SECONDS} s before SIGTERM, in which load balancers learn that it is
gone, and then has ${STOP_SECONDS} s. Other parts have ${STOP_SECONDS} s. \`pre_stop\` has one of \`{"sleep": {"seconds": 20}}\` and \`{"exec": {"command": ["drain"]}}\`; it takes the place of the
server's wait, and its time counts.

A queue worker that finishes its job on SIGTERM needs as much time as its longest job takes, at most 7200 s. While a rollout drains:

- Old pods keep their database, Redis and values until they have ended, also where the new revision has others.
- A revision is DEPLOYED when its own pods are ready. Old pods may still be finishing their jobs, and use their share of the quota.
- A deletion waits for them: the deployment is AWAITING_DELETE for as long, and its data is deleted after that.
- The drain of a node waits for them, but not longer than whoever drains it allows.
- A change of the scale (minima, maxima, \`per_pod\`) replaces no pod and makes no revision ([ADR 38](adr/0038-scale-is-no-revision.md)).
- A part whose template the new revision does not change is not drained ([ADR 39](adr/0039-parts-on-their-own.md)).

What this costs three applications is measured [below](#what-it-costs-running-jobs).

Davit knows no jobs. A job that has not ended with its pod goes on only if the application's queue gives it to another worker: soon if the application gives it back on SIGTERM,
after a lease or heartbeat has ended if the pod was killed. The examples say for each application what that costs, and which of its settings must fit the time given here:
[langhost](examples/langhost/README.md), [Aegra](examples/aegra/README.md), [n8n](examples/n8n/README.md).

## Migration

\`migrate\` runs once for each revision before its rollout: a Job with the image, values, Secrets, volumes, service account and pod security of the revision, in the size of
the server. \`DAVIT_ROLE\` is \`migrate\`. Its steps:

1. The stores of the revision answer, and the API server accepts the revision's pods. Otherwise nothing is migrated. A record whose own
   stores do not answer is Stalled after \`settings.pods.progressDeadlineSeconds\`, as a rollout is.
2. The Job starts. Until it has succeeded, the pods of the revision before go on serving (reason \`Migrating\`). They meet the changed database, so a migration must
   leave them able to run.
3. When it has succeeded, the rollout begins.

**When it fails**, or takes longer than \`timeout_seconds\` (600, with the pull of its image), the revision is DEPLOY_FAILED with the last words of the Job's pod, the record has the
reason \`MigrationFailed\`, and a revision that serves goes on serving. A failed migration is not tried again; the next revision migrates again. A pod that the cluster takes away (the drain
of a node, an eviction) is replaced, so a migration must be able to run again from the start.

- **A newer revision** lets a migration that is running finish, and follows then: half of a migration is worse than a late rollout. \`kubectl delete job\` ends it all the same; a latest revision
  whose Job was deleted before its end is DEPLOY_FAILED.
- **A rollback** to a revision whose migration has succeeded does not migrate: an old migration after a newer one would be wrong, and the database is not rolled back. A rollback to a revision whose
  migration never succeeded migrates.
- **Other sizes** alone (the numbers of \`resource_spec\`, \`deployment_type\`) migrate no second time. Another image, variable, volume or runtime does, and so does a new revision that changes nothing.
- **An interrupt** ends builds only, never a migration.
- **Scaled to zero** (\`max_scale: 0\`) nothing migrates. A revision that has not migrated is then AWAITING_DEPLOY, and migrates when the scale is raised, before its first pod. The pods of the
  revision that was deployed before serve until then. A migration that has run does not run again for another scale.
- **A deletion** of the record ends the Job together with the other workloads.
- **Its log** is that of \`kubectl logs job/NAME--migrate-…\` and part of the deployment's logs. The Job of the latest revision stays; older ones that have ended are deleted. How it ended stands in
  \`status.migration\` of the AppRevision.

## Queue depth

\`queue_depth\` is a SQL query of one number, such as \`SELECT count(*) FROM run WHERE status = 'pending'\`. With \`queue_max_scale\` above \`queue_min_scale\` the number of
queue workers follows it: one for every \`per_pod\` pending jobs (10), within the two. \`per_pod\` and the two can change at any time without a revision; another query is one. \`queue_min_scale: 0\` is then possible: any number above 0 starts the first worker, and the last one ends
after the stabilization window (setting \`autoscaling.scaleDownWindowSeconds\`). This is done by [KEDA](https://keda.sh), from the moment when the cluster has KEDA's kinds, without a restart and without a
setting; \`settings.keda.enabled: false\` forbids it. Otherwise the workers follow CPU and memory as without the field, a minimum of 0 is treated as 1, and the condition AutoscalingReady has the
reason \`KedaMissing\`. With KEDA its reason is \`FollowsQueue\`, or \`QueueDepthUnknown\` while KEDA cannot ask: the number of workers then stays.

KEDA's operator sends the query to the deployment's own PostgreSQL every 15 s, as the deployment's own user \`postgres\`, with the URI in the deployment's Secret. The query can do what the image can do with its own
database, and nothing to any other. A network policy lets the namespace of KEDA's operator (\`settings.keda.namespaceLabels\`) reach the databases of such deployments alone. An external database is
refused, because a record could then let KEDA's operator connect to any host. Keep the query cheap: an index on the status, and no locks.

Who removes KEDA from a cluster deletes its ScaledObjects first, while its operator still runs: they have a finalizer of its own.

**How fast it is.** Measured with KEDA 2.21 and metrics-server 0.9 on two cores that other work shared, with a window of 20 s (the default is 1800 s):

![Queue workers and open jobs over time](queue-depth.svg)

| Load | Up | Down |
|---|---|---|
| 40 jobs of 3 s, \`per_pod\` 2, 0 to 3 queue workers, by KEDA | first worker after 9 s, three after 26 s, all jobs done after 66 s | none 21 s after the last job |
| 90 s of one core, 1 to 3 servers, by CPU | three after 48 s | two 39 s after the load, one after 55 s |

## What it costs running jobs

Three applications that nobody wrote for Davit run on real pods in its tests, by the very records of [docs/examples](examples). While runs are under way, the deployment is changed or something is
killed. The table says runs (of n8n: executions) that had begun, and how many of them were lost: those that did not end as a success with every step once. Resumed are those that went on in
another pod than they began in. The two cores had other work to do, so the times are long.

| | langhost | Aegra | n8n |
|---|---|---|---|
| created until READY | 55 s, 82 s | 35 s, 38 s | 35 s, 59 s |
| queue workers 1 to 3 to 1 | 44, 0 lost, 34 resumed | 20, 0 lost, 10 resumed | 766, 2 lost |
| a new image | 24, 0 lost, 20 resumed; DEPLOYED after 19 s | 24, 0 lost, 20 resumed; DEPLOYED after 33 s and 43 s, with its migration | 78, 0 lost; DEPLOYED after 46 s |
| a new value | 24, 0 lost, 20 resumed; DEPLOYED after 68 s | 12, 0 lost, 10 resumed; DEPLOYED after 26 s | 118, 0 lost; DEPLOYED after 14 s and 40 s |
| a rollback | 12, 0 lost, 10 resumed | 24, 0 lost, 20 resumed; DEPLOYED after 27 s and 136 s | 102, 0 lost; DEPLOYED after 18 s and 26 s |
| a queue worker killed; of n8n: deleted | 12, 0 lost, 10 resumed | 12, 0 lost, 10 resumed | 53, 0 lost |
| PostgreSQL killed | 12, 0 lost, 1 begun again by its user | 24, 0 lost | 71, 1 lost, and one from before |
| the node's container runtime restarted | 12, 0 lost | 12, 0 lost | 31, 0 lost |

The new image of n8n is the same version under another reference, because an update migrates its database for good. Requests that a client sends while a pod ends can break, and are sent again: of n8n's webhooks 1 of 516 while workers came and went, and 20 while PostgreSQL was away, for 3 to
5 s. What an application cannot bear, and why, says its example: a run of langhost that asks the database when it goes away, an execution of n8n that a worker takes up just before it is told to end.

## Fields

What each becomes, of a record named \`shop\` in namespace \`team\` that has all parts. \`${MIGRATION_JOB}\` stands for the Job of a revision, whose name ends with the first 8 characters of
the revision's id.

${effectsTable(RUNTIME_ROWS, apiName)}`;
}

/** Names that are Kubernetes' own, below pre_stop, have no capitals; keys of env_names are no names of fields. */
function apiName(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
