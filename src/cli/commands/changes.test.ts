// The commands that change a deployment or run in its pods, and what they ask kubectl for.

import { describe, expect, it } from 'vitest';
import {
  answering,
  aRecord,
  type CliRan,
  makeInstantClock,
  REVISION,
  runCli,
  uid,
} from '../../../test/support/cli-world.ts';
import { makeOwnCli, type OwnCli, whole } from '../../../test/support/own-cli.ts';
import { serialRevisionId } from '../../deploy/record/revision-id.ts';
import { APP_DEPLOYMENTS } from '../../kinds/app-deployment.ts';
import { Forbidden } from '../../runtime/errors.ts';
import { DEPLOYMENTS, PODS } from '../../runtime/kube/api-resources.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import type { Clock } from '../line/command.ts';
import { RECORDS } from '../transport/records.ts';

/** uid of another record of the same name. */
const OTHER = '9b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11';

describe('scale', () => {
  async function scaled(
    args: string[],
    spec: object = {},
  ): Promise<CliRan & { readonly cli: OwnCli; readonly resourceSpec: unknown }> {
    const cli = makeOwnCli({ record: aRecord(spec, {}, { generation: 4 }) });
    const ran = await cli.run(['scale', 'shop', ...args]);
    return { ...ran, cli, resourceSpec: cli.stored()?.spec.sourceConfig.resourceSpec };
  }

  it.each<[string[], object, string]>([
    [['server=3'], { minScale: 3, maxScale: 3 }, 'scaled to 3 pods;'],
    [['--replicas', '2', '--max', '4'], { minScale: 2, maxScale: 4 }, '2 to 4 pods, depending on its load;'],
    [
      ['server=1', 'queue=0..5'],
      { queueMinScale: 0, queueMaxScale: 5 },
      'scaled: server to 1 pod; queue to 0 to 5 pods, depending on its load.',
    ],
    [
      ['--replicas=2', 'orchestrator=2'],
      { minScale: 2, maxScale: 2, orchestratorMinScale: 2, orchestratorMaxScale: 2 },
      'scaled: server to 2 pods; orchestrator to 2 pods.',
    ],
    [['server=0'], { minScale: 0, maxScale: 0 }, 'shop is being scaled to no pods'],
  ])('%j is one patch', async (args, resourceSpec, words) => {
    const { cli, ...ran } = await scaled(args);
    expect(ran).toMatchObject({ code: 0, resourceSpec, out: expect.stringContaining(words) });
    expect(cli.written()).toHaveLength(1);
  });

  it('says where a part begins or ends, which takes a revision, and nothing where it stays', async () => {
    expect((await scaled(['queue=1'])).out).toMatch(/\nThis makes a new revision: it had no queue before\.$/);
    const queue = { sourceConfig: { resourceSpec: { queueMaxScale: 2 } } };
    expect((await scaled(['queue=0'], queue)).out).toMatch(/\nThis makes a new revision: queue is removed\.$/);
    expect((await scaled(['queue=3'], queue)).out).not.toContain('new revision');
  });

  it('claims a change for who asks, and writes nothing where nothing changes', async () => {
    const two = { sourceConfig: { resourceSpec: { minScale: 2, maxScale: 2 } } };
    const { cli } = await scaled(['server=3'], two);
    expect(cli.stored()?.metadata.annotations).toEqual({ 'davit.dev/requested-by': `${uid} 5 somebody` });
    expect((await scaled(['server=2'], two)).cli.written()).toEqual([]);
  });

  const workers = {
    sourceConfig: {
      runtime: { workers: { mailer: { command: ['mail'] }, constructor: { command: ['build'], singleton: true } } },
    },
  };
  it.each<[string[], object, string]>([
    [
      ['mailer=2..5', 'server=2'],
      { mailer: { command: ['mail'], minScale: 2, maxScale: 5 } },
      'scaled: server to 2 pods; mailer to 2 to 5 pods, depending on its load.',
    ],
    [
      ['constructor=0'],
      { constructor: { command: ['build'], singleton: true, minScale: 0, maxScale: 0 } },
      'scaled: constructor to 0 pods.',
    ],
  ])('of workers: %j', async (args, own, words) => {
    const { code, out, err, cli } = await scaled(args, workers);
    expect([code, err]).toEqual([0, '']);
    expect(cli.stored()?.spec.sourceConfig.runtime?.workers).toEqual({
      ...workers.sourceConfig.runtime.workers,
      ...own,
    });
    expect(out).toContain(words);
    expect(out).not.toContain('new revision');
  });

  it.each(['web', 'redis', 'toString', 'a--b'])(
    'of %s, which is not there, is refused before a change',
    async (part) => {
      const { code, err, cli } = await scaled([`${part}=1`], workers);
      expect([code, err, cli.written()]).toEqual([
        1,
        `"${part}" cannot be scaled. Parts of shop that can: server, constructor, mailer. To start queue or orchestrator, set its scale.`,
        [],
      ]);
    },
  );

  it('shows workers too', async () => {
    expect((await scaled([], workers)).out.split('\n').slice(-2)).toEqual([
      'constructor  1    1    0/0 ready',
      'mailer       1    1    0/0 ready',
    ]);
  });

  it.each([
    [['3'], /^"3" is not a scale\. Write PART=N or PART=N\.\.M/],
    [['server=x'], /^"server=x" is not a scale\./],
    [['server=-1'], /^"server=-1" is not a scale\./],
    [['server=1..'], /is not a scale/],
    [['server=3..1'], /the maximum must not be below the minimum/],
    [['queue=1', 'queue=2'], /^queue is set twice\.$/],
    [['--max', '3'], /^--max needs --replicas/],
    [['--replicas', '3', '--max', '1'], /^--max must not be below --replicas, 3\.$/],
    [['--replicas', '3', 'server=2'], /set the same value: leave out one of them/],
  ])('%j is refused before anything is asked', async (args, words) => {
    expect(await runCli(['scale', 'shop', ...args])).toMatchObject({ code: 2, err: expect.stringMatching(words) });
  });

  it('shows what is in force, and how many pods are ready', async () => {
    const record = aRecord({ sourceConfig: { resourceSpec: { minScale: 2, maxScale: 4, queueMaxScale: 1 } } });
    const cli = makeOwnCli({ record });
    for (const [name, component, status] of [
      ['a', 'server', 'True'],
      ['b', 'server', 'False'],
      ['c', 'redis', 'True'],
    ]) {
      const labels = {
        'davit.dev/component': component,
        'davit.dev/deployment': 'shop',
        'davit.dev/deployment-uid': uid,
      };
      const metadata = { name: `shop-${name}`, namespace: 'team', labels };
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [] } };
      cli.kube.seed(PODS, {
        ...pod,
        status: { phase: 'Running', conditions: [{ type: 'Ready', status }] },
      } as KubeObject);
    }
    expect((await cli.run(['scale', 'shop'])).out.split('\n')).toEqual([
      'PART    MIN  MAX  PODS',
      'server  2    4    1/2 ready',
      'queue   1    1    0/0 ready',
    ]);
    expect(JSON.parse((await cli.run(['scale', 'shop', '-o', 'json'])).out)).toEqual({
      name: 'shop',
      parts: [
        { part: 'server', min: 2, max: 4, ready: 1, pods: 2 },
        { part: 'queue', min: 1, max: 1, ready: 0, pods: 0 },
      ],
    });
  });

  it.each(['Pod', 'Event'])('shows no number of pods where the caller may not list each %s', async (kind) => {
    const cli = makeOwnCli({ record: aRecord() });
    cli.kube.failOn(({ verb, kind: asked }) => (verb === 'list' && asked === kind ? new Forbidden('list') : undefined));
    expect((await cli.run(['scale', 'shop'])).out.split('\n')).toEqual([
      'PART    MIN  MAX  PODS',
      'server  1    1    -',
      'Not shown: numbers of pods. They need the right to list pods and events, which ClusterRole view has.',
    ]);
    expect(JSON.parse((await cli.run(['scale', 'shop', '-o', 'json'])).out)).toMatchObject({
      parts: [{ part: 'server', ready: null, pods: null }],
    });
  });
});

describe('restart', () => {
  const PROMISED = `shop--${serialRevisionId(uid, 3).slice(0, 8)}`;
  const REPOSITORY = { source: 'codehost', sourceRevisionConfig: { repoRef: 'main' } };
  async function restarted(
    spec: object,
    items: object[] = [REVISION],
    workloads: readonly string[] = ['shop'],
  ): Promise<CliRan & { readonly cli: OwnCli }> {
    const status = items.length > 0 ? { latestRevisionId: REVISION.spec.id } : {};
    const cli = makeOwnCli({ record: aRecord(spec, status), revisions: items.map(whole) });
    for (const name of workloads) {
      const metadata = { name, namespace: 'team', labels: { 'davit.dev/deployment': 'shop' } };
      cli.kube.seed(DEPLOYMENTS, { apiVersion: 'apps/v1', kind: 'Deployment', metadata });
    }
    return { ...(await cli.run(['restart', 'shop'])), cli };
  }

  it.each<[string, object]>([
    ['an image', {}],
    ['an upload', { source: 'internal_source', sourceRevisionConfig: { sourceTarballPath: 'uploads/1' } }],
  ])('of %s asks for a revision and changes nothing else', async (_what, spec) => {
    const { code, out, cli } = await restarted(spec);
    expect([code, out]).toEqual([0, expect.stringMatching(`^shop is being restarted as ${PROMISED}; `)]);
    expect(cli.stored()?.spec).toEqual({ ...aRecord(spec).spec, revisionSerial: 3, rebuildSerial: 3 });
  });

  it('ends an earlier rollback, and goes on with one that the controller has not seen', async () => {
    const rollbackTo = '1'.repeat(8);
    expect((await restarted({ rollbackTo })).cli.stored()?.spec).not.toHaveProperty('rollbackTo');
    const unseen = await restarted({ rollbackTo, revisionSerial: 5 });
    expect(unseen.cli.stored()?.spec).toMatchObject({ rollbackTo, revisionSerial: 6, rebuildSerial: 6 });
  });

  it('of a repository keeps the commit that runs: its Deployments are restarted', async () => {
    const { out, cli } = await restarted(REPOSITORY);
    expect(out).toContain('with the running image');
    expect(cli.kube.writes.filter(({ kind }) => !kind.endsWith('Review'))).toMatchObject([
      { verb: 'patch', kind: 'Deployment', ref: { name: 'shop' } },
    ]);
    const none = await restarted(REPOSITORY, [REVISION], []);
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('has no pods yet') });
  });

  describe('of a deployment whose newest revision has not been deployed', () => {
    const OLD = '99999999-9999-4999-8999-999999999999';
    const newest = (state: string, more: object = {}): object => ({
      ...REVISION,
      spec: { ...REVISION.spec, deploymentGeneration: 9 },
      status: { state, ...more },
    });
    const old = {
      ...REVISION,
      metadata: { ...REVISION.metadata, name: 'shop--99999999' },
      spec: { ...REVISION.spec, id: OLD, deploymentGeneration: 1, revisionSerial: 1 },
      status: { state: 'DEPLOYED' },
    };
    const crashed = { failure: { reason: 'ContainerCrashed', message: 'server exits with 1' } };
    const name = REVISION.metadata.name;
    const GO_BACK = 'To return to the values of shop--99999999: kubectl davit rollback shop --to shop--99999999';
    const WHY = 'Why it failed: kubectl davit status shop';
    const BUILD = 'To build the newest commit, create a new revision (docs/deploy.md, "Asking for a revision").';

    it.each<[string, object, object[], string]>([
      [
        'an image',
        {},
        [newest('DEPLOY_FAILED', crashed), old],
        `The newest revision ${name} is DEPLOY_FAILED. Davit deploys its values again. shop--99999999 stays active until the new pods are ready. ${GO_BACK}`,
      ],
      [
        'an image that was never deployed',
        {},
        [newest('DEPLOY_FAILED')],
        `The newest revision ${name} is DEPLOY_FAILED. Davit deploys its values again. No revision was deployed before. ${WHY}`,
      ],
      [
        'a build',
        REPOSITORY,
        [newest('BUILD_FAILED'), old],
        `The newest revision ${name} is BUILD_FAILED. Davit restarts the active revision, shop--99999999, and does not deploy ${name} again. ${WHY}\n${BUILD}`,
      ],
      [
        'a build that gave way',
        REPOSITORY,
        [newest('DEPLOY_FAILED', crashed), old],
        `The newest revision ${name} is DEPLOY_FAILED. Davit restarts the active revision, shop--99999999, and does not deploy ${name} again. ${WHY}\n${BUILD}`,
      ],
      [
        'a build whose pods are not ready',
        REPOSITORY,
        [newest('DEPLOY_FAILED'), old],
        `The newest revision ${name} is DEPLOY_FAILED. Davit restarts its pods. shop--99999999 stays active until they are ready. ${GO_BACK}`,
      ],
      [
        'the first build',
        REPOSITORY,
        [newest('DEPLOY_FAILED')],
        `The newest revision ${name} is DEPLOY_FAILED. Davit restarts its pods and builds nothing. ${WHY}`,
      ],
      [
        'an image that is being deployed, perhaps for ever',
        {},
        [newest('DEPLOYING'), old],
        `The newest revision ${name} is DEPLOYING. Davit deploys its values again. shop--99999999 stays active until the new pods are ready. ${GO_BACK}`,
      ],
      ['an image that is being deployed first', {}, [newest('DEPLOYING')], ''],
      ['an image that the controller has not seen yet', { revisionSerial: 5 }, [newest('DEPLOY_FAILED'), old], ''],
    ])('says what is restarted, and what to do instead: %s', async (_what, spec, items, words) => {
      const { code, out, err } = await restarted(spec, items);
      expect({ code, err }).toEqual({ code: 0, err: words });
      expect(out).toMatch(/^shop is being restarted /);
    });
  });

  it('fails where nothing runs', async () => {
    const { code, err, cli } = await restarted({}, []);
    expect([code, err, cli.written()]).toEqual([1, expect.stringContaining('no revision yet'), []]);
  });
});

describe('delete', () => {
  const mine = { databaseVolumeUid: 'x' };
  /** As a finalizer holds it until its teardown is done. */
  const held = (spec: object = {}, status: object = {}, metadata: object = {}): OwnCli =>
    makeOwnCli({ record: aRecord(spec, status, { finalizers: ['davit.dev/teardown'], ...metadata }) });
  const deletions = ({ kube }: OwnCli): unknown[] =>
    kube.writes.flatMap(({ verb, ref, body }) => (verb === 'delete' ? [[ref.name, body]] : []));

  it('says what happens to the data, asks for the name, and deletes by the uid', async () => {
    const cli = held({}, mine);
    const ran = await cli.run(['delete', 'shop'], { answers: ['shop'] });
    expect(ran).toMatchObject({ code: 0, questions: ['Delete shop in namespace team? Type shop to confirm: '] });
    expect(ran.err).toMatch(/^Its PostgreSQL volume shop--postgres will be deleted with all data/);
    expect(ran.out).toMatch(/^shop is being deleted\. To wait until it is gone: kubectl davit delete shop --wait$/);
    expect(deletions(cli)).toEqual([['shop', expect.objectContaining({ uid })]]);
  });

  it('deletes the record that it asked about, and no other that has taken its name', async () => {
    const cli = held();
    const api = await cli.api();
    const ran = await cli.run(['delete', 'shop', '--yes'], {
      api: {
        ...api,
        async call(method, ...others) {
          if (method === 'DELETE') {
            cli.kube.erase(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' });
            cli.kube.seed(APP_DEPLOYMENTS, aRecord({}, {}, { uid: OTHER }));
          }
          return api.call(method, ...others);
        },
      },
    });
    expect(ran).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Nothing was deleted: shop was deleted meanwhile\. .* kubectl davit status shop$/),
    });
    expect(cli.stored()?.metadata).toMatchObject({ uid: OTHER });
    expect(cli.stored()?.metadata.deletionTimestamp).toBeUndefined();
  });

  it.each<[string, string[] | undefined, string[], number, RegExp]>([
    ['another answer', ['shopping'], [], 1, /Nothing was deleted\.$/],
    [
      'nobody to ask',
      undefined,
      [],
      2,
      /Confirmation needs a terminal\. Nothing was deleted\. To confirm in advance, repeat the command with --yes\.$/,
    ],
    ['a timeout without --wait', undefined, ['--yes', '--timeout', '3'], 2, /^--timeout is for --wait\.$/],
  ])('deletes nothing with %s', async (_what, answers, flags, code, words) => {
    const cli = held();
    const ran = await cli.run(['delete', 'shop', ...flags], { ...(answers && { answers }) });
    expect(ran).toMatchObject({ code, err: expect.stringMatching(words) });
    expect(deletions(cli)).toEqual([]);
  });

  it.each<[object, object, RegExp]>([
    [{}, {}, /^Its pods/],
    [{}, mine, /volume shop--postgres will be deleted with all data/],
    [{ databaseDeletionPolicy: 'Retain' }, mine, /volume shop--postgres and its password will stay/],
    [{}, { ...mine, databaseBackup: { lastFailureAt: '2026-02-02T00:00:00Z' } }, /^Its PostgreSQL .*\nIts pods/],
    [
      {},
      { ...mine, databaseBackup: { name: 'b-1', lastSuccessAt: '2026-02-02T00:00:00Z' } },
      /deleted with all data .*\nIts backups will stay in their store; the newest is b-1, of 2026-02-02T00:00:00Z\. To begin a new deployment with them when it is gone: kubectl davit deploy --image app:1 --name shop --set 'database=\{backup: \{\}, restore: \{from: shop\}\}'\nTo give the new deployment the other settings of shop, .*: kubectl davit export shop > shop\.yaml\n/,
    ],
    [
      { source: 'internal_source', sourceRevisionConfig: {}, sourceConfig: { database: { driver: 'cloudnative-pg' } } },
      { ...mine, databaseBackup: { name: 'b-1', lastSuccessAt: '2026-02-02T00:00:00Z' } },
      /deploy FOLDER --name shop --set 'database=\{driver: cloudnative-pg, backup: \{\}, restore: \{from: shop\}\}'\n/,
    ],
    [
      { source: 'codehost', sourceRevisionConfig: {} },
      { ...mine, databaseBackup: { name: 'b-1', lastSuccessAt: '2026-02-02T00:00:00Z' } },
      /create a deployment with source_config\.database \{"backup": \{\}, "restore": \{"from": "shop"\}\} \(docs/,
    ],
    [
      {},
      { ...mine, databaseArchive: { firstRecoverableAt: '2026-02-01T00:00:00Z' } },
      /\nIts archive will stay in its store, from 2026-02-01T00:00:00Z on \(restore\.archive: true\)\. To begin a new deployment with them when it is gone: .* --set 'database=\{archive: \{\}, restore: \{from: shop, archive: true\}\}'\n/,
    ],
    [{ tracingProjectDeletionPolicy: 'Delete' }, {}, /tracing project will be deleted/],
    [
      {},
      { ...mine, databaseNumber: 1, databasesKept: [{ driver: 'pod', number: 0 }] },
      /volume shop---pg1 .*\nThe databases that shop used before \(pod\/0\) will be deleted too/,
    ],
    [
      { databaseDeletionPolicy: 'Retain' },
      { ...mine, databaseNumber: 2, databasesKept: [0, 1].map((number) => ({ driver: 'pod', number })) },
      /\nThe databases that shop used before \(pod\/0, pod\/1\) will stay too\. .* delete-previous shop --number 0\n/,
    ],
  ])('says of %j %j: %s', async (spec, status, words) => {
    const { err } = await held(spec, status).run(['delete', 'shop'], { answers: ['no'] });
    expect(err).toMatch(words);
  });

  it.each([
    ['--yes', false],
    ['an answer', true],
  ])('says what to do before only where the deletion waits for it: with %s', async (how, isSaid) => {
    const status = { ...mine, databaseBackup: { name: 'b-1', lastSuccessAt: '2026-02-02T00:00:00Z' } };
    const flags = how === '--yes' ? ['--yes'] : [];
    const ran = await held({}, status).run(['delete', 'shop', ...flags], { ...(isSaid && { answers: ['shop'] }) });
    expect(ran.err).toContain('Its backups will stay in their store');
    expect(ran.err.includes('save its file now')).toBe(isSaid);
  });

  it.each([
    ['it is gone', undefined],
    ['another one has its name', aRecord({}, {}, { uid: OTHER })],
  ])('waits until %s', async (_what, next) => {
    const cli = held();
    const looks: Clock = {
      ...makeInstantClock(),
      async sleep() {
        cli.kube.erase(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' });
        if (next) cli.kube.seed(APP_DEPLOYMENTS, next);
      },
    };
    const ran = await cli.run(['delete', 'shop', '--yes', '--wait'], { clock: looks });
    expect(ran).toMatchObject({ code: 0, out: 'shop is gone.' });
    expect(cli.stored()?.metadata.uid).toBe(next?.metadata.uid);
  });

  it('says what a deletion waits for that takes too long', async () => {
    const waits = { type: 'Ready', status: 'False', reason: 'Deleting', message: 'Being deleted: waiting for pods.' };
    const cli = held(
      {},
      { state: 'AWAITING_DELETE', observedGeneration: 9, conditions: [waits] },
      { deletionTimestamp: '2026-01-01T00:00:00Z' },
    );
    expect(await cli.run(['delete', 'shop', '--wait', '--timeout', '3'])).toMatchObject({
      code: 124,
      err: 'shop is not gone after 3 s: Being deleted: waiting for pods.',
    });
  });

  it('only waits for one that is being deleted', async () => {
    const cli = held({}, {}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(await cli.run(['delete', 'shop', '--wait', '--timeout', '0'])).toMatchObject({
      code: 124,
      err: 'shop is not gone after 0 s: The deployment is being deleted.',
    });
    expect(deletions(cli)).toEqual([]);
  });
});

describe('exec', () => {
  const pod = (name: string, more: object = {}, status = 'True'): object => ({
    metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z', ...more },
    status: { conditions: [{ type: 'Ready', status }] },
  });
  const items = [
    pod('old'),
    pod('starts', { creationTimestamp: '2026-01-03T00:00:00Z' }, 'False'),
    pod('ends', { creationTimestamp: '2026-01-03T00:00:00Z', deletionTimestamp: 'now' }),
    pod('new', { creationTimestamp: '2026-01-02T00:00:00Z' }),
  ];
  const kubectl = answering({ pods: { items } });

  it('runs in the newest ready pod, with its exit code', async () => {
    const ran = await runCli(['exec', 'shop', '-n', 'team', '--', 'ls', '-l', '--', 'x'], { kubectl, terminalCode: 7 });
    expect(ran.onTerminal).toEqual(['--namespace=team exec new --container=server --stdin -- ls -l -- x']);
    expect(ran.code).toBe(7);
    expect(ran.asked[0]).toContain('davit.dev/deployment=shop,davit.dev/component=server');
  });

  it('has a terminal where there is one, and another part if asked', async () => {
    const ran = await runCli(['exec', 'shop', '-c', 'postgres', '--', 'psql'], { kubectl, answers: [] });
    expect(ran.onTerminal).toEqual(['exec new --container=postgres --stdin --tty -- psql']);
  });

  it.each([
    ['no command', ['exec', 'shop'], 2, /^Which command\? Write it after --: kubectl davit exec shop -- sh$/],
    ['a command without --', ['exec', 'shop', 'ls'], 2, /^Name only one deployment\. Unexpected: "ls"\.$/],
    [
      'an unknown part',
      ['exec', 'shop', '-c', 'migrate', '--', 'ls'],
      2,
      /^--component must be one of server, .* or the name of a worker, not/,
    ],
  ])('is refused for %s', async (_what, args, code, words) => {
    expect(await runCli(args, { kubectl })).toMatchObject({ code, err: expect.stringMatching(words), onTerminal: [] });
  });

  it.each<[object[], string]>([
    [[], 'shop has no pod of server. See: kubectl davit status shop'],
    [[pod('x', {}, 'False')], 'No pod of server of shop is ready. See: kubectl davit status shop'],
  ])('fails without a ready pod', async (pods, err) => {
    const resources = { [RECORDS]: aRecord({}), pods: { items: pods } };
    const ran = await runCli(['exec', 'shop', '--', 'ls'], { kubectl: answering(resources) });
    expect(ran).toMatchObject({ code: 1, err });
  });

  it('exec says that it is scaled to zero, and how to start it', async () => {
    const spec = { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 }, runtime: { workers: { beat: {} } } } };
    const world = { kubectl: answering({ [RECORDS]: aRecord(spec) }) };
    expect(await runCli(['exec', 'shop', '--', 'ls'], world)).toMatchObject({
      code: 1,
      err: 'shop is scaled to zero, so no pod of server runs. To start it: kubectl davit scale shop server=1',
    });
    expect(await runCli(['exec', 'shop', '-c', 'postgres', '--', 'ls'], world)).toMatchObject({
      err: 'shop has no pod of postgres. See: kubectl davit status shop',
    });
    expect(await runCli(['exec', 'shop', '-c', 'beta', '--', 'ls'], world)).toMatchObject({
      err: '"beta" is not a part of shop. Did you mean beat? It has server, beat, postgres, redis.',
    });
  });

  it('exec says so where a pod ends or is kept', async () => {
    const spec = { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } };
    const kubectl = answering({ [RECORDS]: aRecord(spec), pods: { items: [pod('x', {}, 'False')] } });
    const { err } = await runCli(['exec', 'shop', '--', 'ls'], { kubectl });
    expect(err).toBe(
      'shop is scaled to zero, so no pod of server runs. To start it: kubectl davit scale shop server=1',
    );
  });

  it('exec names the parts where it is asked for none of them', async () => {
    const spec = { sourceConfig: { runtime: { workers: { mailer: {} } } } };
    const ran = await runCli(['exec', 'shop', '--component', 'nope', '--', 'ls'], {
      kubectl: answering({ [RECORDS]: aRecord(spec) }),
    });
    expect(ran).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^"nope" is not a part of shop\. It has server, mailer, postgres, redis\.$/),
    });
  });
});
