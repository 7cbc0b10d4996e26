import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../../../test/support/cli-world.ts';
import type { HttpApi } from '../transport/http-api.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'given-secrets-'));
  await writeFile(join(folder, 'two.env'), 'export API_KEY="canary one"\nTOKEN=canary-two\n');
  await writeFile(join(folder, 'empty.env'), 'API_KEY=\n');
  await writeFile(join(folder, 'Dockerfile'), 'FROM scratch\n');
});
afterAll(() => rm(folder, { recursive: true }));

/** An API in which nothing is, and what was created in it. */
function recording(): { readonly api: HttpApi; readonly created: { secrets?: unknown }[] } {
  const created: { secrets?: unknown }[] = [];
  const api = {
    async call(method: string, _path: string, body?: object) {
      if (method === 'POST') {
        created.push(body ?? {});
        throw new Error('seen');
      }
      return { resources: [] };
    },
  } as unknown as HttpApi;
  return { api, created };
}

const deploy = ['deploy', '--image', 'app:1', '--name', 'shop'];

it.each([
  { is: 'the environment', args: ['--secret', 'API_KEY'], secrets: [{ name: 'API_KEY', value: 'of env' }] },
  {
    is: 'a file',
    args: ['--secrets-file', 'FOLDER/two.env'],
    secrets: [
      { name: 'API_KEY', value: 'canary one' },
      { name: 'TOKEN', value: 'canary-two' },
    ],
  },
  {
    is: 'standard input, and the environment wins',
    args: ['--secrets-file', '-', '--secret', 'API_KEY'],
    secrets: [
      { name: 'API_KEY', value: 'of env' },
      { name: 'OTHER', value: 'piped' },
    ],
  },
])('values are taken from $is', async ({ args, secrets }) => {
  const { api, created } = recording();
  const own = args.map((arg) => arg.replace('FOLDER', folder));
  const running = runCli([...deploy, ...own], {
    api,
    environment: { API_KEY: 'of env' },
    input: 'API_KEY=x\nOTHER=piped\n',
  });
  await expect(running).rejects.toThrow('seen');
  expect(created[0]?.secrets).toEqual(secrets);
});

it.each([
  {
    is: 'the environment does not have',
    args: ['--secret', 'API_KEY'],
    says: 'The environment has no variable API_KEY, from which --secret API_KEY takes the value. Nothing was changed.',
  },
  {
    is: 'is an argument',
    args: ['--secret', 'API_KEY=canary'],
    says: 'The value of API_KEY must not be an argument: other users and the history of the shell can see it. --secret API_KEY takes it from the environment variable API_KEY.',
  },
  {
    is: 'can be called by no variable',
    args: ['--secret', 'API-KEY'],
    says: '"API-KEY" must be the name of an environment variable: letters, digits and _, not beginning with a digit. Nothing was changed.',
  },
  {
    is: 'is empty',
    args: ['--secrets-file', 'FOLDER/empty.env'],
    says: 'The value of API_KEY is empty: nothing was changed.',
  },
  {
    is: 'stands in no line',
    args: ['--secrets-file', '-'],
    says: 'standard input has no line such as KEY=VALUE.',
  },
  {
    is: 'stands in a line that is none',
    input: 'canary\n',
    args: ['--secrets-file', '-'],
    says: 'standard input:1:1: This line sets no variable. Write KEY=VALUE, or # before a comment.',
  },
])('a value that $is is refused before anything is asked', async ({ args, input = '', says }) => {
  for (const first of [deploy, ['deploy', folder]]) {
    const ran = await runCli([...first, ...args.map((arg) => arg.replace('FOLDER', folder))], { input });
    expect([ran.code, ran.err.split('\n')[0], ran.err.includes('canary')]).toEqual([2, says, false]);
  }
});
