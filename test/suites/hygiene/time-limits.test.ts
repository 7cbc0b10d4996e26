// A machine may be busy with other work: no test that only computes ends because of that, and none that waits for a cluster gives up early.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import config from '../../../vitest.config.ts';
import { LEFT_TO_WHOLE } from '../../support/usual.ts';

const root = join(import.meta.dirname, '../../..');
/** So much more than a unit test takes that load alone does not reach it. */
const PATIENT_MS = 60_000;

const projects = (config.test?.projects ?? []).flatMap((project) =>
  typeof project === 'object' && 'test' in project && project.test ? [project.test] : [],
);
const filesOf = (name: string): string[] => {
  const project = projects.find((one) => one.name === name);
  return globSync(project?.include ?? [], { cwd: root }).filter(
    (file) => file in LEFT_TO_WHOLE || !project?.exclude?.includes(file),
  );
};
const unit = projects.find((project) => project.name === 'unit');
const files = filesOf('unit');
/** Of `npm test`, whole or not: those that wait for clusters, which four lanes keep busy. */
const WITH_CLUSTERS = ['integration', 'clusters', 'platforms', 'e2e', 'pods'];
const number = (text: string): number => Number(text.replaceAll('_', ''));

it('the limit of unit tests and their hooks is patient', () => {
  expect(unit?.testTimeout).toBeGreaterThanOrEqual(PATIENT_MS);
  expect(unit?.hookTimeout).toBeGreaterThanOrEqual(PATIENT_MS);
});

it.each(projects.map((project) => [project.name, project] as const))('%s polls patiently', (_name, project) => {
  expect(project.expect?.poll?.timeout).toBeGreaterThanOrEqual(PATIENT_MS);
});

it('no test with a cluster waits only for as long as a busy machine takes', () => {
  const clustered = WITH_CLUSTERS.flatMap(filesOf);
  const findings = clustered.flatMap((file) =>
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(
        /\n *\},(?: |\n *)(\d[\d_]{3,})(?:,\n *)?\);|eventually\(.*, (\d[\d_]{3,})\);|\btimeout: (\d[\d_]{2,})/g,
      ),
    ]
      .filter(([, after, within = after, named = within]) => number(named ?? '0') < PATIENT_MS)
      .map(([found]) => `${file}: ${found.trim()}`),
  );
  expect(clustered.length).toBeGreaterThan(30);
  expect(findings).toEqual([]);
});

it('no unit test has a limit or waits for a time that a busy machine takes', () => {
  const findings = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const limits = [...text.matchAll(/\n *\},(?: |\n *)(\d[\d_]{4,})(?:,\n *)?\);|timeout: (\d[\d_]{2,})/g)]
      .filter(([, after = '', named = after]) => number(named) < PATIENT_MS)
      .map(([found]) => found.trim());
    // The default is a second.
    const waits = [...text.matchAll(/vi\.wait(?:For|Until)\(.*\);$/gm)]
      .map(([found]) => found)
      .filter((found) => number(/(?:, |timeout: )(\d[\d_]+)(?:,.*\})?\);$/.exec(found)?.[1] ?? '0') < PATIENT_MS)
      .filter((found) => !/timeout: 60_000/.test(found));
    return [...limits, ...waits].map((found) => `${file}: ${found}`);
  });
  expect(findings).toEqual([]);
});

it('what a unit test measures is the time of the processor, or far from its limit', () => {
  const findings = files.flatMap((file) =>
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(
        /(?:performance|Date)\.now\(\) - \w+\)[^;]*toBeLessThan\(([\d_]+)\)/g,
      ),
    ]
      .filter(([, ms = '']) => number(ms) < 5000)
      .map(([found]) => `${file}: ${found}`),
  );
  expect(files.length).toBeGreaterThan(100);
  expect(findings).toEqual([]);
});
