// What people do to a record and to its parts.

import { commitOf } from '../../../src/deploy/record/build-source.ts';
import { withRequest } from '../../../src/deploy/record/needs-revision.ts';
import { rollingBack } from '../../../src/deploy/record/revision-request.ts';
import { revisionsOf as inOrder } from '../../../src/deploy/record/revisions.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { DEPLOYMENT_LABEL, PAUSED_ANNOTATION } from '../../../src/kinds/meta.ts';
import { patchTo } from '../../../src/runtime/http/merge-patch.ts';
import { canonicalJson } from '../../../src/runtime/json-value.ts';
import {
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  INGRESSES,
  JOBS,
  NAMESPACES,
  PERSISTENT_VOLUME_CLAIMS,
  POSTGRES_CLUSTERS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import type { Event } from './event.ts';
import { merged, retainedMark, type Scene } from './scene.ts';

type Spec = AppDeployment['spec'];

export const records = (scene: Scene, namespace: string): readonly AppDeployment[] =>
  scene.all<AppDeployment>(APP_DEPLOYMENTS, namespace);

/** Writes the spec as the HTTP API does. */
async function write(scene: Scene, record: AppDeployment, spec: Spec): Promise<void> {
  const { namespace = '', name } = record.metadata;
  const patch = { spec: patchTo(record, spec).spec };
  await scene.kube.mergePatch(APP_DEPLOYMENTS, { namespace, name }, patch, { fieldManager: 'person' });
}

/** Patches the spec as the HTTP API does, which asks for a new revision where one is needed. No patch always asks for one. */
async function edit(scene: Scene, record: AppDeployment, patch: object, serial = true): Promise<void> {
  const { spec } = record;
  const after = merged(spec, patch) as Spec;
  const isAlways = Object.keys(patch).length === 0;
  await write(scene, record, serial ? withRequest(spec, after, revisionsOf(scene, record), isAlways) : after);
}

/** A change of the spec, as a merge patch; undefined where it changes nothing. `serial: false` is a change by kubectl alone. */
export function specChange(name: string, patchOf: (spec: Spec) => object | undefined, serial = true): Event {
  return {
    name: `somebody sets ${name} of %`,
    by: 'people',
    subjects: (scene, namespace) =>
      records(scene, namespace)
        .filter(({ metadata, spec }) => metadata.deletionTimestamp === undefined && patchOf(spec) !== undefined)
        .map(({ metadata }) => metadata.name),
    async happen(scene, namespace, subject) {
      const record = scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, subject);
      if (record) await edit(scene, record, patchOf(record.spec) ?? {}, serial);
    },
  };
}

export const image = (tag: string): Event =>
  specChange(`image ${tag}`, ({ sourceRevisionConfig: { imageUri } }) =>
    imageUri === undefined || imageUri.endsWith(`:${tag}`)
      ? undefined
      : { sourceRevisionConfig: { imageUri: `registry.example/shop:${tag}` } },
  );

/** By kubectl, which knows of no serial. */
export const imageByHand = (tag: string): Event =>
  specChange(
    `image ${tag} by hand`,
    ({ sourceRevisionConfig: { imageUri } }) =>
      imageUri?.endsWith(`:${tag}`) === true
        ? undefined
        : { sourceRevisionConfig: { imageUri: `registry.example/shop:${tag}` } },
    false,
  );

/** Numbers of resourceSpec. */
export const sizes = (name: string, wanted: Readonly<Record<string, number>>): Event =>
  specChange(name, ({ sourceConfig: { resourceSpec = {} } }) =>
    Object.entries(wanted).every(([field, value]) => (resourceSpec as Record<string, unknown>)[field] === value)
      ? undefined
      : { sourceConfig: { resourceSpec: wanted } },
  );

export const runtime = (name: string, wanted: Readonly<Record<string, unknown>>): Event =>
  specChange(name, ({ sourceConfig }) => {
    const before = (sourceConfig.runtime ?? {}) as Record<string, unknown>;
    const is = Object.entries(wanted).every(
      ([field, value]) => JSON.stringify(before[field] ?? null) === JSON.stringify(value),
    );
    return is ? undefined : { sourceConfig: { runtime: wanted } };
  });

/** One field after another of a worker; null takes it away. */
export const worker = (said: string, name: string, wanted: object | null): Event =>
  specChange(said, ({ sourceConfig }) => {
    const before = sourceConfig.runtime?.workers?.[name];
    if (before === undefined && (wanted === null || !('command' in wanted))) return undefined;
    const after = wanted === null ? undefined : { ...before, ...wanted };
    return sortedJson(before) === sortedJson(after)
      ? undefined
      : { sourceConfig: { runtime: { workers: { [name]: wanted } } } };
  });
const sortedJson = (value: unknown): string => (value === undefined ? '' : canonicalJson(value));

/** The database moves to an external one whose address is in Secret `external`, and back. */
export const externalDatabase: Event = specChange('an external database', ({ secrets }) =>
  secrets.some(({ name }) => name === 'POSTGRES_URI_CUSTOM')
    ? undefined
    : { secrets: [...secrets, { name: 'POSTGRES_URI_CUSTOM', secretName: 'external', secretKey: 'uri' }] },
);
export const ownDatabase: Event = specChange('its own database', ({ secrets }) =>
  secrets.some(({ name }) => name === 'POSTGRES_URI_CUSTOM')
    ? { secrets: secrets.filter(({ name }) => name !== 'POSTGRES_URI_CUSTOM') }
    : undefined,
);

/** What is built is then built of the branch as it is, or as it is later. */
const serial = specChange('a new revisionSerial', () => ({}));
export const newRevision: Event = {
  ...serial,
  async happen(scene, namespace, subject) {
    await serial.happen(scene, namespace, subject);
    scene.setMark(namespace, `asked ${subject}`, `${scene.mark('', 'head') ?? 'a'}+`);
  },
};

export const rollback: Event = {
  name: 'somebody rolls % back',
  by: 'people',
  subjects: (scene, namespace) =>
    records(scene, namespace).flatMap((record) =>
      record.metadata.deletionTimestamp === undefined && !isBehindBranch(scene, record)
        ? older(scene, record).map((_one, index) => `${record.metadata.name} by ${index + 1}`)
        : [],
    ),
  async happen(scene, namespace, subject) {
    const [name = '', by] = subject.split(' by ');
    const record = scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, name);
    const to = record && older(scene, record)[Number(by) - 1];
    if (!record || !to) return;
    const commit = commitOf(to);
    if (commit !== undefined) scene.setMark(namespace, `asked ${name}`, commit[0]);
    await write(scene, record, rollingBack(record.spec, to.spec));
  },
};
/** A push that has no revision yet: whoever rolls back does not know of it. */
function isBehindBranch(scene: Scene, { metadata, spec }: AppDeployment): boolean {
  const head = scene.mark('', 'head');
  if (spec.sourceConfig.buildOnPush !== true || head === undefined) return false;
  const commits = scene
    .all<AppRevision>(APP_REVISIONS, metadata.namespace ?? '')
    .map((one) => one.status?.build?.commit ?? one.spec.commit);
  return !commits.some((commit) => commit?.startsWith(head));
}
/** The revision before the newest one. */
const older = (scene: Scene, record: AppDeployment): AppRevision[] => revisionsOf(scene, record).slice(1, 2);

/** Newest first. */
export const revisionsOf = (scene: Scene, record: AppDeployment): AppRevision[] =>
  inOrder(record, scene.all<AppRevision>(APP_REVISIONS, record.metadata.namespace ?? ''));

function annotated(name: string, annotation: string, value: string | null): Event {
  return {
    name: `somebody ${name} %`,
    by: 'people',
    subjects: (scene, namespace) =>
      records(scene, namespace)
        .filter(({ metadata }) => (metadata.annotations?.[annotation] ?? null) !== value)
        .map(({ metadata }) => metadata.name),
    happen: async (scene, namespace, subject) =>
      void (await scene.kube.mergePatch(
        APP_DEPLOYMENTS,
        { namespace, name: subject },
        { metadata: { annotations: { [annotation]: value } } },
        { fieldManager: 'person' },
      )),
  };
}
export const pause = annotated('pauses', PAUSED_ANNOTATION, 'true');
export const resume = annotated('resumes', PAUSED_ANNOTATION, null);

export const deleteRecord: Event = {
  name: 'somebody deletes record %',
  by: 'people',
  subjects: (scene, namespace) =>
    records(scene, namespace)
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const record = scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, subject);
    if (record?.spec.databaseDeletionPolicy === 'Retain') scene.setMark(namespace, retainedMark(subject), 'yes');
    return remove(scene, APP_DEPLOYMENTS, namespace, subject);
  },
};

export const customUrl = (host: string | undefined): Event =>
  specChange(
    host === undefined ? 'no custom_url' : `custom_url ${host}`,
    ({ sourceConfig }) =>
      sourceConfig.customUrl === (host && `https://${host}`)
        ? undefined
        : { sourceConfig: { customUrl: host === undefined ? null : `https://${host}` } },
    false,
  );

/** The record again under its name, once it is gone. */
export const remake = (name: string, make: (namespace: string) => AppDeployment): Event => ({
  name: 'somebody makes record % again',
  by: 'people',
  subjects: (scene, namespace) => (scene.get(APP_DEPLOYMENTS, namespace, name) ? [] : [name]),
  happen: (scene, namespace) => scene.put(APP_DEPLOYMENTS, make(namespace), 'person'),
});

async function remove(scene: Scene, resource: Resource, namespace: string, name: string): Promise<void> {
  const object = scene.get(resource, namespace, name);
  if (object) await scene.kube.remove(resource, { namespace, name }, { uid: object.metadata.uid ?? '' });
}

const deletion = (resource: Resource, which: (object: KubeObject) => boolean = () => true): Event => ({
  name: `somebody deletes ${resource.kind} %`,
  by: 'people',
  subjects: (scene, namespace) =>
    scene
      .all(resource, namespace)
      .filter((object) => object.metadata.deletionTimestamp === undefined && which(object))
      .map(({ metadata }) => metadata.name),
  happen: (scene, namespace, subject) => remove(scene, resource, namespace, subject),
});
export const DELETIONS = {
  deployment: deletion(DEPLOYMENTS),
  statefulSet: deletion(STATEFUL_SETS),
  service: deletion(SERVICES),
  claim: deletion(PERSISTENT_VOLUME_CLAIMS),
  postgresCluster: deletion(POSTGRES_CLUSTERS),
  autoscaler: deletion(HORIZONTAL_POD_AUTOSCALERS),
  ingress: deletion(INGRESSES),
  job: deletion(JOBS),
  password: deletion(SECRETS, ({ metadata }) => metadata.labels?.[DEPLOYMENT_LABEL] !== undefined),
  ownSecret: deletion(SECRETS, ({ metadata }) => metadata.labels?.[DEPLOYMENT_LABEL] === undefined),
  revision: deletion(APP_REVISIONS),
} as const;

export const newSecret = (name: string, key: string): Event => ({
  name: `somebody makes Secret ${name}`,
  by: 'people',
  subjects: (scene, namespace) => (scene.get(SECRETS, namespace, name) ? [] : ['']),
  happen: (scene, namespace) => putSecret(scene, namespace, name, key),
});
export const otherValue = (name: string, key: string): Event => ({
  name: `somebody writes another value into Secret ${name}`,
  by: 'people',
  subjects: (scene, namespace) => (scene.get(SECRETS, namespace, name) ? [''] : []),
  happen(scene, namespace) {
    const { data } = scene.get<KubeObject & { data?: Record<string, string> }>(SECRETS, namespace, name) ?? {};
    const isFirst = data?.[key] === Buffer.from('value').toString('base64');
    putSecret(scene, namespace, name, key, isFirst ? 'another' : 'value');
  },
});
export function putSecret(scene: Scene, namespace: string, name: string, key: string, value = 'value'): void {
  const data = { [key]: Buffer.from(value).toString('base64') };
  scene.put(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, data } as KubeObject, 'person');
}

/** Replicas of a Deployment, as by kubectl scale. */
export const scaleByHand: Event = {
  name: 'somebody scales Deployment % to 0 by hand',
  by: 'people',
  subjects: (scene, namespace) =>
    scene
      .all<KubeObject & { spec: { replicas?: number } }>(DEPLOYMENTS, namespace)
      .filter(({ spec }) => spec.replicas !== 0)
      .map(({ metadata }) => metadata.name),
  happen: async (scene, namespace, name) =>
    void (await scene.kube.mergePatch(
      DEPLOYMENTS,
      { namespace, name },
      { spec: { replicas: 0 } },
      { fieldManager: 'kubectl' },
    )),
};

const marked = (event: string, mark: string, value: string | undefined, where?: string): Event => ({
  name: event,
  by: 'cluster',
  subjects: (scene, namespace) => (scene.mark(where ?? namespace, mark) === value ? [] : ['']),
  happen: (scene, namespace) => scene.setMark(where ?? namespace, mark, value),
});
export const quotaFull = marked('the quota is full', 'quota', 'full');
export const quotaFreed = marked('the quota is freed', 'quota', undefined);
/** Pods of PostgreSQL and Redis that start from now on find no node. */
export const storesStuck = marked('PostgreSQL and Redis find no node any more', 'stores', 'stuck');
/** The same, in the words of a record without stores: its singletons. */
export const singletonsStuck = marked('pods of StatefulSets find no node any more', 'stores', 'stuck');
export const codeHostDown = marked('the code host is down', 'code host', 'down', '');
export const codeHostUp = marked('the code host is up', 'code host', undefined, '');
export const webhookRefuses = marked('a webhook refuses StatefulSets', 'webhook', 'refuses');
export const webhookRefusesOtherwise = marked(
  'a webhook refuses StatefulSets in other words',
  'webhook',
  'refuses otherwise',
);
/** The time, say, or the name of a connection. */
export const webhookRefusesEachTime = marked(
  'a webhook refuses StatefulSets in other words each time',
  'webhook',
  'refuses each time',
);
export const webhookRewrites = marked('a webhook rewrites the images of StatefulSets', 'webhook', 'rewrites');
export const webhookGone = marked('the webhook is gone', 'webhook', undefined);
/** The right to write a kind, or to read it. */
export const rightTaken = (right: string): Event => marked(`Davit may not ${right} any more`, 'rights', right);
export const rightsBack = marked('Davit has all its rights again', 'rights', undefined);

export const tenantLabel = (wanted: 'true' | undefined): Event => ({
  name: wanted ? 'somebody gives the namespace its tenant label' : "somebody takes the namespace's tenant label away",
  by: 'people',
  subjects: (scene, namespace) => {
    const there = scene.get(NAMESPACES, '', namespace);
    return !there || there.metadata.labels?.['davit.dev/tenant'] === wanted ? [] : [''];
  },
  happen: async (scene, namespace) =>
    void (await scene.kube.mergePatch(
      NAMESPACES,
      { name: namespace },
      { metadata: { labels: { 'davit.dev/tenant': wanted ?? null } } },
      { fieldManager: 'person' },
    )),
});
