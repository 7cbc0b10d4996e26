// An in-memory API server behind the KubeClient interface, for fast table tests. It is an approximation and never the
// only proof of anything: no schemas, no defaults, no admission, no RBAC, no controllers.

import { AlreadyExists, Conflict, Gone, Invalid, NotFound, Unauthorized } from '../../../src/runtime/errors.ts';
import { apiVersionOf } from '../../../src/runtime/kube/api-resources.ts';
import type {
  ApplyOptions,
  DeleteOptions,
  KubeClient,
  KubeObject,
  ListOptions,
  ObjectList,
  ObjectRef,
  Resource,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../../../src/runtime/kube/client.ts';
import {
  asText,
  copyOf,
  isObject,
  type Json,
  type JsonObject,
  leavesOf,
  nameOf,
  orderAs,
  pathOf,
  readable,
  removeLeaves,
  same,
  setAt,
  valueAt,
} from './field-sets.ts';
import { jsonPatched, mergePatched } from './patches.ts';
import { selects } from './selectors.ts';

/** One write as it was sent, whether it was carried out or not. */
export interface Write {
  readonly verb: 'create' | 'update' | 'apply' | 'patch' | 'delete';
  readonly kind: string;
  readonly ref: ObjectRef;
  /** The object or patch sent; of a delete, its preconditions. */
  readonly body: unknown;
  readonly subresource?: string;
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** The bearer token, if it was made with somebody else's. */
  readonly token?: string;
  /** The name of the error, if it was refused. */
  readonly error?: string;
}

/** Any request, as a failure is injected into it. */
export interface FakeRequest {
  readonly verb: Write['verb'] | 'get' | 'list' | 'watch' | 'text';
  readonly kind: string;
  readonly ref: ObjectRef;
  readonly body?: unknown;
  readonly subresource?: string;
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly token?: string;
}

export type Failure = (request: FakeRequest) => Error | undefined | Promise<Error | undefined>;

export interface FakeKube extends KubeClient {
  /** Every write in order, refused ones with their error. */
  readonly writes: Write[];
  clearWrites(): void;
  /** Puts an object there as it is, status included, as if by somebody else's write; not recorded. Returns it as stored. */
  seed<T extends KubeObject>(resource: Resource, object: T, manager?: string): T;
  /** Takes an object out, finalizers or not, as if by somebody else. */
  erase(resource: Resource, ref: ObjectRef): void;
  /** All objects of a resource, by namespace and name. */
  objects<T extends KubeObject = KubeObject>(resource: Resource): T[];
  /** Asked before every request; an error it returns is thrown and nothing happens. */
  failOn(failure: Failure | undefined): void;
  /** Asked after every write that was carried out; an error it returns is thrown: the answer was lost. */
  failAfter(failure: Failure | undefined): void;
  /** Decides SelfSubjectAccessReviews, and SubjectAccessReviews with the username in place of the token; without it all is allowed. */
  allow(decide: (resourceAttributes: Readonly<Record<string, string>>, token: string | undefined) => boolean): void;
  /** Tells whose a bearer token is: undefined for one of nobody, of which every request is Unauthorized. Somebody's unless told. */
  know(usernameOf: (token: string) => string | undefined): void;
  /** Whose a token is that a TokenReview asks about: `user` and `audiences` of its status. Nobody's unless told. */
  reviewTokens(of: (token: string) => object | undefined): void;
  /** Forgets the history: a watch from before now is Gone. */
  compact(): void;
  /** Sends every open watch a bookmark. */
  bookmark(): void;
  /** Ends every open watch: quietly, or by this error. */
  endWatches(error?: Error): void;
  /** Deletes what has owners and none of them is there, as the garbage collector would. */
  collectGarbage(): void;
  /** What `text` answers, by path. */
  readonly texts: Map<string, string>;
  resourceVersion(): string;
}

/** What a review asks about. */
interface Reviewed {
  readonly resourceAttributes?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly token?: string;
}

export interface Owned {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource?: string;
  readonly leaves: Set<string>;
  time: string;
}

export interface Stored {
  readonly resource: Resource;
  readonly object: KubeObject;
  readonly owned: Owned[];
}

/** Where the objects are, by `group/plural/namespace/name`. */
export interface ObjectStore {
  get(id: string): Stored | undefined;
  has(id: string): boolean;
  set(id: string, stored: Stored): void;
  delete(id: string): void;
  values(): Iterable<Stored>;
  /** Those of one resource, of one namespace if it is given. */
  of(resource: Resource, namespace?: string): Iterable<Stored>;
  /** Returns a function that brings back what is there now. */
  hold(): () => void;
}

interface LogEntry {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: KubeObject;
  readonly previous?: KubeObject;
}

/** Metadata that only the server writes. */
const SERVER_METADATA = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'managedFields',
];

/** As many bytes as come from a connection at once. */
const PIECE = 64 * 1024;

/** A container's log as a kubelet gives it: the last lines of what stands under the path alone, since then, so many bytes. */
function logOf(texts: ReadonlyMap<string, string>, path: string): Buffer | undefined {
  const { pathname, searchParams } = new URL(path, 'https://kube.example');
  const previous = searchParams.get('previous') === 'true' ? '&previous=true' : '';
  const whole = texts.get(`${pathname}?container=${searchParams.get('container')}${previous}`);
  if (whole === undefined) return undefined;
  const lines = whole.split('\n').slice(0, -1);
  const since = Date.parse(searchParams.get('sinceTime') ?? '1970-01-01T00:00:00Z');
  const kept = lines
    .slice(-Number(searchParams.get('tailLines') ?? lines.length))
    .filter((line) => !(Date.parse(line.split(' ', 1)[0] ?? '') < since));
  const text = Buffer.from(kept.map((line) => `${line}\n`).join(''));
  return text.subarray(0, Number(searchParams.get('limitBytes') ?? text.length));
}

export interface FakeKubeOptions {
  /** Wall clock for timestamps. */
  readonly now?: () => number;
  readonly store?: ObjectStore;
  /** The resourceVersion to begin after. */
  readonly version?: number;
  /** The uid of a new object; numbered if not given. */
  readonly uidOf?: (resource: Resource, ref: ObjectRef) => string;
  /** As a mutating admission webhook: may change an object before it is stored. */
  readonly admit?: (resource: Resource, object: JsonObject, before: KubeObject | undefined) => void;
}

/** `stored`: what is there at first. */
export function makeObjectStore(stored = new Map<string, Stored>()): ObjectStore {
  return {
    get: (id) => stored.get(id),
    has: (id) => stored.has(id),
    set: (id, one) => void stored.set(id, one),
    delete: (id) => void stored.delete(id),
    values: () => stored.values(),
    of: (resource, namespace) =>
      [...stored.values()].filter(
        (one) =>
          sameResource(one.resource, resource) &&
          (namespace === undefined || (one.object.metadata.namespace ?? '') === namespace),
      ),
    hold() {
      const before = new Map(stored);
      return () => {
        stored.clear();
        for (const [id, one] of before) stored.set(id, one);
      };
    },
  };
}

export function makeFakeKube(options: FakeKubeOptions = {}): FakeKube {
  const now = options.now ?? (() => Date.parse('2026-01-01T00:00:00Z'));
  const stored = options.store ?? makeObjectStore();
  const { uidOf, admit } = options;
  const writes: Write[] = [];
  const texts = new Map<string, string>([['/readyz', 'ok']]);
  const watchers = new Set<{ readonly resource: Resource; wake(): void; end(error: Error | undefined): void }>();
  /** What happened to the objects of a resource, by its group and plural: a watch looks at no other. */
  const history = new Map<string, LogEntry[]>();
  let version = options.version ?? 1000;
  let compacted = 0;
  let serial = 0;
  let failure: Failure | undefined;
  let lostAnswer: Failure | undefined;
  let decide: (attributes: Readonly<Record<string, string>>, token: string | undefined) => boolean = () => true;

  let usernameOf: (token: string) => string | undefined = () => 'somebody';

  const idOf = (resource: Resource, ref: ObjectRef): string =>
    `${resource.group}/${resource.plural}/${ref.namespace ?? ''}/${ref.name}`;
  const time = (): string => new Date(now()).toISOString().replace(/\.\d+Z$/, 'Z');

  function historyOf({ group, plural }: Resource): LogEntry[] {
    const name = `${group}/${plural}`;
    const entries = history.get(name) ?? [];
    history.set(name, entries);
    return entries;
  }

  function announce(type: LogEntry['type'], resource: Resource, object: KubeObject, previous?: KubeObject): void {
    historyOf(resource).push({ version, type, object, ...(previous !== undefined && { previous }) });
    for (const watcher of watchers) if (sameResource(watcher.resource, resource)) watcher.wake();
  }

  /** Returns a function that takes back everything that happens from now on. */
  function holdAll(): () => void {
    const [undo, versionBefore] = [stored.hold(), version];
    const lengths = new Map([...history].map(([name, { length }]) => [name, length]));
    return () => {
      undo();
      version = versionBefore;
      for (const [name, entries] of history) entries.length = lengths.get(name) ?? 0;
    };
  }

  /** Stores a new state: the next version, a new generation if the spec changed, and it is gone if nothing holds it. */
  function commit(resource: Resource, next: JsonObject, owned: Owned[], before: Stored | undefined): KubeObject {
    const metadata = next['metadata'] as JsonObject;
    const old = before?.object as unknown as JsonObject | undefined;
    const oldMetadata = old?.['metadata'] as JsonObject | undefined;
    admit?.(resource, next, before?.object);
    if (old !== undefined && oldMetadata !== undefined) {
      const changed = !same(withoutServerParts(old), withoutServerParts(next));
      if (!changed && metadata['deletionTimestamp'] === oldMetadata['deletionTimestamp']) {
        const unchanged = { ...(before as Stored), owned };
        stored.set(idOf(resource, refOf(next)), unchanged);
        return unchanged.object;
      }
      const specChanged =
        !same(contentOf(old), contentOf(next)) || metadata['deletionTimestamp'] !== oldMetadata['deletionTimestamp'];
      metadata['generation'] = Number(oldMetadata['generation'] ?? 1) + (specChanged ? 1 : 0);
    }
    version += 1;
    metadata['resourceVersion'] = String(version);
    const entries = owned.filter((entry) => entry.leaves.size > 0);
    metadata['managedFields'] = entries.map(({ manager, operation, subresource, time: at }) => ({
      manager,
      operation,
      time: at,
      ...(subresource !== undefined && { subresource }),
    }));
    const object = deepFreeze(copyOf(next)) as unknown as KubeObject;
    const id = idOf(resource, object.metadata);
    if (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers?.length ?? 0) === 0) {
      stored.delete(id);
      announce('DELETED', resource, object, before?.object);
      return object;
    }
    stored.set(id, { resource, object, owned: entries });
    announce(before === undefined ? 'ADDED' : 'MODIFIED', resource, object, before?.object);
    return object;
  }

  function find(resource: Resource, ref: ObjectRef, doing: string): Stored {
    const found = stored.get(idOf(resource, ref));
    if (found === undefined) throw refusal(NotFound, doing, `${resource.plural} "${ref.name}" not found`);
    return found;
  }

  function newObject(resource: Resource, sent: KubeObject): JsonObject {
    const object = copyOf(sent) as unknown as JsonObject;
    const metadata = { ...(object['metadata'] as JsonObject) };
    serial += 1;
    if ((metadata['name'] ?? '') === '' && typeof metadata['generateName'] === 'string') {
      metadata['name'] = `${metadata['generateName']}${String(serial).padStart(5, '0')}`;
    }
    metadata['uid'] ??=
      uidOf?.(resource, { ...sent.metadata, name: asText(metadata['name'] ?? '') }) ??
      `00000000-0000-4000-8000-${String(serial).padStart(12, '0')}`;
    metadata['creationTimestamp'] ??= time();
    metadata['generation'] ??= 1;
    object['apiVersion'] = apiVersionOf(resource);
    object['kind'] = resource.kind;
    object['metadata'] = metadata;
    writeStringData(object);
    return object;
  }

  function create(
    resource: Resource,
    sent: KubeObject,
    manager: Omit<Owned, 'leaves' | 'time'>,
    doing: string,
  ): JsonObject {
    if (stored.has(idOf(resource, sent.metadata)) && sent.metadata.name !== '') {
      throw refusal(AlreadyExists, doing, `${resource.plural} "${sent.metadata.name}" already exists`);
    }
    const { uid: _uid, resourceVersion, creationTimestamp: _time, ...metadata } = sent.metadata;
    if (resourceVersion !== undefined)
      throw refusal(Invalid, doing, 'resourceVersion should not be set on objects to be created');
    const object = newObject(resource, { ...sent, metadata });
    delete object['status'];
    const owned: Owned[] = [{ ...manager, leaves: new Set(ownable(object, undefined).keys()), time: time() }];
    return commit(resource, object, owned, undefined) as unknown as JsonObject;
  }

  /** PUT and the patches that end in one: the new object in place of the old, as far as the writer may change it. */
  function update(
    resource: Resource,
    before: Stored,
    sent: JsonObject,
    writing: WriteOptions,
    doing: string,
  ): KubeObject {
    const old = copyOf(before.object) as unknown as JsonObject;
    checkPreconditions(before.object, sent, doing);
    const next = allowedChange(old, sent, writing.subresource);
    const manager = {
      manager: writing.fieldManager ?? 'unknown',
      operation: 'Update' as const,
      ...subresourceOf(writing),
    };
    return commit(resource, next, ownedAfter(before, next, manager), before);
  }

  /** Who owns what once `manager` has made `next` of what there was: what it changed is its own. */
  function ownedAfter(before: Stored, next: JsonObject, manager: Omit<Owned, 'leaves' | 'time'>): Owned[] {
    const owned = before.owned.map((entry) => ({ ...entry, leaves: new Set(entry.leaves) }));
    const oldLeaves = leavesOfStored(before.object);
    const newLeaves = ownable(next, undefined);
    const mine = entryOf(owned, manager, time());
    for (const [name, { value }] of newLeaves) {
      const was = oldLeaves.get(name);
      if (was !== undefined && same(was.value, value)) continue;
      for (const entry of owned) entry.leaves.delete(name);
      mine.leaves.add(name);
      mine.time = time();
    }
    for (const name of oldLeaves.keys()) if (!newLeaves.has(name)) for (const entry of owned) entry.leaves.delete(name);
    return owned;
  }

  function applied(resource: Resource, sent: KubeObject, applying: ApplyOptions, doing: string): KubeObject {
    const before = stored.get(idOf(resource, sent.metadata));
    const manager = { manager: applying.fieldManager, operation: 'Apply' as const, ...subresourceOf(applying) };
    if (before === undefined) {
      if (sent.metadata.uid !== undefined) {
        throw refusal(
          Conflict,
          doing,
          `uid mismatch: the provided object specified uid ${sent.metadata.uid}, and no existing object was found`,
        );
      }
      if (applying.subresource !== undefined) find(resource, sent.metadata, doing);
      return create(resource, sent, manager, doing) as unknown as KubeObject;
    }
    const wanted = copyOf(sent) as unknown as JsonObject;
    if (applying.onlyCreate === true) throw refusal(Conflict, doing, MODIFIED);
    checkPreconditions(before.object, wanted, doing);
    writeStringData(wanted);
    const next = copyOf(before.object) as unknown as JsonObject;
    const owned = before.owned.map((entry) => ({ ...entry, leaves: new Set(entry.leaves) }));
    const mine = entryOf(owned, manager, time());
    const others = owned.filter((entry) => entry !== mine);
    const leaves = ownable(wanted, applying.subresource);

    for (const [name, { path, value }] of leaves) {
      const changes = !same(valueAt(next, path), value);
      const owners = others.filter((entry) => entry.leaves.has(name));
      if (changes && owners.length > 0) {
        if (applying.force !== true) {
          throw refusal(
            Conflict,
            doing,
            `Apply failed with 1 conflict: conflict with "${owners[0]?.manager}": ${readable(path)}`,
          );
        }
        for (const owner of owners) owner.leaves.delete(name);
      }
      // An empty object asks only that there be one.
      const keepsContent = isObject(value) && Object.keys(value).length === 0 && isObject(valueAt(next, path));
      if (changes && !keepsContent) setAt(next, path, value);
    }
    const gone = [...mine.leaves].filter(
      (name) => !leaves.has(name) && !others.some((entry) => entry.leaves.has(name)),
    );
    removeLeaves(next, gone.map(pathOf));
    orderAs(wanted, next);
    next['metadata'] ??= {};
    mine.leaves.clear();
    for (const name of leaves.keys()) mine.leaves.add(name);
    mine.time = time();
    return commit(resource, next, owned, before);
  }

  function remove(resource: Resource, ref: ObjectRef, deleting: DeleteOptions, doing: string): KubeObject | undefined {
    const before = find(resource, ref, doing);
    const { uid, resourceVersion } = before.object.metadata;
    if (deleting.uid !== uid) {
      throw refusal(
        Conflict,
        doing,
        `the UID in the precondition (${deleting.uid}) does not match the UID in record (${uid})`,
      );
    }
    if (deleting.resourceVersion !== undefined && deleting.resourceVersion !== resourceVersion) {
      throw refusal(
        Conflict,
        doing,
        'the ResourceVersion in the precondition does not match the ResourceVersion in record',
      );
    }
    return startDeletion(before);
  }

  function startDeletion(before: Stored): KubeObject | undefined {
    const next = copyOf(before.object) as unknown as JsonObject;
    const metadata = next['metadata'] as JsonObject;
    if (metadata['deletionTimestamp'] !== undefined) return before.object;
    metadata['deletionTimestamp'] = time();
    metadata['deletionGracePeriodSeconds'] = 0;
    const object = commit(before.resource, next, before.owned, before);
    return stored.has(idOf(before.resource, object.metadata)) ? object : undefined;
  }

  function forget(before: Stored): void {
    version += 1;
    stored.delete(idOf(before.resource, before.object.metadata));
    const metadata = { ...before.object.metadata, resourceVersion: String(version) };
    announce('DELETED', before.resource, { ...before.object, metadata }, before.object);
  }

  async function ask(hook: Failure | undefined, request: FakeRequest, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) throw signal.reason;
    if (request.token !== undefined && usernameOf(request.token) === undefined)
      throw refusal(Unauthorized, request.verb, 'Unauthorized');
    const answer = hook?.(request);
    const error = answer instanceof Promise ? await orAbort(answer, signal) : answer;
    if (error !== undefined) throw error;
  }

  function clientOf(token: string | undefined): KubeClient {
    const asked = token === undefined ? {} : { token };

    async function write<T extends KubeObject | undefined>(
      sent: Omit<Write, 'token' | 'error'>,
      signal: AbortSignal | undefined,
      perform: () => KubeObject | undefined,
    ): Promise<T> {
      const request = { ...copyOf(sent), ...asked };
      const index = writes.push(request) - 1;
      try {
        await ask(failure, request, signal);
        const undo = request.dryRun === true ? holdAll() : undefined;
        const result = copyOf(perform());
        undo?.();
        await ask(lostAnswer, request, signal);
        return result as T;
      } catch (error) {
        if (writes[index] === request)
          writes[index] = { ...request, error: error instanceof Error ? error.name : String(error) };
        throw error;
      }
    }

    function patchBy<T extends KubeObject>(
      resource: Resource,
      ref: ObjectRef,
      patch: object,
      apply: (object: Json) => Json,
      writing: WriteOptions = {},
    ): Promise<T> {
      const doing = `patch ${described(resource, ref)}`;
      const sent = { verb: 'patch' as const, kind: resource.kind, ref, body: patch, ...sentBy(writing) };
      return write<T>(sent, writing.signal, () => {
        const before = find(resource, ref, doing);
        return update(resource, before, apply(copyOf(before.object) as unknown as Json) as JsonObject, writing, doing);
      });
    }

    function sentBy(writing: WriteOptions): Pick<Write, 'subresource' | 'fieldManager' | 'dryRun'> {
      return {
        ...(writing.subresource !== undefined && { subresource: writing.subresource }),
        ...(writing.fieldManager !== undefined && { fieldManager: writing.fieldManager }),
        ...(writing.dryRun === true && { dryRun: true }),
      };
    }

    async function list<T extends KubeObject>(resource: Resource, listing: ListOptions = {}): Promise<ObjectList<T>> {
      const ref = { ...(listing.namespace !== undefined && { namespace: listing.namespace }), name: '' };
      await ask(failure, { verb: 'list', kind: resource.kind, ref, ...asked }, listing.signal);
      const all = [...stored.of(resource, listing.namespace)]
        .filter((one) => selects(one.object, listing))
        .map((one) => copyOf(one.object))
        .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
        .map((object) => (listing.metadataOnly === true ? metadataOf(object) : object));
      const [from = 0, at = version] = (listing.continueToken ?? '').split('/').filter(Boolean).map(Number);
      if (at < compacted) throw refusal(Gone, `list ${resource.plural}`, 'The provided continue parameter is too old');
      const end = listing.limit === undefined ? all.length : from + listing.limit;
      return {
        items: all.slice(from, end) as T[],
        resourceVersion: String(at),
        ...(end < all.length && { continueToken: `${end}/${at}` }),
      };
    }

    async function* watch<T extends KubeObject>(
      resource: Resource,
      watching: WatchOptions,
    ): AsyncGenerator<WatchEvent<T>, void, undefined> {
      const { signal } = watching;
      if (signal.aborted) return;
      const ref = { ...(watching.namespace !== undefined && { namespace: watching.namespace }), name: '' };
      await ask(failure, { verb: 'watch', kind: resource.kind, ref, ...asked }, undefined);
      let from = Number(watching.resourceVersion);
      if (from < compacted)
        throw refusal(Gone, `watch ${resource.plural}`, `too old resource version: ${from} (${compacted})`);
      let wake: () => void = () => {};
      let ended: { readonly error: Error | undefined } | undefined;
      const watcher = {
        resource,
        wake: () => wake(),
        end(error: Error | undefined) {
          ended = { error };
          wake();
        },
      };
      const onAbort = (): void => watcher.end(undefined);
      signal.addEventListener('abort', onAbort, { once: true });
      watchers.add(watcher);
      const entries = historyOf(resource);
      let seen = entries.findLastIndex((entry) => entry.version <= from) + 1;
      try {
        for (;;) {
          for (; seen < entries.length; seen++) {
            const entry = entries[seen];
            if (ended !== undefined || entry === undefined) continue;
            const event = eventFor<T>(entry, watching);
            from = entry.version;
            if (event !== undefined) yield event;
          }
          if (ended !== undefined) {
            const { error } = ended as { error: Error | undefined };
            if (error !== undefined && !signal.aborted) throw error;
            return;
          }
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        watchers.delete(watcher);
        signal.removeEventListener('abort', onAbort);
      }
    }

    return {
      async get(resource, ref, getting = {}) {
        await ask(failure, { verb: 'get', kind: resource.kind, ref, ...asked }, getting.signal);
        const { object } = find(resource, ref, `get ${described(resource, ref)}`);
        return copyOf(getting.metadataOnly === true ? metadataOf(object) : object) as never;
      },
      list,
      async listAll(resource, listing = {}) {
        const { limit: _limit, continueToken: _token, ...rest } = listing;
        return list(resource, rest);
      },
      watch,
      create: (resource, object, writing = {}) => {
        const ref = plainRef(object.metadata);
        const doing = `create ${described(resource, ref)}`;
        return write(
          { verb: 'create', kind: resource.kind, ref, body: object, ...sentBy(writing) },
          writing.signal,
          () => {
            if (resource.kind.endsWith('Review')) return reviewed(object, token);
            requireNamespace(resource, ref, doing);
            const manager = { manager: writing.fieldManager ?? 'unknown', operation: 'Update' as const };
            return create(resource, object, manager, doing) as unknown as KubeObject;
          },
        );
      },
      replace: (resource, object, writing = {}) => {
        const ref = plainRef(object.metadata);
        const doing = `update ${described(resource, ref)}`;
        return write(
          { verb: 'update', kind: resource.kind, ref, body: object, ...sentBy(writing) },
          writing.signal,
          () => {
            const sent = copyOf(object) as unknown as JsonObject;
            writeStringData(sent);
            return update(resource, find(resource, ref, doing), sent, writing, doing);
          },
        );
      },
      apply: (resource, object, applying) => {
        const ref = plainRef(object.metadata);
        const doing = `apply ${described(resource, ref)}`;
        return write(
          { verb: 'apply', kind: resource.kind, ref, body: object, ...sentBy(applying) },
          applying.signal,
          () => {
            requireNamespace(resource, ref, doing);
            if (object.metadata.managedFields !== undefined)
              throw refusal(Invalid, doing, 'metadata.managedFields must be nil');
            return applied(resource, object, applying, doing);
          },
        );
      },
      mergePatch: (resource, ref, patch, writing) =>
        patchBy(resource, ref, patch, (object) => mergePatched(object, copyOf(patch) as Json), writing),
      jsonPatch: (resource, ref, patch, writing) =>
        patchBy(resource, ref, patch, (object) => jsonPatched(object, patch), writing),
      remove: (resource, ref, deleting) => {
        const { signal, dryRun, ...preconditions } = deleting;
        const doing = `delete ${described(resource, ref)}`;
        const sent = {
          verb: 'delete' as const,
          kind: resource.kind,
          ref,
          body: preconditions,
          ...(dryRun === true && { dryRun }),
        };
        return write<KubeObject | undefined>(sent, signal, () => remove(resource, ref, deleting, doing));
      },
      async text(path, { signal } = {}) {
        await ask(failure, { verb: 'text', kind: '', ref: { name: path }, ...asked }, signal);
        const text = texts.get(path);
        if (text === undefined)
          throw refusal(NotFound, `get ${path}`, 'the server could not find the requested resource');
        return text;
      },
      async *stream(path, { signal } = {}) {
        await ask(failure, { verb: 'text', kind: '', ref: { name: path }, ...asked }, signal);
        const bytes = texts.has(path) ? Buffer.from(texts.get(path) ?? '') : logOf(texts, path);
        if (bytes === undefined)
          throw refusal(NotFound, `read ${path}`, 'the server could not find the requested resource');
        for (let at = 0; at < bytes.length; at += PIECE) {
          await new Promise((resolve) => setImmediate(resolve));
          signal?.throwIfAborted();
          yield bytes.subarray(at, at + PIECE);
        }
      },
      withToken: (other) => clientOf(other),
    };
  }

  let tokenOf: (token: string) => object | undefined = () => undefined;

  function reviewed(object: KubeObject, token: string | undefined): KubeObject {
    const { spec } = object as { spec?: Reviewed };
    if (object.kind === 'SelfSubjectReview') {
      const username = token === undefined ? 'davit-api' : usernameOf(token);
      return Object.assign(copyOf(object), { status: { userInfo: { username } } });
    }
    if (object.kind === 'TokenReview') {
      const known = tokenOf(String(spec?.token));
      return Object.assign(copyOf(object), { status: known ? { authenticated: true, ...known } : {} });
    }
    const status = { allowed: decide(spec?.resourceAttributes ?? {}, spec?.user ?? token) };
    return { ...copyOf(object), ...(object.kind.endsWith('SubjectAccessReview') && { status }) };
  }

  return {
    ...clientOf(undefined),
    writes,
    texts,
    reviewTokens: (of) => {
      tokenOf = of;
    },
    clearWrites: () => {
      writes.length = 0;
    },
    seed(resource, object, manager = 'seed') {
      const before = stored.get(idOf(resource, object.metadata));
      const next = newObject(resource, object);
      const metadata = next['metadata'] as JsonObject;
      if (before !== undefined) {
        metadata['uid'] = object.metadata.uid ?? before.object.metadata.uid ?? '';
        metadata['creationTimestamp'] = before.object.metadata.creationTimestamp ?? '';
        if (metadata['uid'] !== before.object.metadata.uid) forget(before);
      }
      const sameOne = before?.object.metadata.uid === metadata['uid'] ? before : undefined;
      // As with any update, what it leaves as it was stays whose it was.
      const owned = sameOne
        ? ownedAfter(sameOne, next, { manager, operation: 'Update' })
        : [{ manager, operation: 'Update' as const, leaves: new Set(ownable(next, undefined).keys()), time: time() }];
      const generation = metadata['generation'];
      const made = commit(resource, next, owned, sameOne);
      // A test that names a generation means it.
      if (object.metadata.generation === undefined || made.metadata.generation === generation)
        return copyOf(made) as never;
      const exact = { ...made, metadata: { ...made.metadata, generation: object.metadata.generation } };
      stored.set(idOf(resource, made.metadata), { resource, object: deepFreeze(exact), owned });
      return copyOf(exact) as never;
    },
    erase(resource, ref) {
      forget(find(resource, ref, `erase ${described(resource, ref)}`));
    },
    objects: (resource) =>
      [...stored.of(resource)].map((one) => copyOf(one.object)).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)) as never,
    failOn(next) {
      failure = next;
    },
    failAfter(next) {
      lostAnswer = next;
    },
    allow(next) {
      decide = next;
    },
    know(next) {
      usernameOf = next;
    },
    compact() {
      version += 1;
      compacted = version;
      // Open watches have seen everything already; new ones start after.
      history.clear();
      for (const watcher of watchers) watcher.end(undefined);
    },
    bookmark() {
      for (const resource of new Set([...watchers].map((one) => one.resource))) {
        const metadata = { name: '', resourceVersion: String(version) };
        announce('BOOKMARK', resource, { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata });
      }
    },
    endWatches(error) {
      for (const watcher of watchers) watcher.end(error);
    },
    collectGarbage() {
      for (let found = true; found; ) {
        const uids = new Set([...stored.values()].map((one) => one.object.metadata.uid));
        const orphans = [...stored.values()].filter(({ object: { metadata } }) => {
          const owners = metadata.ownerReferences ?? [];
          return (
            metadata.deletionTimestamp === undefined &&
            owners.length > 0 &&
            owners.every((owner) => !uids.has(owner.uid))
          );
        });
        found = orphans.length > 0;
        for (const orphan of orphans) startDeletion(orphan);
      }
    },
    resourceVersion: () => String(version),
  };
}

/** What of an object can be owned: not its identity, not what the server writes, and one side of the status line only. */
function ownable(object: JsonObject, subresource: string | undefined): ReturnType<typeof leavesOf> {
  const { apiVersion: _apiVersion, kind: _kind, metadata, status, ...content } = object;
  if (subresource === 'status') return leavesOf(status === undefined ? {} : { status });
  const own = Object.fromEntries(
    Object.entries(isObject(metadata) ? metadata : {}).filter(
      ([name]) =>
        !SERVER_METADATA.includes(name) &&
        !['name', 'namespace', 'generateName', 'deletionGracePeriodSeconds'].includes(name),
    ),
  );
  const leaves = leavesOf({ ...content, ...(Object.keys(own).length > 0 && { metadata: own }) });
  leaves.delete(nameOf([]));
  return leaves;
}

const leavesKnown = new WeakMap<KubeObject, ReturnType<typeof leavesOf>>();
/** The same of an object that is stored, and therefore never changes. */
function leavesOfStored(object: KubeObject): ReturnType<typeof leavesOf> {
  const found = leavesKnown.get(object) ?? ownable(object as unknown as JsonObject, undefined);
  leavesKnown.set(object, found);
  return found;
}

/** The new object as far as this writer may change it: status through its subresource and nothing else there. */
function allowedChange(old: JsonObject, sent: JsonObject, subresource: string | undefined): JsonObject {
  const oldMetadata = old['metadata'] as JsonObject;
  if (subresource === 'status') return { ...old, ...('status' in sent && { status: sent['status'] ?? null }) };
  if (subresource === 'scale') {
    const spec = { ...(old['spec'] as JsonObject), replicas: (sent['spec'] as JsonObject)['replicas'] ?? null };
    return { ...old, spec };
  }
  // The API server takes nothing but the sizes of containers.
  if (subresource === 'resize') return { ...old, spec: sent['spec'] ?? null };
  const metadata: JsonObject = { ...(sent['metadata'] as JsonObject) };
  for (const name of [...SERVER_METADATA, 'name', 'namespace', 'deletionGracePeriodSeconds']) {
    const value = oldMetadata[name];
    if (value === undefined) delete metadata[name];
    else metadata[name] = copyOf(value);
  }
  const { status: _status, ...content } = sent;
  return {
    ...content,
    apiVersion: old['apiVersion'] ?? '',
    kind: old['kind'] ?? '',
    metadata,
    ...(old['status'] !== undefined && { status: old['status'] }),
  };
}

const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

function checkPreconditions(current: KubeObject, sent: JsonObject, doing: string): void {
  const metadata = isObject(sent['metadata']) ? sent['metadata'] : {};
  const { uid, resourceVersion } = metadata;
  if (uid !== undefined && uid !== current.metadata.uid) {
    throw refusal(
      Conflict,
      doing,
      `uid mismatch: the provided object specified uid ${asText(uid)}, the existing object has uid ${current.metadata.uid}`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== current.metadata.resourceVersion) {
    throw refusal(Conflict, doing, MODIFIED);
  }
}

function entryOf(owned: Owned[], manager: Omit<Owned, 'leaves' | 'time'>, time: string): Owned {
  const found = owned.find(
    (entry) =>
      entry.manager === manager.manager &&
      entry.operation === manager.operation &&
      entry.subresource === manager.subresource,
  );
  if (found !== undefined) return found;
  const made: Owned = { ...manager, leaves: new Set(), time };
  owned.push(made);
  return made;
}

function eventFor<T extends KubeObject>(entry: LogEntry, watching: WatchOptions): WatchEvent<T> | undefined {
  const shown = (object: KubeObject): T =>
    copyOf(watching.metadataOnly === true && entry.type !== 'BOOKMARK' ? metadataOf(object) : object) as T;
  if (entry.type === 'BOOKMARK') return { type: 'BOOKMARK', object: shown(entry.object) };
  const before = entry.previous !== undefined && selects(entry.previous, watching);
  const after = entry.type !== 'DELETED' && selects(entry.object, watching);
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', object: shown(entry.object) };
  return before ? { type: 'DELETED', object: shown(entry.object) } : undefined;
}

function metadataOf(object: KubeObject): KubeObject {
  return { apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata };
}

function writeStringData(object: JsonObject): void {
  if (object['kind'] !== 'Secret' || !isObject(object['stringData'])) return;
  const encoded = Object.entries(object['stringData']).map(([name, value]) => [
    name,
    Buffer.from(asText(value)).toString('base64'),
  ]);
  object['data'] = { ...(isObject(object['data']) ? object['data'] : {}), ...Object.fromEntries(encoded) };
  delete object['stringData'];
}

function withoutServerParts(object: JsonObject): JsonObject {
  const metadata = { ...(object['metadata'] as JsonObject) };
  for (const name of SERVER_METADATA) delete metadata[name];
  return { ...object, metadata };
}

/** What a generation counts: everything but metadata and status. */
function contentOf(object: JsonObject): JsonObject {
  const { metadata: _metadata, status: _status, ...content } = object;
  return content;
}

function subresourceOf(writing: WriteOptions): { readonly subresource?: string } {
  return writing.subresource === undefined ? {} : { subresource: writing.subresource };
}

function requireNamespace(resource: Resource, ref: ObjectRef, doing: string): void {
  if (resource.namespaced && ref.namespace === undefined) throw refusal(Invalid, doing, 'no namespace');
}

function refusal<E extends Error>(
  Kind: new (message: string, ...rest: never[]) => E,
  doing: string,
  serverMessage: string,
): E {
  const Any = Kind as unknown as new (message: string, ...rest: unknown[]) => E;
  const message = `${doing}: ${serverMessage}`;
  return (Kind as unknown) === Invalid ? new Any(message, [], { serverMessage }) : new Any(message, { serverMessage });
}

function refOf(object: JsonObject): ObjectRef {
  return plainRef((object as unknown as KubeObject).metadata);
}

function plainRef({ namespace, name }: ObjectRef): ObjectRef {
  return { ...(namespace !== undefined && { namespace }), name };
}

function keyOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

function described(resource: Resource, ref: ObjectRef): string {
  return `${resource.plural} ${ref.namespace === undefined ? '' : `${ref.namespace}/`}${ref.name}`;
}

function sameResource(a: Resource, b: Resource): boolean {
  return a.group === b.group && a.plural === b.plural;
}

function orAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
