// What a command reads where the routes run in its own process: what it needs, and no more.

import { expect, it } from 'vitest';
import { aRecord } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';

/** Verb and kind of each read, without what every command reads: the settings and who asks. */
async function readsOf(args: readonly string[]): Promise<string[]> {
  const cli = makeOwnCli({ record: aRecord() });
  const reads: string[] = [];
  cli.kube.failOn(({ verb, kind }) => {
    if ((verb === 'get' || verb === 'list') && kind !== 'ConfigMap') reads.push(`${verb} ${kind}`);
    return undefined;
  });
  expect((await cli.run(args)).code).toBe(0);
  return [...new Set(reads)].toSorted();
}

const OF_ONE = ['get AppDeployment', 'get Namespace', 'list AppRevision'];
const OFFERED = ['list AppTemplate', 'list CodeHostIntegration', 'list Listener'];

it('a look at one deployment reads it alone, with its revisions', async () => {
  expect(await readsOf(['env', 'shop', 'list'])).toEqual(OF_ONE);
});

it('a change also reads what it may name', async () => {
  expect(await readsOf(['env', 'shop', 'set', 'A=1'])).toEqual([...OF_ONE, ...OFFERED].toSorted());
});

it('the platform is shown without a deployment being read', async () => {
  expect(await readsOf(['platform'])).toEqual(['get Namespace', ...OFFERED]);
});
