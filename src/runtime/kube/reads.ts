// The reads of KubeClient: one object, a page of a list, all pages of it, text.

import type { GetOptions, KubeClient, KubeObject, ListOptions, ObjectList, ObjectRef, Resource } from './client.ts';
import type { Requests } from './requests.ts';
import { parse, typed } from './responses.ts';
import { collectionPath, named, objectPath, queryOf } from './urls.ts';

export const PARTIAL_OBJECT = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const PARTIAL_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

export function makeReads(requests: Requests): Pick<KubeClient, 'get' | 'list' | 'listAll' | 'text'> {
  async function list<T extends KubeObject>(resource: Resource, listing: ListOptions = {}): Promise<ObjectList<T>> {
    const { namespace, metadataOnly, signal } = listing;
    const doing = `list ${resource.plural}${namespace === undefined ? '' : ` in ${namespace}`}`;
    const query = queryOf({
      labelSelector: listing.labelSelector,
      fieldSelector: listing.fieldSelector,
      limit: listing.limit,
      continue: listing.continueToken,
      resourceVersion: listing.resourceVersion,
    });
    const body = await requests.send({
      verb: 'list',
      resource: resource.plural,
      doing,
      method: 'GET',
      path: collectionPath(doing, resource, namespace) + query,
      ...(metadataOnly === true && { accept: PARTIAL_LIST }),
      signal,
    });
    const answer = parse(doing, body) as {
      readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
      readonly items?: unknown[] | null;
    };
    const next = answer.metadata?.continue;
    return {
      items: (answer.items ?? []).map((item) => typed<T>(resource, item)),
      resourceVersion: answer.metadata?.resourceVersion ?? '',
      ...(next !== undefined && next !== '' && { continueToken: next }),
    };
  }

  return {
    async get<T extends KubeObject>(resource: Resource, ref: ObjectRef, getting: GetOptions = {}): Promise<T> {
      const doing = `get ${named(resource, ref)}`;
      const body = await requests.send({
        verb: 'get',
        resource: resource.plural,
        doing,
        method: 'GET',
        path: objectPath(doing, resource, ref),
        ...(getting.metadataOnly === true && { accept: PARTIAL_OBJECT }),
        signal: getting.signal,
      });
      return typed<T>(resource, parse(doing, body));
    },

    list,

    async listAll<T extends KubeObject>(resource: Resource, listing: ListOptions = {}): Promise<ObjectList<T>> {
      const first = await list<T>(resource, listing);
      const items = [...first.items];
      let continueToken = first.continueToken;
      while (continueToken !== undefined) {
        const { resourceVersion: _, ...rest } = listing;
        const page = await list<T>(resource, { ...rest, continueToken });
        for (const item of page.items) items.push(item);
        continueToken = page.continueToken;
      }
      return { items, resourceVersion: first.resourceVersion };
    },

    text: async (path, { signal } = {}) =>
      requests.send({ verb: 'text', resource: '', doing: `get ${path}`, method: 'GET', path, accept: '*/*', signal }),
  };
}
