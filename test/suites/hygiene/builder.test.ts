// The builder's image as platforms make it and as the tests make it are of one BuildKit.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');

it('docs/builder/Dockerfile takes the BuildKit that test/cluster/go pins', () => {
  const version = (file: string, pattern: RegExp): string | undefined =>
    pattern.exec(readFileSync(join(root, file), 'utf8'))?.[1];
  const pinned = version('test/cluster/go/buildkit/go.mod', /^\tgithub\.com\/moby\/buildkit (v\S+)/m);
  expect(pinned).toMatch(/^v\d/);
  expect(version('docs/builder/Dockerfile', /^ARG BUILDKIT=docker\.io\/moby\/buildkit:(v[\d.]+)-rootless$/m)).toBe(
    pinned,
  );
});
