import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NAME_MAX_LENGTH, NAME_PATTERN } from '../../kinds/name-patterns.ts';

import { DNS_LABEL_PATTERN } from '../../kinds/primitives.ts';
import { names, revisionName } from './names.ts';

const recordName = fc
  .stringMatching(new RegExp(NAME_PATTERN))
  .filter((name) => name.length <= NAME_MAX_LENGTH && !name.includes('--'));
const id = fc.uuid();
const suffix = fc.stringMatching(/^[a-z0-9]{1,16}$/);

function everyName(record: string, revision: string, variables: string): string[] {
  const made = names(record);
  return [
    made.server,
    made.service,
    made.queue,
    made.orchestrator,
    made.executor,
    made.redis,
    made.redisService,
    made.redisSecret,
    made.postgres,
    made.postgresService,
    made.postgresSecret,
    made.postgresClaim,
    made.networkPolicies.server,
    made.address,
    made.certificate,
    made.networkPolicies.postgres,
    made.networkPolicies.redis,
    made.tracingProject,
    made.revision(revision),
    made.longRevision(revision),
    made.migration(revision),
    made.run(variables),
    made.variables(variables),
    made.run(variables),
  ];
}

it('names every part of a record', () => {
  const { revision, longRevision, migration, part, task, run, variables, ...fixed } = names('shop');
  expect(fixed).toEqual({
    server: 'shop',
    service: 'shop',
    queue: 'shop--queue',
    orchestrator: 'shop--orchestrator',
    executor: 'shop--executor',
    redis: 'shop--redis',
    redisService: 'shop--redis',
    redisSecret: 'shop--redis',
    postgres: 'shop--postgres',
    postgresService: 'shop--postgres',
    postgresSecret: 'shop--postgres',
    postgresClaim: 'shop--postgres',
    networkPolicies: { server: 'shop--server', postgres: 'shop--postgres', redis: 'shop--redis' },
    address: 'shop',
    databaseNumber: 0,
    backup: 'shop---backup',
    restore: 'shop---restore',
    verification: 'shop---verify',
    certificate: 'shop--tls',
    tracingProject: 'shop',
  });
  expect(revision('0F8FAD5B-d9cb-469f-a165-70867728950e')).toBe('shop--0f8fad5b');
  expect(longRevision('0F8FAD5B-d9cb-469f-a165-70867728950e')).toBe('shop--0f8fad5bd9cb469f');
  expect(migration('0F8FAD5B-d9cb-469f-a165-70867728950e')).toBe('shop--migrate-0f8fad5b');
  expect(task('clean')).toBe('shop--clean');
  expect(['server', 'queue', 'scheduler', 'constructor'].map(part)).toEqual([
    'shop',
    'shop--queue',
    'shop--scheduler',
    'shop--constructor',
  ]);
  expect(run('x7k2')).toBe('shop--run-x7k2');
  expect(variables('x7k2')).toBe('shop--vars-x7k2');
  expect(run('x7k2')).toBe('shop--run-x7k2');
});

it('makes DNS labels of at most 63 characters, for StatefulSets of at most 52', () => {
  fc.assert(
    fc.property(recordName, id, suffix, (record, revision, variables) => {
      for (const name of everyName(record, revision, variables)) {
        expect(name).toMatch(new RegExp(DNS_LABEL_PATTERN));
        expect(name.length).toBeLessThanOrEqual(63);
      }
      expect(names(record).redis.length).toBeLessThanOrEqual(52);
      expect(names(record).postgres.length).toBeLessThanOrEqual(52);
      expect(names(record).part(`w${'x'.repeat(39)}`).length).toBeLessThanOrEqual(52);
    }),
  );
});

it('never makes the same name for two records', () => {
  // Pairs that share a beginning are where a careless separator would fail.
  const pair = fc.oneof(
    fc.tuple(recordName, recordName),
    fc
      .tuple(recordName, fc.constantFrom('-queue', '-redis', '-vars-a', '-postgres'))
      .map(([a, end]) => [a, `${a}${end}`.slice(0, 40)] as const),
  );
  fc.assert(
    fc.property(pair, id, id, suffix, suffix, ([a, b], revisionA, revisionB, suffixA, suffixB) => {
      fc.pre(a !== b && !b.endsWith('-'));
      const ofA = new Set(everyName(a, revisionA, suffixA));
      expect(everyName(b, revisionB, suffixB).filter((name) => ofA.has(name))).toEqual([]);
    }),
  );
});

it('keeps kinds of the same record apart: no Secret is named like another', () => {
  fc.assert(
    fc.property(recordName, suffix, (record, variables) => {
      const made = names(record);
      expect(new Set([made.postgresSecret, made.redisSecret, made.certificate, made.variables(variables)]).size).toBe(
        4,
      );
      const deployments = [made.server, made.queue, made.orchestrator, made.executor, made.part('mailer')];
      expect(new Set(deployments).size).toBe(deployments.length);
    }),
  );
});

it('the newer of two revisions with the same first digits has more of them', () => {
  const id = '0F8FAD5B-0000-4000-8000-000000000003';
  expect(revisionName('shop', id, (name) => name === 'shop--0f8fad5b')).toBe('shop--0f8fad5b00004000');
  expect(revisionName('shop', id, () => false)).toBe('shop--0f8fad5b');
});
