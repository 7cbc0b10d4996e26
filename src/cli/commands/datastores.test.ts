// The versions of datastores, of one tenant and of the platform, and the operations that patch them.

import { describe, expect, it } from 'vitest';
import { aRecord, type CliRan, runCli } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import type { AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../kinds/datastore-operation.ts';
import type { Kubectl } from '../transport/kubectl.ts';

const POSTGRES = { image: 'postgres:17.5-trixie', version: '17.5', available: 'postgres:17.6-trixie' };
const REDIS = { image: 'valkey:8.1.9-trixie', version: '8.1.9', available: 'valkey:8.1.10-trixie' };
const BOTH: AppDeploymentStatus['datastores'] = { postgres: POSTGRES, redis: REDIS };

async function datastores(
  args: readonly string[],
  there: AppDeploymentStatus['datastores'] = BOTH,
): Promise<CliRan & { readonly operations: readonly unknown[] }> {
  const cli = makeOwnCli({ record: aRecord({}, { ...(there && { datastores: there }) }) });
  const ran = await cli.run(['datastores', ...args]);
  // Their names are random.
  const made = cli.kube
    .objects<DatastoreOperation>(DATASTORE_OPERATIONS)
    .toSorted((a, b) => (`${a.spec.patch?.datastore}` < `${b.spec.patch?.datastore}` ? -1 : 1));
  return { ...ran, operations: made.map(({ spec: { action, patch, accept } }) => ({ action, patch, accept })) };
}

const PATCHED = { action: 'Patch', patch: { datastore: 'postgres' }, accept: ['NoBackup'] };

it('lists versions, images and what a patch brings', async () => {
  const { out } = await datastores([]);
  expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['NAME', 'DATASTORE', 'VERSION', 'UP', 'IMAGE', 'PATCH'],
    ['shop', 'postgres', '17.5', '-', POSTGRES.image, POSTGRES.available],
    ['shop', 'redis', '8.1.9', '-', REDIS.image, REDIS.available],
  ]);
  expect((await datastores(['--datastore', 'redis'])).out).not.toContain('postgres');
});

describe('patch', () => {
  it.each([[['shop']], [['--all']]])('%j creates an operation for PostgreSQL and ends', async (which) => {
    const ran = await datastores(['patch', ...which, '--accept', 'NoBackup']);
    expect(ran).toMatchObject({
      code: 0,
      out: '1 operation was created. To see the progress: kubectl get dsop',
      err: '1 Redis was left out, because a restart loses the queue. To patch them too: --accept QueueLost',
      operations: [PATCHED],
    });
  });

  it('takes Redis along where its loss is accepted, and gives each the losses that concern it', async () => {
    const { operations } = await datastores(['patch', '--all', '--accept', 'NoBackup', '--accept', 'QueueLost']);
    expect(operations).toEqual([PATCHED, { action: 'Patch', patch: { datastore: 'redis' }, accept: ['QueueLost'] }]);
  });

  it('says why one is refused, and fails', async () => {
    const ran = await datastores(['patch', 'shop']);
    expect(ran).toMatchObject({ code: 1, operations: [], out: expect.stringMatching(/^No operation/) as string });
    expect(ran.err).toContain('shop: No backup of shop was verified in the last 24 hours.');
  });

  it('does nothing where nothing is behind', async () => {
    const ran = await datastores(['patch', '--all'], { postgres: { image: POSTGRES.available } });
    expect(ran).toMatchObject({ code: 0, err: '', operations: [] });
  });

  it.each([
    [['patch'], /needs the names of deployments, or --all/],
    [['patch', 'shop', '--all'], /needs the names of deployments, or --all/],
    [['--all'], /are for patch/],
    [['upgrade', 'shop'], /patch/],
    [['patch', 'shop', '--accept', 'AllLost'], /NoBackup/],
  ])('%j is refused', async (args, words) => {
    expect(await datastores(args)).toMatchObject({ code: 2, err: expect.stringMatching(words) as string });
  });

  it('of a deployment that is not there names one that is near', async () => {
    expect((await datastores(['patch', 'shopp', '--accept', 'NoBackup'])).err).toContain('Did you mean shop?');
  });
});

describe('the whole platform', () => {
  const items = ['team', 'other'].map((namespace) =>
    aRecord({}, { datastores: { postgres: POSTGRES } }, { namespace }),
  );
  async function everywhere(args: readonly string[]): Promise<CliRan & { readonly created: readonly unknown[] }> {
    const created: unknown[] = [];
    const kubectl: Kubectl = async (words, input = '') => {
      if (words[0] === 'get') return JSON.stringify({ items });
      created.push(JSON.parse(input));
      return 'datastoreoperation.davit.dev/shop-x7k2p\n';
    };
    return { ...(await runCli(['datastores', ...args, '-A'], { kubectl })), created };
  }

  it('is listed with the namespaces', async () => {
    const { out, asked } = await everywhere([]);
    expect(out.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
      ['NAMESPACE', 'NAME', 'DATASTORE'],
      ['team', 'shop', 'postgres'],
      ['other', 'shop', 'postgres'],
    ]);
    expect(asked).toEqual(['get appdeployments.davit.dev --all-namespaces -o json']);
  });

  it('is patched with an operation in each namespace', async () => {
    const { code, created } = await everywhere(['patch', '--all', '--accept', 'NoBackup']);
    expect([code, created]).toMatchObject([
      0,
      ['team', 'other'].map((namespace) => ({
        kind: 'DatastoreOperation',
        metadata: { generateName: 'shop-', namespace },
        spec: { deployment: 'shop', ...PATCHED },
      })),
    ]);
  });
});
