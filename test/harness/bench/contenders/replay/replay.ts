// One record's writes, in Davit's order: what must be there before goes before, everything else together.

import { randomBytes } from 'node:crypto';
import { Agent, type Dispatcher } from 'undici';
import { withAppliedDigest } from '../../../../../src/deploy/cluster/apply.ts';
import { serialRevisionId } from '../../../../../src/deploy/record/revision-id.ts';
import { APP_DEPLOYMENTS } from '../../../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS } from '../../../../../src/kinds/app-revision.ts';
import { APPLIED_ANNOTATION } from '../../../../../src/kinds/meta.ts';
import { TRACING_PROJECTS } from '../../../../../src/kinds/tracing-project.ts';
import { BUILT_IN_RESOURCES, makeResourceRegistry } from '../../../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../../../src/runtime/kube/client.ts';
import { collectionPath, objectPath } from '../../../../../src/runtime/kube/urls.ts';
import { type Filling, filled, type Rendering } from '../../children.ts';

/** As platform.ts writes it: one cluster, one token. */
interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

export interface Client {
  send(method: Dispatcher.HttpMethod, path: string, contentType: string, body: object): Promise<void>;
  list<T>(path: string): Promise<{ readonly items: readonly T[] }>;
}

const registry = makeResourceRegistry([...BUILT_IN_RESOURCES, APP_DEPLOYMENTS, APP_REVISIONS, TRACING_PROJECTS]);

export function connect({ clusters, users }: Kubeconfig): Client {
  const { server = '', 'certificate-authority-data': ca = '' } = clusters[0]?.cluster ?? {};
  const authorization = `Bearer ${users[0]?.user.token}`;
  const agent = new Agent({
    connect: { ca: Buffer.from(ca, 'base64').toString() },
    pipelining: 1,
    connections: 256,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  async function request(
    method: Dispatcher.HttpMethod,
    path: string,
    contentType?: string,
    body?: string,
  ): Promise<Dispatcher.ResponseData> {
    const answer = await agent.request({
      origin: server,
      method,
      path,
      headers: { authorization, accept: 'application/json', ...(contentType && { 'content-type': contentType }) },
      ...(body !== undefined && { body }),
    });
    if (answer.statusCode < 300) return answer;
    throw new Error(`${method} ${path}: ${answer.statusCode} ${(await answer.body.text()).slice(0, 500)}`);
  }
  return {
    async send(method, path, contentType, body) {
      const answer = await request(method, path, contentType, JSON.stringify(body));
      await answer.body.dump();
    },
    async list<T>(path: string) {
      return (await (await request('GET', path)).body.json()) as { items: T[] };
    },
  };
}

export async function uidsOfNamespaces(client: Client): Promise<Map<string, string>> {
  const { items } = await client.list<{ metadata: { name: string; uid: string } }>('/api/v1/namespaces');
  return new Map(items.map(({ metadata }) => [metadata.name, metadata.uid]));
}

export type Place = Omit<Filling, 'revisionId' | 'revisionShort' | 'now'>;

/** All that is put in for a record. */
export function fillingOf(place: Place, now = new Date()): Filling {
  const revisionId = serialRevisionId(place.uid, 1);
  return {
    ...place,
    revisionId,
    revisionShort: revisionId.slice(0, 8),
    now: now.toISOString().replace(/\.\d+Z$/, 'Z'),
  };
}

export async function replayRecord(client: Client, rendering: Rendering, place: Place): Promise<void> {
  const filling = fillingOf(place);
  const { namespace, name } = filling;
  const make = (object: KubeObject): Promise<void> =>
    client.send('POST', collectionPath('make', registry.resourceOf(object), namespace), 'application/json', object);
  const apply = (object: KubeObject, subresource = ''): Promise<void> =>
    client.send(
      'PATCH',
      `${objectPath('apply', registry.resourceOf(object), { namespace, name: object.metadata.name })}${subresource}?fieldManager=${rendering.fieldManager}&force=true`,
      'application/apply-patch+yaml',
      object,
    );
  await client.send(
    'PATCH',
    objectPath('patch', APP_DEPLOYMENTS, { namespace, name }),
    'application/merge-patch+json',
    filled(rendering.finalizer, filling),
  );
  await Promise.all([make(filled(rendering.tracingProject, filling)), make(filled(rendering.revision, filling))]);
  await Promise.all([
    ...rendering.secrets.map((secret) =>
      make(filled(secret, filling, { password: randomBytes(24).toString('base64url') })),
    ),
    ...rendering.children.map((child) => apply(withDigest(filled(child, filling, { digest: '' })))),
  ]);
  await Promise.all(rendering.statuses.map((status) => apply(filled(status, filling), '/status')));
}

/** Davit's own, so that a controller started on what was replayed finds nothing to do. */
function withDigest(child: KubeObject): KubeObject {
  const { [APPLIED_ANNOTATION]: _empty, ...others } = child.metadata.annotations ?? {};
  const { annotations: _none, ...metadata } = child.metadata;
  const hasOthers = Object.keys(others).length > 0;
  return withAppliedDigest({ ...child, metadata: { ...metadata, ...(hasOthers && { annotations: others }) } });
}
