// Runtime: how an image that was not written for this platform is run. Every field is optional, and a record without any has
// the pods that it always had.

import { z } from 'zod';
import {
  EXTERNAL_POSTGRES_VARIABLE,
  EXTERNAL_REDIS_VARIABLE,
  EXTERNAL_VARIABLES,
  PLATFORM_VARIABLES,
  ROLES,
  type Role,
  STORE_FIELDS,
  STORE_PARTS,
  type StorePart,
} from './meta.ts';
import { type CelRule, celNames, celRules, VARIABLE_NAME_PATTERN, VariableName } from './primitives.ts';
import { Container } from './resource-spec.ts';

/** Time that a container has to stop after SIGTERM, in seconds. */
export const STOP_SECONDS = 30;
/** Delay before SIGTERM in a server, in which load balancers learn that it accepts no new connections, in seconds. */
export const SERVER_DRAIN_SECONDS = 5;

const MAX_GRACE_SECONDS = 7200;

/** Age at which a heartbeat file is too old if the record sets none, in seconds. */
const HEARTBEAT_SECONDS = 60;

/** A path and query of an HTTP request, without spaces and fragment. */
export const HEALTH_PATH_PATTERN = '^/[!-"$-~]*$';

/** An absolute path of a file, printable. */
export const HEARTBEAT_FILE_PATTERN = '^/[^\\x00-\\x1f\\x7f]+$';

/** Schemes under which programs and drivers know PostgreSQL, without ://. */
export const POSTGRES_SCHEME_PATTERN = '^postgres(ql)?(\\+[a-z][a-z0-9_]*)?$';

/** Values of the platform that a record can have under names of its own. */
export const PLATFORM_VALUES = [
  'postgres_uri',
  'postgres_host',
  'postgres_port',
  'postgres_user',
  'postgres_password',
  'postgres_database',
  'redis_uri',
  'redis_host',
  'redis_port',
  'redis_password',
  'jobs',
  'role',
  'port',
] as const;
export type PlatformValue = (typeof PLATFORM_VALUES)[number];

/** The values that Davit knows only of stores that it makes itself, by the variable that selects an external one. */
export const OWN_STORE_VALUES: Readonly<Record<string, readonly PlatformValue[]>> = {
  [EXTERNAL_POSTGRES_VARIABLE]: [
    'postgres_host',
    'postgres_port',
    'postgres_user',
    'postgres_password',
    'postgres_database',
  ],
  [EXTERNAL_REDIS_VARIABLE]: ['redis_host', 'redis_port', 'redis_password'],
};
const SELECTING: readonly string[] = Object.keys(OWN_STORE_VALUES);

/** All values of a store. None of them exists for a record that does without it. */
export const STORE_VALUES: Readonly<Record<StorePart, readonly PlatformValue[]>> = {
  postgres: ['postgres_uri', ...(OWN_STORE_VALUES[EXTERNAL_POSTGRES_VARIABLE] ?? [])],
  redis: ['redis_uri', ...(OWN_STORE_VALUES[EXTERNAL_REDIS_VARIABLE] ?? [])],
};

export const PRE_STOP_MESSAGE = 'set exactly one of sleep and exec';
export const GRACE_MESSAGE = 'the sleep of preStop must be shorter than terminationGracePeriodSeconds';
export const PLATFORM_NAME_MESSAGE =
  'this name is set by the platform: choose another, or name it in without as well, so that only this value is given';
export const HEALTH_MESSAGE = 'set at most one of healthPath and healthCommand';
export const HEARTBEAT_MESSAGE = 'set only one of heartbeatFile, healthPath and healthCommand';
export const NO_HEARTBEAT_MESSAGE = 'heartbeatMaxAgeSeconds needs heartbeatFile';
export const RESTART_MESSAGE =
  'healthRestart needs healthCommand or heartbeatFile: a part with a port is restarted only when the port does not open';
export const SELECTING_NAME_MESSAGE = `these names select an external database or Redis: ${SELECTING.join(', ')}; choose another`;
export const SECRET_NAME_MESSAGE =
  'this name is also in secrets or in secret references: remove it there, or choose another';
export function externalMessage(variable: string): string {
  return `${variable} holds the URI of an external store, whose parts are not known: add the part as a secret of this name`;
}

/** For a record that does without a store and names an external one. */
export function contradictionMessage(part: StorePart): string {
  return `${STORE_FIELDS[part]} none and ${EXTERNAL_VARIABLES[part]} contradict each other: remove one of them`;
}
/** For a record that asks for a value of a store that it does without. */
export function noStoreMessage(part: StorePart): string {
  return `with ${STORE_FIELDS[part]} none this value does not exist: remove the name, or set ${STORE_FIELDS[part]} back`;
}
export const NO_QUEUE_MESSAGE = `queueDepth asks the deployment's own PostgreSQL: remove it, or set ${STORE_FIELDS.postgres} back`;
export const NO_SCHEME_MESSAGE = `with ${STORE_FIELDS.postgres} none there is no URI: remove postgresUriScheme, or set ${STORE_FIELDS.postgres} back`;
export const EXTERNAL_SCHEME_MESSAGE = `the URI in ${EXTERNAL_POSTGRES_VARIABLE} is given as it is: write the scheme into it, and remove postgresUriScheme`;

/** Whether a record does without a store. */
export function doesWithout(part: StorePart, runtime: Readonly<Runtime> | undefined): boolean {
  return runtime?.[STORE_FIELDS[part]] === 'none';
}

const PreStop = z
  .object({
    sleep: z
      .object({ seconds: z.int().min(1).max(MAX_GRACE_SECONDS).describe('Seconds to wait before SIGTERM.') })
      .describe('Waits before SIGTERM, as in a pod.')
      .optional(),
    exec: z
      .object({
        command: z.array(z.string().max(8192)).min(1).max(100).describe('Command in the container, without a shell.'),
      })
      .describe('Runs a command before SIGTERM, as in a pod.')
      .optional(),
  })
  .meta(celRules([{ rule: 'has(self.sleep) != has(self.exec)', message: PRE_STOP_MESSAGE }]));

const { command, args } = Container.shape;
const Port = z.int().min(1).max(65_535);
const ProbeSeconds = z.int().min(1).max(3600);
const HealthPath = z.string().max(1024).regex(new RegExp(HEALTH_PATH_PATTERN));

export const RuntimePart = z
  .object({
    command: command.describe(
      "Replaces the image's entrypoint. $(NAME) is replaced by the value of a variable, such as $(PORT).",
    ),
    args: args.describe('Arguments of the entrypoint. $(NAME) is replaced as in command.'),
    port: Port.describe(
      'Port that this part listens on, for its probes and PORT. If absent, that of the runtime.',
    ).optional(),
    healthPath: HealthPath.describe(
      'Path that answers 200 when a pod of this part can serve. If absent, that of the runtime.',
    ).optional(),
    healthCommand: z
      .array(z.string().max(8192))
      .min(1)
      .max(100)
      .describe(
        'Command in the container, without a shell, that succeeds when a pod of this part can work. No probe then asks the port.',
      )
      .optional(),
    heartbeatFile: z
      .string()
      .max(1024)
      .regex(new RegExp(HEARTBEAT_FILE_PATTERN))
      .describe(
        'File in the container that the program writes again and again: a pod of this part can work while it is new. The image needs sh, date and stat. No probe then asks the port.',
      )
      .optional(),
    heartbeatMaxAgeSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .describe(`Seconds after its last write at which heartbeatFile is too old. Default: ${HEARTBEAT_SECONDS}.`)
      .optional(),
    healthPeriodSeconds: ProbeSeconds.describe(
      'Seconds between two health checks. Default: 5 of a health path, else 10.',
    ).optional(),
    healthTimeoutSeconds: ProbeSeconds.describe(
      'Seconds that a health check may take. Default: 3 of a health path, else 10.',
    ).optional(),
    healthFailureThreshold: z
      .int()
      .min(1)
      .max(1000)
      .describe('Failed health checks in a row after which a pod of this part cannot work. Default: 3.')
      .optional(),
    healthRestart: z
      .boolean()
      .describe(
        'true: the container is also restarted then. It has the time of a rollout to succeed first. Needs healthCommand or heartbeatFile.',
      )
      .optional(),
    terminationGracePeriodSeconds: z
      .int()
      .min(1)
      .max(MAX_GRACE_SECONDS)
      .describe(
        `Seconds that a pod has to end, preStop included, before it is killed. If absent, ${STOP_SECONDS} after preStop.`,
      )
      .optional(),
    preStop: PreStop.describe(
      `What happens in the container before it gets SIGTERM. If absent, a server waits ${SERVER_DRAIN_SECONDS} s and the other parts do not wait.`,
    ).optional(),
  })
  .meta(
    celRules([
      {
        rule: '!has(self.terminationGracePeriodSeconds) || !has(self.preStop) || !has(self.preStop.sleep) || self.preStop.sleep.seconds < self.terminationGracePeriodSeconds',
        message: GRACE_MESSAGE,
        fieldPath: '.preStop',
      },
      {
        rule: '!has(self.healthPath) || !has(self.healthCommand)',
        message: HEALTH_MESSAGE,
        fieldPath: '.healthCommand',
      },
      {
        rule: '!has(self.heartbeatFile) || (!has(self.healthPath) && !has(self.healthCommand))',
        message: HEARTBEAT_MESSAGE,
        fieldPath: '.heartbeatFile',
      },
      {
        rule: '!has(self.heartbeatMaxAgeSeconds) || has(self.heartbeatFile)',
        message: NO_HEARTBEAT_MESSAGE,
        fieldPath: '.heartbeatMaxAgeSeconds',
      },
      {
        rule: '!has(self.healthRestart) || !self.healthRestart || has(self.healthCommand) || has(self.heartbeatFile)',
        message: RESTART_MESSAGE,
        fieldPath: '.healthRestart',
      },
    ]),
  );
export type RuntimePart = z.infer<typeof RuntimePart>;

export function heartbeatAgeOf({ heartbeatMaxAgeSeconds = HEARTBEAT_SECONDS }: Readonly<RuntimePart>): number {
  return heartbeatMaxAgeSeconds;
}

const PART_WORDS: Readonly<Record<Role, string>> = {
  server: 'The main service.',
  queue: 'The queue workers. They must answer the health path on the port, unless they have a health of their own.',
  orchestrator: 'The orchestrator, if there is one.',
  executor: 'The executor, if there is one.',
};

/** Time that a migration has if the record sets none, in seconds. */
const MIGRATION_SECONDS = 600;
export const NO_COMMAND_MESSAGE = 'set command or args: without them the image would serve instead of migrating';

const MigrationCommand = z.array(z.string().max(8192)).min(1).max(100);
export const Migrate = z
  .object({
    command: MigrationCommand.describe("Replaces the image's entrypoint. $(NAME) is replaced as in a part.").optional(),
    args: MigrationCommand.describe('Arguments of the entrypoint. $(NAME) is replaced as in a part.').optional(),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .describe(
        `Seconds after which the migration has failed, with the pull of its image. Default: ${MIGRATION_SECONDS}.`,
      )
      .optional(),
  })
  .meta(celRules([{ rule: 'has(self.command) || has(self.args)', message: NO_COMMAND_MESSAGE }]));
export type Migrate = z.infer<typeof Migrate>;

export function timeoutOf({ timeoutSeconds = MIGRATION_SECONDS }: Readonly<Migrate>): number {
  return timeoutSeconds;
}

/** Jobs for each queue worker if the record sets none: as many as a worker processes at a time. */
const JOBS_PER_POD = 10;
export const OWN_DATABASE_MESSAGE = `queueDepth asks the deployment's own PostgreSQL: remove it, or ${EXTERNAL_POSTGRES_VARIABLE}`;

export const QueueDepth = z.object({
  query: z
    .string()
    .min(1)
    .max(4096)
    .describe("SQL query that returns one number: how many jobs are pending in the deployment's own PostgreSQL."),
  perPod: z
    .int()
    .min(1)
    .max(1_000_000)
    .describe(`Pending jobs for each queue worker. Default: ${JOBS_PER_POD}.`)
    .optional(),
});
export type QueueDepth = z.infer<typeof QueueDepth>;

export function perPodOf({ perPod = JOBS_PER_POD }: Readonly<QueueDepth>): number {
  return perPod;
}

const NAME_RULES: readonly CelRule[] = [
  {
    rule: `!has(self.envNames) || self.envNames.all(n, n.matches('${VARIABLE_NAME_PATTERN}'))`,
    message: 'a key of envNames must be the name of an environment variable',
    fieldPath: '.envNames',
  },
  {
    rule: `!has(self.envNames) || self.envNames.all(n, !(n in ${celNames(PLATFORM_VARIABLES)}) || (has(self.without) && n in self.without))`,
    message: PLATFORM_NAME_MESSAGE,
    fieldPath: '.envNames',
  },
  {
    rule: `!has(self.envNames) || self.envNames.all(n, !(n in ${celNames(SELECTING)}))`,
    message: SELECTING_NAME_MESSAGE,
    fieldPath: '.envNames',
  },
];

const STORE_RULES: readonly CelRule[] = [
  {
    rule: "!has(self.queueDepth) || !has(self.database) || self.database != 'none'",
    message: NO_QUEUE_MESSAGE,
    fieldPath: '.queueDepth',
  },
  {
    rule: "!has(self.postgresUriScheme) || !has(self.database) || self.database != 'none'",
    message: NO_SCHEME_MESSAGE,
    fieldPath: '.postgresUriScheme',
  },
  ...STORE_PARTS.map((store) => ({
    rule: `!has(self.${STORE_FIELDS[store]}) || self.${STORE_FIELDS[store]} != 'none' || !has(self.envNames) || self.envNames.all(n, !(self.envNames[n] in ${celNames(STORE_VALUES[store])}))`,
    message: noStoreMessage(store),
    fieldPath: '.envNames',
  })),
];

const part = (role: Role): z.ZodOptional<typeof RuntimePart> => RuntimePart.describe(PART_WORDS[role]).optional();

export const Runtime = z
  .object({
    port: Port.describe(
      "Port that the image listens on, for the Service, the probes and PORT. If absent, the platform's.",
    ).optional(),
    healthPath: HealthPath.describe(
      "Path that answers 200 when a pod can serve. If absent, the platform's.",
    ).optional(),
    database: z
      .enum(['none'])
      .describe(
        'none: the image needs no PostgreSQL, so Davit creates none and sets no URI. A volume that exists is kept.',
      )
      .optional(),
    redis: z
      .enum(['none'])
      .describe(
        'none: the image needs no Redis, so Davit creates none and sets no URI. An own Redis loses its content.',
      )
      .optional(),
    server: part('server'),
    queue: part('queue'),
    orchestrator: part('orchestrator'),
    executor: part('executor'),
    migrate: Migrate.describe(
      'What runs once for each revision before its rollout, as a Job with the image and the values of the revision.',
    ).optional(),
    queueDepth: QueueDepth.describe(
      'The number of queue workers follows this number, between queueMinScale and queueMaxScale, where the platform has KEDA.',
    ).optional(),
    envNames: z
      .record(VariableName, z.enum(PLATFORM_VALUES))
      .meta({ maxProperties: 50 })
      .describe(
        `Names of variables that the image reads, each with the platform's value that it gets besides the usual names: ${PLATFORM_VALUES.join(', ')}.`,
      )
      .optional(),
    postgresUriScheme: z
      .string()
      .max(63)
      .regex(new RegExp(POSTGRES_SCHEME_PATTERN))
      .describe(
        "Scheme of POSTGRES_URI, DATABASE_URI and postgres_uri of the deployment's own PostgreSQL, such as postgres or postgresql+asyncpg. Default: postgresql.",
      )
      .optional(),
    without: z
      .array(z.enum(PLATFORM_VARIABLES))
      .max(PLATFORM_VARIABLES.length)
      .meta({ 'x-kubernetes-list-type': 'set' })
      .describe("The platform's variables that the image cannot bear. They are not set.")
      .optional(),
  })
  .meta(celRules([...NAME_RULES, ...STORE_RULES]));
export type Runtime = z.infer<typeof Runtime>;

/** Rules between the runtime and the variables of a record's spec. */
export const RUNTIME_RULES: readonly CelRule[] = [
  ...STORE_PARTS.flatMap((store) =>
    ['secrets', 'secretReferences'].map((list) => ({
      rule: `!has(self.sourceConfig.runtime) || !has(self.sourceConfig.runtime.${STORE_FIELDS[store]}) || self.sourceConfig.runtime.${STORE_FIELDS[store]} != 'none' || !has(self.${list}) || !self.${list}.exists(s, s.name == '${EXTERNAL_VARIABLES[store]}')`,
      message: contradictionMessage(store),
      fieldPath: `.sourceConfig.runtime.${STORE_FIELDS[store]}`,
    })),
  ),
  ...['secrets', 'secretReferences'].map((list) => ({
    rule: `!has(self.sourceConfig.runtime) || !has(self.sourceConfig.runtime.postgresUriScheme) || !has(self.${list}) || !self.${list}.exists(s, s.name == '${EXTERNAL_POSTGRES_VARIABLE}')`,
    message: EXTERNAL_SCHEME_MESSAGE,
    fieldPath: '.sourceConfig.runtime.postgresUriScheme',
  })),
  ...['secrets', 'secretReferences'].map((list) => ({
    rule: `!has(self.sourceConfig.runtime) || !has(self.sourceConfig.runtime.queueDepth) || !has(self.${list}) || !self.${list}.exists(s, s.name == '${EXTERNAL_POSTGRES_VARIABLE}')`,
    message: OWN_DATABASE_MESSAGE,
    fieldPath: '.sourceConfig.runtime.queueDepth',
  })),
  ...['secrets', 'secretReferences'].map((list) => ({
    rule: `!has(self.sourceConfig.runtime) || !has(self.sourceConfig.runtime.envNames) || !has(self.${list}) || self.${list}.all(s, !(s.name in self.sourceConfig.runtime.envNames))`,
    message: SECRET_NAME_MESSAGE,
    fieldPath: '.sourceConfig.runtime.envNames',
  })),
  ...Object.entries(OWN_STORE_VALUES).flatMap(([variable, values]) =>
    ['secrets', 'secretReferences'].map((list) => ({
      rule: `!has(self.sourceConfig.runtime) || !has(self.sourceConfig.runtime.envNames) || !has(self.${list}) || !self.${list}.exists(s, s.name == '${variable}') || self.sourceConfig.runtime.envNames.all(n, !(self.sourceConfig.runtime.envNames[n] in ${celNames(values)}))`,
      message: externalMessage(variable),
      fieldPath: '.sourceConfig.runtime.envNames',
    })),
  ),
];

type PreStopHook = { readonly sleep: { seconds: number } } | { readonly exec: { command: string[] } };

/** How a pod of a part ends: the time that it has, and the preStop hook of its container. */
export interface Draining {
  readonly terminationGracePeriodSeconds: number;
  readonly preStop?: PreStopHook;
}

/** The draining of `role`, defaults filled in. A default wait before SIGTERM leaves at least a second to end. */
export function drainingOf(role: Role, runtime: Readonly<Runtime> | undefined): Draining {
  const { preStop, terminationGracePeriodSeconds: given } = runtime?.[role] ?? {};
  const drain = role === 'server' ? Math.min(SERVER_DRAIN_SECONDS, (given ?? Infinity) - 1) : 0;
  const sleep = preStop ? preStop.sleep : drain > 0 ? { seconds: drain } : undefined;
  const hook: PreStopHook | undefined = preStop?.exec ? { exec: preStop.exec } : sleep && { sleep };
  return {
    terminationGracePeriodSeconds: given ?? (sleep?.seconds ?? 0) + STOP_SECONDS,
    ...(hook && { preStop: hook }),
  };
}

/** The parts of a Runtime that are objects, which a PATCH merges field by field. */
export const RUNTIME_PARTS: Readonly<Record<string, Readonly<Record<string, z.ZodType>>>> = {
  ...Object.fromEntries(ROLES.map((role) => [role, RuntimePart.shape])),
  migrate: Migrate.shape,
  queueDepth: QueueDepth.shape,
};
