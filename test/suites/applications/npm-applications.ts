// The applications from npm that tests run: their packages, and the images made of them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Image } from '../../cluster/images/build.ts';
import type { Progress } from '../../cluster/prepared.ts';
import { ensureNpmApplication } from '../../support/npm-application.ts';

export function ensureTraced(progress: Progress): Promise<Image> {
  const packages = { '@opentelemetry/api': '1.10.0', '@opentelemetry/sdk-node': '0.301.0' };
  return ensureNpmApplication({ name: 'traced', packages }, progress);
}

/** Version and variables are those of the example's Dockerfile. Its packages have more than 2 GB. */
export function ensureN8n(progress: Progress): Promise<Image> {
  const file = join(import.meta.dirname, '../../../docs/examples/n8n/image/Dockerfile');
  const dockerfile = readFileSync(file, 'utf8');
  const version = / n8n@(\S+)/.exec(dockerfile)?.[1] ?? '';
  const env = [...(/^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile)?.[1] ?? '').matchAll(/\w+=\w+/g)].map(([one]) => one);
  return ensureNpmApplication({ name: 'n8n', packages: { n8n: version }, env }, progress);
}
