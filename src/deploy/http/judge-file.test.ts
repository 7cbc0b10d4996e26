// How a davit.yaml is judged for who brings it, and what fields that are set beside it make of it.

import { describe, expect, it } from 'vitest';
import { aRecord, SETTINGS } from '../../../test/support/builders.ts';
import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import { fieldSentence } from '../../kinds/file-finding.ts';
import type { DeploymentFile } from './deployment-file.ts';
import { judgeFile, type SetField } from './judge-file.ts';

const TEXT = 'name: shop\nresource_spec:\n  cpu: 0.5\n  labels: {team: a}\nenv: [{name: A, value: "1"}]\n';
const FILE = { name: 'shop', resource_spec: { cpu: 0.5, labels: { team: 'a' } }, env: [{ name: 'A', value: '1' }] };

interface Brought {
  readonly set?: readonly SetField[];
  readonly source?: AppDeploymentSpec['source'];
  readonly given?: readonly string[];
  readonly spec?: AppDeploymentSpec;
}

function judge(
  text: string | undefined,
  { set = [], source, given = [], spec }: Brought = {},
): { readonly file: DeploymentFile; readonly errors: readonly string[] } {
  const judged = judgeFile(text, { by: 'caller', set, source, given, specOf: () => spec });
  const { findings } = judged;
  const missing = 'missing' in judged ? judged.missing : [];
  return {
    file: 'file' in judged ? judged.file : {},
    errors: [...findings, ...missing].map(fieldSentence),
  };
}
const set = (field: string, value: unknown): SetField => ({ field, value });

describe('fields that are set', () => {
  it.each<[SetField[], object]>([
    [[set('resource_spec.cpu', 2)], { ...FILE, resource_spec: { ...FILE.resource_spec, cpu: 2 } }],
    [
      [set('resource_spec.memory_mb', 512), set('resource_spec.cpu', null)],
      { ...FILE, resource_spec: { ...FILE.resource_spec, cpu: null, memory_mb: 512 } },
    ],
    [[set('resource_spec.labels.team', 'b')], { ...FILE, resource_spec: { cpu: 0.5, labels: { team: 'b' } } }],
    [
      [set('runtime.server.command', ['a', '$(PORT)']), set('runtime.workers.mail.args', ['x'])],
      { ...FILE, runtime: { server: { command: ['a', '$(PORT)'] }, workers: { mail: { args: ['x'] } } } },
    ],
    [[set('database', { backup: {} })], { ...FILE, database: { backup: {} } }],
    [[set('env', [{ name: 'B', value: '2' }])], { ...FILE, env: [{ name: 'B', value: '2' }] }],
    [[set('name', 'cart'), set('name', 'till')], { ...FILE, name: 'till' }],
  ])('%j', (fields, file) => {
    expect(judge(TEXT, { set: fields })).toEqual({ file, errors: [] });
  });

  it('need no file', () => {
    expect(judge(undefined, { set: [set('resource_spec.cpu', 1)] })).toEqual({
      file: { resource_spec: { cpu: 1 } },
      errors: [],
    });
  });

  it.each<[SetField, string]>([
    [set('resource_spec.cpu', 'lots'), 'resource_spec.cpu must be a number'],
    [set('resource_spec.cpus', 1), 'resource_spec.cpus is not a known field: did you mean cpu?'],
    [set('runtime.command', ['a']), 'runtime.command is not a known field here: it belongs in runtime.server'],
    [set('resource_spec', 5), 'resource_spec must be an object'],
    [set('env', { A: 'x' }), 'env must be an array, such as [{name: LOG_LEVEL, value: info}]'],
    [set('secrets', [{ A: 'x' }]), 'secrets[0] must be a name: the values of secrets do not belong in this file'],
    [set('resource_spec.__proto__.cpu', 1), 'resource_spec.__proto__ is not a known field'],
    [set('constructor', 1), 'constructor is not a known field'],
  ])('%j is refused', (field, error) => {
    expect(judge(TEXT, { set: [field] }).errors[0]).toContain(error);
    expect(Object.prototype).not.toHaveProperty('cpu');
  });
});

describe('a caller', () => {
  it.each(['', '# Nothing yet.\n', '{}'])('brings no file without a field: %j', (text) => {
    expect(judge(text).errors).toEqual(['The file is empty. Add a field such as "name: shop", or leave the file out.']);
  });

  it('brings no file of another source than what is deployed', () => {
    expect(judge('source: codehost\n', { source: 'external_docker' }).errors).toEqual([
      'source is codehost, but this request deploys external_docker: remove source from the file, or deploy from the source in it',
    ]);
    expect(judge('image_uri: shop:1\n', { source: 'external_docker' }).errors).toEqual([]);
    expect(judge('image_uri: shop:1\n').errors).toEqual(['image_uri does not apply to source internal_source']);
  });

  it('gives the secrets that the deployment lacks, by value or by reference', () => {
    const secret = (name: string): AppDeploymentSpec['secrets'][number] => ({ name, secretName: 's', secretKey: 'k' });
    const { spec } = aRecord({ secrets: [secret('A')], secretReferences: [secret('B')] });
    expect(judge('secrets: [A, B, C, D]\n', { spec, given: ['C'] }).errors).toEqual([
      'secrets[3] names D, which the deployment lacks: set its value, for example with kubectl davit secrets',
    ]);
  });
});

it('a push brings the same sentence, and its own list of what applies', () => {
  const { spec } = aRecord({ source: 'codehost' });
  const pushed = (text: string): ReturnType<typeof judgeFile> =>
    judgeFile(text, { by: 'push', spec, settings: SETTINGS });
  expect(pushed('secrets: [D]\n').findings[0]?.msg).toContain('names D, which the deployment lacks: set its value');
  expect(pushed('')).toMatchObject({ findings: [], values: {} });
  expect(pushed('resource_spec: {cpu: 1, max_scale: 3}\n')).toMatchObject({ values: { resourceSpec: { cpu: 1 } } });
});
