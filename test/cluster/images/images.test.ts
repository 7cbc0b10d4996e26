// The parts of the image build that need neither apt nor a disk full of packages.
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { whileWaiting, withLock } from './cache.ts';
import { archiveIn, parseUris } from './debian.ts';
import { closure } from './npm-packages.ts';
import { unwantedPackages } from './recipes.ts';
import { tarOf } from './tar.ts';

describe('parseUris', () => {
  it('reads names and versions, epochs included, and ignores the rest', () => {
    const printed = [
      "'http://mirror.test/pool/r/redis-server_7.0.15-1_amd64.deb' redis-server_5%3a7.0.15-1_amd64.deb 73908 SHA256:00",
      'Reading package lists...',
      "'http://mirror.test/pool/t/tzdata_2026f-0_all.deb' tzdata_2026f-0_all.deb 307832 SHA256:00",
    ].join('\n');
    expect(parseUris(printed)).toEqual([
      { name: 'redis-server', version: '5:7.0.15-1' },
      { name: 'tzdata', version: '2026f-0' },
    ]);
  });
});

describe('archiveIn', () => {
  const targets = 'http://mirror.test/debian-security/\nhttp://mirror.test/debian/\n';

  it('is the archive of the machine, or the one that was asked for', () => {
    expect(archiveIn(targets)).toBe('http://mirror.test/debian/');
    expect(archiveIn(targets, 'http://other.test/debian')).toBe('http://other.test/debian');
  });

  it.each(['', 'http://mirror.test/ubuntu/\n'])('says what to set where there is none: %j', (others) => {
    expect(() => archiveIn(others)).toThrow('Set DAVIT_DEBIAN_ARCHIVE');
  });
});

describe('unwantedPackages', () => {
  it.each(['libllvm19', 'perl-base', 'libjson-perl', 'postgresql', 'postgresql-common'])('leaves out %s', (name) => {
    expect(unwantedPackages.test(name)).toBe(true);
  });

  it.each(['postgresql-17', 'postgresql-17-pgvector', 'libc6', 'libreadline8t64', 'tzdata'])('keeps %s', (name) => {
    expect(unwantedPackages.test(name)).toBe(false);
  });
});

describe('closure', () => {
  const packages = {
    'node_modules/a': { dependencies: { b: '1', c: '1' } },
    'node_modules/b': { dependencies: { c: '2' } },
    'node_modules/b/node_modules/c': { dependencies: { a: '1' } },
    'node_modules/c': {},
    'node_modules/unrelated': {},
  };

  it('follows dependencies as Node looks them up, in circles too', () => {
    expect(closure(packages, ['a'])).toEqual([
      'node_modules/a',
      'node_modules/b',
      'node_modules/b/node_modules/c',
      'node_modules/c',
    ]);
  });

  it('says which package is not locked', () => {
    expect(() => closure(packages, ['missing'])).toThrow('missing');
  });
});

describe('tarOf', () => {
  it('makes the same bytes of the same content, whatever the order and the modes on disk', async () => {
    const long = `${'n'.repeat(120)}.txt`;
    async function make(names: readonly string[], mode: number): Promise<string> {
      const folder = await mkdtemp(join(tmpdir(), 'davit-tar-'));
      try {
        for (const name of names) await writeFile(join(folder, name), name, { mode });
        await symlink('a', join(folder, 'link'));
        const chunks: Buffer[] = [];
        for await (const chunk of tarOf(folder, () => ({ uid: 999, gid: 999 }))) chunks.push(chunk);
        return Buffer.concat(chunks).toString('latin1');
      } finally {
        await rm(folder, { recursive: true });
      }
    }
    const one = await make(['a', 'b', long], 0o600);
    expect(one).toBe(await make([long, 'b', 'a'], 0o640));
    // A name too long for the header has a record of its own, which counts itself.
    expect(one).toContain(`134 path=${long}\n`);
    expect(one.length % 512).toBe(0);
  });
});

describe('withLock', () => {
  it('lets one in at a time, and the next when the first has failed', async () => {
    const name = `test ${process.pid}`;
    const seen: string[] = [];
    const first = withLock(
      name,
      () => seen.push('first waits'),
      async () => {
        seen.push('first in');
        await new Promise((resolve) => setTimeout(resolve, 50));
        seen.push('first out');
        throw new Error('first failed');
      },
    );
    const second = withLock(
      name,
      () => seen.push('second waits'),
      async () => seen.push('second in'),
    );
    await expect(first).rejects.toThrow('first failed');
    await second;
    expect(seen).toEqual(['first in', 'second waits', 'first out', 'second in']);
  });

  it('prints what is waited for, and for how long', () => {
    const lines: string[] = [];
    const onWait = whileWaiting((line) => lines.push(line), 'Image: another process is building it');
    for (const minutes of [0, 1, 2]) onWait(minutes);
    expect(lines).toEqual([
      'Image: another process is building it, waiting',
      'Image: another process is building it, waiting for 1 min',
      'Image: another process is building it, waiting for 2 min',
    ]);
  });
});
