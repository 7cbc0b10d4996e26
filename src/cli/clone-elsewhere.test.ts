// What `clone --to-namespace` asks of which namespace, in which order, and what is left when it fails.

import { describe, expect, it } from 'vitest';
import { aRevision } from '../../test/support/builders.ts';
import {
  answering,
  aRecord,
  type CliRan,
  type CliWorld,
  makeInstantClock,
  runCli,
} from '../../test/support/cli-world.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { CLONING_ANNOTATION } from '../schema/meta.ts';
import type { HttpApi } from './http-api.ts';
import { Failure } from './kubectl.ts';
import { RECORDS } from './records.ts';

const MANIFEST = {
  name: '20260202T000000Z-0123abcd',
  takenAt: '2026-02-02T00:00:00Z',
  sizeBytes: 10,
  sha256: 'a'.repeat(64),
  serverVersion: 170_004,
};
const shell = { name: 'davit-dump', image: 'registry.example/postgres:17', env: [{ name: 'PGPASSWORD' }] };
const upload = {
  name: 'davit-upload',
  image: 'registry.example/davit:1',
  args: ['backup', 'send', '--store={}', '--folder=/backup', '--credentials=/store', '--namespace=team', '--keep=7'],
};
const CRON_JOB = {
  spec: { jobTemplate: { spec: { template: { spec: { initContainers: [shell], containers: [upload] } } } } },
};
const SECRETS = [{ name: 'KEY', secretName: 'shop--vars-1', secretKey: 'KEY' }];
const origin = aRecord(
  { secrets: SECRETS, sourceConfig: { resourceSpec: { minScale: 2, maxScale: 4 } } },
  { databaseBackup: { name: MANIFEST.name } },
);

interface Stage {
  /** What is in the other namespace at the beginning, by kind and name. */
  readonly there?: Map<string, unknown>;
  readonly origin?: AppDeployment;
  /** server_version_num there. */
  readonly version?: number;
  readonly fails?: 'pipe' | 'fetch' | 'load';
  /** What the other namespace says of a record that is only tried. */
  readonly refuses?: string;
  /** Verb and kind for which the caller has no right there. */
  readonly lacks?: string;
  readonly clock?: CliWorld['clock'];
  /** The database of the clone does not answer, and nothing is wrong. */
  readonly starts?: boolean;
  /** What the pipe is given. */
  readonly onPipe?: (piped: Parameters<NonNullable<CliWorld['pipe']>>[0]) => void;
  readonly onInterrupt?: CliWorld['onInterrupt'];
  /** Called before each kubectl. */
  readonly onKubectl?: (what: string) => void;
  /** Labels of the other namespace; null: there is none; undefined: the caller may not look. */
  readonly labels?: Readonly<Record<string, string>> | null;
}

interface Made {
  readonly kind: string;
  readonly metadata: { readonly name?: string };
}

interface Played extends CliRan {
  /** What was written where: the namespace, the verb, and the object or its name. */
  readonly writes: readonly { readonly namespace: string; readonly verb: string; readonly what: string }[];
  readonly written: readonly Made[];
  readonly patches: readonly unknown[];
  readonly sent: readonly string[];
  readonly piped: readonly string[];
}

function jobSays(job: string, { fails }: Stage, ended: boolean): object {
  const failed = (fails === 'fetch' && job.includes('team')) || (fails === 'load' && ended);
  if (failed) return { status: { conditions: [{ type: 'Failed', status: 'True', message: 'It failed.' }] } };
  return ended ? { status: { conditions: [{ type: 'Complete', status: 'True' }] } } : {};
}

/** A cluster with two namespaces, in which Jobs run as soon as they are made, and the loading one ends when its sum was sent. */
async function clone(args: readonly string[], stage: Stage = {}): Promise<Played> {
  const own = stage.origin ?? origin;
  const writes: Played['writes'][number][] = [];
  const written: Made[] = [];
  const patches: unknown[] = [];
  const sent: string[] = [];
  const piped: string[] = [];
  const there = stage.there ?? new Map<string, unknown>();
  const get = (namespace: string, kind: string, name: string): unknown => {
    if (kind === 'apprevisions.davit.dev') {
      const uid = namespace === 'team' ? own.metadata.uid : 'there';
      const { spec, ...revision } = aRevision(own, 'DEPLOYED');
      return { items: [{ ...revision, spec: { ...spec, deploymentUid: uid } }] };
    }
    if (kind === 'pods') {
      const state = { name: 'davit-restore', state: { running: {} } };
      return { items: [{ metadata: { name: `pod-${namespace}` }, status: { containerStatuses: [state] } }] };
    }
    if (kind === 'jobs.batch')
      return jobSays(name, stage, namespace === 'staging' && sent.some((one) => one.includes('.part')));
    if (namespace === 'staging') return there.get(`${kind}/${name}`);
    if (kind === RECORDS) return own;
    if (kind === 'cronjobs.batch') return CRON_JOB;
    return { data: { KEY: 'c2VjcmV0', OTHER: 'bm8=' } };
  };
  const ran = await runCli(['clone', 'shop', '--namespace=team', ...args], {
    ...(stage.clock && { clock: stage.clock }),
    ...(stage.onInterrupt && { onInterrupt: stage.onInterrupt }),
    kubectl: async (words, input = '', flags = []) => {
      const namespace = flags.includes('--namespace=team') ? 'team' : 'staging';
      const [verb = '', kind = '', name = ''] = words;
      if (verb === 'auth') return '{"status": {"userInfo": {"username": "anna"}}}';
      const what = verb === 'create' ? (JSON.parse(input) as Made).kind : kind;
      stage.onKubectl?.(`${namespace} ${verb} ${what}`);
      if (namespace === 'staging' && stage.lacks === `${verb} ${what}`)
        throw new Failure(
          `Error from server (Forbidden): ${what} is forbidden: User "anna" cannot ${verb} resource "${what}" in API group "" in the namespace "staging"`,
        );
      if (kind === 'namespace') {
        if (stage.labels === undefined) throw new Failure('Error from server (Forbidden): namespaces is forbidden');
        return stage.labels === null ? '' : JSON.stringify({ metadata: { name, labels: stage.labels } });
      }
      if (verb === 'get') {
        const found = get(namespace, kind, name);
        if (words.includes('name')) return found === undefined ? '' : `${kind}/${name}`;
        return found === undefined ? '' : JSON.stringify(found);
      }
      if (verb === 'exec') {
        const script = words.at(-1) ?? '';
        if (script.endsWith('/manifest')) return JSON.stringify(MANIFEST);
        if (script.includes('server-version')) return `${stage.version ?? 170_006}\n`;
        if (namespace === 'staging') sent.push(`${script} < ${input}`);
        return script.endsWith('/fetched') ? '{"from": "shop"}' : '';
      }
      if (verb === 'patch') patches.push(JSON.parse(words.at(-1) ?? ''));
      if (verb !== 'create') {
        writes.push({ namespace, verb, what: `${kind}/${name}` });
        return '';
      }
      const made = JSON.parse(input) as Made;
      if (words.includes('--dry-run=server')) {
        if (stage.refuses !== undefined) throw new Failure(stage.refuses);
        return '';
      }
      written.push(made);
      writes.push({ namespace, verb, what: made.kind });
      if (made.kind === 'AppDeployment')
        there.set(`${RECORDS}/${made.metadata.name}`, {
          ...made,
          metadata: { ...made.metadata, uid: 'there', generation: 1, resourceVersion: '7' },
          status: stage.starts ? {} : { conditions: [{ type: 'DatabaseReady', status: 'True' }] },
        });
      return JSON.stringify({ metadata: { name: `job-in-${namespace}` } });
    },
    pipe: async (given) => {
      const { from, to } = given;
      stage.onPipe?.(given);
      piped.push(from.join(' '), to.join(' '));
      if (stage.fails === 'pipe') throw new Error('the connection was lost');
      return 10;
    },
  });
  return { ...ran, writes, written, patches, sent, piped };
}

const ORDER = ['team create Job', 'staging create Secret', 'staging create AppDeployment', 'staging create Job'];
const orderOf = ({ writes }: Played): string[] =>
  writes.map(({ namespace, verb, what }) => `${namespace} ${verb} ${what}`);
const into = ['--to-namespace=staging'];

it.each([
  [
    'Error from server (NotFound): error when creating "STDIN": namespaces "staging" not found',
    'Nothing was created: there is no namespace staging. Create it first, or name another one with --to-namespace.',
  ],
  [
    'Error from server (Forbidden): error when creating "STDIN": appdeployments.davit.dev is forbidden: User "anna" cannot create resource "appdeployments" in API group "davit.dev" in the namespace "staging"',
    'Nothing was created: namespace staging does not take the clone. You may not create appdeployments in namespace staging, which the clone needs. Have an administrator give you the right there (docs/tenants.md, "Rights").',
  ],
  [
    'Error from server (Forbidden): error when creating "STDIN": admission webhook denied the request',
    'Nothing was created: namespace staging does not take the clone. Error from server (Forbidden): error when creating "STDIN": admission webhook denied the request',
  ],
])('asks the other namespace before anything is done: %s', async (refuses, err) => {
  const { code, err: said, writes, asked } = await clone(into, { refuses });
  expect([code, said, writes]).toEqual([1, err, []]);
  expect(asked.filter((one) => / get (secret|cronjobs)/.test(one))).toEqual([]);
});

it('tells a caller without any right there so, in the words of the command', async () => {
  const { code, err, writes } = await clone(into, { lacks: `get ${RECORDS}` });
  expect([code, err, writes]).toEqual([
    1,
    'Nothing was created: namespace staging is not there, is no tenant, or is none in which you may use deployments. Name another one with --to-namespace, or have an administrator give you the rights there (docs/tenants.md, "Rights").',
    [],
  ]);
});

it.each(['create Secret', 'create Job'])('names the right that is lacking there later: %s', async (lacks) => {
  const { code, err } = await clone(into, { lacks });
  expect([code, err]).toEqual([1, expect.stringContaining(`You may not ${lacks} in namespace staging, `)]);
});

it('says at an interruption that nothing was created until the first object is written', async () => {
  const sentences: (() => string | undefined)[] = [];
  const said: [string, string][] = [];
  await clone(into, {
    onInterrupt: (sentence) => void sentences.push(sentence),
    onKubectl(what) {
      // An interruption removes the Job that fetches.
      if (what === 'team delete jobs.batch') return;
      said.push([what, sentences.flatMap((sentence) => sentence() ?? []).join('\n')]);
    },
  });
  const first = said.findIndex(([what]) => what === 'staging create Secret');
  expect(first).toBeGreaterThan(0);
  expect(new Set(said.slice(0, first).map(([, words]) => words))).toEqual(new Set(['Nothing was created.']));
  expect(new Set(said.slice(first).map(([, words]) => words))).toEqual(
    new Set(['shop in namespace staging is not finished. To go on, run the command again.']),
  );
});

describe('the other namespace is looked at before anything is written', () => {
  it.each([
    [
      'is no tenant',
      {},
      'Nothing was created: namespace staging is no tenant, so Davit runs nothing in it. A cluster administrator makes it one: kubectl label namespace staging davit.dev/tenant=true',
    ],
    [
      'is not there',
      null,
      'Nothing was created: there is no namespace staging. Create it first, or name another one with --to-namespace.',
    ],
  ])('one that %s', async (_is, labels, err) => {
    const played = await clone(into, { labels });
    expect([played.code, played.err, played.writes]).toEqual([1, err, []]);
  });

  it('one that the caller may not look at, and a tenant', async () => {
    expect((await clone(into, {})).code).toBe(0);
    expect((await clone(into, { labels: { 'davit.dev/tenant': 'true' } })).code).toBe(0);
  });
});

describe('a clone in another namespace', () => {
  it('gets the values, starts with its stores alone, then the data, and then its pods', async () => {
    const played = await clone(into);
    expect([played.code, played.out]).toEqual([
      0,
      `shop is created in namespace staging as shop is now. Its data is that of backup ${MANIFEST.name}, of ${MANIFEST.takenAt}. To follow it: kubectl davit wait shop --namespace=staging`,
    ]);
    expect(orderOf(played)).toEqual([...ORDER, `staging patch ${RECORDS}/shop`, 'team delete jobs.batch/job-in-team']);
    const [, secret, record] = played.written as unknown as [object, { metadata: { name: string } }, AppDeployment];
    expect(secret).toMatchObject({ metadata: { namespace: 'staging' }, data: { KEY: 'c2VjcmV0' }, immutable: true });
    expect(secret).not.toHaveProperty('data.OTHER');
    expect(record.spec.secrets).toEqual([{ name: 'KEY', secretName: secret.metadata.name, secretKey: 'KEY' }]);
    expect(record.spec.sourceConfig).toEqual({ resourceSpec: { minScale: 0, maxScale: 0 } });
    expect(record.metadata).toMatchObject({ name: 'shop', namespace: 'staging' });
    expect(played.patches).toEqual([
      {
        metadata: {
          resourceVersion: '7',
          annotations: { 'davit.dev/requested-by': 'there 2 anna', [CLONING_ANNOTATION]: null },
        },
        spec: { sourceConfig: { resourceSpec: { minScale: 2, maxScale: 4 } } },
      },
    ]);
    expect(played.piped).toEqual([
      '--namespace=team exec pod-team --container=davit-restore -- cat /backup/dump',
      expect.stringMatching(/^--namespace=staging exec --stdin pod-staging .*cat > \/backup\/dump$/),
    ]);
    expect(played.sent.at(-1)).toContain(MANIFEST.sha256);
  });

  it('has the password of no database where the backup is fetched, and no key of the store where it is loaded', async () => {
    const { written } = await clone(into);
    const jobs = written.filter(({ kind }) => kind === 'Job').map((job) => JSON.stringify(job));
    expect(jobs).toHaveLength(2);
    expect(jobs[0]).not.toContain('PGPASSWORD');
    expect(jobs[1]).not.toMatch(/credentials|"store"/);
  });

  it('in another cluster is reached with the context, and not with the cluster and user of the first one', async () => {
    const { asked, code } = await clone([...into, '--to-context=far', '--user=me', '--to=copy']);
    expect(code).toBe(0);
    const far = asked.filter((one) => one.includes('--context=far'));
    expect(far.length).toBeGreaterThan(5);
    expect(far.every((one) => one.includes('--namespace=staging') && !one.includes('--user='))).toBe(true);
    expect(asked.filter((one) => one.includes('--namespace=team')).every((one) => one.includes('--user=me'))).toBe(
      true,
    );
  });

  it.each([
    ['planted by somebody else', { generation: 1, annotations: { 'davit.dev/requested-by': 'new 1 mallory' } }],
    ['without an author', { generation: 1, annotations: {} }],
    ['changed by somebody else', { generation: 2, annotations: { 'davit.dev/requested-by': 'new 1 anna' } }],
  ])('that was begun, and is %s, gets no data and no pods', async (_what, { generation, annotations }) => {
    const cloning = JSON.stringify({ uid: origin.metadata.uid });
    const metadata = { name: 'shop', namespace: 'staging', uid: 'there', generation };
    const planted = {
      ...origin,
      metadata: { ...metadata, annotations: { ...annotations, [CLONING_ANNOTATION]: cloning } },
    };
    const played = await clone(into, { there: new Map([[`${RECORDS}/shop`, planted]]) });
    expect([played.code, played.writes]).toEqual([1, []]);
    expect(played.err).toContain('was begun or changed by somebody else');
  });

  it('that was interrupted is finished by the same command, with what it has', async () => {
    const cloning = JSON.stringify({ uid: origin.metadata.uid, minScale: 2 });
    const mine = { 'davit.dev/requested-by': 'new 1 anna' };
    const begun = {
      ...origin,
      metadata: {
        name: 'shop',
        namespace: 'staging',
        uid: 'there',
        generation: 1,
        annotations: { ...mine, [CLONING_ANNOTATION]: cloning },
      },
      status: { conditions: [{ type: 'DatabaseReady', status: 'True' }] },
    };
    const there = new Map([[`${RECORDS}/shop`, begun]]);
    const played = await clone(into, { there });
    expect([played.code, orderOf(played)]).toEqual([
      0,
      ['team create Job', 'staging create Job', `staging patch ${RECORDS}/shop`, 'team delete jobs.batch/job-in-team'],
    ]);
    expect(played.err).toMatch(
      /^An earlier run has left the clone shop in namespace staging unfinished\. This run goes on/,
    );
    expect(played.patches).toMatchObject([
      { spec: { sourceConfig: { resourceSpec: { minScale: 2, maxScale: null } } } },
    ]);
  });

  it('of a deployment that is stopped stays stopped, and its last write claims no change', async () => {
    const stopped = { minScale: 0, maxScale: 0 };
    const annotations = {
      'davit.dev/requested-by': 'new 1 anna',
      [CLONING_ANNOTATION]: JSON.stringify({ uid: origin.metadata.uid, ...stopped }),
    };
    const begun = {
      ...origin,
      spec: { ...origin.spec, sourceConfig: { resourceSpec: stopped } },
      metadata: { name: 'shop', namespace: 'staging', uid: 'there', generation: 1, annotations },
      status: { conditions: [{ type: 'DatabaseReady', status: 'True' }] },
    };
    const played = await clone(into, { there: new Map([[`${RECORDS}/shop`, begun]]) });
    expect(played.patches).toMatchObject([
      { metadata: { annotations: { [CLONING_ANNOTATION]: null } }, spec: { sourceConfig: { resourceSpec: stopped } } },
    ]);
    expect(JSON.stringify(played.patches)).not.toContain('requested-by');
  });

  it('is judged by a look of the controller after the repair', async () => {
    const cloning = JSON.stringify({ uid: origin.metadata.uid, minScale: 2 });
    const metadata = {
      name: 'shop',
      namespace: 'staging',
      uid: 'there',
      generation: 1,
      annotations: { 'davit.dev/requested-by': 'new 1 anna', [CLONING_ANNOTATION]: cloning },
    };
    const stalled = { type: 'Stalled', status: 'True', reason: 'NameConflict', message: 'It is in the way.' };
    const inTheWay = { ...origin, metadata, status: { observedGeneration: 1, conditions: [stalled] } };
    const corrected = { ...inTheWay, status: { conditions: [{ type: 'DatabaseReady', status: 'True' }] } };
    const key = `${RECORDS}/shop`;
    const clock = makeInstantClock();
    const there = new Map<string, unknown>([[key, inTheWay]]);
    const repaired = {
      now: clock.now,
      sleep: async (milliseconds: number): Promise<void> => {
        await clock.sleep(milliseconds);
        if (clock.now() > 30_000) there.set(key, corrected);
      },
    };
    expect((await clone(into, { there, clock: repaired })).code).toBe(0);
    there.set(key, inTheWay);
    const left = await clone(into, { there });
    expect([left.code, left.patches]).toEqual([1, []]);
    expect(left.err).toContain('It is in the way.\nshop stays without pods until its data is there.');
  });

  it('without a database is created at once', async () => {
    const plain = aRecord({ sourceConfig: { runtime: { database: 'none' } } });
    const played = await clone(into, { origin: plain });
    expect([played.code, orderOf(played), played.patches]).toEqual([0, ['staging create AppDeployment'], []]);
    expect(played.written).toMatchObject([{ metadata: { annotations: { 'davit.dev/requested-by': 'new 1 anna' } } }]);
  });
});

describe('is refused, and creates nothing there', () => {
  const listener = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
  const needy = aRecord(
    {
      secretReferences: [{ name: 'TOKEN', secretName: 'token', secretKey: 'token' }],
      sourceConfig: { resourceSpec: { volumes: [{ name: 'a', persistentVolumeClaim: { claimName: 'files' } }] } },
    },
    { databaseBackup: { name: MANIFEST.name } },
  );
  it.each([
    ['without a namespace for the context', ['--to-context=far', '--to=b'], {}, 2, '--to-context needs --to-namespace'],
    [
      'where the name is taken',
      into,
      { there: new Map([[`${RECORDS}/shop`, aRecord()]]) },
      1,
      'already exists in namespace staging',
    ],
    ['where objects are missing', into, { origin: needy }, 1, 'Secret token, PersistentVolumeClaim files.'],
    [
      'for a repository',
      into,
      { origin: aRecord({ source: 'codehost' }, { databaseBackup: { name: 'b' } }) },
      1,
      'an integration of that namespace',
    ],
    [
      'for a listener',
      into,
      { origin: aRecord({ sourceConfig: { listenerId: listener } }) },
      1,
      'in the cluster of a listener',
    ],
    ['without a backup', into, { origin: aRecord() }, 1, 'There is no data to begin with.'],
    ['where the backup cannot be fetched', into, { fails: 'fetch' }, 1, 'Nothing was created. It failed.'],
  ] as const)('%s', async (_where, args, stage, wanted, words) => {
    const played = await clone(args, stage as Stage);
    expect([played.code, orderOf(played).filter((one) => one.startsWith('staging'))]).toEqual([wanted, []]);
    expect(played.err).toContain(words);
  });
});

it('an older PostgreSQL there loads nothing, and both Jobs are removed', async () => {
  const played = await clone(into, { version: 160_004 });
  expect(played.code).toBe(1);
  expect(played.err).toContain('is of PostgreSQL 17, and the database of shop has version 16, which is older');
  expect(played.piped).toEqual([]);
  expect(orderOf(played)).toEqual([
    ...ORDER,
    'staging delete jobs.batch/job-in-staging',
    'team delete jobs.batch/job-in-team',
  ]);
});

it('what fails while it is loaded says how to go on, and starts no pod', async () => {
  const played = await clone(into, { fails: 'load' });
  expect([played.code, played.patches]).toEqual([1, []]);
  expect(played.err).toContain('to give up: kubectl davit delete shop --namespace=staging');
});

describe('after its time', () => {
  const AGAIN = 'kubectl davit clone shop --to=shop --to-namespace=staging --namespace=team';

  it('ends with 124, and says how to go on; no Job is left that only this run needs', async () => {
    const played = await clone([...into, '--timeout', '60'], { starts: true });
    expect([played.code, played.patches]).toEqual([124, []]);
    expect(played.err).toContain(
      `shop in namespace staging is not finished after 60 s. It goes on when the command runs again: ${AGAIN}`,
    );
    expect(orderOf(played).at(-1)).toBe('team delete jobs.batch/job-in-team');
    const told = await clone([...into, '--timeout', '60', '-o', 'json'], { starts: true });
    expect(JSON.parse(told.out)).toMatchObject({ result: 'undecided', hint: AGAIN, exitCode: 124 });
  });

  it('the backup does not go on passing either', async () => {
    let limit: unknown;
    await clone([...into, '--timeout', '60'], { onPipe: (piped) => (limit = piped.limit?.ms) });
    expect(limit).toBeGreaterThan(50_000);
    expect(limit).toBeLessThanOrEqual(60_000);
  });

  it('nothing ends without --timeout', async () => {
    let limit: unknown = 'none was asked';
    expect((await clone(into, { onPipe: (piped) => (limit = piped.limit) })).code).toBe(0);
    expect(limit).toBeUndefined();
  });
});

describe('a clone that is not finished', () => {
  const cloningOf = async (): Promise<unknown> => {
    const [made] = (await clone(into, { fails: 'load' })).written.filter(({ kind }) => kind === 'AppDeployment');
    return (made as { readonly metadata?: { readonly annotations?: object } } | undefined)?.metadata?.annotations;
  };
  const ready = { type: 'Ready', status: 'True', reason: 'ScaledToZero', message: 'Scaled to zero.' };
  const AT_ZERO = { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } };
  const shown = async (annotations: unknown, ...args: readonly string[]): Promise<CliRan> => {
    const record = aRecord(AT_ZERO, { state: 'READY', conditions: [ready] }, { namespace: 'staging', annotations });
    return runCli([...args, '--namespace=staging'], { kubectl: answering({ [RECORDS]: record }) });
  };
  const IS = 'It is an unfinished clone of shop in namespace team: its data is not loaded, and no pod runs until then.';
  const GO_ON = 'kubectl davit clone shop --namespace=team --to=shop --to-namespace=staging';

  it('says so in its status, with how to go on and how to give up', async () => {
    const { out } = await shown(await cloningOf(), 'status', 'shop');
    expect(out.split('\n').slice(0, 4)).toEqual([
      'staging/shop  READY',
      `  !! ${IS}`,
      `     To go on, with the contexts that it was begun with: ${GO_ON}`,
      '     To give up: kubectl davit delete --namespace=staging shop',
    ]);
    const told = await shown(await cloningOf(), 'status', 'shop', '-o', 'json');
    expect(JSON.parse(told.out)).toMatchObject({ unfinishedClone: { of: { namespace: 'team', name: 'shop' } } });
    const finished = await shown({}, 'status', 'shop', '-o', 'json');
    expect(JSON.parse(finished.out)).toMatchObject({ unfinishedClone: null });
  });

  it('is not ready, and does not start on an empty database', async () => {
    const waited = await shown(await cloningOf(), 'wait', 'shop');
    const goOn = `To go on, with the contexts that it was begun with: ${GO_ON}`;
    expect([waited.code, waited.out, waited.err]).toEqual([
      1,
      '',
      `${IS}\n${goOn}\nTo give up: kubectl davit delete --namespace=staging shop`,
    ]);
    const told = await shown(await cloningOf(), 'wait', 'shop', '-o', 'json');
    expect(JSON.parse(told.out)).toMatchObject({
      result: 'failed',
      reason: 'UnfinishedClone',
      message: IS,
      hint: GO_ON,
      exitCode: 1,
    });
  });

  it.each<[string, string[], string]>([
    ['a rollback', ['rollback', 'shop'], 'Nothing was rolled back: roll back when shop is finished.'],
    ['a command', ['run', 'shop', '--', 'ls'], 'Nothing was run: run it when shop is finished.'],
    ['a task', ['run', 'shop', '--task', 'clean'], 'Nothing was run: run it when shop is finished.'],
    [
      'a move of its database',
      ['database', 'move', 'shop', '--driver', 'cloudnative-pg', '--yes'],
      'Nothing was moved: move its database when shop is finished.',
    ],
  ])('takes no change and no run, and says what to do: %s', async (_what, args, instead) => {
    const sent: string[] = [];
    const record = aRecord(
      { sourceConfig: { ...AT_ZERO.sourceConfig, env: [{ name: 'A', value: '0' }] } },
      { state: 'READY', conditions: [ready] },
      { namespace: 'staging', annotations: await cloningOf() },
    );
    const call = async (method: string, path: string): Promise<unknown> => {
      sent.push(`${method} ${path}`);
      return { resources: [{ id: record.metadata.uid, name: 'shop', secrets: [] }] };
    };
    const api = { call } as unknown as HttpApi;
    const written: [string, string][] = [];
    const ran = await runCli(['--namespace=staging', ...args], {
      kubectl: answering({ [RECORDS]: record }, written),
      input: 'x',
      api,
    });
    expect([ran.code, ran.err.split('\n')]).toEqual([
      1,
      [
        `${instead} ${IS}`,
        `To go on, with the contexts that it was begun with: ${GO_ON}`,
        'To give up: kubectl davit delete --namespace=staging shop',
      ],
    ]);
    expect([written, sent.filter((one) => !one.startsWith('GET '))]).toEqual([[], []]);
  });

  it.each([
    ['pods', { minScale: 1, maxScale: 1 }],
    ['pods when there is work', { minScale: 0, maxScale: 3 }],
    ['the scale of who says nothing', undefined],
  ])('is not one that may have pods, whoever wrote the annotation: %s', async (_what, resourceSpec) => {
    const metadata = { namespace: 'staging', annotations: await cloningOf() };
    const record = aRecord({ sourceConfig: { resourceSpec } }, { state: 'READY', conditions: [ready] }, metadata);
    const kubectl = answering({ [RECORDS]: record });
    const { out } = await runCli(['status', 'shop', '--namespace=staging'], { kubectl });
    expect(out).not.toContain('unfinished');
    expect(out).not.toContain('delete');
  });

  it.each([
    ['one of an earlier version', { uid: 'u' }],
    ['names that are none', { uid: 'u', from: { namespace: 'team; rm -rf /', name: 'shop' } }],
    ['no object', 7],
  ])('suggests no command that its annotation does not give: %s', async (_what, cloning) => {
    const { out } = await shown({ [CLONING_ANNOTATION]: JSON.stringify(cloning) }, 'status', 'shop');
    expect(out.split('\n').slice(1, 3)).toEqual([
      '  !! It is an unfinished clone: its data is not loaded, and no pod runs until then.',
      '     To go on, with the contexts that it was begun with: run the command again that began it',
    ]);
  });
});
