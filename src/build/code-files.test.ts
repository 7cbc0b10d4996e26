import { expect, it } from 'vitest';
import type { Caches } from '../deploy/cluster/caches.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import { Settings } from '../kinds/settings.ts';
import { makeCodeFileReader, makeCodeFiles } from './code-files.ts';

const settings = Settings.parse({});
const need = { id: 'r1', path: 'davit.yaml' };

function record(name: string): AppDeployment {
  return {
    metadata: { name, namespace: 'team', uid: `uid-${name}` },
    spec: { sourceConfig: { repoUrl: 'https://git.example/a' }, sourceRevisionConfig: {} },
  } as AppDeployment;
}

it('reads the file of every record, however many ask at once', async () => {
  const all = Array.from({ length: 1001 }, (_, at) => record(`d${at}`));
  const byKey = new Map(all.map((one) => [`team/${one.metadata.name}`, one]));
  const files = makeCodeFiles(settings);
  const asked: string[] = [];
  const woken = new Set<string>();
  const reconcile = makeCodeFileReader({
    files,
    caches: { records: { get: ({ name = '' }) => byKey.get(`team/${name}`) } } as unknown as Caches,
    sources: {
      commit: async () => ({ commit: 'c0ffee' }),
      file: async () => ({ problem: 'does not exist' }),
    } as never,
    settings,
    elapsed: () => 0,
    onChange: (key) => woken.add(key),
  });
  for (const one of all) files.lookup(one, need, (key) => asked.push(key));
  for (const key of asked) await reconcile(key, new AbortController().signal, undefined as never);
  expect([...byKey.keys()].filter((key) => !woken.has(key))).toEqual([]);
});

it('keeps nothing of a record that is gone', async () => {
  const files = makeCodeFiles(settings);
  const reconcile = makeCodeFileReader({
    files,
    caches: { records: { get: () => undefined } } as unknown as Caches,
    sources: {} as never,
    settings,
    elapsed: () => 0,
    onChange: () => undefined,
  });
  files.lookup(record('gone'), need, () => undefined);
  await reconcile('team/gone', new AbortController().signal, undefined as never);
  expect(files.wantedBy('team/gone')).toBeUndefined();
});
