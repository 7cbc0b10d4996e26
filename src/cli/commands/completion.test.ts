// Completion in a real bash with a terminal: the TAB key, the script that completion prints, and the built program.

import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writePlugin } from '../../../test/support/plugin.ts';

const TAB = '\t';
const TO_BEGINNING = '\u0001';
const TO_END = '\u0005';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-bash-'));
  await rename(await writePlugin(folder), join(folder, 'davit'));
  await writeFile(
    join(folder, 'kubectl'),
    '#!/bin/sh\ncase "$*" in *--namespace=other*) echo elsewhere ;; *) echo "shop shelf" ;; esac\n',
  );
  await chmod(join(folder, 'kubectl'), 0o755);
  await mkdir(join(folder, 'agent'));
  await writeFile(join(folder, 'agent', 'davit.yaml'), '');
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What stands on the command line after each of `typed` and a TAB. */
async function completed(typed: readonly string[]): Promise<string[]> {
  const env = {
    ...process.env,
    TERM: 'dumb',
    HISTFILE: '/dev/null',
    PATH: [folder, dirname(process.execPath), process.env['PATH']].join(delimiter),
  };
  const shell = spawn('script', ['-qec', 'bash --norc --noprofile -i', '/dev/null'], { cwd: folder, env });
  // A line that is printed, and not run.
  const lines = typed.map((line, at) => `${line}${TAB}${TO_BEGINNING}echo "<${at}:${TO_END}>"\n`);
  shell.stdin.end(['source <(davit completion bash)\n', "PS1=''\n", ...lines, 'exit\n'].join(''));
  const [output] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
  return typed.map((_line, at) => new RegExp(`^<${at}:(.*)>\\r?$`, 'm').exec(output)?.[1] ?? `nothing:\n${output}`);
}

it('completes commands, deployments, flags, their values and paths', async () => {
  const wanted: readonly (readonly [typed: string, line: string])[] = [
    ['davit sca', 'davit scale '],
    ['davit scale sho', 'davit scale shop '],
    ['davit scale sh', 'davit scale sh'],
    ['davit scale -n other e', 'davit scale -n other elsewhere '],
    ['davit scale --namespace=other e', 'davit scale --namespace=other elsewhere '],
    ['davit logs shop --pre', 'davit logs shop --previous '],
    ['davit status --output=', 'davit status --output=json '],
    ['davit status -o j', 'davit status -o json '],
    ['davit secrets shop un', 'davit secrets shop unset '],
    ['davit deploy ./ag', 'davit deploy ./agent/'],
    ['davit deploy . --file agent/d', 'davit deploy . --file agent/davit.yaml '],
    ['davit exec shop -- ag', 'davit exec shop -- agent/'],
    ['davit nothing-of-that ', 'davit nothing-of-that '],
  ];
  expect(await completed(wanted.map(([typed]) => typed))).toEqual(wanted.map(([, line]) => line));
}, 120_000);
