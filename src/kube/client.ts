// What the rest of Davit knows of the Kubernetes API: plain JSON objects, and the few verbs that are used.
// The one implementation is http-client.ts; nothing outside this room opens a connection to an API server.

/** `metadata` of any object, as far as Davit reads it. Times are RFC 3339 strings, as sent by the server. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly ManagedField[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ManagedField {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly time?: string;
}

/** Any Kubernetes object, as plain JSON. Kinds that we decide on have narrower types of their own. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** One resource of the API: what is needed to make its URLs. `group` is '' for the core group. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** Where an object is. `namespace` is absent for cluster-scoped resources. */
export interface ObjectRef {
  readonly namespace?: string;
  readonly name: string;
}

export interface GetOptions {
  /** Ask for PartialObjectMetadata: metadata alone, no spec, data or status. */
  readonly metadataOnly?: boolean;
  readonly signal?: AbortSignal;
}

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Page size; all pages are followed by `listAll`, one page is returned by `list`. */
  readonly limit?: number;
  readonly continueToken?: string;
  readonly resourceVersion?: string;
  /** Ask for PartialObjectMetadata: metadata alone, no spec, data or status. */
  readonly metadataOnly?: boolean;
  readonly signal?: AbortSignal;
}

export interface ObjectList<T extends KubeObject = KubeObject> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  readonly continueToken?: string;
}

export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  readonly metadataOnly?: boolean;
  readonly signal: AbortSignal;
  /** Milliseconds without a byte after which the connection counts as dead. */
  readonly idleMs: number;
}

/** One line of a watch. ERROR never comes out: it is thrown as Gone, Unavailable, ... instead. */
export interface WatchEvent<T extends KubeObject = KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

export interface WriteOptions {
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** Refuse fields that the schema doesn't have, instead of dropping them (fieldValidation). */
  readonly strict?: boolean;
  readonly subresource?: 'status' | 'scale';
  /** Gives the request up. The write may have happened all the same. */
  readonly signal?: AbortSignal;
  /** Asked when the request is about to go out over its connection; false gives it up, and nothing was sent. */
  readonly isStillWanted?: () => boolean;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take fields over from other managers (server-side apply `force`). */
  readonly force?: boolean;
  /** Only make it: a Conflict where an object of that name is there, whosever it is. Nothing is read and nothing merged. */
  readonly onlyCreate?: boolean;
}

export interface DeleteOptions {
  /** Always set it: a record of the same name may have been recreated. */
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
  /** As for every write. */
  readonly isStillWanted?: () => boolean;
}

/**
 * Reads and writes Kubernetes objects as plain JSON. Every failure is one of errors.ts: NotFound, Conflict,
 * AlreadyExists, Unauthorized, Forbidden, Invalid, Gone, Unavailable; only a request given up by its own `signal` rejects
 * with that signal's reason. 429 and 503 with Retry-After are retried a few times for reads and for applies, never for
 * creates. Every object that comes back carries the apiVersion and kind of its resource, also out of a list or as
 * metadata alone.
 */
export interface KubeClient {
  get<T extends KubeObject>(resource: Resource, ref: ObjectRef, options?: GetOptions): Promise<T>;
  list<T extends KubeObject>(resource: Resource, options?: ListOptions): Promise<ObjectList<T>>;
  /** Follows every page. */
  listAll<T extends KubeObject>(resource: Resource, options?: ListOptions): Promise<ObjectList<T>>;
  watch<T extends KubeObject>(resource: Resource, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  /** PUT; with `metadata.resourceVersion` it is refused as a Conflict when the object has changed since. */
  replace<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  /** Server-side apply. With `metadata.uid` it is refused as a Conflict when the object is another one, or none. */
  apply<T extends KubeObject>(resource: Resource, object: T, options: ApplyOptions): Promise<T>;
  /** JSON Merge Patch (RFC 7386). */
  mergePatch<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: object,
    options?: WriteOptions,
  ): Promise<T>;
  /** JSON Patch (RFC 6902); a `test` operation that fails is Invalid. */
  jsonPatch<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: readonly object[],
    options?: WriteOptions,
  ): Promise<T>;
  /**
   * Resolves to the object as it now stands while finalizers or a grace period hold it, else to undefined: it is gone.
   * A uid that is not the object's is a Conflict.
   */
  remove(resource: Resource, ref: ObjectRef, options: DeleteOptions): Promise<KubeObject | undefined>;
  /** Any other GET, such as `/readyz` or `/version`, as text. */
  text(path: string, options?: { readonly signal?: AbortSignal }): Promise<string>;
  /**
   * A GET whose answer may be long, such as a pod's log, piece by piece, over connections of their own. Whoever stops
   * taking pieces ends it.
   */
  stream(path: string, options?: { readonly signal?: AbortSignal }): AsyncIterable<Uint8Array>;
  /** The same server with somebody else's bearer token. Connections are shared unless ours carry a client certificate. */
  withToken(token: string): KubeClient;
}
