// Plain variables of a record: environment variables whose values everybody who reads the record sees. Secret values are in
// `secrets`. spec-rules.ts has the rules as a function too.

import { z } from 'zod';
import { EXTERNAL_POSTGRES_VARIABLE, EXTERNAL_REDIS_VARIABLE, PLATFORM_VARIABLES } from './meta.ts';
import { type CelRule, celNames, celRules, text, VariableName } from './primitives.ts';

/** Characters of all values together. They stand in the record, in each of its revisions and in each of its pods. */
export const LARGEST_PLAIN_VALUES = 65_536;
/** A container does not start with a variable that has a NUL character. */
export const VARIABLE_VALUE_PATTERN = '^[^\\x00]*$';

export const SELECTING_VARIABLES: readonly string[] = [EXTERNAL_POSTGRES_VARIABLE, EXTERNAL_REDIS_VARIABLE];

export const RESERVED_NAMES_MESSAGE = `these names are set by the platform: ${PLATFORM_VARIABLES.join(', ')}`;
export const PLAIN_STORE_MESSAGE = `${SELECTING_VARIABLES.join(' and ')} select an external database or Redis, and their URIs have passwords: set them in secrets`;
export const PLAIN_AND_SECRET_MESSAGE =
  'this name is in env and also in secrets or in secret references: remove it from one of them';
export const PLAIN_AND_NAMED_MESSAGE =
  'this name is in env and also in envNames of runtime: remove it from one of them';
export const PLAIN_VALUES_MESSAGE = `must have at most ${LARGEST_PLAIN_VALUES} characters together: mount long texts as a ConfigMap`;

export const PlainVariable = z.object({
  name: VariableName.describe('Name of the environment variable.'),
  value: text(32_768)
    .regex(new RegExp(VARIABLE_VALUE_PATTERN))
    .describe('Its value, which may be empty. $(NAME) is replaced by the value of an earlier variable, $$ by $.'),
});
export type PlainVariable = z.infer<typeof PlainVariable>;

/** Without rules: a snapshot of a record keeps what it has. */
export const PlainVariableList = z.array(PlainVariable).max(100);

/** As a record has them, in the order of its containers. */
export const PlainVariables = PlainVariableList.meta({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
  ...celRules([
    { rule: `self.all(e, !(e.name in ${celNames(PLATFORM_VARIABLES)}))`, message: RESERVED_NAMES_MESSAGE },
    { rule: `self.all(e, !(e.name in ${celNames(SELECTING_VARIABLES)}))`, message: PLAIN_STORE_MESSAGE },
    { rule: `self.map(e, size(e.value)).sum() <= ${LARGEST_PLAIN_VALUES}`, message: PLAIN_VALUES_MESSAGE },
  ]),
});

/** Rules between the plain variables and the other variables of a record's spec. */
export const PLAIN_VARIABLE_RULES: readonly CelRule[] = [
  ...['secrets', 'secretReferences'].map((list) => ({
    rule: `!has(self.sourceConfig.env) || !has(self.${list}) || self.${list}.all(s, !self.sourceConfig.env.exists(e, e.name == s.name))`,
    message: PLAIN_AND_SECRET_MESSAGE,
    fieldPath: '.sourceConfig.env',
  })),
  {
    rule: '!has(self.sourceConfig.env) || !has(self.sourceConfig.runtime) || !has(self.sourceConfig.runtime.envNames) || self.sourceConfig.env.all(e, !(e.name in self.sourceConfig.runtime.envNames))',
    message: PLAIN_AND_NAMED_MESSAGE,
    fieldPath: '.sourceConfig.env',
  },
];
