// `rollback`: what it says before it asks, and what the API then stores.

import { describe, expect, it } from 'vitest';
import { aRecord, aRevision, UID } from '../../../test/support/builders.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { names } from '../../deploy/record/names.ts';
import { serialRevisionId } from '../../deploy/record/revision-id.ts';
import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';

const imageAt = (tag: number): Partial<AppDeploymentSpec> => ({
  sourceRevisionConfig: { imageUri: `registry.example/shop:${tag}` },
});
const made = (serial: number, spec: Partial<AppDeploymentSpec> = {}): AppRevision =>
  aRevision(aRecord({ ...imageAt(serial), ...spec }), 'DEPLOYED', serial);
const called = (serial: number): string => names('shop').revision(serialRevisionId(UID, serial));
const own = (revisions: readonly AppRevision[], spec: Partial<AppDeploymentSpec> = {}): ReturnType<typeof makeOwnCli> =>
  makeOwnCli({ record: aRecord({ ...imageAt(2), revisionSerial: 2, ...spec }), revisions });

describe('rollback', () => {
  it('says what changes, names of secrets alone, and writes the old values with a new serial', async () => {
    const secret = (name: string, secretName: string) => ({ name, secretName, secretKey: name });
    const before = made(1, { secrets: [secret('KEY', 'shop--vars-1'), secret('OLD', 'shop--vars-1')] });
    const now: Partial<AppDeploymentSpec> = {
      secrets: [secret('KEY', 'shop--vars-2'), secret('NEW', 'shop--vars-2')],
      sourceConfig: {
        customUrl: 'https://shop.example.com',
        env: [{ name: 'LOG_LEVEL', value: 'debug' }],
        resourceSpec: { queueMaxScale: 2 },
        runtime: { workers: { mail: { command: ['mail'] } } },
      },
    };
    const cli = own([made(2, now), before], now);
    const { code, out, err } = await cli.run(['rollback', 'shop']);
    expect([code, err, out.split('\n').map((line) => line.trimEnd())]).toEqual([
      0,
      '',
      [
        `What changes from ${called(2)}, the newest revision:`,
        '  env.LOG_LEVEL                     removed: debug',
        '  parts                             server, queue, mail -> server',
        '  runtime.workers.mail.command      removed: ["mail"]',
        '  secrets.KEY                       changed',
        '  secrets.NEW                       removed',
        '  secrets.OLD                       added',
        '  source_revision_config.image_uri  registry.example/shop:2 -> registry.example/shop:1',
        `shop is being rolled back to ${called(1)} (registry.example/shop:1) as ${called(3)}; the number of pods stays the same, queue is removed, mail is removed. To follow the rollout: kubectl davit wait shop`,
      ],
    ]);
    expect(cli.stored()?.spec).toMatchObject({
      ...imageAt(1),
      revisionSerial: 3,
      rollbackTo: serialRevisionId(UID, 1),
      sourceConfig: { customUrl: 'https://shop.example.com' },
      secrets: before.spec.requested.secrets,
    });
  });

  it('says of a revision that failed that it was never deployed, and why', async () => {
    const status = { state: 'DEPLOY_FAILED', message: 'The server exited.' } as const;
    const { out } = await own([made(2), { ...made(1), status }]).run(['rollback', 'shop', '--to', called(1)]);
    expect(out.split('\n')[0]).toBe(`${called(1)} was never deployed: it is DEPLOY_FAILED. The server exited.`);
  });

  it('says that a change without a revision is given up', async () => {
    const { out } = await own([made(2), made(1)], { revisionSerial: 3 }).run(['rollback', 'shop', '--to', called(2)]);
    expect(out.split('\n').slice(0, 2)).toEqual([
      `Nothing differs from the newest revision, ${called(2)}.`,
      `The latest change has no revision yet. The rollback discards it, with all its differences from ${called(2)}.`,
    ]);
  });

  it.each<[string, readonly string[], readonly AppRevision[], RegExp]>([
    ['none was deployed before', [], [made(2)], /^No earlier revision was deployed\. /],
    [
      'none has the name',
      ['--to', 'nope'],
      [made(2)],
      /^No revision matches "nope"\. Revisions: shop--\w+ DEPLOYED\.$/,
    ],
  ])('writes nothing where %s', async (_what, args, revisions, words) => {
    const cli = own(revisions);
    expect(await cli.run(['rollback', 'shop', ...args])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(words),
    });
    expect(cli.written()).toEqual([]);
  });

  it('compares again after a change by somebody else, and says only what differs then', async () => {
    const cli = own([made(2), made(1)]);
    const api = await cli.api();
    let refusals = 0;
    const { code, out } = await cli.run(['rollback', 'shop'], {
      api: {
        ...api,
        call: (method, path, body, etag) =>
          api.call(method, path, body, method === 'POST' && (refusals += 1) === 1 ? '"other"' : etag),
      },
    });
    expect([code, refusals, out.match(/What changes/g)]).toEqual([0, 2, ['What changes']]);
    expect(cli.stored()?.spec).toMatchObject({ ...imageAt(1), revisionSerial: 3 });
  });
});
