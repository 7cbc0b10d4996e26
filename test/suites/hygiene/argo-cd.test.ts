// The health check for Argo CD that docs/install.md gives, run by the Lua that Argo CD runs it by.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ensureTools, toolPath } from '../../cluster/tools.ts';
import { SEEN_RECORDS } from '../../support/status-samples.ts';

const KEY = 'resource.customizations.health.davit.dev_AppDeployment';
const install = readFileSync(join(import.meta.dirname, '../../../docs/install.md'), 'utf8');

let lua: string;
let folder: string;
beforeAll(async () => {
  const tools = await ensureTools(['lua'], () => undefined);
  lua = toolPath(tools, 'lua', 'glua');
  folder = await mkdtemp(join(tmpdir(), 'davit-lua-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function healthCheck(): string {
  const blocks = [...install.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => text);
  const block = blocks.find((text) => text.includes(KEY)) ?? '';
  return (parse(block) as { data: Record<string, string> }).data[KEY] ?? '';
}

/** Lua's words for a value of JSON. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(literal).join(', ')}}`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, one]) => one !== undefined && one !== null);
    return `{${entries.map(([name, one]) => `[${JSON.stringify(name)}] = ${literal(one)}`).join(', ')}}`;
  }
  return JSON.stringify(value);
}

it('makes of every record what it is', async () => {
  const records = SEEN_RECORDS.filter(({ argo }) => argo !== undefined);
  // Argo CD gives the script a global, and takes what it returns.
  const script = [
    `local function check() ${healthCheck()} end`,
    ...records.map(
      ({ record }) => `obj = ${literal(record)}; do local h = check(); print(h.status .. "\\t" .. h.message) end`,
    ),
  ].join('\n');
  const file = join(folder, 'health.lua');
  await writeFile(file, script);
  const { stdout } = await promisify(execFile)(lua, [file]);
  const said = stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
  expect(said.map(([status], index) => `${records[index]?.name}: ${status}`)).toEqual(
    records.map(({ name, argo }) => `${name}: ${argo}`),
  );
  expect(said.filter(([, message = '']) => message === '')).toEqual([]);
});
