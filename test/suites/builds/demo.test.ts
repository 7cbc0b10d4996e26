// `npm run demo -- --codehost`: a registry in the cluster, a Gitea, and two deployments that are built.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';

const root = join(import.meta.dirname, '../../..');
const machine = await realPods(() => undefined);

it.skipIf(!machine.ok)(
  'builds from a repository and from a folder, ends with READY, and takes all down again',
  async () => {
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'demo', '--', '--codehost', '--once'], {
      cwd: root,
      maxBuffer: 2 ** 26,
    });
    expect(stdout).toContain('Deployment from-repository is DEPLOYED');
    expect(stdout).toContain('Deployment from-folder is DEPLOYED');
    expect(stdout).toMatch(/^READY {2}http/m);
    const [, said = ''] = /export (.*)/.exec(stdout) ?? [];
    expect(said.match(/\w+(?==)/g)).toEqual(expect.arrayContaining(['API', 'TOKEN', 'GITEA', 'CA', 'BASE']));
  },
  900_000,
);
