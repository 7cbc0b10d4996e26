// What others do to a run, past the proxy: people who edit children, another controller that wants the same field,
// rules of the cluster that refuse something for a while, neighbours that are too big or too loud.

import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, type ApiObject } from '../../cluster/api-client.ts';
import { EDITS, type Edit, type Fault, type Meddling } from './fault.ts';
import { CENSUS_KINDS, type Seen, type Sighting } from './object-history.ts';
import { childIn, hasCondition, RECORD, type Scene, until } from './workloads/stage.ts';

export interface Meddler {
  /** Before the record is made. */
  readonly before?: (scene: Scene) => Promise<void>;
  /** Beside the workload; what was not finished with it is ended by `signal`. */
  readonly during?: (scene: Scene, signal: AbortSignal) => Promise<void>;
  /** After the workload. */
  readonly after?: (scene: Scene) => Promise<void>;
  /** Creates and deletes of this child, as `Kind name`, that come on top of those of the reference. */
  readonly remade?: string;
  /** Undone at last, whatever happened. */
  readonly cleanUp?: (scene: Scene) => Promise<void>;
}

const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

export function meddlerOf(fault: Fault): Meddler {
  switch (fault.kind) {
    case 'edit':
      return editor(fault.child, fault.edit);
    case 'foreign':
      return squatter(fault.child);
    case 'admission':
      return policy(fault.of);
    case 'quota':
      return quota(fault.of);
    case 'second-manager':
      return fault.does === 'takes' ? taker() : adder();
    case 'conflict-storm':
    case 'child-storm':
      return storm(fault.kind, fault.ms ?? 2000);
    case 'raced':
      return racer();
    case 'monster':
      return monster();
    default:
      return {};
  }
}

/** What a person may do to each child of an end state. */
export function editsOf(children: readonly Sighting[]): Meddling[] {
  return children.flatMap((sighting) =>
    EDITS.filter((edit) => mayEdit(sighting, edit)).map((edit) => ({
      kind: 'edit',
      child: `${sighting.kind} ${sighting.object.metadata.name}`,
      edit,
    })),
  );
}

/** Kinds of which somebody else's object may have a child's name. */
export function squattersOf(children: readonly Sighting[]): Meddling[] {
  return children
    .filter(({ kind }) => kind in FOREIGN_SPECS)
    .map(({ kind, object }) => ({ kind: 'foreign', child: `${kind} ${object.metadata.name}` }));
}

function mayEdit({ kind, object }: Sighting, edit: Edit): boolean {
  if (!(kind in FOREIGN_SPECS)) return false;
  if (edit === 'delete') return true;
  if (edit === 'labels') return true;
  if (edit === 'owner') return object.metadata.ownerReferences !== undefined;
  if (edit === 'digest') return object.metadata.annotations?.['davit.dev/applied'] !== undefined;
  if (edit === 'field') return kind in FIELDS;
  return kind === 'Deployment' || kind === 'StatefulSet' || kind === 'Service';
}

const FIELDS: Readonly<Record<string, object>> = {
  Deployment: { spec: { replicas: 3, progressDeadlineSeconds: 77 } },
  StatefulSet: { spec: { replicas: 0 } },
  Service: { spec: { selector: { 'davit.dev/component': 'none' } } },
  NetworkPolicy: { spec: { ingress: [] } },
  PersistentVolumeClaim: { metadata: { labels: { 'app.kubernetes.io/part-of': 'something-else' } } },
};

function pathOf({ namespace }: Scene, kind: string, name?: string): string {
  const collection = CENSUS_KINDS[kind];
  if (collection === undefined) throw new Error(`the census does not know ${kind}`);
  const at = collection.lastIndexOf('/');
  const path = `${collection.slice(0, at)}/namespaces/${namespace}${collection.slice(at)}`;
  return name === undefined ? path : `${path}/${name}`;
}

function editor(child: string, edit: Edit): Meddler {
  const [kind = '', name = ''] = child.split(' ');
  const isMadeAnew = edit === 'delete' || edit === 'remade';
  return {
    ...(isMadeAnew && { remade: child }),
    async after(scene) {
      const before = childIn(scene, kind, name);
      if (!before) throw new Error(`${child} is not there to be edited`);
      if (kind === 'Secret') return losePassword(scene, before, edit);
      if (kind === 'PersistentVolumeClaim' && edit === 'delete') return loseVolume(scene, before);
      const wanted = likeness(before);
      await editOnce(scene, kind, before, edit);
      await until(scene, `${edit} of ${child}: undone`, () => {
        const now = childIn(scene, kind, name);
        const { resourceVersion, uid, deletionTimestamp } = now?.metadata ?? {};
        if (now === undefined || resourceVersion === before.metadata.resourceVersion) return false;
        return (
          deletionTimestamp === undefined && (uid === before.metadata.uid) !== isMadeAnew && likeness(now) === wanted
        );
      });
      await until(
        scene,
        `${edit} of ${child}: Ready again`,
        () => hasCondition(scene, 'Ready', 'Serving') && isSettled(scene),
      );
    },
  };
}

/** A password is not mended but complained of, until the person brings back what was taken. */
async function losePassword(scene: Scene, before: Seen, edit: Edit): Promise<void> {
  const { name, labels } = before.metadata;
  await editOnce(scene, 'Secret', before, edit);
  await until(scene, `${edit} of Secret ${name}: complained of`, () =>
    hasCondition(scene, 'Stalled', 'PasswordMissing'),
  );
  await sleep(COMPLAINING_MS);
  if (edit === 'delete') {
    if (childIn(scene, 'Secret', name))
      throw new Meddled('I11 data', `Secret ${name} was recreated, and opens nothing`);
    await scene.api.call('POST', pathOf(scene, 'Secret'), { metadata: { name, labels }, data: before.data });
  } else {
    await scene.api.call('PATCH', pathOf(scene, 'Secret', name), { metadata: { labels } }, MERGE);
  }
  await until(scene, `${edit} of Secret ${name}: Ready again`, () => hasCondition(scene, 'Ready', 'Serving'));
}

/** Nothing brings the data back: it is complained of, and an empty volume is made only on an explicit word. */
async function loseVolume(scene: Scene, before: Seen): Promise<void> {
  const { name, uid } = before.metadata;
  const { api, namespace } = scene;
  await editOnce(scene, 'PersistentVolumeClaim', before, 'delete');
  await until(scene, `delete of ${name}: complained of while its pod is there`, () =>
    hasCondition(scene, 'Stalled', 'VolumeTerminating'),
  );
  // The volume goes with the last pod that uses it.
  await api.call('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}-0`);
  await until(scene, `delete of ${name}: complained of`, () => hasCondition(scene, 'Stalled', 'VolumeMissing'));
  await sleep(COMPLAINING_MS);
  if (childIn(scene, 'PersistentVolumeClaim', name))
    throw new Meddled('I11 data', `PersistentVolumeClaim ${name} was replaced by an empty one, and nobody asked`);
  const record = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments/${RECORD}`;
  await api.call('PATCH', record, { metadata: { annotations: { 'davit.dev/empty-database': uid } } }, MERGE);
  await until(
    scene,
    `delete of ${name}: Ready again`,
    () => hasCondition(scene, 'Ready', 'Serving') && childIn(scene, 'PersistentVolumeClaim', name) !== undefined,
  );
  await api.call('PATCH', record, { metadata: { annotations: { 'davit.dev/empty-database': null } } }, MERGE);
}

async function editOnce(scene: Scene, kind: string, before: Seen, edit: Edit): Promise<void> {
  const { name } = before.metadata;
  const path = pathOf(scene, kind, name);
  const patches: Partial<Record<Edit, object | undefined>> = {
    labels: { metadata: { labels: null } },
    owner: { metadata: { ownerReferences: null } },
    digest: { metadata: { annotations: { 'davit.dev/applied': null } } },
    field: FIELDS[kind],
  };
  const patch = patches[edit];
  if (patch) await scene.api.call('PATCH', path, patch, MERGE);
  else await scene.api.call('DELETE', path);
  if (edit === 'remade') await makeAnew(scene, kind, before);
}

/** `kubectl replace --force`: the same labels and owner, but what can only be chosen when it is made is another. */
async function makeAnew(scene: Scene, kind: string, before: Seen): Promise<void> {
  const { name, labels, ownerReferences } = before.metadata;
  const spec = structuredClone(before.spec);
  if (kind === 'Service') {
    delete spec.clusterIP;
    delete spec.clusterIPs;
    spec.selector['davit.dev/component'] = 'none';
  } else {
    spec.selector = { matchLabels: { app: 'by-hand' } };
    spec.template.metadata.labels.app = 'by-hand';
  }
  const object = { apiVersion: before.apiVersion, kind, metadata: { name, labels, ownerReferences }, spec };
  await scene.api.call('POST', pathOf(scene, kind), object).catch((error: unknown) => {
    // Davit was quicker.
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
  });
}

/** All of a child that is somebody's wish, without what Kubernetes fills in by chance. */
function likeness({ metadata, spec }: Seen): string {
  const { clusterIP: _, clusterIPs: __, ...rest } = spec ?? {};
  const digest = metadata.annotations?.['davit.dev/applied'];
  return JSON.stringify([sorted(metadata.labels), metadata.ownerReferences?.map(({ uid }) => uid), digest, rest]);
}

function sorted(record: Readonly<Record<string, string>> = {}): [string, string][] {
  return Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Every workload of the record has been looked at by its controller, and has all of its pods. */
function isSettled({ census, namespace }: Scene): boolean {
  return census.current(namespace).every(({ kind, object: { metadata, spec, status } }) => {
    if ((kind !== 'Deployment' && kind !== 'StatefulSet') || !metadata.name.startsWith(RECORD)) return true;
    const wanted = spec.replicas as number;
    return (
      status?.observedGeneration === metadata.generation &&
      (status?.readyReplicas ?? 0) === wanted &&
      (status?.replicas ?? 0) === wanted
    );
  });
}

const FOREIGN_TEMPLATE = {
  metadata: { labels: { app: 'foreign' } },
  spec: { containers: [{ name: 'one', image: 'registry.example/foreign:1' }] },
};
const FOREIGN_SELECTOR = { matchLabels: { app: 'foreign' } };
const FOREIGN_SPECS: Readonly<Record<string, object | undefined>> = {
  Deployment: { replicas: 0, selector: FOREIGN_SELECTOR, template: FOREIGN_TEMPLATE },
  StatefulSet: { replicas: 0, selector: FOREIGN_SELECTOR, template: FOREIGN_TEMPLATE, serviceName: 'foreign' },
  Service: { ports: [{ port: 1234 }] },
  NetworkPolicy: { podSelector: FOREIGN_SELECTOR },
  PersistentVolumeClaim: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  Secret: undefined,
};

function squatter(child: string): Meddler {
  const [kind = '', name = ''] = child.split(' ');
  let made: ApiObject | undefined;
  return {
    remade: child,
    async before(scene) {
      const spec = FOREIGN_SPECS[kind];
      const object = { metadata: { name }, ...(spec && { spec }) };
      made = await scene.api.call<ApiObject>('POST', pathOf(scene, kind), object);
    },
    async during(scene, signal) {
      await until(
        scene,
        `foreign ${child}: complained of`,
        () => signal.aborted || hasCondition(scene, 'Stalled', 'NameConflict'),
      );
      const now = await scene.api.call<Seen>('GET', pathOf(scene, kind, name));
      if (now.metadata.uid !== made?.metadata.uid || now.metadata.labels !== undefined)
        throw new Meddled('I4 no theft', `${child} is somebody else's and was touched`);
      await scene.api.call('DELETE', pathOf(scene, kind, name), {
        preconditions: { uid: made?.metadata.uid },
        propagationPolicy: 'Background',
      });
    },
  };
}

/** A promise that was broken before the meddler's eyes. */
export class Meddled extends Error {
  readonly invariant: string;
  constructor(invariant: string, what: string) {
    super(what);
    this.invariant = invariant;
  }
}

const GROUPS: Readonly<Record<string, string>> = {
  deployments: 'apps',
  statefulsets: 'apps',
  networkpolicies: 'networking.k8s.io',
  apprevisions: 'davit.dev',
  tracingprojects: 'davit.dev',
};
/** What a cluster's rules may refuse. */
export const REFUSABLE = [
  'deployments',
  'statefulsets',
  'services',
  'secrets',
  'persistentvolumeclaims',
  'networkpolicies',
  'apprevisions',
  'tracingprojects',
] as const;

/** How long the record is left with its complaint. */
const COMPLAINING_MS = 1500;

async function untilComplained(scene: Scene, signal: AbortSignal, what: string): Promise<void> {
  await until(scene, `${what}: complained of`, () => {
    const isRefused =
      hasCondition(scene, 'Stalled', 'ApplyRefused') || hasCondition(scene, 'WorkloadsReady', 'PodsRefused', 'False');
    return signal.aborted || isRefused;
  });
  await sleep(COMPLAINING_MS);
}

function policy(of: string): Meddler {
  const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
  const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
  async function lift({ api, namespace }: Scene): Promise<void> {
    for (const path of [bindings, policies]) await api.call('DELETE', `${path}/${namespace}`).catch(() => undefined);
  }
  return {
    async before({ api, namespace, patienceMs }) {
      const resourceRules = [
        { apiGroups: [GROUPS[of] ?? ''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: [of] },
        // Something that is always valid, by which to tell whether the policy is in force.
        { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE'], resources: ['configmaps'] },
      ];
      const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
      await api.call('POST', policies, {
        metadata: { name: namespace },
        spec: {
          matchConstraints: { resourceRules, namespaceSelector },
          validations: [{ expression: 'false', message: 'not today' }],
        },
      });
      await api.call('POST', bindings, {
        metadata: { name: namespace },
        spec: { policyName: namespace, validationActions: ['Deny'] },
      });
      // The API server learns of it within a second or so.
      const path = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`;
      const end = Date.now() + patienceMs;
      for (let denied = false; !denied && Date.now() < end; await sleep(50)) {
        denied = await api.call('POST', path, { metadata: { name: 'probe' } }).then(
          () => false,
          (error: unknown) => String(error).includes('ValidatingAdmissionPolicy'),
        );
      }
    },
    async during(scene, signal) {
      await untilComplained(scene, signal, `a policy against ${of}`);
      await lift(scene);
    },
    cleanUp: lift,
  };
}

function quota(of: string): Meddler {
  const counted = of === 'pods' ? 'pods' : `count/${of}${GROUPS[of] === undefined ? '' : `.${GROUPS[of]}`}`;
  const path = ({ namespace }: Scene): string => `/api/v1/namespaces/${namespace}/resourcequotas`;
  return {
    async before(scene) {
      const { api, patienceMs } = scene;
      await api.call('POST', path(scene), { metadata: { name: 'full' }, spec: { hard: { [counted]: '0' } } });
      // Nothing is refused before the controller manager has counted.
      const end = Date.now() + patienceMs;
      for (let counting = true; counting && Date.now() < end; await sleep(50)) {
        const { status } = await api.call<Seen>('GET', `${path(scene)}/full`);
        counting = status?.used?.[counted] === undefined;
      }
    },
    async during(scene, signal) {
      await untilComplained(scene, signal, `a quota of ${of}`);
      await scene.api.call('DELETE', `${path(scene)}/full`);
    },
  };
}

const SOMEBODY = '?fieldManager=somebody&force=true';

function taker(): Meddler {
  return {
    async after(scene) {
      const before = childIn(scene, 'Deployment', RECORD);
      const path = `${pathOf(scene, 'Deployment', RECORD)}${SOMEBODY}`;
      const taken = await scene.api.call<Seen>(
        'PATCH',
        path,
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name: RECORD, labels: { 'app.kubernetes.io/part-of': 'somebody' } },
          spec: { replicas: 2 },
        },
        APPLY,
      );
      const generation = taken.metadata.generation ?? 0;
      await until(scene, 'fields taken by somebody: ours again', () => {
        const { metadata, spec } = childIn(scene, 'Deployment', RECORD) ?? {};
        return (
          (metadata?.generation ?? 0) > generation &&
          spec?.replicas === before?.spec.replicas &&
          metadata?.labels?.['app.kubernetes.io/part-of'] === 'davit'
        );
      });
      await until(scene, 'fields taken by somebody: settled', () => isSettled(scene));
    },
  };
}

const THEIR_FINALIZER = 'example.com/theirs';

/** Before a write of the controller's that the plan names is passed on. */
export async function race(scene: Scene): Promise<void> {
  const patch = [{ op: 'add', path: '/metadata/finalizers', value: [THEIR_FINALIZER] }];
  await scene.api.call('PATCH', pathOf(scene, 'AppDeployment', RECORD), patch, 'application/json-patch+json');
}

function racer(): Meddler {
  return {
    async after(scene) {
      const path = pathOf(scene, 'AppDeployment', RECORD);
      const { finalizers = [] } = (await scene.api.call<Seen>('GET', path)).metadata;
      if (!finalizers.includes(THEIR_FINALIZER)) throw new Meddled('I4 no theft', "somebody's finalizer is gone");
      const rest = finalizers.filter((name) => name !== THEIR_FINALIZER);
      await scene.api.call('PATCH', path, { metadata: { finalizers: rest } }, MERGE);
    },
  };
}

const THEIRS = 'example.com/theirs';

/** Not what somebody else has under the name of one. */
function isChild({ object: { metadata } }: Sighting): boolean {
  return metadata.name.startsWith(RECORD) && metadata.labels?.['davit.dev/deployment-uid'] !== undefined;
}

function adder(): Meddler {
  const kinds = ['Deployment', 'Service', 'StatefulSet', 'NetworkPolicy', 'PersistentVolumeClaim', 'Secret'];
  const childrenIn = ({ census, namespace }: Scene): Sighting[] =>
    census.current(namespace).filter((sighting) => kinds.includes(sighting.kind) && isChild(sighting));
  const marked = new Set<string>();
  return {
    // As soon as each is there, so that whatever the workload changes later meets it.
    async during(scene, signal) {
      while (!signal.aborted) {
        for (const {
          kind,
          object: { apiVersion, metadata },
        } of childrenIn(scene)) {
          const { name, uid = '' } = metadata;
          if (marked.has(uid)) continue;
          const body = {
            apiVersion: apiVersion ?? API_VERSIONS[kind] ?? 'v1',
            kind,
            metadata: { name, uid, annotations: { [THEIRS]: 'yes' } },
          };
          await scene.api.call('PATCH', `${pathOf(scene, kind, name)}${SOMEBODY}`, body, APPLY).then(
            () => marked.add(uid),
            () => undefined,
          );
        }
        await sleep(20);
      }
    },
    async after(scene) {
      const lost = childrenIn(scene).find(
        ({ object }) => marked.has(object.metadata.uid ?? '') && object.metadata.annotations?.[THEIRS] !== 'yes',
      );
      if (lost)
        throw new Meddled('I4 no theft', `somebody's annotation on ${lost.kind} ${lost.object.metadata.name} is gone`);
      if (marked.size === 0) throw new Error('nothing was marked');
    },
  };
}

const API_VERSIONS: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  NetworkPolicy: 'networking.k8s.io/v1',
};

/** Fifty writes a second to the record, or as many as the API server takes to the children. */
function storm(kind: 'conflict-storm' | 'child-storm', ms: number): Meddler {
  return {
    async during(scene, signal) {
      const { api, census, namespace } = scene;
      const targets = (): string[] =>
        kind === 'conflict-storm'
          ? [pathOf(scene, 'AppDeployment', RECORD)]
          : census
              .current(namespace)
              .filter((sighting) => sighting.kind in FIELDS && isChild(sighting))
              .map(({ kind: is, object }) => pathOf(scene, is, object.metadata.name));
      await until(scene, 'something to storm at', () => signal.aborted || targets().length > 0);
      const end = performance.now() + ms;
      for (let count = 0; performance.now() < end; count += 1) {
        const patch = { metadata: { annotations: { 'example.com/storm': String(count) } } };
        await Promise.all(targets().map((path) => api.call('PATCH', path, patch, MERGE).catch(() => undefined)));
        await sleep(kind === 'conflict-storm' ? 20 : 0);
      }
    },
  };
}

export const MONSTER = 'monster';

function monster(): Meddler {
  return {
    async before(scene) {
      const numbers = Array.from({ length: 50 }, (_, index) => index);
      const entries = (value: (index: number) => string): Record<string, string> =>
        Object.fromEntries(numbers.map((index) => [`example.com/key-${index}`, value(index)]));
      const secretReferences = Array.from({ length: 100 }, (_, index) => ({
        name: `V_${index}`,
        secretName: `none-${index}`,
        secretKey: 'k',
      }));
      await scene.api.call('POST', pathOf(scene, 'AppDeployment'), {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'AppDeployment',
        metadata: { name: MONSTER },
        spec: {
          source: 'external_docker',
          sourceConfig: {
            resourceSpec: { annotations: entries(() => 'x'.repeat(16_000)), labels: entries((index) => `v${index}`) },
          },
          sourceRevisionConfig: { imageUri: 'registry.example/monster:1' },
          secretReferences,
        },
      });
    },
    async after(scene) {
      await until(scene, 'the monster: something is said of it', () => {
        const { status } = childIn(scene, 'AppDeployment', MONSTER) ?? {};
        return (status?.conditions ?? []).some(
          (one: { type: string; status: string }) => one.type === 'Stalled' && one.status === 'True',
        );
      });
    },
    async cleanUp(scene) {
      await scene.api
        .call('PATCH', pathOf(scene, 'AppDeployment', MONSTER), { metadata: { finalizers: [] } }, MERGE)
        .catch(() => undefined);
    },
  };
}
