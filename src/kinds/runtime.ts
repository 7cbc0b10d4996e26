// Runtime: how an image that was not written for this platform is run. Every field is optional, and a record without any has
// the pods that it always had.

import { z } from 'zod';
import {
  EXTERNAL_POSTGRES_VARIABLE,
  EXTERNAL_VARIABLES,
  PLATFORM_VARIABLES,
  type Role,
  STORE_FIELDS,
  STORE_PARTS,
  type StorePart,
} from './meta.ts';
import { Migrate } from './migrate.ts';
import {
  externalMessage,
  NAME_RULES,
  OWN_STORE_VALUES,
  PLATFORM_VALUES,
  SECRET_NAME_MESSAGE,
  STORE_VALUES,
} from './platform-values.ts';
import { type CelRule, celNames, celRules, matching, oneOf, VariableName } from './primitives.ts';
import { OWN_DATABASE_MESSAGE, QueueDepth } from './queue-depth.ts';
import { HealthPath, Port, RuntimePart } from './runtime-part.ts';
import { WORKER_CONTAINER_RULES, WORKER_NAME_RULES, Workers } from './workers.ts';

/** Schemes under which programs and drivers know PostgreSQL, without ://. */
export const POSTGRES_SCHEME_PATTERN = '^postgres(ql)?(\\+[a-z][a-z0-9_]*)?$';

/** For a record that does without a store and names an external one. */
export function contradictionMessage(part: StorePart): string {
  return `${STORE_FIELDS[part]} none and ${EXTERNAL_VARIABLES[part]} contradict each other: remove one of them`;
}
/** For a record that asks for a value of a store that it does without. */
export function noStoreMessage(part: StorePart): string {
  return `this value does not exist while ${STORE_FIELDS[part]} is none: remove the name, or reset ${STORE_FIELDS[part]}`;
}
export const NO_QUEUE_MESSAGE = `queueDepth queries the deployment's own PostgreSQL: remove it, or reset ${STORE_FIELDS.postgres}`;
export const NO_SCHEME_MESSAGE = `there is no URI while ${STORE_FIELDS.postgres} is none: remove postgresUriScheme, or reset ${STORE_FIELDS.postgres}`;
export const EXTERNAL_SCHEME_MESSAGE = `the URI in ${EXTERNAL_POSTGRES_VARIABLE} is used unchanged: write the scheme into it, and remove postgresUriScheme`;

/** Whether a record does without a store. */
export function doesWithout(part: StorePart, runtime: Readonly<Runtime> | undefined): boolean {
  return runtime?.[STORE_FIELDS[part]] === 'none';
}

const PART_WORDS: Readonly<Record<Role, string>> = {
  server: 'The main service.',
  queue:
    'The queue workers. They must answer the health path on the port, unless they have a health check of their own.',
  orchestrator: 'The orchestrator, if there is one.',
  executor: 'The executor, if there is one.',
};

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
    database: oneOf(['none'])
      .describe(
        'none: the image needs no PostgreSQL, so Davit creates none and sets no URI. A volume that exists is kept.',
      )
      .optional(),
    redis: oneOf(['none'])
      .describe(
        "none: the image needs no Redis, so Davit creates none and sets no URI. Davit's Redis loses its content.",
      )
      .optional(),
    server: part('server'),
    queue: part('queue'),
    orchestrator: part('orchestrator'),
    executor: part('executor'),
    workers: Workers.optional(),
    migrate: Migrate.describe(
      'Command that runs once for each revision before its rollout, as a Job with the image and the values of the revision.',
    ).optional(),
    queueDepth: QueueDepth.describe(
      'The number of queue workers follows this number, between queueMinScale and queueMaxScale, where the platform has KEDA.',
    ).optional(),
    envNames: z
      .record(VariableName, oneOf(PLATFORM_VALUES))
      .meta({ maxProperties: 50 })
      .describe(
        `Names of variables that the image reads, each with the platform's value that it gets in addition to the usual names: ${PLATFORM_VALUES.join(', ')}.`,
      )
      .optional(),
    postgresUriScheme: matching(POSTGRES_SCHEME_PATTERN, 63)
      .describe(
        "Scheme of POSTGRES_URI, DATABASE_URI and postgres_uri of the deployment's own PostgreSQL, such as postgres or postgresql+asyncpg. Default: postgresql.",
      )
      .optional(),
    apiToken: z
      .boolean()
      .describe(
        "true: the pods get a token of their service account that only Davit's HTTP API accepts, for people's tokens of OAuth providers, and the address of that API: DAVIT_API_URL, DAVIT_API_TOKEN_FILE and DAVIT_API_CA_FILE.",
      )
      .optional(),
    without: z
      .array(oneOf(PLATFORM_VARIABLES))
      .max(PLATFORM_VARIABLES.length)
      .meta({ 'x-kubernetes-list-type': 'set' })
      .describe('Variables of the platform that the image cannot handle. They are not set.')
      .optional(),
  })
  .meta(celRules([...NAME_RULES, ...STORE_RULES, ...WORKER_NAME_RULES]));
export type Runtime = z.infer<typeof Runtime>;

/** Rules between the runtime and the variables of a record's spec. */
export const RUNTIME_RULES: readonly CelRule[] = [
  ...WORKER_CONTAINER_RULES,
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
