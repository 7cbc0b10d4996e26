import { describe, expect, it } from 'vitest';
import { aRecord, SETTINGS } from '../../test/support/builders.ts';
import type { AppDeploymentSpec } from '../kinds/app-deployment.ts';
import { judgeCodeFile } from './code-file-judge.ts';

const COMMIT = 'a'.repeat(40);
const spec = (
  sourceConfig: AppDeploymentSpec['sourceConfig'] = {},
  more: Partial<AppDeploymentSpec> = {},
): AppDeploymentSpec =>
  aRecord({
    source: 'codehost',
    sourceConfig: {
      integrationId: '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10',
      repoUrl: 'https://git.example/team/shop',
      ...sourceConfig,
    },
    sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'davit.json', davitFile: 'davit.yaml' },
    ...more,
  }).spec;
const judge = (text: string, record = spec()): ReturnType<typeof judgeCodeFile> =>
  judgeCodeFile(record, { path: 'davit.yaml', commit: { commit: COMMIT }, content: { text } }, SETTINGS);

describe('a file', () => {
  it('gives values under the names of the record', () => {
    const text = [
      'name: another',
      'source: codehost',
      'resource_spec: {cpu: 2, memory_mb: 512}',
      'runtime: {health_path: /ok, server: {command: [a], termination_grace_period_seconds: 5}, env_names: {PG: postgres_uri}}',
      'env: [{name: A, value: x}]',
      'tasks: [{name: t, command: [b], timeout_seconds: 5}]',
      'build_command: npm run build',
    ].join('\n');
    expect(judge(text)).toEqual({
      path: 'davit.yaml',
      commit: { commit: COMMIT },
      values: {
        resourceSpec: { cpu: 2, memoryMb: 512 },
        runtime: {
          healthPath: '/ok',
          server: { command: ['a'], terminationGracePeriodSeconds: 5 },
          envNames: { PG: 'postgres_uri' },
        },
        env: [{ name: 'A', value: 'x' }],
        tasks: [{ name: 't', command: ['b'], timeoutSeconds: 5 }],
        buildCommand: 'npm run build',
      },
      secrets: [],
      notTaken: [],
    });
  });

  it.each(['', '# nothing\n', '{}', 'resource_spec: null', 'source: internal_source'])('%j gives nothing', (text) => {
    expect(judge(text)).toEqual({
      path: 'davit.yaml',
      commit: { commit: COMMIT },
      values: {},
      secrets: [],
      notTaken: [],
    });
  });

  it('says which fields are not taken, where the record has others', () => {
    const text = [
      'custom_url: shop.example.com',
      'repo_url: https://git.example/team/shop',
      'build_on_push: true',
      'deployment_type: prod',
      'resource_spec: {min_scale: 2, max_scale: 4, db_storage_gi: 10, sidecars: [{name: x, image: "x:1"}], labels: {}}',
      'runtime: {database: none, redis: none}',
    ].join('\n');
    const record = spec({ buildOnPush: true, resourceSpec: { minScale: 2 }, runtime: { redis: 'none' } });
    expect(judge(text, record)).toMatchObject({
      values: {},
      notTaken: [
        'custom_url',
        'deployment_type',
        'resource_spec.max_scale',
        'resource_spec.db_storage_gi',
        'resource_spec.sidecars',
        'runtime.database',
      ],
    });
  });

  it.each<[string, string, AppDeploymentSpec, string]>([
    ['a wrong type', 'resource_spec:\n  cpu: many\n', spec(), 'davit.yaml:2:8: resource_spec.cpu '],
    ['an unknown key', 'env: []\nenvironment: 7\n', spec(), 'davit.yaml:2:1: environment '],
    ['no YAML', 'a: [', spec(), 'davit.yaml:1:'],
    ['an alias', 'a: &a 1\nb: *a\n', spec(), 'Aliases such as *a are not supported.'],
    ['values of secrets', 'secrets: [{name: A, value: x}]', spec(), 'the values of secrets do not belong in this file'],
    [
      'a secret that is not there',
      'secrets:\n  - A\n',
      spec(),
      'davit.yaml:2:5: secrets[0] names A, which the deployment lacks',
    ],
    [
      'a field of another source',
      'image_uri: x:1\n',
      spec(),
      'davit.yaml:1:12: image_uri does not apply to source codehost',
    ],
    [
      'a limit of the record below its request',
      '\nresource_spec: {cpu: 2}',
      spec({ resourceSpec: { cpuLimit: 1 } }),
      'davit.yaml:2:1: resource_spec.cpu_limit must not be below cpu.',
    ],
    [
      'a size above the limits',
      'resource_spec: {cpu: 60}',
      spec(),
      'davit.yaml:1:22: resource_spec.cpu must be at most ',
    ],
  ])('with %s fails', (_what, text, record, words) => {
    const limited = { ...SETTINGS, limits: { ...SETTINGS.limits, cpu: 32 } };
    const { failure, values } = judgeCodeFile(
      record,
      { path: 'davit.yaml', commit: { commit: COMMIT }, content: { text } },
      limited,
    );
    expect([failure?.reason, values]).toEqual(['FileInvalid', undefined]);
    expect(failure?.message).toContain(words);
    expect(failure?.message).toMatch(/^davit\.yaml of commit aaaaaaaaaaaa is not valid: .* Correct it and push\./s);
  });

  it('that is full of errors has a message that fits', () => {
    const { failure } = judge(Array.from({ length: 2000 }, (_, at) => `key${at}: 1`).join('\n'));
    expect(failure?.message.length).toBeLessThanOrEqual(4096);
    expect(failure?.message).toContain('Correct it and push.');
  });

  it('that is not there fails', () => {
    const content = { problem: 'is missing at commit aaaaaaaaaaaa' };
    expect(judgeCodeFile(spec(), { path: 'x.yaml', commit: { commit: COMMIT }, content }, SETTINGS).failure).toEqual({
      reason: 'FileInvalid',
      message:
        'x.yaml, the file in davit_file, is missing at commit aaaaaaaaaaaa. Add or correct it and push, or remove davit_file.',
    });
  });
});

/** Whoever can push writes it, and the controller does nothing else meanwhile: its lease is lost after seconds. */
describe('of a hostile file the cost is bounded:', () => {
  const keys = (count: number): string[] => Array.from({ length: count }, (_, at) => `k${at}`);
  /** Milliseconds of processor time: five times what the dearest takes. Most took seconds when each key was compared with all. */
  const MOST_MS = 700;

  it.each([
    ['wrong values of a map', `runtime: {env_names: {${keys(3000).join(',')}}}`],
    ['more of them', `runtime: {env_names: {${keys(9000).join(',')}}}`],
    ['unknown fields', `{${keys(3000).join(',')}}`],
    ['unknown fields of a field', `runtime: {${keys(3000).join(',')}}`],
    ['a key many times', `{${'a,'.repeat(3900)}}`],
    ['a key many more times', `{${'a,'.repeat(32_000)}}`],
    ['wrong elements', `env: [${'a,'.repeat(3900)}]`],
    ['brackets that end nothing', '}'.repeat(11_900)],
    ['more of them', '}'.repeat(65_536)],
    ['depth', '['.repeat(11_900)],
    ['depth of lists', '- '.repeat(5900)],
    ['anchors', `a: ${'&a '.repeat(3900)}x`],
    ['tags', `a: ${'!!a '.repeat(3900)}x`],
    ['aliases', `a: &a x\nb: [${'*a,'.repeat(2900)}]`],
    ['documents', '---\n'.repeat(3900)],
    ['comments', '# x\n'.repeat(16_384)],
    ['a folded text', `a: >\n${'  x\n'.repeat(16_000)}`],
    ['a quoted text without an end', `a: "${'\\n\n'.repeat(20_000)}`],
  ])('%s', (_what, text) => {
    const before = process.cpuUsage();
    const { failure } = judge(text);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(MOST_MS);
    if (!text.startsWith('#')) expect(failure?.reason).toBe('FileInvalid');
  });
});
