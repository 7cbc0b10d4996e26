// What Davit relies on in a KubeClient and the server behind it. Run against the fake and against a real API server,
// so that the fake is wrong nowhere that matters without a test saying so.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CONFIG_MAPS,
  DEPLOYMENTS,
  SECRETS,
  SELF_SUBJECT_ACCESS_REVIEWS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject, WatchEvent } from '../../../src/runtime/kube/client.ts';

export interface Subject {
  readonly client: KubeClient;
  /** One that exists, and is empty but for what Kubernetes puts there. */
  readonly namespace: string;
  close(): Promise<void>;
}

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}
interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly name: string;
          readonly env?: readonly { name: string; value: string }[];
        }[];
      };
    };
  };
  readonly status?: { readonly observedGeneration?: number };
}

export function describeClientBehaviour(name: string, start: () => Promise<Subject>): void {
  describe(`KubeClient of ${name}`, () => {
    let subject: Subject;
    let client: KubeClient;
    let namespace: string;
    beforeAll(async () => {
      subject = await start();
      ({ client, namespace } = subject);
    }, 120_000);
    afterAll(() => subject.close());

    const aMap = (objectName: string, data: Record<string, string> = {}, more: object = {}): ConfigMap => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace, name: objectName, ...more },
      data,
    });
    const aDeployment = (objectName: string, env: Record<string, string>, replicas = 0): Deployment => {
      const containers = [
        { name: 'c', image: 'i', env: Object.entries(env).map(([key, value]) => ({ name: key, value })) },
      ];
      const labels = { app: objectName };
      const spec = {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers } },
      };
      return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace, name: objectName }, spec };
    };
    const fails = (promise: Promise<unknown>): Promise<string> =>
      promise.then(
        () => 'nothing',
        (error: unknown) => (error instanceof Error ? error.name : 'no error'),
      );

    it('creates, reads, replaces and deletes', async () => {
      const made = await client.create(CONFIG_MAPS, aMap('crud', { a: '1' }));
      expect(made).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: 'crud' } });
      expect(await fails(client.create(CONFIG_MAPS, aMap('crud')))).toBe('AlreadyExists');
      const changed = await client.replace(CONFIG_MAPS, { ...made, data: { a: '2' } });
      expect(BigInt(String(changed.metadata.resourceVersion))).toBeGreaterThan(
        BigInt(String(made.metadata.resourceVersion)),
      );
      expect(await fails(client.replace(CONFIG_MAPS, { ...made, data: { a: '3' } }))).toBe('Conflict');
      expect(await client.get<ConfigMap>(CONFIG_MAPS, made.metadata)).toMatchObject({ data: { a: '2' } });
      expect(await fails(client.remove(CONFIG_MAPS, made.metadata, { uid: 'other' }))).toBe('Conflict');
      expect(await client.remove(CONFIG_MAPS, made.metadata, { uid: String(made.metadata.uid) })).toBeUndefined();
      expect(await fails(client.get(CONFIG_MAPS, made.metadata))).toBe('NotFound');
      expect(await fails(client.remove(CONFIG_MAPS, made.metadata, { uid: String(made.metadata.uid) }))).toBe(
        'NotFound',
      );
    });

    it('says what was being done and what the server said', async () => {
      const error = await client.get(CONFIG_MAPS, { namespace, name: 'nothing' }).catch((e: unknown) => e);
      expect(error).toMatchObject({
        message: `get configmaps ${namespace}/nothing: configmaps "nothing" not found`,
        serverMessage: 'configmaps "nothing" not found',
      });
    });

    it('names what generateName asks for', async () => {
      const metadata = { namespace, generateName: 'gen-' } as unknown as KubeObject['metadata'];
      const made = await client.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
      expect(made.metadata.name).toMatch(/^gen-.+/);
    });

    it('applies: adds, removes what is left out, keeps what is others', async () => {
      const as = (fieldManager: string, force = false) => ({ fieldManager, force });
      await client.apply(CONFIG_MAPS, aMap('ssa', { a: '1', b: '1' }), as('one'));
      await client.apply(CONFIG_MAPS, aMap('ssa', { c: '1' }, { labels: { theirs: 'yes' } }), as('two'));
      const after = await client.apply<ConfigMap>(CONFIG_MAPS, aMap('ssa', { a: '2' }), as('one'));
      expect(after.data).toEqual({ a: '2', c: '1' });
      expect(after.metadata.labels).toEqual({ theirs: 'yes' });
      expect(await fails(client.apply(CONFIG_MAPS, aMap('ssa', { c: '2' }), as('one')))).toBe('Conflict');
      const forced = await client.apply<ConfigMap>(CONFIG_MAPS, aMap('ssa', { c: '2' }), as('one', true));
      expect(forced.data).toEqual({ c: '2' });
    });

    it('applies every character that an object may hold', async () => {
      const text = '\u0001\u001B[31m\u007F\u0085\u009B\u2028\u202E\uFEFF\uFFFE\uFFFF';
      expect(
        (await client.apply<ConfigMap>(CONFIG_MAPS, aMap('text', { text }), { fieldManager: 'one' })).data,
      ).toEqual({ text });
    });
    it('applies lists of named things by name', async () => {
      const apply = (env: Record<string, string>, fieldManager: string) =>
        client.apply<Deployment>(DEPLOYMENTS, aDeployment('listed', env), { fieldManager, force: true });
      await apply({ A: '1', B: '1' }, 'one');
      await apply({ C: '1' }, 'two');
      const after = await apply({ B: '2' }, 'one');
      const env = Object.fromEntries(
        (after.spec.template.spec.containers[0]?.env ?? []).map((each) => [each.name, each.value]),
      );
      expect(env).toEqual({ B: '2', C: '1' });
    });

    it('applies lists of named things in the order that was applied', async () => {
      const apply = (env: Record<string, string>): Promise<Deployment> =>
        client.apply<Deployment>(DEPLOYMENTS, aDeployment('ordered', env), { fieldManager: 'm', force: true });
      await apply({ A: '1', B: '1', C: '1' });
      const after = await apply({ C: '1', D: '1', A: '1' });
      const env = after.spec.template.spec.containers[0]?.env ?? [];
      expect(env.map(({ name }) => name)).toEqual(['C', 'D', 'A']);
    });

    it('takes over with an apply nothing that was made by a POST', async () => {
      await client.create(CONFIG_MAPS, aMap('posted', { a: '1', b: '1' }), { fieldManager: 'm' });
      const after = await client.apply<ConfigMap>(CONFIG_MAPS, aMap('posted', { a: '1' }), { fieldManager: 'm' });
      expect(after.data).toEqual({ a: '1', b: '1' });
    });

    it('refuses an apply to another incarnation', async () => {
      const uid = '00000000-0000-0000-0000-000000000000';
      await client.create(CONFIG_MAPS, aMap('uid'));
      const as = { fieldManager: 'm', force: true };
      expect(await fails(client.apply(CONFIG_MAPS, aMap('uid', { a: '1' }, { uid }), as))).toBe('Conflict');
      expect(await fails(client.apply(CONFIG_MAPS, aMap('uid-not-there', {}, { uid }), as))).toBe('Conflict');
    });

    it('applies only to make, where it is asked to', async () => {
      const as = { fieldManager: 'm', force: true, onlyCreate: true };
      const made = await client.apply<ConfigMap>(CONFIG_MAPS, aMap('only', { a: '1' }), as);
      expect(made.data).toEqual({ a: '1' });
      // What it made is as any apply makes it.
      const later = await client.apply<ConfigMap>(CONFIG_MAPS, aMap('only', { b: '1' }), { fieldManager: 'm' });
      expect(later.data).toEqual({ b: '1' });
      expect(await fails(client.apply(CONFIG_MAPS, aMap('only', { c: '1' }), as))).toBe('Conflict');
      expect(await client.get(CONFIG_MAPS, later.metadata)).toMatchObject({ ...later, data: { b: '1' } });
      await client.create(CONFIG_MAPS, aMap('only-posted'));
      expect(await fails(client.apply(CONFIG_MAPS, aMap('only-posted'), as))).toBe('Conflict');
    });

    it('applies only to make, whoever else does at the same time', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          fails(
            client.apply(CONFIG_MAPS, aMap('raced', { [`k${index}`]: '1' }), { fieldManager: 'm', onlyCreate: true }),
          ),
        ),
      );
      expect(outcomes.toSorted()).toEqual([...Array.from({ length: 19 }, () => 'Conflict'), 'nothing']);
      const there = await client.get<ConfigMap>(CONFIG_MAPS, { namespace, name: 'raced' });
      expect(Object.keys(there.data ?? {})).toHaveLength(1);
    });

    it('counts generations of the spec and keeps status apart', async () => {
      const made = await client.create(DEPLOYMENTS, aDeployment('gen', { A: '1' }));
      const reported = await client.mergePatch<Deployment>(
        DEPLOYMENTS,
        made.metadata,
        { status: { observedGeneration: 7 }, spec: { replicas: 9 } },
        { subresource: 'status' },
      );
      expect(reported.metadata.generation).toBe(made.metadata.generation);
      expect([reported.status?.observedGeneration, reported.spec.replicas]).toEqual([7, 0]);
      const changed = await client.mergePatch<Deployment>(DEPLOYMENTS, made.metadata, {
        spec: { paused: true },
        status: { observedGeneration: 0 },
      });
      expect(changed.metadata.generation).toBe((made.metadata.generation ?? 0) + 1);
      expect(changed.status?.observedGeneration ?? 0).not.toBe(0);
    });

    it('applies status without touching what an apply of the rest owns', async () => {
      await client.apply(DEPLOYMENTS, aDeployment('stat', { A: '1' }), { fieldManager: 'm' });
      const { apiVersion, kind, metadata } = aDeployment('stat', {});
      const status = { observedGeneration: 3 };
      const options = { fieldManager: 'm', force: true, subresource: 'status' as const };
      const after = await client.apply<Deployment>(
        DEPLOYMENTS,
        { apiVersion, kind, metadata, status } as unknown as Deployment,
        options,
      );
      expect(after.status?.observedGeneration).toBe(3);
      expect(after.spec.template.spec.containers).toHaveLength(1);
    });

    it('patches', async () => {
      const made = await client.create(CONFIG_MAPS, aMap('patch', { a: '1', b: '1' }));
      const merged = await client.mergePatch<ConfigMap>(CONFIG_MAPS, made.metadata, { data: { a: null, c: '1' } });
      expect(merged.data).toEqual({ b: '1', c: '1' });
      const operations = [
        { op: 'test', path: '/data/b', value: '1' },
        { op: 'replace', path: '/data/b', value: '2' },
      ];
      expect((await client.jsonPatch<ConfigMap>(CONFIG_MAPS, made.metadata, operations)).data).toEqual({
        b: '2',
        c: '1',
      });
      expect(await fails(client.jsonPatch(CONFIG_MAPS, made.metadata, operations))).toBe('Invalid');
      const { resourceVersion } = made.metadata;
      expect(await fails(client.mergePatch(CONFIG_MAPS, made.metadata, { metadata: { resourceVersion } }))).toBe(
        'Conflict',
      );
    });

    it('keeps what a finalizer holds, and shows it', async () => {
      const made = await client.create(CONFIG_MAPS, aMap('held', {}, { finalizers: ['davit.dev/test'] }));
      const held = await client.remove(CONFIG_MAPS, made.metadata, { uid: String(made.metadata.uid) });
      expect(held).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'held', finalizers: ['davit.dev/test'] } });
      expect(held?.metadata.deletionTimestamp).toBeDefined();
      await client.mergePatch(CONFIG_MAPS, made.metadata, { metadata: { finalizers: null } });
      expect(await fails(client.get(CONFIG_MAPS, made.metadata))).toBe('NotFound');
    });

    it('pages, selects and cuts down to metadata', async () => {
      for (const objectName of ['p1', 'p2', 'p3']) {
        await client.create(SECRETS, {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { namespace, name: objectName, labels: { page: objectName } },
          stringData: { k: 'v' },
        } as KubeObject);
      }
      const labelSelector = 'page in (p1,p3),page';
      const page = await client.list(SECRETS, { namespace, labelSelector: 'page', limit: 2 });
      expect([page.items.length, page.continueToken === undefined]).toEqual([2, false]);
      const all = await client.listAll(SECRETS, { namespace, labelSelector: 'page', limit: 2 });
      expect(all.items.map(({ kind, metadata }) => [kind, metadata.name])).toEqual(
        ['p1', 'p2', 'p3'].map((each) => ['Secret', each]),
      );
      const some = await client.list(SECRETS, { namespace, labelSelector, metadataOnly: true });
      expect(some.items.map((item) => [item.kind, item.metadata.name, 'data' in item])).toEqual([
        ['Secret', 'p1', false],
        ['Secret', 'p3', false],
      ]);
      const one = await client.get(SECRETS, { namespace, name: 'p1' }, { metadataOnly: true });
      expect([one.kind, 'data' in one]).toEqual(['Secret', false]);
      const byName = await client.list(SECRETS, { namespace, fieldSelector: 'metadata.name=p2' });
      expect(byName.items).toHaveLength(1);
      expect(await client.get(SECRETS, { namespace, name: 'p2' })).toMatchObject({ data: { k: 'dg==' } });
    });

    it.each([{ metadataOnly: false }, { metadataOnly: true }])('watches $metadataOnly', async ({ metadataOnly }) => {
      const objectName = `watched-${metadataOnly}`;
      const { resourceVersion } = await client.list(CONFIG_MAPS, { namespace });
      const made = await client.create(CONFIG_MAPS, aMap(objectName, { a: '1' }, { labels: { watched: 'yes' } }));
      await client.mergePatch(CONFIG_MAPS, made.metadata, { data: { a: '2' } });
      const abort = new AbortController();
      const events: WatchEvent<ConfigMap>[] = [];
      const options = {
        namespace,
        labelSelector: 'watched',
        resourceVersion,
        timeoutSeconds: 30,
        idleMs: 20_000,
        metadataOnly,
        signal: abort.signal,
      };
      const reading = (async () => {
        for await (const event of client.watch<ConfigMap>(CONFIG_MAPS, options)) {
          events.push(event);
          if (event.type === 'DELETED') abort.abort();
        }
      })();
      await client.remove(CONFIG_MAPS, made.metadata, { uid: String(made.metadata.uid) });
      await reading;
      const told = events.filter((event) => event.type !== 'BOOKMARK');
      expect(told.map(({ type, object }) => [type, object.kind, object.metadata.name, object.data?.['a']])).toEqual([
        ['ADDED', 'ConfigMap', objectName, metadataOnly ? undefined : '1'],
        ['MODIFIED', 'ConfigMap', objectName, metadataOnly ? undefined : '2'],
        ['DELETED', 'ConfigMap', objectName, metadataOnly ? undefined : '2'],
      ]);
      const versions = told.map(({ object }) => BigInt(String(object.metadata.resourceVersion)));
      expect([...versions].sort((a, b) => (a < b ? -1 : 1))).toEqual(versions);
      expect(new Set(versions).size).toBe(3);
    });

    it('tells by DELETED what leaves a selection', async () => {
      const { resourceVersion } = await client.list(CONFIG_MAPS, { namespace });
      const made = await client.create(CONFIG_MAPS, aMap('leaver', {}, { labels: { leaver: 'yes' } }));
      await client.mergePatch(CONFIG_MAPS, made.metadata, { metadata: { labels: { leaver: null } } });
      const abort = new AbortController();
      const types: string[] = [];
      const options = {
        namespace,
        labelSelector: 'leaver',
        resourceVersion,
        timeoutSeconds: 30,
        idleMs: 20_000,
        signal: abort.signal,
      };
      for await (const event of client.watch(CONFIG_MAPS, options)) {
        types.push(event.type);
        if (event.type === 'DELETED') abort.abort();
      }
      expect(types.filter((type) => type !== 'BOOKMARK')).toEqual(['ADDED', 'DELETED']);
    });

    it('asks whether it may', async () => {
      const spec = { resourceAttributes: { namespace, verb: 'create', group: '', resource: 'configmaps' } };
      const review = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        metadata: { name: '' },
        spec,
      };
      const answer = await client.create(SELF_SUBJECT_ACCESS_REVIEWS, review);
      expect(answer).toMatchObject({ status: { allowed: true } });
    });

    it('reads paths as text', async () => {
      expect(await client.text('/readyz')).toBe('ok');
      expect(await fails(client.text('/no/such/path'))).toBe('NotFound');
    });

    it('reads paths piece by piece', async () => {
      const read = async (path: string): Promise<string> => {
        const pieces: Uint8Array[] = [];
        for await (const piece of client.stream(path)) pieces.push(piece);
        return Buffer.concat(pieces).toString();
      };
      expect(await read('/readyz')).toBe('ok');
      expect(await fails(read('/no/such/path'))).toBe('NotFound');
      const gone = new Error('gone');
      const none = client.stream('/readyz', { signal: AbortSignal.abort(gone) });
      await expect(none[Symbol.asyncIterator]().next()).rejects.toBe(gone);
    });

    it('changes nothing in a dry run', async () => {
      await client.apply(CONFIG_MAPS, aMap('dry'), { fieldManager: 'm', dryRun: true });
      expect(await fails(client.get(CONFIG_MAPS, { namespace, name: 'dry' }))).toBe('NotFound');
    });
  });
}
