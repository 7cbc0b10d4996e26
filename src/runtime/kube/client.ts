// The interface to the Kubernetes API for the rest of Davit: plain JSON objects and the verbs that are used. http-client.ts is the
// only implementation, and no code outside of this folder opens a connection to an API server.

/** The fields of `metadata` that Davit reads. Times are RFC 3339 strings, as sent by the server. */
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
}

export interface ManagedField {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly time?: string;
  /** The set of fields. */
  readonly fieldsV1?: unknown;
}

/** Any Kubernetes object, as plain JSON. Kinds on which decisions depend have narrower types. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** A kind of kubernetes-models with Davit's type of metadata, as a maker returns it. */
export type Manifest<Kind> = Omit<Kind, 'metadata'> & KubeObject;

/** An object as the API server returns it. */
export type Read<Kind> = Omit<Kind, keyof KubeObject> & KubeObject;

/** What every element of a list has that is found by it. */
type Always = 'name' | 'type' | 'status' | 'exitCode';

/** A part of a kind of kubernetes-models of which any field may be absent: a cache keeps only some, and a controller has yet to write others. */
export type AsSeen<Part> = Part extends string
  ? string
  : Part extends readonly (infer Element)[]
    ? readonly AsSeen<Element>[]
    : Part extends object
      ? string extends keyof Part
        ? Readonly<Record<string, AsSeen<Part[keyof Part]>>>
        : { readonly [Field in keyof Part as Field extends Always ? Field : never]: AsSeen<Part[Field]> } & {
            readonly [Field in keyof Part as Field extends Always ? never : Field]?: AsSeen<Part[Field]>;
          }
      : Part;

/** A Secret. The values of `data` are in base64. */
export interface SecretObject extends KubeObject {
  readonly type?: string;
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
}

/** One resource of the API, with the parts of its URLs. `group` is '' for the core group. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** The location of an object. `namespace` is absent for cluster-scoped resources. */
export interface ObjectRef {
  readonly namespace?: string;
  readonly name: string;
}

export interface GetOptions {
  /** Request PartialObjectMetadata: only metadata, without spec, data or status. */
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
  /** Request PartialObjectMetadata: only metadata, without spec, data or status. */
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
  /** Milliseconds without data after which the connection counts as dead. */
  readonly idleMs: number;
}

/** One line of a watch. ERROR is thrown as Gone, Unavailable, ... instead. */
export interface WatchEvent<T extends KubeObject = KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

export interface WriteOptions {
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** Reject fields that the schema does not have, instead of dropping them (fieldValidation). */
  readonly strict?: boolean;
  readonly subresource?: 'status' | 'scale' | 'resize';
  /** Aborts the request. The write may have happened nevertheless. */
  readonly signal?: AbortSignal;
  /** Called immediately before the request is sent over its connection. If it returns false, nothing is sent. */
  readonly isStillWanted?: () => boolean;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take over fields of other managers (server-side apply `force`). */
  readonly force?: boolean;
  /** Creates an object without reading or merging. Throws Conflict if an object of that name exists, whatever its owner. */
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
 * AlreadyExists, Unauthorized, Forbidden, Invalid, Gone, Unavailable. Only a request that its `signal` aborts rejects
 * with the signal's reason. 429 and 503 with Retry-After are retried a few times for reads and applies, never for
 * creates. Every returned object has the apiVersion and kind of its resource, also as an item of a list or as metadata only.
 */
export interface KubeClient {
  get<T extends KubeObject>(resource: Resource, ref: ObjectRef, options?: GetOptions): Promise<T>;
  list<T extends KubeObject>(resource: Resource, options?: ListOptions): Promise<ObjectList<T>>;
  /** Reads all pages. */
  listAll<T extends KubeObject>(resource: Resource, options?: ListOptions): Promise<ObjectList<T>>;
  watch<T extends KubeObject>(resource: Resource, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  /** PUT. With `metadata.resourceVersion` it throws Conflict if the object has changed since. */
  replace<T extends KubeObject>(resource: Resource, object: T, options?: WriteOptions): Promise<T>;
  /** Server-side apply. With `metadata.uid` it throws Conflict if the object does not exist or has another uid. */
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
   * Resolves to the current object while finalizers or a grace period hold it, and to undefined if it is gone.
   * Throws Conflict if the object has another uid.
   */
  remove(resource: Resource, ref: ObjectRef, options: DeleteOptions): Promise<KubeObject | undefined>;
  /** Any other GET, such as `/readyz` or `/version`, as text. */
  text(path: string, options?: { readonly signal?: AbortSignal }): Promise<string>;
  /**
   * A GET whose answer may be long, such as a pod's log, in chunks, over separate connections. It ends when the consumer
   * stops reading.
   */
  stream(path: string, options?: { readonly signal?: AbortSignal }): AsyncIterable<Uint8Array>;
  /** Returns a client of the same server with another bearer token. Connections are shared unless Davit's have a client certificate. */
  withToken(token: string): KubeClient;
}
