// What is wrong with a value, in plain words: the HTTP API answers with them, and the controller reports them.

import type { z } from 'zod';
import { REF_PATTERN, REPOSITORY_PATH_PATTERN, REPOSITORY_URL_PATTERN } from './app-deployment.ts';
import { BACKUP_NAME_PATTERN, TIME_PATTERN } from './database-names.ts';
import {
  DNS_SUBDOMAIN_PATTERN,
  IMAGE_MESSAGE,
  IMAGE_PATTERN,
  NAME_MESSAGE,
  NAME_PATTERN,
  SECRET_KEY_PATTERN,
  VARIABLE_NAME_MESSAGE,
  VARIABLE_NAME_PATTERN,
} from './name-patterns.ts';
import { HTTPS_URL_PATTERN, PROVIDER_ID_PATTERN, PROVIDER_NAME_PATTERN } from './oauth-provider.ts';
import { VARIABLE_VALUE_PATTERN } from './plain-variables.ts';
import {
  DNS_LABEL_PATTERN,
  HOST_URL_OR_EMPTY_PATTERN,
  HOST_URL_PATTERN,
  PRINTABLE_PATTERN,
  UUID_PATTERN,
} from './primitives.ts';
import { LABEL_VALUE_PATTERN } from './resource-spec.ts';
import { POSTGRES_SCHEME_PATTERN } from './runtime.ts';
import { HEALTH_PATH_PATTERN, HEARTBEAT_FILE_PATTERN } from './runtime-part.ts';
import { SCHEDULE_PATTERN, TIME_ZONE_PATTERN } from './tasks.ts';

export interface Finding {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** The message for a value that does not match the pattern. */
const PATTERNS: Readonly<Partial<Record<string, string>>> = {
  [NAME_PATTERN]: NAME_MESSAGE,
  [UUID_PATTERN]: 'must be a UUID',
  [IMAGE_PATTERN]: IMAGE_MESSAGE,
  [HOST_URL_PATTERN]: 'must be https://host or a bare host in lower case, without path, port or user',
  [HOST_URL_OR_EMPTY_PATTERN]:
    'must be https://host or a bare host in lower case, without path, port or user, or "" to remove it',
  [VARIABLE_NAME_PATTERN]: VARIABLE_NAME_MESSAGE,
  [DNS_LABEL_PATTERN]: 'must be lower-case letters, digits and -, beginning and ending with a letter or digit',
  [DNS_SUBDOMAIN_PATTERN]: 'must be lower-case letters, digits, - and ., beginning and ending with a letter or digit',
  [HTTPS_URL_PATTERN]: 'must be an absolute https URL without user, password or fragment',
  [PROVIDER_ID_PATTERN]: 'must have only letters, digits, ., _ and -, and a letter or digit among them',
  [PROVIDER_NAME_PATTERN]:
    'must be lower-case letters, digits and single hyphens, beginning and ending with a letter or digit',
  [PRINTABLE_PATTERN]: 'must not contain control characters',
  [VARIABLE_VALUE_PATTERN]: 'must not have NUL characters',
  [POSTGRES_SCHEME_PATTERN]:
    'must be the scheme of a PostgreSQL URI without ://, such as postgres or postgresql+asyncpg',
  [HEARTBEAT_FILE_PATTERN]: 'must be the path of a file such as /tmp/alive: it begins with /',
  [HEALTH_PATH_PATTERN]: 'must be a path such as /ok: it begins with / and has no spaces and no #',
  [SCHEDULE_PATTERN]:
    'must be a schedule as in a CronJob, such as 0 3 * * * or @hourly, without TZ=: the time zone has a field of its own',
  [TIME_ZONE_PATTERN]: 'must be the name of a time zone such as Europe/Berlin',
  [TIME_PATTERN]: 'must be a time such as 2026-11-25T12:00:00Z, on a day that exists',
  [SECRET_KEY_PATTERN]: 'must be a key of a Secret: letters, digits, -, _ and .',
  [REF_PATTERN]:
    'must be a branch, tag or commit such as main: letters, digits, ., _, -, /, + and @, beginning with a letter, a digit or _',
  [REPOSITORY_PATH_PATTERN]: 'must be a path in the repository such as app/langgraph.json, not beginning with /',
  [REPOSITORY_URL_PATTERN]: 'must be an https URL without spaces, such as https://github.com/owner/name',
  [LABEL_VALUE_PATTERN]: 'must be empty, or letters, digits, -, _ and ., beginning and ending with a letter or digit',
  [BACKUP_NAME_PATTERN]: 'must be the name of a backup such as 20261125T120000Z-1a2b3c4d',
};

/** What a value must be that has to match the pattern; undefined for a pattern that has no words. */
export function patternWords(pattern: string): string | undefined {
  return PATTERNS[pattern];
}

const TYPES: Readonly<Record<string, readonly [msg: string, type: string]>> = {
  string: ['must be a string', 'string_type'],
  int: ['must be an integer', 'int_type'],
  number: ['must be a number', 'float_type'],
  boolean: ['must be true or false', 'bool_type'],
  array: ['must be an array', 'list_type'],
  object: ['must be an object', 'dict_type'],
  record: ['must be an object', 'dict_type'],
};

const MISSING = 'is required';

/** Error of a schema of zod for a field that is required. `hint`: what to send, a clause. */
export function requiredField(hint: string): { readonly error: z.core.$ZodErrorMap } {
  return { error: ({ input }) => (input === undefined ? `${MISSING}: ${hint}` : undefined) };
}

function missingWords({ message }: z.core.$ZodIssue): string {
  return message.startsWith(`${MISSING}: `) ? message : MISSING;
}

/** Converts a zod issue, parsed with reportInput. The message contains nothing of the input, which may be a secret. */
export function findingsOf(issue: z.core.$ZodIssue, prefix: readonly (string | number)[]): Finding[] {
  const loc = [...prefix, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))];
  const finding = (msg: string, type: string): Finding[] => [{ loc, msg, type }];
  switch (issue.code) {
    case 'invalid_type': {
      if (issue.input === undefined) return finding(missingWords(issue), 'missing');
      // All numbers of a query are integers, and text that is not a number fails as number.
      const expected = issue.expected === 'number' && prefix[0] === 'query' ? 'int' : issue.expected;
      const [msg, type] = TYPES[expected] ?? [`must be of type ${issue.expected}`, 'value_error'];
      return finding(msg, type);
    }
    case 'invalid_value':
      if (issue.input === undefined) return finding(missingWords(issue), 'missing');
      return finding(`must be one of ${issue.values.map(String).join(', ')}`, 'enum');
    case 'too_small':
      if (issue.origin === 'string')
        return finding(
          issue.minimum === 1 ? 'must not be empty' : `must have at least ${issue.minimum} characters`,
          'string_too_short',
        );
      if (issue.origin === 'array')
        return finding(`must have at least ${issue.minimum} ${issue.minimum === 1 ? 'item' : 'items'}`, 'too_short');
      return finding(`must be at least ${issue.minimum}`, 'greater_than_equal');
    case 'too_big':
      if (issue.origin === 'string') return finding(`must have at most ${issue.maximum} characters`, 'string_too_long');
      if (issue.origin === 'array') return finding(`must have at most ${issue.maximum} items`, 'too_long');
      return finding(`must be at most ${issue.maximum}`, 'less_than_equal');
    case 'invalid_format': {
      if (issue.format === 'datetime')
        return finding('must be a time such as 2026-01-01T00:00:00Z', 'datetime_parsing');
      const pattern = patternOf(issue);
      return finding(PATTERNS[pattern] ?? `must match ${pattern}`, 'string_pattern_mismatch');
    }
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues.flatMap((inner) => findingsOf({ ...inner, path: [...issue.path, ...inner.path] }, prefix));
    case 'invalid_union':
      return finding(
        issue.message === 'Invalid input' ? 'does not have an allowed type' : issue.message,
        'value_error',
      );
    case 'custom':
      return finding(issue.message, typeof issue.params?.['type'] === 'string' ? issue.params['type'] : 'value_error');
    default:
      return finding(issue.message, 'value_error');
  }
}

/** As the schema has it: `^…$`. */
export function patternOf(issue: { readonly pattern?: string | undefined }): string {
  return issue.pattern?.replace(/^\/(.*)\/[a-z]*$/s, '$1').replaceAll('\\/', '/') ?? '';
}
