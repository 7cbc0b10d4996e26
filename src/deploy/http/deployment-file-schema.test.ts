// The published JSON Schema of davit.yaml agrees with the reader of `kubectl davit deploy`.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { aRecord } from '../../../test/support/cli-world.ts';
import { fileFindings, fileOf } from './deployment-file.ts';
import { deploymentFileSchema } from './deployment-file-schema.ts';

const root = join(import.meta.dirname, '../../..');
const published: unknown = JSON.parse(readFileSync(join(root, 'docs/davit.schema.json'), 'utf8'));
const isValid = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(published as object);

const isRead = (content: unknown): boolean => fileFindings(content).length === 0;

const GOOD: readonly string[] = [
  '{}',
  'name: agent',
  'name: null\nruntime:\nresource_spec:',
  'name: agent\nworkflow_config_path: Dockerfile\nresource_spec: {cpu: 0.5, memory_mb: 512, max_scale: 3}\nruntime: {port: 3000, health_path: /healthz, database: none}\nsecrets: [API_KEY]',
  'resource_spec: {cpu: null, labels: {team: search}, volumes: [{name: scratch, emptyDir: {sizeLimit: 1Gi, anyKey: 1}}]}',
  'resource_spec: {sidecars: [{name: proxy, image: "proxy:1", env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}], resources: {limits: {cpu: 1}}}]}',
  'runtime: {server: {command: [serve], pre_stop: {sleep: {seconds: 3}}}, queue: null, env_names: {DATABASE_URL: postgres_uri}, migrate: {args: [up]}}',
  'source: external_docker\nimage_uri: registry.example.com/team/shop:1.5.0\nsecret_references: [{name: A, secret_name: s, secret_key: k}]',
  'source: codehost\nrepo_ref: main\nintegration_id: c2b8e1a0-52b7-4d0c-9a52-3f1f7a3c1d10\nrepo_url: https://git.example.com/a/b\nbuild_on_push: true',
  'source: codehost\nimage_uri: null\nsecret_references: []',
  'env: [{name: LOG_LEVEL, value: info}]\ncustom_url: https://shop.example.com',
];

/** Both find these. */
const BAD: readonly string[] = [
  'nmae: agent',
  'name: Agent',
  'name: 1',
  '- name: agent',
  'resourceSpec: {}',
  'cpu: 1',
  'resource_spec: {cpuu: 1}',
  'resource_spec: {cpu: 0.001}',
  'resource_spec: {memory_mb: 1.5}',
  'resource_spec: {sidecars: [{name: proxy, image: "proxy:1", comand: [run]}]}',
  'runtime: {port: "80"}',
  'runtime: {port: 0}',
  'runtime: {database: false}',
  'runtime: {healthPath: /x}',
  'runtime: {env_names: {A: postgres}}',
  'runtime: {server: {pre_stop: {sleep: {secs: 3}}}}',
  'secrets: {API_KEY: x}',
  'secrets: [{name: API_KEY, value: x}]',
  'secrets: [1-A]',
  'env: {LOG_LEVEL: info}',
  'image_uri: shop:1',
  'source: internal_source\nbuild_on_push: true',
  'source: docker',
  'source: codehost\nimage_uri: shop:1',
  'source: codehost\nsecret_references: [{name: A, secret_name: s, secret_key: k}]',
  'source_tarball_path: uploads/00000000000000000000000000000000',
  'workflow_config_path: /etc/passwd',
];

/** Rules between fields, or of names, which only the reader has. */
const BEYOND: readonly string[] = [
  'resource_spec: {cpu: 2, cpu_limit: 1}',
  'name: a--b',
  'secrets: [PORT]',
  'runtime: {server: {health_path: /a, health_command: [x]}}',
];

describe('the published schema', () => {
  it('is that of the reader; if not: npm run generate', () => {
    expect(JSON.parse(JSON.stringify(deploymentFileSchema()))).toEqual(published);
  });

  it.each(GOOD)('accepts %j, as the reader does', (text) => {
    const content: unknown = parse(text);
    expect([isRead(content), isValid(content), isValid.errors]).toEqual([true, true, null]);
  });

  it.each(BAD)('refuses %j, as the reader does', (text) => {
    const content: unknown = parse(text);
    expect([isRead(content), isValid(content)]).toEqual([false, false]);
  });

  it.each(BEYOND)('leaves %j to the reader', (text) => {
    const content: unknown = parse(text);
    expect([isRead(content), isValid(content)]).toEqual([false, true]);
  });

  it('accepts what export prints', () => {
    const record = aRecord({
      sourceConfig: {
        resourceSpec: { cpu: 1, volumes: [{ name: 'x', emptyDir: {} }] },
        runtime: { port: 80 },
        env: [],
      },
      secrets: [{ name: 'A', secretName: 's', secretKey: 'k' }],
    });
    const content: unknown = parse(stringify(fileOf(record)));
    expect([isRead(content), isValid(content)]).toEqual([true, true]);
  });

  it('describes every field', () => {
    interface Node {
      readonly [keyword: string]: unknown;
    }
    const silent: string[] = [];
    const walk = (node: Node, path: string): void => {
      for (const [name, field] of Object.entries((node['properties'] ?? {}) as Record<string, Node>)) {
        if (!('description' in field) && !('$ref' in field) && !('anyOf' in field)) silent.push(`${path}.${name}`);
        walk(field, `${path}.${name}`);
      }
      if (node['items']) walk(node['items'] as Node, `${path}[]`);
    };
    const { definitions, ...whole } = published as Node & { definitions: Record<string, Node> };
    walk(whole, '');
    for (const [name, definition] of Object.entries(definitions)) walk(definition, name);
    expect(silent).toEqual([]);
  });
});
