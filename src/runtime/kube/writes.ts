// The writes of KubeClient.

import type {
  ApplyOptions,
  DeleteOptions,
  KubeClient,
  KubeObject,
  ObjectRef,
  Resource,
  WriteOptions,
} from './client.ts';
import { JSON_TYPE, type Requests, type RequestVerb } from './requests.ts';
import { parse, stillThere, typed } from './responses.ts';
import { collectionPath, named, objectPath, requireNamespace, withSubresource, writeQuery } from './urls.ts';

type Writes = Pick<KubeClient, 'create' | 'replace' | 'apply' | 'mergePatch' | 'jsonPatch' | 'remove'>;

const MERGE_PATCH = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';

export function makeWrites(requests: Requests): Writes {
  const write = <T extends KubeObject>(resource: Resource, change: Change): Promise<T> =>
    sendChange<T>(requests, resource, change);

  return {
    async create<T extends KubeObject>(resource: Resource, object: T, writing: WriteOptions = {}): Promise<T> {
      const { subresource } = writing;
      const { namespace, name } = object.metadata;
      const doing = `create ${named(resource, object.metadata)}`;
      const path =
        subresource === undefined
          ? collectionPath(doing, resource, requireNamespace(doing, resource, namespace))
          : `${objectPath(doing, resource, { ...(namespace !== undefined && { namespace }), name })}/${subresource}`;
      const body = await requests.send({
        verb: 'create',
        resource: withSubresource(resource, writing),
        doing,
        method: 'POST',
        path: path + writeQuery(writing),
        contentType: JSON_TYPE,
        body: JSON.stringify(object),
        signal: writing.signal,
        isStillWanted: writing.isStillWanted,
      });
      return typed<T>(resource, parse(doing, body));
    },

    replace: (resource, object, writing = {}) =>
      write(resource, { verb: 'update', ref: object.metadata, contentType: JSON_TYPE, body: object, writing }),

    apply: (resource, object, applying: ApplyOptions) =>
      // A JSON document is also a YAML document except for some characters, and JSON is cheaper for both sides.
      write(resource, {
        verb: 'apply',
        ref: object.metadata,
        contentType: APPLY_TYPE,
        body: applying.onlyCreate === true ? onlyNew(object) : object,
        writing: applying,
        query: { force: applying.force === true ? 'true' : undefined },
      }),

    mergePatch: (resource, ref, patch, writing = {}) =>
      write(resource, { verb: 'patch', ref, contentType: MERGE_PATCH, body: patch, writing }),

    jsonPatch: (resource, ref, patch, writing = {}) =>
      write(resource, { verb: 'patch', ref, contentType: JSON_PATCH, body: patch, writing }),

    async remove(resource: Resource, ref: ObjectRef, deleting: DeleteOptions): Promise<KubeObject | undefined> {
      const doing = `delete ${named(resource, ref)}`;
      const { uid, resourceVersion, propagationPolicy } = deleting;
      const body = await requests.send({
        verb: 'delete',
        resource: resource.plural,
        doing,
        method: 'DELETE',
        path: objectPath(doing, resource, ref),
        contentType: JSON_TYPE,
        body: JSON.stringify({
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) },
          ...(propagationPolicy !== undefined && { propagationPolicy }),
          // A DELETE with a body ignores the query.
          ...(deleting.dryRun === true && { dryRun: ['All'] }),
        }),
        signal: deleting.signal,
        isStillWanted: deleting.isStillWanted,
      });
      return stillThere(resource, parse(doing, body));
    },
  };
}

/** A change of an object that is there, or may be. */
interface Change {
  readonly verb: RequestVerb & ('update' | 'apply' | 'patch');
  readonly ref: ObjectRef;
  readonly contentType: string;
  readonly body: object;
  readonly writing: WriteOptions;
  readonly query?: Readonly<Record<string, string | undefined>>;
}

async function sendChange<T extends KubeObject>(requests: Requests, resource: Resource, change: Change): Promise<T> {
  const { verb, ref, contentType, body, writing, query } = change;
  const subresource = writing.subresource === undefined ? '' : `/${writing.subresource}`;
  const doing = `${verb} ${named(resource, ref)}${subresource}`;
  const sent = await requests.send({
    verb,
    resource: withSubresource(resource, writing),
    doing,
    method: verb === 'update' ? 'PUT' : 'PATCH',
    path: objectPath(doing, resource, ref) + subresource + writeQuery(writing, query),
    contentType,
    body: bodyOf(body, contentType),
    signal: writing.signal,
    isStillWanted: writing.isStillWanted,
  });
  return typed<T>(resource, parse(doing, sent));
}

const APPLY_TYPE = 'application/apply-patch+yaml';
/** Characters that JSON allows unescaped in a string and YAML 1.2 (5.1, character set) does not. */
const NOT_IN_YAML = /[\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/g;

function bodyOf(body: object, contentType: string): string {
  const json = JSON.stringify(body);
  if (contentType !== APPLY_TYPE) return json;
  return json.replaceAll(NOT_IN_YAML, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// The API server compares the version with that of an existing object, and ignores it if none exists. Version 1 is that of an
// empty etcd, so no object has it.
function onlyNew<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: '1' } };
}
