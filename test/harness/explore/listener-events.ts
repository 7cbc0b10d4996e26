// What people do on the hub and in a listener's cluster, and what becomes of the link between them.

import { revisionsOf } from '../../../src/deploy/record/revisions.ts';
import { wantedRevision } from '../../../src/deploy/record/wanted-revision.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { LISTENERS } from '../../../src/kinds/listener.ts';
import { LISTENER_AGENT } from '../../../src/kinds/listener-names.ts';
import { LISTENER_WORKS } from '../../../src/kinds/listener-work.ts';
import { ABANDON_ANNOTATION, LISTENER_LABEL, TENANT_LABEL } from '../../../src/kinds/meta.ts';
import { Forbidden, NotFound } from '../../../src/runtime/errors.ts';
import { LEASES, NAMESPACES, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import type { JsonObject } from '../../support/fake-kube/field-sets.ts';
import { type Event, eventIn } from './event.ts';
import {
  aRecordOfListener,
  canRenew,
  HUB,
  IN_CLUSTER,
  isConsenting,
  leaseOf,
  link,
  listenerOf,
  NAME,
  ofCopy,
  originOf,
  putValues,
  reachesHub,
  recordOf,
  SHOPS,
  setLink,
  TEAM,
  takeLease,
  thereOf,
  worksOf,
} from './listener-world.ts';
import { MARKS, NOW, type Scene } from './scene.ts';

const calm = (one: Event): Event => ({ ...one, calm: true });

async function patch(scene: Scene, resource: Resource, object: KubeObject, change: object): Promise<void> {
  const { namespace, name } = object.metadata;
  await scene.kube.mergePatch(resource, { ...(namespace !== undefined && { namespace }), name }, change, {
    fieldManager: 'person',
  });
}
async function remove(scene: Scene, resource: Resource, object: KubeObject | undefined): Promise<void> {
  const { namespace, name = '', uid = '' } = object?.metadata ?? {};
  if (object) await scene.kube.remove(resource, { ...(namespace !== undefined && { namespace }), name }, { uid });
}
const isStaying = (object: KubeObject | undefined): boolean =>
  object !== undefined && object.metadata.deletionTimestamp === undefined;

/** Whether somebody has asked for the deletion of the record with this id. */
export const wasAsked = (scene: Scene, id: string): boolean => scene.mark(TEAM, `deletion ${id}`) !== undefined;

export const deleteRemote = eventIn(
  TEAM,
  'people',
  'somebody deletes record shop',
  (scene) => isStaying(recordOf(scene)),
  async (scene) => {
    const record = recordOf(scene);
    scene.setMark(TEAM, `deletion ${record?.metadata.uid}`, 'asked');
    await remove(scene, APP_DEPLOYMENTS, record);
  },
);
export const remakeRemote = eventIn(
  TEAM,
  'people',
  'somebody makes record shop again',
  // The same uids as before a restored backup would be those of other records.
  (scene) => recordOf(scene) === undefined && scene.mark(TEAM, 'restored') === undefined,
  (scene) => scene.put(APP_DEPLOYMENTS, aRecordOfListener(), 'person'),
);
export const giveUp = eventIn(
  TEAM,
  'people',
  'somebody gives record shop up',
  (scene) => recordOf(scene) !== undefined && recordOf(scene)?.metadata.annotations?.[ABANDON_ANNOTATION] === undefined,
  async (scene) => {
    const record = recordOf(scene);
    const annotations = { [ABANDON_ANNOTATION]: record?.metadata.uid };
    if (record) await patch(scene, APP_DEPLOYMENTS, record, { metadata: { annotations } });
  },
);
export const rotateValues = eventIn(
  TEAM,
  'people',
  'somebody writes another value into Secret values',
  (scene) => scene.get(SECRETS, TEAM, 'values') !== undefined,
  (scene) => {
    const { data } = scene.get<KubeObject & { data: { KEY: string } }>(SECRETS, TEAM, 'values') ?? {};
    putValues(scene, TEAM, 'values', { KEY: data?.KEY === 'b25l' ? 'dHdv' : 'b25l' });
  },
);
/** As the HTTP API does: values are in another Secret, and the former one goes. */
export const otherValues = eventIn(
  TEAM,
  'people',
  'somebody takes the values from Secret more',
  (scene) => isStaying(recordOf(scene)) && recordOf(scene)?.spec.secrets[0]?.secretName !== 'more',
  async (scene) => {
    const record = recordOf(scene) as AppDeployment;
    putValues(scene, TEAM, 'more', { KEY: 'bW9yZQ==' });
    const secrets = [{ name: 'KEY', secretName: 'more', secretKey: 'KEY' }];
    await patch(scene, APP_DEPLOYMENTS, record, { spec: { secrets } });
  },
);
export const valuesGone = eventIn(
  TEAM,
  'people',
  'somebody deletes Secret values',
  (scene) => scene.get(SECRETS, TEAM, 'values') !== undefined,
  (scene) => remove(scene, SECRETS, scene.get(SECRETS, TEAM, 'values')),
);
export const namespacesOf = (names: readonly string[]): Event =>
  eventIn(
    TEAM,
    'people',
    `somebody has the Listener list ${names.join() || 'no namespace'}`,
    (scene) => isStaying(listenerOf(scene)) && (listenerOf(scene)?.spec.namespaces ?? []).join() !== names.join(),
    async (scene) => {
      const listener = listenerOf(scene);
      const namespaces = names.length > 0 ? names : null;
      if (listener) await patch(scene, LISTENERS, listener, { spec: { namespaces } });
    },
  );
export const deleteListener = eventIn(
  TEAM,
  'people',
  'somebody deletes the Listener',
  (scene) => isStaying(listenerOf(scene)),
  (scene) => remove(scene, LISTENERS, listenerOf(scene)),
);

/** Of the records nobody has deleted. */
export const deleteWork = eventIn(
  HUB,
  'people',
  'somebody deletes the work',
  (scene) => worksOf(scene).some(isStaying),
  (scene) => remove(scene, LISTENER_WORKS, worksOf(scene).find(isStaying)),
);
/** As its controller does: all goes but what a finalizer holds, and then the namespace. */
export const deleteHubNamespace = eventIn(
  HUB,
  'people',
  'somebody deletes the namespace of the Listener',
  (scene) => isStaying(scene.get(NAMESPACES, '', HUB)),
  async (scene) => {
    const namespace = scene.get(NAMESPACES, '', HUB) as KubeObject;
    const deletionTimestamp = new Date(NOW).toISOString();
    scene.change(NAMESPACES, namespace, { metadata: { deletionTimestamp, finalizers: ['kubernetes'] } });
    for (const { resource, object } of scene.inside(HUB)) {
      if (object.kind === 'Mark') continue;
      await remove(scene, resource, object);
    }
    // Its account is gone: the cluster is enrolled again, and its agent begins again.
    restartAgent(scene);
  },
);
/** Nothing is made in a namespace that goes, or is not there. */
export function refuseInLeaving(
  resource: Resource,
  object: JsonObject,
  before: KubeObject | undefined,
  scene: Scene,
): void {
  const { namespace } = (object as unknown as KubeObject).metadata;
  if (resource === MARKS || before !== undefined || namespace !== HUB) return;
  const there = scene.get(NAMESPACES, '', HUB);
  if (!there) throw new NotFound(`namespaces "${HUB}" not found`);
  if (!isStaying(there))
    throw new Forbidden(`unable to create new content in namespace ${HUB} because it is being terminated`);
}

export const editCopy = eventIn(
  SHOPS,
  'people',
  'somebody edits the copy in the cluster',
  (scene) => isStaying(thereOf(scene)) && thereOf(scene)?.spec.sourceRevisionConfig.imageUri !== EDITED,
  async (scene) => {
    const copy = thereOf(scene);
    if (copy) await patch(scene, APP_DEPLOYMENTS, copy, { spec: { sourceRevisionConfig: { imageUri: EDITED } } });
  },
);
const EDITED = 'registry.example/edited:1';
export const deleteCopy = eventIn(
  SHOPS,
  'people',
  'somebody deletes the copy in the cluster',
  (scene) => isStaying(thereOf(scene)),
  (scene) => remove(scene, APP_DEPLOYMENTS, thereOf(scene)),
);
export const deleteCopiedSecret = eventIn(
  SHOPS,
  'people',
  'somebody deletes the copied Secret in the cluster',
  (scene) => scene.all(SECRETS, SHOPS).some((one) => ofCopy(one) !== undefined),
  (scene) =>
    remove(
      scene,
      SECRETS,
      scene.all(SECRETS, SHOPS).find((one) => ofCopy(one) !== undefined),
    ),
);
export const foreignRecord = eventIn(
  SHOPS,
  'people',
  'somebody makes a record of that name in the cluster',
  (scene) => thereOf(scene) === undefined,
  (scene) => {
    const {
      sourceConfig: _config,
      secrets: _secrets,
      secretReferences: _references,
      ...spec
    } = aRecordOfListener().spec;
    const metadata = { name: NAME, namespace: SHOPS, generation: 1 };
    const own = { ...aRecordOfListener(), metadata, spec: { ...spec, sourceConfig: {}, secrets: [] } };
    scene.put(APP_DEPLOYMENTS, own, 'person');
  },
);
export const foreignRecordGone = eventIn(
  SHOPS,
  'people',
  'somebody deletes that record in the cluster',
  (scene) => isStaying(thereOf(scene)) && originOf(thereOf(scene) as AppDeployment) === undefined,
  (scene) => remove(scene, APP_DEPLOYMENTS, thereOf(scene)),
);
export const foreignSecret = eventIn(
  SHOPS,
  'people',
  'somebody makes a Secret values in the cluster',
  (scene) => scene.get(SECRETS, SHOPS, 'values') === undefined,
  (scene) => putValues(scene, SHOPS, 'values', { KEY: 'Zm9yZWlnbg==' }),
);
const consent = (name: string, wanted: string | null): Event =>
  eventIn(
    SHOPS,
    'people',
    name,
    (scene) => isConsenting(scene) === (wanted === null),
    async (scene) => {
      const namespace = scene.get(NAMESPACES, '', SHOPS);
      if (namespace) await patch(scene, NAMESPACES, namespace, { metadata: { labels: { [LISTENER_LABEL]: wanted } } });
    },
  );
export const refuseHub = consent("somebody takes the Listener's label from the namespace", null);
export const acceptHub = (id: string): Event => consent("somebody gives the namespace the Listener's label", id);

/** The agent keeps what it has seen. */
const lose = (name: string, why: 'cut' | 'revoked'): Event =>
  eventIn(HUB, 'cluster', name, reachesHub, (scene) => {
    setLink(scene, 'works', JSON.stringify(worksOf(scene)));
    setLink(scene, 'link', why);
  });
const regain = (name: string, why: 'cut' | 'revoked'): Event =>
  eventIn(
    HUB,
    'cluster',
    name,
    (scene) => link(scene, 'link') === why,
    (scene) => {
      setLink(scene, 'works', undefined);
      setLink(scene, 'link', undefined);
    },
  );
export const linkCut = lose('the link is cut', 'cut');
export const linkMended = regain('the link is mended', 'cut');
export const tokenRevoked = lose("the agent's token is revoked", 'revoked');
export const tokenBack = regain('the agent has a token again', 'revoked');
export const agentRestarts = eventIn(
  HUB,
  'cluster',
  'the agent restarts',
  (scene) => link(scene, 'epoch') !== undefined,
  (scene) => restartAgent(scene),
);
/** Its caches are empty until it reaches the hub. */
function restartAgent(scene: Scene): void {
  setLink(scene, 'epoch', undefined);
  if (link(scene, 'works') !== undefined) setLink(scene, 'works', '[]');
}
export const hubRestarts = eventIn(
  HUB,
  'cluster',
  "the hub's controller restarts",
  (scene) => link(scene, 'heard') === 'recently',
  (scene) => setLink(scene, 'heard', 'not yet'),
);
export const cloneConnects = eventIn(
  HUB,
  'cluster',
  "a clone of the cluster takes the Lease once, with another cluster's id",
  (scene) => scene.get(LEASES, HUB, LISTENER_AGENT) !== undefined && link(scene, 'epoch') !== undefined,
  async (scene) => {
    await takeLease(scene.kube, 'cluster-2');
    setLink(scene, 'heard', 'recently');
  },
);

/** Both etcd and, as the caches are rewound, the controller and the agent. */
const BACKED_UP = [TEAM, HUB] as const;
export const backUp = eventIn(
  TEAM,
  'people',
  'somebody backs the hub up',
  (scene) => scene.mark(TEAM, `backup ${TEAM}`) === undefined,
  (scene) => {
    for (const namespace of BACKED_UP) scene.setMark(TEAM, `backup ${namespace}`, scene.backUp(namespace));
    scene.setMark(TEAM, 'backup of the namespace', JSON.stringify(scene.get(NAMESPACES, '', HUB) ?? null));
  },
);
export const restoreHub = eventIn(
  TEAM,
  'cluster',
  'the hub is restored from its backup',
  (scene) => scene.mark(TEAM, `backup ${TEAM}`) !== undefined && scene.mark(TEAM, 'restored') === undefined,
  (scene) => {
    for (const namespace of BACKED_UP) scene.restore(namespace, scene.mark(TEAM, `backup ${namespace}`) ?? '[]');
    restoreNamespace(scene);
    scene.setMark(TEAM, 'restored', 'once');
    // What was asked for after the backup is forgotten.
    const leaving = [...scene.all(APP_DEPLOYMENTS, TEAM), ...worksOf(scene)].filter((one) => !isStaying(one));
    const ids = new Set(leaving.map((one) => (one.kind === 'AppDeployment' ? one.metadata.uid : one.metadata.name)));
    for (const { metadata } of scene.all(MARKS, TEAM)) {
      const [what, id] = metadata.name.split(' ');
      if (what === 'deletion' && !ids.has(id)) scene.setMark(TEAM, metadata.name, undefined);
    }
    setLink(scene, 'heard', 'not yet');
    restartAgent(scene);
  },
);

/** The Listener's namespace itself is of the whole hub: without it, what was restored in there would go at once. */
function restoreNamespace(scene: Scene): void {
  const backedUp = JSON.parse(scene.mark(TEAM, 'backup of the namespace') ?? 'null') as KubeObject | null;
  const there = scene.get(NAMESPACES, '', HUB);
  if (there) scene.erase(NAMESPACES, there);
  if (backedUp) scene.put(NAMESPACES, backedUp);
}

/** What happens automatically. */
export const LINK_EVENTS: readonly Event[] = [
  calm(
    eventIn(
      HUB,
      'cluster',
      'the agent renews its Lease',
      (scene) => canRenew(scene) && link(scene, 'heard') !== 'recently',
      (scene) => setLink(scene, 'heard', 'recently'),
    ),
  ),
  calm(
    eventIn(
      HUB,
      'cluster',
      'the time of silence passes',
      (scene) => link(scene, 'heard') !== 'nothing' && !(reachesHub(scene) && leaseOf(scene)),
      (scene) => setLink(scene, 'heard', 'nothing'),
    ),
  ),
  calm(
    eventIn(
      HUB,
      'cluster',
      'the namespace of the Listener goes, as nothing is in it',
      (scene) =>
        scene.get(NAMESPACES, '', HUB)?.metadata.deletionTimestamp !== undefined &&
        scene.inside(HUB).every(({ object }) => object.kind === 'Mark'),
      (scene) => scene.erase(NAMESPACES, scene.get(NAMESPACES, '', HUB) as KubeObject),
    ),
  ),
  calm(
    eventIn(
      HUB,
      'cluster',
      'what was in the deleted namespace of the Listener goes',
      (scene) =>
        scene.get(NAMESPACES, '', HUB) === undefined && scene.inside(HUB).some(({ object }) => object.kind !== 'Mark'),
      (scene) => {
        for (const { resource, object } of scene.inside(HUB)) if (object.kind !== 'Mark') scene.erase(resource, object);
      },
    ),
  ),
];

const STAND_IN = 'davit.dev/teardown';

/** What the cluster's Davit does, in as few steps as others can tell apart: it takes a record up, it is ready, it is torn down. */
export const STAND_INS: readonly Event[] = [
  calm(
    eventIn(
      SHOPS,
      'cluster',
      "the cluster's Davit takes the record up",
      (scene) => {
        const copy = thereOf(scene);
        return copy !== undefined && isStaying(copy) && copy.status?.observedGeneration !== copy.metadata.generation;
      },
      (scene) => {
        takeUp(scene, thereOf(scene) as AppDeployment);
      },
    ),
  ),
  calm(
    eventIn(
      SHOPS,
      'cluster',
      "the cluster's Davit has the record ready",
      (scene) => {
        const copy = thereOf(scene);
        return isStaying(copy) && isObserved(copy) && copy?.status?.state !== 'READY';
      },
      (scene) => {
        const copy = thereOf(scene) as AppDeployment;
        scene.change(APP_DEPLOYMENTS, copy, { status: statusOf(copy, true) });
        const [newest] = revisionsThere(scene, copy);
        if (newest) scene.change(APP_REVISIONS, newest, { status: { state: 'DEPLOYED' } });
      },
    ),
  ),
  calm(
    eventIn(
      SHOPS,
      'cluster',
      "the cluster's Davit has torn the record down",
      (scene) => thereOf(scene)?.metadata.deletionTimestamp !== undefined,
      (scene) => {
        const copy = thereOf(scene) as AppDeployment;
        for (const revision of revisionsThere(scene, copy)) scene.erase(APP_REVISIONS, revision);
        scene.erase(APP_DEPLOYMENTS, copy);
      },
    ),
  ),
];
const isObserved = (copy: AppDeployment | undefined): boolean =>
  copy?.status?.observedGeneration !== undefined && copy.status.observedGeneration === copy.metadata.generation;
const revisionsThere = (scene: Scene, copy: AppDeployment): AppRevision[] =>
  revisionsOf(copy, scene.all<AppRevision>(APP_REVISIONS, SHOPS));

function takeUp(scene: Scene, copy: AppDeployment): void {
  const { metadata } = copy;
  const wanted = wantedRevision(copy, revisionsThere(scene, copy), IN_CLUSTER);
  if ('create' in wanted) {
    const spec = wanted.create;
    scene.put(APP_REVISIONS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppRevision',
      metadata: {
        name: `${NAME}--${spec.id.slice(0, 8)}`,
        namespace: SHOPS,
        labels: { 'davit.dev/deployment': NAME, 'davit.dev/deployment-uid': metadata.uid ?? '' },
      },
      spec,
      status: { state: 'DEPLOYING' },
    } as KubeObject);
  }
  const finalizers = [...new Set([...(metadata.finalizers ?? []), STAND_IN])];
  scene.change(APP_DEPLOYMENTS, copy, { metadata: { finalizers }, status: statusOf(copy, false) });
}
const MADE_AT = new Date(NOW).toISOString().replace('.000Z', 'Z');
function statusOf({ metadata, spec }: AppDeployment, ready: boolean): AppDeployment['status'] {
  const generation = metadata.generation ?? 1;
  const is = (type: string, status: boolean): object => ({
    type,
    status: status ? 'True' : 'False',
    reason: ready ? 'Ready' : 'Deploying',
    message: ready ? 'It runs.' : 'It begins.',
    lastTransitionTime: MADE_AT,
    observedGeneration: generation,
  });
  return {
    state: ready ? 'READY' : 'AWAITING_DATABASE',
    observedGeneration: generation,
    ...(ready && { image: spec.sourceRevisionConfig.imageUri }),
    conditions: [is('Ready', ready), is('Available', ready), is('Reconciling', !ready), is('Stalled', false)],
  } as AppDeployment['status'];
}

/** A careful person's part on both sides. */
export async function mendListener(scene: Scene, namespace: string): Promise<void> {
  if (namespace === HUB) {
    setLink(scene, 'works', undefined);
    setLink(scene, 'link', undefined);
    return;
  }
  if (namespace === TEAM) {
    const listener = listenerOf(scene);
    if (listener && isStaying(listener)) await patch(scene, LISTENERS, listener, { spec: { namespaces: [SHOPS] } });
    if (!scene.get(SECRETS, TEAM, 'values')) putValues(scene, TEAM, 'values', { KEY: 'b25l' });
    return;
  }
  const place = scene.get(NAMESPACES, '', SHOPS);
  const labels = { [TENANT_LABEL]: 'true', [LISTENER_LABEL]: listenerOf(scene)?.metadata.uid ?? null };
  if (place) await patch(scene, NAMESPACES, place, { metadata: { labels } });
  const there = thereOf(scene);
  if (there && originOf(there) === undefined) await remove(scene, APP_DEPLOYMENTS, there);
  const values = scene.get(SECRETS, SHOPS, 'values');
  if (values && ofCopy(values) === undefined) await remove(scene, SECRETS, values);
  await acceptHubState(scene);
}

/** As the messages of HubChanged and NameConflict say: what the restored hub does not know goes by hand, with its Secrets. */
async function acceptHubState(scene: Scene): Promise<void> {
  if (scene.mark(TEAM, 'restored') === undefined) return;
  const isKnown = (id: string): boolean => worksOf(scene).some(({ metadata }) => metadata.name === id);
  for (const secret of scene.all(SECRETS, SHOPS))
    if (!isKnown(ofCopy(secret) ?? '') && ofCopy(secret) !== undefined) await remove(scene, SECRETS, secret);
  const there = thereOf(scene);
  if (!there || originOf(there) === undefined) return;
  const work = worksOf(scene).find(({ metadata }) => metadata.name === originOf(there));
  if (!work) return remove(scene, APP_DEPLOYMENTS, there);
  const annotations = { 'davit.dev/origin-generation': String(work.spec.generation) };
  return patch(scene, APP_DEPLOYMENTS, there, { metadata: { annotations } });
}
