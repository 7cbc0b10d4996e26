// What the judge of stored specs must not refuse: everything that the API server takes. What it refuses is in
// test/support/bad-records.ts, whose other doors are in test/suites/integration.

import { describe, expect, it } from 'vitest';
import {
  refusedBackups,
  refusedRestores,
  refusedRuntimes,
  refusedTasks,
  refusedVariables,
} from '../../test/support/bad-records.ts';
import { aSpec } from '../../test/support/builders.ts';
import type { AppDeploymentSpec } from './app-deployment.ts';
import { specBreaches } from './spec-rules.ts';

const aContainer = (parts: object): object => ({ sidecars: [{ name: 'helper', image: 'helper:1', ...parts }] });
const smile = '\u{1F600}';

it.each<{ name: string; resourceSpec?: object; sourceConfig?: object; more?: object }>([
  { name: 'nothing but a source' },
  {
    name: 'as many characters as there may be, each of two UTF-16 units',
    resourceSpec: aContainer({ args: [smile.repeat(8192)] }),
  },
  {
    name: 'a resource with a long name',
    resourceSpec: aContainer({ resources: { limits: { ['a'.repeat(300)]: 1 } } }),
  },
  { name: 'amounts of both kinds', resourceSpec: aContainer({ resources: { requests: { cpu: '1', memory: 5 } } }) },
  { name: 'a long name for a value', sourceConfig: { runtime: { envNames: { ['A'.repeat(300)]: 'port' } } } },
  {
    name: 'parts of a pod that have no schema',
    resourceSpec: { volumes: [{ name: 'v', emptyDir: { size: [null, {}] } }] },
  },
  { name: 'a field of a later version', more: { later: { field: 1 } }, sourceConfig: { later: true } },
  {
    name: 'a list and a map without anything',
    resourceSpec: { sidecars: [], labels: {} },
    sourceConfig: { runtime: {} },
  },
  {
    name: 'a URL with a space that is not ASCII',
    more: { source: 'internal_template' },
    sourceConfig: { repoUrl: 'https://git.example/a\u00a0b' },
  },
  { name: 'a limit that is its request', resourceSpec: { cpu: 1, cpuLimit: 1, minScale: 0, maxScale: 0 } },
])('$name is taken', ({ resourceSpec, sourceConfig, more }) => {
  const spec = { ...aSpec(), ...more, sourceConfig: { ...sourceConfig, ...(resourceSpec && { resourceSpec }) } };
  expect([...specBreaches(spec as AppDeploymentSpec)]).toEqual([]);
});

it('one character too many is refused, and nothing of the text is shown', () => {
  const resourceSpec = aContainer({ args: [smile.repeat(8193)] });
  expect([...specBreaches(aSpec({ sourceConfig: { resourceSpec } as never }))]).toEqual([
    { at: ['sourceConfig', 'resourceSpec', 'sidecars', 0, 'args', 0], message: 'must have at most 8192 characters' },
  ]);
});

describe('a davit.yaml, which no API server reads, is refused for', () => {
  const named = (names: readonly string[] = []): object => ({
    secretReferences: names.map((name) => ({ name, secretName: 'stores', secretKey: 'uri' })),
  });
  it.each([
    ...refusedRuntimes.map(({ name, runtime, secrets }) => ({ name, sourceConfig: { runtime }, more: named(secrets) })),
    ...refusedVariables.map(({ name, env, envNames, secrets }) => ({
      name,
      sourceConfig: { env, runtime: { envNames } },
      more: named(secrets),
    })),
    ...refusedTasks.map(({ name, tasks }) => ({ name, sourceConfig: { tasks } })),
    ...refusedBackups.map(({ name, part }) => ({
      name: `a backup with ${name}`,
      sourceConfig: { database: { backup: part } },
    })),
    ...refusedRestores.map(({ name, part }) => ({
      name: `a restore with ${name}`,
      sourceConfig: { database: { restore: part } },
    })),
    {
      name: 'a verification that never runs',
      sourceConfig: { database: { backup: { verifySchedule: '0 0 30 2 *' } } },
    },
  ])('$name', ({ sourceConfig, more = {} }: { sourceConfig: object; more?: object }) => {
    expect([...specBreaches({ ...aSpec(), ...more, sourceConfig } as AppDeploymentSpec)]).not.toEqual([]);
  });
});
