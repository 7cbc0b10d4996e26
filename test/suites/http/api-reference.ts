// The reference part of docs/api.md, from the OpenAPI document that the facade serves. `npm run generate` writes it;
// suites/hygiene/documents.test.ts fails if it is not current.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTable } from '../../../src/generate/sections.ts';
import { UUID_PATTERN } from '../../../src/schema/primitives.ts';
import { makeFacade } from './facade.ts';

const file = join(import.meta.dirname, '../../../docs/api.md');

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Operation {
  readonly tags?: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: { readonly 'application/json': { schema: Schema } };
  };
  readonly responses: Readonly<
    Record<
      string,
      { readonly description: string; readonly content?: { readonly 'application/json': { schema: Schema } } }
    >
  >;
}

interface Document {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** docs/api.md with the reference regenerated. Throws an Error if a marker is missing. */
export async function apiPage(): Promise<string> {
  const facade = await makeFacade();
  const document = (await facade.app.inject('/openapi.json')).json<Document>();
  await facade.app.close();
  return withTable(readFileSync(file, 'utf8'), 'the OpenAPI document', reference(document));
}

function reference({ tags, paths, components }: Document): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const sections = tags.flatMap(({ name, description }) => [
    `### ${capitalized(name)}\n\n${description}\n`,
    ...operations.filter(({ operation }) => operation.tags?.includes(name)).map(section),
  ]);
  const shapes = Object.entries(components.schemas).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [...sections, '### Shapes\n', ...shapes.map(([name, schema]) => shape(name, schema))].join('\n');
}

function section({ method, path, operation }: { method: string; path: string; operation: Operation }): string {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const fields = parameters.filter(({ name }) => name !== 'X-Tenant-Id');
  const body = requestBody?.content['application/json'].schema;
  const [good] = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const answer = good?.[1].content?.['application/json'].schema;
  return [
    `#### \`${method.toUpperCase()} ${path}\`\n`,
    `${summary}.${description === undefined ? '' : ` ${description}`}\n`,
    ...(fields.length === 0
      ? []
      : [
          '| parameter | in | | |\n|---|---|---|---|',
          ...fields.map(
            ({ name, in: where, description: words = '', schema }) =>
              `| \`${name}\` | ${where} | ${kindOf(schema)} | ${cell(words || (schema.description ?? ''))} |`,
          ),
          '',
        ]),
    ...(body === undefined
      ? []
      : [`Body${requestBody?.required === false ? ', not required' : ''}: ${kindOf(body)}.\n`]),
    `Answers ${good?.[0]}${answer === undefined ? '' : ` with ${kindOf(answer)}`}${'304' in responses ? ', or 304' : ''}; failures: ${Object.keys(
      responses,
    )
      .filter((status) => Number(status) >= 400)
      .join(', ')}.\n`,
  ].join('\n');
}

function shape(name: string, schema: Schema): string {
  const required = new Set(schema.required);
  const rows = Object.entries(schema.properties ?? {}).map(
    ([field, part]) =>
      `| \`${field}\`${required.has(field) ? ' *' : ''} | ${kindOf(part)} | ${cell(part.description ?? '')} |`,
  );
  const example = schema.examples?.[0];
  return [
    `#### ${name}\n`,
    ...(schema.description === undefined ? [] : [`${schema.description}\n`]),
    '| field | | |\n|---|---|---|',
    ...rows,
    '',
    ...(example === undefined ? [] : [`\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\`\n`]),
  ].join('\n');
}

/** In words: `integer, 1–100`, `a list of [Secret](#secret)`. */
function kindOf(schema: Schema): string {
  const { $ref, type, anyOf, allOf, items, format, enum: values } = schema;
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) ?? '';
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (anyOf !== undefined) return anyOf.map(kindOf).join(' or ');
  if (allOf !== undefined) return allOf.map(kindOf).join(' and ');
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  const [one, ...others] = [type ?? []].flat();
  if (one !== undefined && others.length > 0)
    return `${kindOf({ ...schema, type: one, ...(values && { enum: values.filter((value) => value !== null) }) })} or ${others.join(' or ')}`;
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.pattern === UUID_PATTERN) return 'uuid';
  if (type === 'array') return `a list of ${items === undefined ? 'anything' : kindOf(items)}${bounds(schema)}`;
  if (type === 'object' && typeof schema.additionalProperties === 'object')
    return `a map to ${kindOf(schema.additionalProperties)}`;
  if (schema.properties !== undefined)
    return `{ ${Object.keys(schema.properties)
      .map((name) => `\`${name}\``)
      .join(', ')} }`;
  return `${format ?? one ?? 'anything'}${bounds(schema)}`;
}

function bounds({ minimum, maximum, minLength, maxLength, maxItems, default: otherwise }: Schema): string {
  const range = (low: number | undefined, high: number | undefined): string =>
    low !== undefined && high !== undefined
      ? `${low}–${high}`
      : low === undefined
        ? `at most ${high}`
        : `at least ${low}`;
  return [
    ...(minimum === undefined && maximum === undefined ? [] : [range(minimum, maximum)]),
    ...(maxLength === undefined ? [] : [`${range(minLength, maxLength)} characters`]),
    ...(maxItems === undefined ? [] : [`at most ${maxItems}`]),
    ...(otherwise === undefined || typeof otherwise === 'object' ? [] : [`default ${JSON.stringify(otherwise)}`]),
  ]
    .map((bound) => `, ${bound}`)
    .join('');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function capitalized(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

if (import.meta.main) {
  const page = await apiPage();
  if (page !== readFileSync(file, 'utf8')) {
    writeFileSync(file, page);
    process.stdout.write('Written: docs/api.md\n');
  }
}
