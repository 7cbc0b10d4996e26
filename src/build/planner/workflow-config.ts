// Schema of the workflow configuration file (JSON). Keys that only the image's runtime reads are validated as far as
// their type is known, and passed on unchanged.

import { z } from 'zod';
import { VariableName } from '../../kinds/primitives.ts';
import { syntaxFault } from '../../runtime/json-error.ts';
import { PlanFailure, shown, shownPath } from './failure.ts';

export const MAX_CONFIGURATION_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;
const MAX_ISSUES = 5;

const flag = z.boolean().nullish();
const text = z.string().nullish();
const texts = z.array(z.string()).nullish();
const minutes = z.number().nullish();
const headers = z.looseObject({ includes: texts, excludes: texts }).nullish();

const GraphDefinition = z.union([z.string(), z.looseObject({ path: z.string(), description: text })]);

export const WorkflowConfig = z.object({
  $schema: z.unknown().optional(),
  dependencies: texts,
  graphs: z.record(z.string(), GraphDefinition),
  env: z.union([z.string(), z.record(VariableName, z.string())]).nullish(),
  python_version: z
    .string()
    .regex(/^3\.(1[1-9]|[2-9]\d)(-[a-z][a-z0-9-]{0,30})?$/, 'must be "MAJOR.MINOR" from "3.11" on, such as "3.12"')
    .nullish(),
  node_version: z
    .string()
    .regex(/^[2-9]\d$/, 'must be a major version from "20" on, such as "22"')
    .nullish(),
  base_image: text,
  image_distro: z.enum(['debian', 'wolfi', 'bookworm']).nullish(),
  api_version: text,
  _INTERNAL_docker_tag: text,
  pip_config_file: text,
  pip_installer: z.enum(['auto', 'pip', 'uv']).nullish(),
  keep_pkg_tools: z.union([z.boolean(), z.array(z.enum(['pip', 'setuptools', 'wheel']))]).nullish(),
  source: z.looseObject({ kind: z.literal('uv'), root: text, package: text }).nullish(),
  dockerfile_lines: texts,
  store: z
    .looseObject({
      index: z.looseObject({ dims: z.number().nullish(), embed: text, fields: texts }).nullish(),
      ttl: z.looseObject({ refresh_on_read: flag, default_ttl: minutes, sweep_interval_minutes: minutes }).nullish(),
    })
    .nullish(),
  checkpointer: z
    .looseObject({ path: text, ttl: z.looseObject({}).nullish(), serde: z.looseObject({}).nullish() })
    .nullish(),
  auth: z
    .looseObject({
      path: text,
      disable_studio_auth: flag,
      openapi: z.looseObject({}).nullish(),
      cache: z.looseObject({}).nullish(),
    })
    .nullish(),
  encryption: z.looseObject({ path: text }).nullish(),
  priority: z.looseObject({ path: text }).nullish(),
  http: z
    .looseObject({
      app: text,
      disable_assistants: flag,
      disable_threads: flag,
      disable_runs: flag,
      disable_store: flag,
      disable_mcp: flag,
      disable_a2a: flag,
      disable_meta: flag,
      disable_ui: flag,
      disable_webhooks: flag,
      enable_custom_route_auth: flag,
      cors: z.looseObject({}).nullish(),
      configurable_headers: headers,
      logging_headers: headers,
      middleware_order: z.enum(['auth_first', 'middleware_first']).nullish(),
      mount_prefix: text,
    })
    .nullish(),
  webhooks: z
    .looseObject({ env_prefix: text, url: z.looseObject({}).nullish(), headers: z.looseObject({}).nullish() })
    .nullish(),
  ui: z.record(z.string(), z.string()).nullish(),
  ui_config: z.looseObject({}).nullish(),
});
export type WorkflowConfig = z.infer<typeof WorkflowConfig>;

export const KNOWN_KEYS: readonly string[] = Object.keys(WorkflowConfig.shape);

export interface ReadConfig {
  readonly config: WorkflowConfig;
  readonly warnings: readonly string[];
}

/** Parses and validates the configuration file. Throws PlanFailure. */
export function readWorkflowConfig(configPath: string, content: string): ReadConfig {
  const path = shownPath(configPath);
  const value = parse(path, content);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new PlanFailure(
      'ConfigurationInvalid',
      `${path} contains ${nameOfType(value)}. It must contain one JSON object.`,
    );
  const result = WorkflowConfig.safeParse(value);
  if (!result.success) {
    const told = result.error.issues.slice(0, MAX_ISSUES).map((issue) => issueText(issue, value));
    const more = result.error.issues.length - told.length;
    const unknown = unknownKeys(value).slice(0, MAX_ISSUES);
    if (unknown.length > 0) told.push(`not known: ${unknown.map(shown).join(', ')}`);
    throw new PlanFailure(
      'ConfigurationInvalid',
      `${path}: ${told.join('; ')}${more > 0 ? `; and ${more} more` : ''}. Correct the file, then push or deploy it again.`,
    );
  }
  return {
    config: result.data,
    warnings: unknownKeys(value)
      .slice(0, 20)
      .map((key) => `${path}: the key ${shown(key)} is not known and was ignored.`),
  };
}

function unknownKeys(value: object): string[] {
  return Object.keys(value).filter((key) => !KNOWN_KEYS.includes(key));
}

function parse(path: string, content: string): unknown {
  const bare = content.startsWith('\ufeff') ? content.slice(1) : content;
  if (isTooDeep(bare)) throw new PlanFailure('ConfigurationInvalid', `${path} is nested more than ${MAX_DEPTH} deep.`);
  try {
    return JSON.parse(bare) as unknown;
  } catch {
    const { line, column, why } = syntaxFault(bare);
    throw new PlanFailure(
      'ConfigurationNotJson',
      `${path} is not valid JSON at line ${line}, column ${column}: ${why}. JSON has no comments and no comma after the last item. A Dockerfile must have "Dockerfile" in its name.`,
    );
  }
}

/** Checks the depth of nesting before the text is parsed, since deep nesting would exhaust the stack. */
function isTooDeep(content: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < content.length; at += 1) {
    const character = content[at];
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (character === '}' || character === ']') depth -= 1;
  }
  return false;
}

function nameOfType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'text';
  return typeof value === 'boolean' ? 'true or false' : 'a number';
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text in quotes',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  boolean: 'true or false',
  number: 'a number',
};

function issueText(issue: z.core.$ZodIssue, root: object): string {
  const key = issue.path
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${keyText(String(part))}`))
    .join('');
  const found = issue.path.reduce<unknown>(
    (value, part) => (value as Record<PropertyKey, unknown> | undefined)?.[part],
    root,
  );
  if (found === undefined) return `${key} is missing`;
  if (issue.code === 'invalid_type')
    return `${key} must be ${EXPECTED[issue.expected] ?? issue.expected}, not ${nameOfType(found)}`;
  if (issue.code === 'invalid_key') return `${key} is not a valid name for an environment variable`;
  if (issue.code === 'invalid_value')
    return `${key} must be one of ${issue.values.map((one) => String(one)).join(', ')}`;
  if (issue.code === 'invalid_union') return unionText(key, found);
  return typeof found === 'string' ? `${key} is ${shown(found)}, and ${issue.message}` : `${key}: ${issue.message}`;
}

function keyText(key: string): string {
  return /^[\w$-]{1,64}$/.test(key) ? key : shown(key);
}

/** The message for keys that have more than one form. */
function unionText(key: string, found: unknown): string {
  if (key === 'keep_pkg_tools') return `${key} must be true, false, or a list of pip, setuptools and wheel`;
  if (key === 'env') return envText(found);
  return `${key} must be "./path/to/file.py:variable" or an object with such a path, not ${nameOfType(found)}`;
}

function envText(found: unknown): string {
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    return `env must be an object of variables or the name of a file, not ${nameOfType(found)}`;
  const entries = Object.entries(found);
  const name = entries.find(([variable]) => !VariableName.safeParse(variable).success)?.[0];
  if (name !== undefined) return `env has ${shown(name)}, which is not a valid name for an environment variable`;
  const [variable = '', value] = entries.find(([, one]) => typeof one !== 'string') ?? [];
  return `env.${variable} must be text in quotes, not ${nameOfType(value)}`;
}
