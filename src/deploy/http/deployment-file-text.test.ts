// What is wrong with a davit.yaml, and where it says so. Whoever can push to a repository writes one, and the cost of reading it is bounded.

import { describe, expect, it } from 'vitest';
import { aRecord } from '../../../test/support/builders.ts';
import { fileErrors, fileFrom } from '../../../test/support/deployment-files.ts';
import { fileOf, withoutNull } from './deployment-file.ts';

function errorsOf(text: string): string[] {
  return fileErrors(text).map((line) => line.replace(/^davit\.yaml:/, ''));
}

it('what is compared has no null in elements of lists either', () => {
  const task = { name: 'hello', command: ['true'] };
  expect(withoutNull({ tasks: [{ ...task, time_zone: null, concurrency: null }], env: [] })).toEqual({
    tasks: [task],
    env: [],
  });
});

describe('a file that is right', () => {
  it('is read as it is written', () => {
    const text = `# yaml-language-server: $schema=davit.schema.json
name: agent
workflow_config_path: Dockerfile
resource_spec:
  cpu: 0.5
  labels: {team: search}
  volumes:
    - name: scratch
      emptyDir: {sizeLimit: 1Gi}
runtime:
  port: 3000
  database: none
  health_path: null
secrets: [API_KEY]
`;
    expect(fileFrom(text)).toEqual({
      name: 'agent',
      workflow_config_path: 'Dockerfile',
      resource_spec: {
        cpu: 0.5,
        labels: { team: 'search' },
        volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '1Gi' } }],
      },
      runtime: { port: 3000, database: 'none', health_path: null },
      secrets: ['API_KEY'],
    });
  });

  it.each(['', '# nothing yet\n', '---\n', 'runtime:\nresource_spec:\n'])('may say nothing: %j', (text) => {
    expect(errorsOf(text)).toEqual([]);
  });

  it('may give a part of what its source needs: the deployment may have the rest', () => {
    expect(errorsOf('source: codehost\nrepo_ref: main\n')).toEqual([]);
  });
});

describe('an error has its place', () => {
  it.each<[what: string, text: string, errors: string[]]>([
    [
      'a misspelt key',
      'name: agent\nresource_spec:\n  cpuu: 1\n',
      ['3:3: resource_spec.cpuu is not a known field: did you mean cpu?'],
    ],
    [
      'a key in the words of kubectl',
      'resourceSpec: {}\n',
      ['1:1: resourceSpec is not a known field: did you mean resource_spec?'],
    ],
    ['a key at the wrong level', 'cpu: 1\n', ['1:1: cpu is not a known field here: it belongs in resource_spec']],
    [
      'an unknown key in a list',
      'resource_spec:\n  sidecars:\n    - name: proxy\n      image: proxy:1\n      comand: [run]\n',
      ['5:7: resource_spec.sidecars[0].comand is not a known field: did you mean command?'],
    ],
    ['a wrong type', 'runtime:\n  port: "80"\n', ['2:9: runtime.port must be a number']],
    ['a number outside its range', 'resource_spec: {cpu: 0.001}\n', ['1:22: resource_spec.cpu must be at least 0.01']],
    ['a value of a choice', 'runtime:\n  database: no\n', ['2:13: runtime.database must be one of none']],
    [
      'a rule over two fields',
      'resource_spec:\n  cpu: 2\n  cpu_limit: 1\n',
      ['3:14: resource_spec.cpu_limit must not be below cpu'],
    ],
    [
      'a rule of names',
      'secrets:\n  - API_KEY\n  - PORT\n',
      [expect.stringMatching(/^3:5: secrets\[1\] .*set by the platform/) as unknown as string],
    ],
    [
      'a variable in both lists',
      'source: external_docker\nsecrets: [A]\nsecret_references:\n  - {name: A, secret_name: s, secret_key: k}\n',
      ['4:12: secret_references[0].name a name may be in secrets or in secret_references, not in both'],
    ],
    [
      'values of secrets',
      'secrets:\n  - name: API_KEY\n    value: hunter2\n',
      ['2:5: secrets[0] must be a name: the values of secrets do not belong in this file'],
    ],
    [
      'values of secrets in a map',
      'secrets:\n  API_KEY: hunter2\n',
      ['1:1: secrets must be a list of names: the values of secrets do not belong in this file'],
    ],
    ['a field of another source', 'image_uri: shop:1\n', ['1:12: image_uri does not apply to source internal_source']],
    ['what is missing', 'runtime:\n  queue_depth:\n    per_pod: 2\n', ['2:3: runtime.queue_depth.query is required']],
    ['a list instead of a file', '- name: agent\n', ['1:1: The file must be an object']],
    [
      'a tab',
      'runtime:\n\tport: 80\n',
      ['2:1: A tab indents this line. YAML is indented with spaces: replace the tab.'],
    ],
    ['a key twice', 'name: a\nname: b\n', ['2:1: This key appears twice. Remove one of them.']],
    [
      'two keys twice, in one map',
      'name: a\nsource: b\nname: c\nsource: d\n',
      ['3:1: This key appears twice. Remove one of them.', '4:1: This key appears twice. Remove one of them.'],
    ],
    ['a key that is no text', '? [a]\n: 1\n', ['1:3: This key is not a string. Write it as a plain word.']],
    [
      'a second document',
      'name: a\n---\nname: b\n',
      ['2:1: A second document begins here. A file describes one deployment: put it into a file of its own.'],
    ],
    [
      'a line of a shell before it',
      '# notes\n$ kubectl davit export shop\n# Written.\nname: shop\nsource: external_docker\nruntime:\n  port: 1\n',
      [
        '2:1: This line is not a field such as "name: shop". Remove it.',
        expect.stringMatching(/^and \d+ more, which these may have caused\.$/) as unknown as string,
      ],
    ],
    [
      'a fault further down, of which the first errors are told',
      `name: shop\nenv: [a\n${'b: c\n'.repeat(9)}`,
      [
        expect.stringMatching(/^3:\d+: /) as unknown as string,
        expect.stringMatching(/^\d+:\d+: /) as unknown as string,
        expect.stringMatching(/^\d+:\d+: /) as unknown as string,
        expect.stringMatching(/^and \d+ more, which these may have caused\.$/) as unknown as string,
      ],
    ],
    [
      'a rule that names fields as the record does',
      'runtime:\n  server: {heartbeat_max_age_seconds: 5}\n',
      ['2:39: runtime.server.heartbeat_max_age_seconds needs heartbeat_file'],
    ],
    ['an empty list', 'tasks: [{name: a, command: []}]\n', ['1:19: tasks[0].command must have at least 1 item']],
    ['a tag', 'name: !js agent\n', ['1:7: Tags that begin with ! are not supported. Remove the tag.']],
    ['an unclosed quote', 'name: "agent\n', ['2:1: Missing closing "quote.']],
    [
      'an alias of itself',
      'resource_spec:\n  labels: &x {a: *x}\n',
      ['2:18: Aliases such as *x are not supported. Write the value in full.'],
    ],
  ])('%s', (_what, text, errors) => {
    expect(errorsOf(text)).toEqual(errors);
  });

  it('all of them at once, in the order of the file', () => {
    const text = 'nmae: agent\nresource_spec:\n  cpu: much\n  memory_mb: 1.5\nruntime: {port: 0}\n';
    expect(errorsOf(text).map((line) => line.split(' ')[0])).toEqual(['1:1:', '3:8:', '4:14:', '5:17:']);
  });

  it('repeats no value, which may be a secret', () => {
    expect(errorsOf('secrets: {A: hunter2}\nruntime: {port: hunter2}\n').join()).not.toContain('hunter2');
  });
});

it('what is exported asks for backups as the record does, and for no backup that was loaded', () => {
  const database = { backup: {}, restore: { from: 'hello' } };
  const record = aRecord({ sourceConfig: { database } });
  expect(fileOf(record)['database']).toEqual(database);
  const restoredAt = '2026-02-02T00:00:00Z';
  expect(fileOf({ ...record, status: { databaseRestore: { restoredAt } } })['database']).toEqual({ backup: {} });
  expect(fileOf(aRecord())).not.toHaveProperty('database');
});

it('has the driver of the database, its instances and its archive, which another deployment from it needs', () => {
  const database = { driver: 'cloudnative-pg', instances: 3, archive: { keepDays: 14 } } as const;
  expect(fileOf(aRecord({ sourceConfig: { database } }))['database']).toEqual({
    driver: 'cloudnative-pg',
    instances: 3,
    archive: { keep_days: 14 },
  });
  const empty = { driver: 'cloudnative-pg', archive: {} } as const;
  expect(fileOf(aRecord({ sourceConfig: { database: empty } }))['database']).toEqual(empty);
});

describe('a file that would fill the memory', () => {
  it('by aliases of aliases is refused before they are read', () => {
    const levels = Array.from({ length: 20 }, (_, i) => `k${i}: &k${i} [${`*k${i - 1}, `.repeat(i === 0 ? 0 : 9)}x]`);
    expect(errorsOf(levels.join('\n'))[0]).toMatch(/^2:\d+: Aliases such as \*k0 are not supported/);
  });

  it('by its depth is refused', () => {
    for (const text of ['['.repeat(60_000), '- '.repeat(30_000), `a: ${'{b: '.repeat(101)}`])
      expect(errorsOf(text)).toEqual(['davit.yaml is nested too deeply to be read.']);
  });

  it('by its number of values is refused', () => {
    const tooMany = ['davit.yaml is more complex than any deployment needs. Shorten it.'];
    expect(errorsOf('a: b\n'.repeat(2000))).toEqual(tooMany);
    expect(errorsOf(`env: [${'a,'.repeat(10_000)}]`)).toEqual(tooMany);
  });

  it('by its size is refused', () => {
    expect(errorsOf(`# ${'x'.repeat(65_536)}`)).toEqual([
      'davit.yaml is larger than 64 KiB, the limit for a file that describes one deployment.',
    ]);
  });
});

it.each<[string, string, string]>([
  ['a directive', '%', 'x\n---\nname: shop'],
  ['a tag', 'name: !', '! shop'],
  ['the head of a text', 'name: |', 'x'],
  ['what stands after a list', 'name: ]', 'x'],
])('%s of 60,000 dots', (_name, start, end) => {
  const begin = process.cpuUsage();
  expect(errorsOf(`${start}${'.'.repeat(60_000)}${end}`)[0]).toMatch(/^1:/);
  expect(process.cpuUsage(begin).user / 1000).toBeLessThan(500);
});
