// The JSON Schema of davit.yaml, by which editors complete and check it. It is made of the schema of its reader, so it accepts every file
// that the reader accepts. Rules between fields are not in it, but for which fields belong to which source.

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type JsonSchema, simplify } from '../../api/json-schema.ts';
import { SCHEMA_FILE_NAME } from '../../kinds/source-files.ts';
import { SOURCE_FIELDS, SOURCE_RULES, SOURCES, type Source, uses } from '../../kinds/source-rules.ts';
import { snake } from '../../runtime/http/casing.ts';
import { DEFAULT_SOURCE, DeploymentFile } from './deployment-file.ts';

/** In draft 7, which every editor reads. */
export function deploymentFileSchema(): JsonSchema {
  const made = z.toJSONSchema(DeploymentFile, {
    target: 'draft-7',
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      simplify(jsonSchema);
      delete jsonSchema['id'];
      const { def } = zodSchema._zod;
      // The reader refuses fields that it does not know.
      if (def.type === 'object' && def.catchall === undefined) jsonSchema.additionalProperties = false;
    },
  });
  return { ...made, title: 'davit.yaml', allOf: SOURCES.map(fieldsOfSource) };
}

// The types of zod know one type of a value alone.
const EMPTY_LIST = { type: ['array', 'null'], maxItems: 0 } as unknown as JsonSchema;

/** Fields that a source does not have can only be null. */
function fieldsOfSource(source: Source): JsonSchema {
  const { fields } = SOURCE_RULES[source];
  const foreign = SOURCE_FIELDS.filter(({ field }) => !fields.includes(field) && field !== 'sourceTarballPath');
  const isSource: JsonSchema =
    source === DEFAULT_SOURCE
      ? { properties: { source: { enum: [source, null] } } }
      : { properties: { source: { const: source } }, required: ['source'] };
  return {
    if: isSource,
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: {
      properties: {
        ...Object.fromEntries(foreign.map(({ field }) => [snake(field), { type: 'null' }])),
        ...(!uses(source, 'references') && { secret_references: EMPTY_LIST }),
      },
    },
  };
}

/** `GET /davit.schema.json`: editors send no token. */
export function registerFileSchema(app: FastifyInstance): void {
  // One buffer for all answers, however many wait to be read.
  let schema: Buffer | undefined;
  app.get(`/${SCHEMA_FILE_NAME}`, { schema: { hide: true } }, async (_request, reply) => {
    schema ??= Buffer.from(JSON.stringify(deploymentFileSchema()));
    return reply.type('application/schema+json').send(schema);
  });
}
