import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ensureTools } from './tools.ts';

describe('tools that cannot be built', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'davit-tools-test-'));
    vi.stubEnv('DAVIT_CACHE', join(folder, 'cache'));
    // As outside of tests, which build nothing.
    vi.stubEnv('VITEST_WORKER_ID', undefined);
  });

  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  });

  it('say which module, and what the compiler said; nothing half built is taken for a tool', async () => {
    // No module can be had: none is in this cache, and none may be fetched.
    vi.stubEnv('GOMODCACHE', join(folder, 'modules'));
    vi.stubEnv('GOPROXY', 'off');
    const lines: string[] = [];
    const building = ensureTools(['helm'], (line) => lines.push(line));
    await expect(building).rejects.toThrow(
      /building helm3? in .*\/go\/helm3?\/ failed:\n(.*\n)*.*module lookup disabled/,
    );
    expect(lines[0]).toMatch(/^helm3?: building/);
    const left = await readdir(join(folder, 'cache', 'tools'));
    expect(left.filter((name) => !name.startsWith('.'))).toEqual([]);
  });

  it('say that Go is missing, which one, and how to get it', async () => {
    vi.stubEnv('PATH', folder);
    await expect(ensureTools(['helm'], () => undefined, join(folder, 'no-go'))).rejects.toThrow(
      /^Go is missing\. .* needs Go 1\.\d+(\.\d+)? or newer .*go\.dev\/doc\/install/,
    );
  });
});
