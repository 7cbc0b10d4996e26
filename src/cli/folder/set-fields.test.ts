// What --set makes of a davit.yaml.

import { describe, expect, it } from 'vitest';
import { InvalidFile, Misuse } from '../line/command.ts';
import { beginningWith } from '../text/lost.ts';
import { withFields } from './set-fields.ts';

const FILE = { name: 'shop', resource_spec: { cpu: 0.5, labels: { team: 'a' } }, env: [{ name: 'A', value: '1' }] };

/** The value of --set that the command has. */
function restoring(name: string): string {
  return /--set '(.*)'$/.exec(beginningWith(name))?.[1] ?? '';
}

describe('--set', () => {
  it.each<[string[], object]>([
    [['resource_spec.cpu=2'], { ...FILE, resource_spec: { ...FILE.resource_spec, cpu: 2 } }],
    [
      ['resource_spec.memory_mb=512', 'resource_spec.cpu=null'],
      { ...FILE, resource_spec: { ...FILE.resource_spec, cpu: null, memory_mb: 512 } },
    ],
    [['resource_spec.labels.team=b'], { ...FILE, resource_spec: { cpu: 0.5, labels: { team: 'b' } } }],
    [['runtime.port=3000', 'runtime.health_path=/up'], { ...FILE, runtime: { port: 3000, health_path: '/up' } }],
    [
      ['runtime.server.command=[uvicorn, "main:app", --port, $(PORT)]', 'runtime.workers.mail.args=[]'],
      {
        ...FILE,
        runtime: {
          server: { command: ['uvicorn', 'main:app', '--port', '$(PORT)'] },
          workers: { mail: { args: [] } },
        },
      },
    ],
    [['database={backup: {}}'], { ...FILE, database: { backup: {} } }],
    // As what is lost is brought back (lost.ts).
    [[restoring('shop')], { ...FILE, database: { backup: {}, restore: { from: 'shop' } } }],
    [[restoring('null')], { ...FILE, database: { backup: {}, restore: { from: 'null' } } }],
    [['build_command='], { ...FILE, build_command: '' }],
    [['build_command=echo a=b'], { ...FILE, build_command: 'echo a=b' }],
    [['env=[{name: B, value: "2"}]'], { ...FILE, env: [{ name: 'B', value: '2' }] }],
    [['name=cart', 'name=till'], { ...FILE, name: 'till' }],
  ])('%j', (sets, expected) => {
    const before = structuredClone(FILE);
    expect(withFields(FILE, sets)).toEqual(expected);
    expect(FILE).toEqual(before);
  });

  it('makes a file where there is none, and leaves one alone that it does not change', () => {
    expect(withFields(undefined, ['resource_spec.cpu=1'])).toEqual({ resource_spec: { cpu: 1 } });
    expect(withFields(FILE, [])).toBe(FILE);
    expect(withFields(undefined, [])).toBeUndefined();
  });

  it.each<[string, typeof InvalidFile | typeof Misuse, RegExp]>([
    ['resource_spec.cpu=lots', InvalidFile, /^--set: resource_spec\.cpu must be /],
    ['resource_spec.cpus=1', InvalidFile, /^--set: resource_spec\.cpus is not a known field: did you mean cpu\?/],
    [
      'runtime.command=[a]',
      InvalidFile,
      /^--set: runtime\.command is not a known field here: it belongs in runtime\.server/,
    ],
    ['resource_spec=5', InvalidFile, /^--set: resource_spec must be an object/],
    ['name.first=a', InvalidFile, /^--set: name must be /],
    ['secrets=[{A: value}]', InvalidFile, /the values of secrets do not belong in this file/],
    ['resource_spec.cpu', Misuse, /such as resource_spec\.cpu=0\.5, not resource_spec\.cpu\./],
    ['=1', Misuse, /^--set takes a field/],
    ['env[0]=1', Misuse, /^--set takes a field/],
    ['resource_spec.__proto__.cpu=1', Misuse, /^--set takes a field/],
    ['env=[1', Misuse, /^--set env=\[1: the value is not valid YAML\. /],
  ])('refuses %s', (set, kind, words) => {
    const refused = (): unknown => withFields(FILE, [set]);
    expect(refused).toThrow(kind);
    expect(refused).toThrow(words);
  });
});
