// What `database retained`, `adopt` and `discard` print and ask for. What is refused is decided by the routes.

import { expect, it } from 'vitest';
import { aRecord } from '../../../test/support/cli-world.ts';
import { makeOwnCli, NAMESPACE, type OwnCli } from '../../../test/support/own-cli.ts';
import { PERSISTENT_VOLUME_CLAIMS } from '../../runtime/kube/api-resources.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';

const GONE = '00000000-6f0e-4f7e-9f43-2f9d6d1c1a11';
const KEPT = [
  { type: 'Ready', status: 'False', reason: 'DatabaseKept', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
];

function withClaims(cli: OwnCli, ...claims: readonly string[]): OwnCli {
  for (const name of claims)
    cli.kube.seed(PERSISTENT_VOLUME_CLAIMS, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name,
        namespace: NAMESPACE,
        creationTimestamp: '2026-01-01T00:00:00Z',
        labels: {
          'davit.dev/deployment': 'shop',
          'davit.dev/component': 'postgres',
          'davit.dev/deployment-uid': GONE,
        },
      },
      spec: { resources: { requests: { storage: '2Gi' } } },
    } as KubeObject);
  return cli;
}

it('lists databases with their size and age', async () => {
  const cli = withClaims(makeOwnCli(), 'shop--postgres');
  const { out, code } = await cli.run(['database', 'retained']);
  expect(code).toBe(0);
  expect(out.split('\n')[1]).toMatch(/^shop +pod\/0 +shop--postgres +2\.0 GiB +\d+d +-$/);
  const { out: json } = await cli.run(['database', 'retained', '-o', 'json']);
  expect(JSON.parse(json)).toMatchObject([{ deployment_name: 'shop', number: 0, size_bytes: 2 ** 31 }]);
});

it('says so where there is none', async () => {
  expect(await makeOwnCli().run(['database', 'retained'])).toMatchObject({
    code: 0,
    out: '',
    err: expect.stringContaining('No deleted deployment has left a database') as string,
  });
});

it('adopts the database of the name', async () => {
  const cli = withClaims(
    makeOwnCli({ record: aRecord({}, { state: 'AWAITING_DATABASE', conditions: KEPT }) }),
    'shop--postgres',
  );
  const { code, out } = await cli.run(['database', 'adopt', 'shop']);
  expect([code, out]).toEqual([0, expect.stringMatching(/^shop adopts database pod\/0 \(shop--postgres\)/)]);
  expect(cli.stored()?.metadata.annotations?.['davit.dev/adopt-database']).toBe(GONE);
});

it('of several, the one for which the deployment waits', async () => {
  const status = { state: 'AWAITING_DATABASE', conditions: KEPT, databaseNumber: 1 } as const;
  const cli = withClaims(makeOwnCli({ record: aRecord({}, status) }), 'shop--postgres', 'shop---pg1');
  expect((await cli.run(['database', 'adopt', 'shop'])).out).toMatch(/^shop adopts database pod\/1 \(shop---pg1\)/);
  expect(await cli.run(['database', 'adopt', 'shop', '--number', '0'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('waits for database 1') as string,
  });
});

it('deletes one after its name was typed', async () => {
  const cli = withClaims(makeOwnCli(), 'shop--postgres');
  const claims = (): number => cli.kube.objects(PERSISTENT_VOLUME_CLAIMS).length;
  expect(await cli.run(['database', 'discard', 'shop'], { answers: ['no'] })).toMatchObject({ code: 1 });
  expect(await cli.run(['database', 'discard', 'shop'])).toMatchObject({ code: 2 });
  expect(claims()).toBe(1);
  const { code, err } = await cli.run(['database', 'discard', 'shop'], { answers: ['shop'] });
  expect([code, claims(), err]).toEqual([0, 0, expect.stringContaining('shop--postgres, 2.0 GiB')]);
});

it('asks which of several is meant', async () => {
  const cli = withClaims(makeOwnCli(), 'shop--postgres', 'shop---pg1');
  expect(await cli.run(['database', 'discard', 'shop', '--yes'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('Choose one by its number') as string,
  });
  expect(await cli.run(['database', 'discard', 'shop', '--yes', '--number', '1'])).toMatchObject({ code: 0 });
  expect(cli.kube.objects(PERSISTENT_VOLUME_CLAIMS).map(({ metadata }) => metadata.name)).toEqual(['shop--postgres']);
});

it.each([
  [['adopt'], 2, 'adopt needs the name of a deployment'],
  [['move'], 2, 'move needs the name of a deployment'],
  [['adopt', 'shop'], 1, 'No deleted deployment shop has left a database'],
  [['discard', 'shop', '--number', '3', '--yes'], 1, 'has left database 3'],
])('refuses %j', async (words, code, says) => {
  expect(await makeOwnCli().run(['database', ...words])).toMatchObject({
    code,
    err: expect.stringContaining(says) as string,
  });
});
