import { access, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import config from '../../vitest.config.ts';
import { ensureImages } from '../cluster/images/build.ts';
import { isPrepared, NotPreparedError, noteFailure, refuseWithinTests } from '../cluster/prepared.ts';
import { ensureTools, moduleFolder } from '../cluster/tools.ts';
import { needs, needsOf } from './needs.ts';
import { ensurePublishedClient } from './published-client.ts';
import { LEFT_TO_WHOLE } from './usual.ts';

const silent = (): void => undefined;

it('tests know the needs of their project', () => {
  expect(process.env['DAVIT_NEEDS']?.split(';')).toContain('lua');
  const namesOf = (file: string): string[] => needsOf('unit', [file]).map(({ name }) => name);
  expect(namesOf('/davit/test/suites/hygiene/chart.test.ts')).toEqual(['helm']);
  expect(namesOf('/davit/src/deploy/status.test.ts')).toEqual([]);
});

describe('within tests', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'davit-needs-'));
    vi.stubEnv('DAVIT_CACHE', folder);
    vi.stubEnv('GOMODCACHE', join(folder, 'modules'));
    vi.stubEnv('DAVIT_NEEDS', undefined);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  });

  it.each([
    ['a program that is compiled', 'lua', () => ensureTools(['lua'], silent)],
    ['packages of Python', 'langgraph', () => ensurePublishedClient(silent)],
    ['images', 'images postgres, redis, sample, pause', () => ensureImages(silent)],
    ['files of a Go module', 'gateway-api', () => moduleFolder('gateway-api', 'sigs.k8s.io/gateway-api')],
  ])('%s that are missing fail at once, and say where they belong', async (_what, name, make) => {
    await expect(make()).rejects.toThrow(
      `name "${name}" among the needs of the test's project in test/support/needs.ts`,
    );
    expect(await isPrepared(make)).toBe(false);
    expect((await readdir(folder)).filter((made) => made !== 'modules' && made !== 'tools')).toEqual([]);
  });

  it('what is there, but no need of the project, fails too: another machine does not have it', async () => {
    vi.unstubAllEnvs();
    await expect(ensureTools(['lua'], silent)).resolves.toEqual({ lua: expect.any(String) });
    vi.stubEnv('DAVIT_NEEDS', 'helm');
    await expect(ensureTools(['lua'], silent)).rejects.toThrow(NotPreparedError);
  });

  it('what could not be prepared says why', () => {
    vi.stubEnv('DAVIT_NOT_PREPARED', undefined);
    noteFailure('kubernetes', 'Go is missing.');
    expect(() => refuseWithinTests('kubernetes')).toThrow('kubernetes could not be prepared: Go is missing.');
  });
});

it('the tests of every project are prepared for', () => {
  const projects = (config.test?.projects ?? []).map((project) =>
    typeof project === 'object' && 'test' in project ? project.test : undefined,
  );
  expect(new Set(projects.map((project) => project?.name))).toEqual(new Set(Object.keys(needs)));
  for (const project of projects) expect(project?.globalSetup?.[0]).toBe('test/support/prepare-project.ts');
});

it('what is left to --whole is there', async () => {
  for (const file of Object.keys(LEFT_TO_WHOLE))
    await expect(access(join(import.meta.dirname, '../..', file))).resolves.toBeUndefined();
});
