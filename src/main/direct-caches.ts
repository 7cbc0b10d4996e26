// The facade's caches in the process of one person: filled by reads with that person's rights before each request, in place of watches.

import type { FacadeCaches } from '../api/caches.ts';
import type { FacadeContext } from '../api/collection.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../kinds/app-revision.ts';
import { APP_TEMPLATES, type AppTemplate } from '../kinds/app-template.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../kinds/code-host-integration.ts';
import { LISTENERS, type Listener } from '../kinds/listener.ts';
import { DEPLOYMENT_LABEL, TENANT_LABEL } from '../kinds/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../kinds/oauth-provider.ts';
import type { Change, WatchedStore } from '../runtime/controller/store.ts';
import { Forbidden, NotFound, undefinedIfNotFound } from '../runtime/errors.ts';
import { NAMESPACES } from '../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject, Resource } from '../runtime/kube/client.ts';

interface DirectCaches extends Pick<FacadeContext, 'remember' | 'forget'> {
  readonly caches: FacadeCaches;
  /** Reads what a request needs. Objects that the person may not read count as absent, except revisions of deployments that the person may read. */
  freshen(request: Asked): Promise<void>;
}

interface Asked {
  readonly method: string;
  /** Path with query. */
  readonly url: string;
}

interface Places {
  readonly namespace: string;
  readonly organizationNamespace: string;
}

/** `kube`: with the person's own credentials. */
export function makeDirectCaches(kube: KubeClient, { namespace, organizationNamespace }: Places): DirectCaches {
  const records = makeShelf<AppDeployment>(APP_DEPLOYMENTS);
  const revisions = makeShelf<AppRevision>(APP_REVISIONS);
  const tenants = makeShelf<KubeObject>(NAMESPACES);
  const templates = makeShelf<AppTemplate>(APP_TEMPLATES);
  const listeners = makeShelf<Listener>(LISTENERS);
  const integrations = makeShelf<CodeHostIntegration>(CODE_HOST_INTEGRATIONS);
  const providers = makeShelf<OAuthProvider>(OAUTH_PROVIDERS);
  const shelves: readonly Pick<Shelf<KubeObject>, 'resource' | 'put' | 'drop'>[] = [records, revisions, listeners];

  const readTenant = once(async () => {
    const tenant = await kube.get(NAMESPACES, { name: namespace }).catch((error: unknown) => {
      if (error instanceof Forbidden) return unreadTenant(namespace);
      return undefinedIfNotFound(error);
    });
    tenants.replace(tenant === undefined ? [] : [tenant]);
  });
  /** What a change may name, and /v2/platform shows. */
  const readOffered = once(() =>
    Promise.all([
      fill(listeners, namespace),
      fill(templates, organizationNamespace),
      fill(integrations, organizationNamespace),
    ]),
  );
  async function fill<T extends KubeObject>(shelf: Shelf<T>, place: string): Promise<void> {
    const { items } = await kube.listAll<T>(shelf.resource, { namespace: place }).catch(ifHidden({ items: [] as T[] }));
    shelf.replace(items);
  }

  async function readNamed(name: string): Promise<void> {
    const record = kube.get<AppDeployment>(APP_DEPLOYMENTS, { namespace, name });
    await readWith(
      record.then((found) => [found]),
      `${DEPLOYMENT_LABEL}=${name}`,
    );
  }
  const readAll = (): Promise<void> =>
    readWith(kube.listAll<AppDeployment>(APP_DEPLOYMENTS, { namespace }).then(({ items }) => items));

  /** Deployments that may not be read are refused by the routes, in their words. Revisions must be known where deployments are. */
  async function readWith(reading: Promise<readonly AppDeployment[]>, labelSelector?: string): Promise<void> {
    const [found, made] = await Promise.allSettled([
      reading.catch(ifHidden<readonly AppDeployment[]>([])),
      kube.listAll<AppRevision>(APP_REVISIONS, { namespace, ...(labelSelector !== undefined && { labelSelector }) }),
    ]);
    if (found.status === 'rejected') throw found.reason;
    if (made.status === 'rejected' && found.value.length > 0) throw made.reason;
    records.replace(found.value);
    revisions.replace(made.status === 'fulfilled' ? made.value.items : []);
  }

  async function readDeployments(subject: Subject | undefined): Promise<void> {
    if (subject === undefined) return;
    const name = subject.name ?? records.byUid(subject.id ?? '')?.metadata.name;
    await (name === undefined ? readAll() : readNamed(name));
  }

  return {
    caches: { records, revisions, tenants, templates, listeners, integrations, providers },
    async freshen(request) {
      await Promise.all([
        readTenant(),
        ...(request.method === 'GET' && !request.url.startsWith('/v2/platform') ? [] : [readOffered()]),
        readDeployments(subjectOf(request)),
      ]);
    },
    remember: (object) => shelves.find(({ resource }) => resource.kind === object.kind)?.put(object),
    forget(uid) {
      for (const shelf of shelves) shelf.drop(uid);
    },
  };
}

/** The deployment that a request is about: its id, or the name of a query. Both are absent in a list of all. */
interface Subject {
  readonly id?: string;
  readonly name?: string | undefined;
}

/** Undefined for a request that reads no deployment. */
function subjectOf({ method, url }: Asked): Subject | undefined {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const [, id] = /^\/(?:v2\/deployments|v1\/projects)\/([^/]+)/.exec(pathname) ?? [];
  if (id !== undefined) return { id: id.toLowerCase() };
  return method === 'GET' && pathname === '/v2/deployments'
    ? { name: searchParams.get('name') ?? undefined }
    : undefined;
}

/** Neither the namespace nor what the platform offers changes within a command. */
function once(read: () => Promise<unknown>): () => Promise<unknown> {
  let reading: Promise<unknown> | undefined;
  return () => (reading ??= read());
}

/** For somebody who may use a namespace but not read it. The API server judges each request itself. */
function unreadTenant(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid: name, labels: { [TENANT_LABEL]: 'true' } } };
}

/** For `.catch()`: `otherwise` for what is not there or may not be read. */
function ifHidden<T>(otherwise: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof NotFound || error instanceof Forbidden) return otherwise;
    throw error;
  };
}

interface Shelf<T extends KubeObject> extends WatchedStore<T> {
  readonly resource: Resource;
  replace(all: readonly T[]): void;
  put(object: KubeObject): void;
  drop(uid: string): void;
}

function makeShelf<T extends KubeObject>(resource: Resource): Shelf<T> {
  const objects = new Map<string, T>();
  const followers = new Set<(change: Change<T>) => void>();
  const inNamespace = (namespace?: string): T[] =>
    [...objects.values()].filter((one) => namespace === undefined || one.metadata.namespace === namespace);
  function put(object: T): void {
    const { uid = '' } = object.metadata;
    const before = objects.get(uid);
    objects.set(uid, object);
    for (const follow of followers)
      follow(before === undefined ? { type: 'added', object } : { type: 'modified', object, previous: before });
  }
  function drop(uid: string): void {
    const object = objects.get(uid);
    objects.delete(uid);
    if (object !== undefined) for (const follow of followers) follow({ type: 'deleted', object });
  }
  return {
    resource,
    hasSynced: () => true,
    get: ({ namespace, name }) => inNamespace(namespace).find(({ metadata }) => metadata.name === name),
    byUid: (uid) => objects.get(uid),
    list: inNamespace,
    byLabel: (namespace, label, value) =>
      inNamespace(namespace).filter(({ metadata }) => metadata.labels?.[label] === value),
    byIndex: () => [],
    onChange(follow) {
      followers.add(follow);
      return () => void followers.delete(follow);
    },
    replace(all) {
      const left = new Set(all.map(({ metadata }) => metadata.uid));
      for (const uid of [...objects.keys()].filter((one) => !left.has(one))) drop(uid);
      for (const one of all) put(one);
    },
    put: (object) => put(object as T),
    drop,
  };
}
