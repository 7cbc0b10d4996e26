import { describe, expect, it } from 'vitest';
import { curlOf, fieldsOf, type OpenApi, type Operation, type Schema, wordsOf } from './openapi.ts';

const API: OpenApi = {
  info: { description: '' },
  servers: [{ url: '/api-host' }],
  tags: [],
  paths: {},
  components: {
    schemas: {
      Secret: {
        type: 'object',
        properties: { name: { type: 'string', description: 'Its name.' }, value: { type: 'string' } },
        required: ['name'],
        examples: [{ name: 'A', value: "it's" }],
      },
    },
  },
};
const SECRET: Schema = { $ref: '#/components/schemas/Secret' };

describe('wordsOf', () => {
  it.each<{ schema: Schema; words: string }>([
    { schema: {}, words: 'any' },
    { schema: SECRET, words: 'Secret' },
    { schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 }, words: 'integer, 1–100, default 20' },
    { schema: { type: 'integer', minimum: 0 }, words: 'integer, at least 0' },
    { schema: { type: 'string', maxLength: 63 }, words: 'string, at most 63 characters' },
    { schema: { type: ['string', 'null'], format: 'date-time' }, words: 'date-time or null' },
    { schema: { type: ['string', 'null'], enum: ['a', null] }, words: '"a", null' },
    { schema: { const: true }, words: 'true' },
    { schema: { type: 'array', items: SECRET, maxItems: 9 }, words: 'list of Secret, at most 9 elements' },
    { schema: { type: 'array' }, words: 'list of any' },
    { schema: { type: 'object', additionalProperties: { type: 'string' } }, words: 'map to string' },
    { schema: { anyOf: [SECRET, { type: 'null' }] }, words: 'Secret or null' },
    { schema: { allOf: [SECRET, { type: 'object' }] }, words: 'Secret and object' },
  ])('$words', ({ schema, words }) => {
    expect(wordsOf(schema)).toBe(words);
  });
});

describe('fieldsOf', () => {
  const names = (schema: Schema): string[] =>
    fieldsOf(schema, API).map(({ name, required }) => name + (required && '*'));
  it.each<{ of: string; schema: Schema }>([
    { of: 'a reference', schema: SECRET },
    { of: 'the elements of a list', schema: { type: 'array', items: SECRET } },
    { of: 'the values of a map', schema: { additionalProperties: SECRET } },
    { of: 'one of several', schema: { anyOf: [{ type: 'null' }, SECRET] } },
    { of: 'several together', schema: { allOf: [SECRET, {}] } },
  ])('come from $of', ({ schema }) => {
    expect(names(schema)).toEqual(['name*', 'valuefalse']);
  });
  it('have a description; a value without fields has none', () => {
    expect(fieldsOf(SECRET, API)[0]?.description).toBe('Its name.');
    expect(fieldsOf({ type: 'object', additionalProperties: true }, API)).toEqual([]);
  });
});

describe('curlOf', () => {
  const operation: Operation = { operationId: 'x', tags: [], summary: 'X', responses: {} };
  it('names what only the caller knows as variables', () => {
    const parameters = [
      { name: 'deployment_id', in: 'path', required: true },
      { name: 'provider_id', in: 'query', required: true },
      { name: 'limit', in: 'query' },
      { name: 'X-Tenant-Id', in: 'header' },
    ];
    expect(curlOf('get', '/v2/deployments/{deployment_id}', { ...operation, parameters }, API)).toBe(
      `curl -X GET "$API/api-host/v2/deployments/$DEPLOYMENT_ID?provider_id=$PROVIDER_ID" \\
  -H "Authorization: Bearer $TOKEN" -H "X-Tenant-Id: $TENANT"`,
    );
  });
  it('has the example of the body, quoted for the shell', () => {
    const requestBody = { content: { 'application/json': { schema: SECRET } } };
    const api = { ...API, servers: [{ url: '/' }] };
    expect(curlOf('post', '/v2/x', { ...operation, requestBody }, api)).toBe(
      String.raw`curl -X POST "$API/v2/x" \
  -H "Authorization: Bearer $TOKEN" \
  -H "Content-Type: application/json" -d '{
  "name": "A",
  "value": "it'\''s"
}'`,
    );
  });
});
