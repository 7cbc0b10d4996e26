// The platform's values that an image can get under names of its own.

import { EXTERNAL_POSTGRES_VARIABLE, EXTERNAL_REDIS_VARIABLE, PLATFORM_VARIABLES, type StorePart } from './meta.ts';
import { VARIABLE_NAME_PATTERN } from './name-patterns.ts';
import { type CelRule, celNames } from './primitives.ts';

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

export const PLATFORM_NAME_MESSAGE =
  'this name is set by the platform: choose another, or name it in without as well, so that only this value is set';
export const SELECTING_NAME_MESSAGE = `these names select an external database or Redis: ${SELECTING.join(', ')}; choose another`;
export const SECRET_NAME_MESSAGE =
  'this name is also in secrets or in secret references: remove it there, or choose another';
export function externalMessage(variable: string): string {
  return `${variable} holds the URI of an external datastore, whose parts Davit does not know: add the part as a secret with this name`;
}

export const NAME_RULES: readonly CelRule[] = [
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
