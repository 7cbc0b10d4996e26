// What --set says. What it makes of a file is decided by the HTTP API (judge-file.test.ts).

import { expect, it } from 'vitest';
import { Misuse } from '../line/command.ts';
import { beginningWith } from '../text/lost.ts';
import { fieldSet } from './set-fields.ts';

/** The value of --set that the command has. */
function restoring(name: string): string {
  return /--set '(.*)'$/.exec(beginningWith(name))?.[1] ?? '';
}

it.each<[string, string, unknown]>([
  ['resource_spec.cpu=2', 'resource_spec.cpu', 2],
  ['resource_spec.cpu=null', 'resource_spec.cpu', null],
  ['runtime.server.command=[uvicorn, --port, $(PORT)]', 'runtime.server.command', ['uvicorn', '--port', '$(PORT)']],
  // As what is lost is brought back (lost.ts).
  [restoring('shop'), 'database', { backup: {}, restore: { from: 'shop' } }],
  [restoring('null'), 'database', { backup: {}, restore: { from: 'null' } }],
  ['build_command=', 'build_command', ''],
  ['build_command=echo a=b', 'build_command', 'echo a=b'],
])('%s', (set, field, value) => {
  expect(fieldSet(set)).toEqual({ flag: '--set', field, value });
});

it.each<[string, RegExp]>([
  ['resource_spec.cpu', /such as resource_spec\.cpu=0\.5, not resource_spec\.cpu\./],
  ['=1', /^--set takes a field/],
  ['env[0]=1', /^--set takes a field/],
  ['env=[1', /^--set env=\[1: the value is not valid YAML\. /],
])('refuses %s', (set, words) => {
  expect(() => fieldSet(set)).toThrow(Misuse);
  expect(() => fieldSet(set)).toThrow(words);
});
