// The workflows decide nothing: each step is a script of the repository, or sends on what one has made.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly uses?: string; readonly run?: string }[] }>
  >;
}

const root = join(import.meta.dirname, '../../..');
const files = globSync('.github/workflows/*.yml', { cwd: root });
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

const SENDS = /^(?:gh release view|npm publish|echo "\$TOKEN" \| docker login) /;

it.each(files)('%s calls scripts of the repository alone', (file) => {
  const { jobs, permissions } = parse(readFileSync(join(root, file), 'utf8')) as Workflow;
  expect(permissions['contents']).toBeDefined();
  const steps = Object.values(jobs).flatMap(({ steps: all }) => all);
  expect(steps.flatMap(({ uses }) => uses ?? []).filter((uses) => !uses.startsWith('actions/checkout@'))).toEqual([]);
  const runs = steps.flatMap(({ run }) => run ?? []).filter((run) => !SENDS.test(run));
  const unknown = runs.filter((run) => {
    const script = /^npm run ([a-z:]+) -- /.exec(run)?.[1];
    return run !== 'sudo --preserve-env .ci/run' && (script === undefined || scripts[script] === undefined);
  });
  expect(unknown).toEqual([]);
});

it('a change and a release have one each', () => {
  expect(files.toSorted()).toEqual(['.github/workflows/ci.yml', '.github/workflows/release.yml']);
});
