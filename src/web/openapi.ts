// The OpenAPI document as the page at `/docs` shows it: a schema in words, and a command for each operation. Pure.

const BOUNDS = [
  ['minimum', 'maximum', ''],
  ['minLength', 'maxLength', ' characters'],
  ['minItems', 'maxItems', ' elements'],
] as const;

/** The keywords that the document uses. */
export interface Schema extends Readonly<Partial<Record<(typeof BOUNDS)[number][0 | 1], number>>> {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
}

/** A parameter, a field of an object, a body or an answer. */
export interface Part {
  readonly name: string;
  /** The place of a parameter: path, query or header. */
  readonly in?: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

interface Content {
  readonly description?: string;
  readonly required?: boolean;
  readonly content?: { readonly 'application/json'?: { readonly schema: Schema } };
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Part[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

export interface OpenApi {
  readonly info: { readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export function schemaOf(content: Content | undefined): Schema | undefined {
  return content?.content?.['application/json']?.schema;
}

/** The fields of an object, of the elements of a list or of the values of a map. */
export function fieldsOf(schema: Schema, api: OpenApi): Part[] {
  const { properties = {}, required = [], allOf = [], anyOf = [], items, additionalProperties } = schema;
  const own = Object.entries(properties).map(([name, field]) => ({
    name,
    required: required.includes(name),
    description: field.description ?? '',
    schema: field,
  }));
  const within = [named(schema, api), ...allOf, ...anyOf, items, additionalProperties];
  return [...own, ...within.flatMap((one) => (typeof one === 'object' ? fieldsOf(one, api) : []))];
}

function named({ $ref }: Schema, { components }: OpenApi): Schema | undefined {
  return $ref === undefined ? undefined : components.schemas[nameIn($ref)];
}

function nameIn(reference: string): string {
  return reference.split('/').at(-1) ?? '';
}

/** In words, such as `integer, 1–100` or `list of Secret, 0–100 elements`. */
export function wordsOf(schema: Schema): string {
  const { $ref, type = 'any', anyOf, allOf, items = {}, additionalProperties: values, format } = schema;
  if ($ref !== undefined) return nameIn($ref);
  if (anyOf !== undefined) return anyOf.map(wordsOf).join(' or ');
  if (allOf !== undefined) return allOf.map(wordsOf).join(' and ');
  const constants = schema.const === undefined ? schema.enum : [schema.const];
  if (constants !== undefined) return constants.map((value) => JSON.stringify(value)).join(', ');
  const types = [type].flat().map((one) => {
    if (one === 'array') return `list of ${wordsOf(items)}`;
    if (one === 'object' && typeof values === 'object') return `map to ${wordsOf(values)}`;
    return one === 'string' ? (format ?? one) : one;
  });
  const { default: otherwise } = schema;
  const ranges = BOUNDS.flatMap(([low, high, unit]) => {
    const [least, most] = [schema[low], schema[high]];
    if (most === undefined) return least === undefined ? [] : [`at least ${least}${unit}`];
    return [least === undefined ? `at most ${most}${unit}` : `${least}–${most}${unit}`];
  });
  const standard = otherwise === undefined ? [] : [`default ${JSON.stringify(otherwise)}`];
  return [types.join(' or '), ...ranges, ...standard].join(', ');
}

/** A command for a POSIX shell. What only the caller knows is a variable in capitals. */
export function curlOf(method: string, path: string, operation: Operation, api: OpenApi): string {
  const { parameters = [], requestBody } = operation;
  const variable = (name: string): string => `$${name.toUpperCase()}`;
  const query = parameters
    .filter((one) => one.in === 'query' && one.required)
    .map(({ name }) => `${name}=${variable(name)}`);
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => variable(name));
  const url = [api.servers[0]?.url.replace(/\/$/, ''), place, query.length > 0 && '?', query.join('&')]
    .filter(Boolean)
    .join('');
  const hasTenant = parameters.some(({ name }) => name === 'X-Tenant-Id');
  const body = schemaOf(requestBody);
  const example = body && ((named(body, api) ?? body).examples?.[0] ?? {});
  const json = JSON.stringify(example, null, 2)?.replaceAll("'", String.raw`'\''`);
  return [
    `curl -X ${method.toUpperCase()} "$API${url}"`,
    `-H "Authorization: Bearer $TOKEN"${hasTenant ? ' -H "X-Tenant-Id: $TENANT"' : ''}`,
    ...(body ? [`-H "Content-Type: application/json" -d '${json}'`] : []),
  ].join(' \\\n  ');
}
