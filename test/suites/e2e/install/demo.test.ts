// `npm run demo -- --helm`: the chart's own pods serve the sample, over TLS.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { whyNoPods } from './installed.ts';

const root = join(import.meta.dirname, '../../../..');

it.skipIf((await whyNoPods()) !== undefined)(
  'installs Davit by Helm, ends with READY, says how to fail over and upgrade, and takes all down again',
  async () => {
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'demo', '--', '--helm', '--once'], {
      cwd: root,
      maxBuffer: 2 ** 26,
    });
    expect(stdout).toMatch(
      /Its pods are ready: davit-api-\S+, davit-api-\S+, davit-controller-\S+, davit-controller-\S+$/m,
    );
    expect(stdout).toContain('stored in PostgreSQL and read back');
    expect(stdout).toMatch(/^READY {2}https:/m);
    expect(stdout).toContain('helm upgrade davit');
    expect(stdout).toMatch(/Gone$/m);
  },
  900_000,
);
