// What a hub and a listener's cluster promise (docs/listeners.md): of every pass, and of every state at rest.

import { originGenerationOf } from '../../../src/deploy/record/metadata.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import type { Listener } from '../../../src/kinds/listener.ts';
import { ABANDON_ANNOTATION, PAUSED_ANNOTATION, REMOTE_FINALIZER } from '../../../src/kinds/meta.ts';
import { NAMESPACES, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { wasAsked } from './listener-events.ts';
import {
  CLUSTER,
  canRenew,
  clusterIn,
  HUB,
  isConsenting,
  link,
  listenerOf,
  ofCopy,
  originOf,
  recordOf,
  SHOPS,
  TEAM,
  thereOf,
  worksOf,
} from './listener-world.ts';
import type { Broken, PassSeen } from './pass-seen.ts';
import type { Scene } from './scene.ts';
import { sortedText } from './world.ts';

interface PassProperty {
  readonly name: string;
  readonly broken: (seen: PassSeen) => string | undefined;
}
interface RestProperty {
  readonly name: string;
  readonly broken: (scene: Scene) => string | undefined;
}

const connected = (listener: Listener | undefined): string | undefined =>
  conditionOf(listener?.status?.conditions, 'Connected')?.status;
const ready = (record: AppDeployment | undefined) => conditionOf(record?.status?.conditions, 'Ready');
const copiedSecrets = (scene: Scene): readonly KubeObject[] =>
  scene.all(SECRETS, SHOPS).filter((one) => ofCopy(one) !== undefined);
const idOf = (object: KubeObject): string => object.metadata.uid ?? '';

const PASS_PROPERTIES: readonly PassProperty[] = [
  {
    name: 'nothing is deleted in the cluster that nobody asked to delete',
    broken({ before, writes, controller }) {
      if (controller !== 'works') return undefined;
      for (const { verb, kind, ref, error } of writes) {
        if (verb !== 'delete' || error !== undefined) continue;
        const object = scene(before, kind, ref.name);
        const id = object && (kind === 'Secret' ? ofCopy(object) : originOf(object));
        if (id === undefined) return `${kind} ${ref.name} is deleted, which is not the agent's.`;
        const isUsed = worksOf(before).some(
          ({ metadata, spec }) =>
            metadata.name === id && (kind !== 'Secret' || spec.secrets?.some(({ name }) => name === ref.name) === true),
        );
        if (!wasAsked(before, id) && isUsed) return `${kind} ${ref.name} is deleted, and nobody asked for that.`;
        if (!wasAsked(before, id) && kind !== 'Secret')
          return `${kind} ${ref.name} is deleted for a work that is absent.`;
      }
      return undefined;
    },
  },
  {
    name: 'the agent writes only what is its own',
    broken({ before, key, writes, controller }) {
      if (controller !== 'works') return undefined;
      const id = key.split('/')[1];
      for (const { kind, ref, subresource } of writes) {
        if (ref.namespace === HUB && kind === 'ListenerWork' && subresource === 'status' && ref.name === id) continue;
        if (ref.namespace !== SHOPS) return `The agent writes ${kind} ${ref.namespace}/${ref.name}.`;
        const there = scene(before, kind, ref.name);
        if (there && originOf(there) !== id && ofCopy(there) !== id)
          return `The agent writes ${kind} ${ref.name}, which is not of this work.`;
      }
      return undefined;
    },
  },
  {
    name: 'a copy never goes back to an earlier generation',
    broken({ before, after }) {
      const [then, since] = [thereOf(before), thereOf(after)];
      const isSame = then !== undefined && since !== undefined && then.metadata.uid === since.metadata.uid;
      return isSame && originOf(then) !== undefined && originGenerationOf(since) < originGenerationOf(then)
        ? `It goes from ${originGenerationOf(then)} back to ${originGenerationOf(since)}.`
        : undefined;
    },
  },
  {
    name: 'Ready is said of what the cluster has',
    broken({ after, controller }) {
      const record = recordOf(after);
      const there = thereOf(after);
      if (controller !== 'records' || !record || !there || originOf(there) !== idOf(record)) return undefined;
      return ready(record)?.status === 'True' &&
        record.status?.observedGeneration === record.metadata.generation &&
        originGenerationOf(there) < (record.metadata.generation ?? 0)
        ? `Generation ${record.metadata.generation} is Ready, and the copy is of ${originGenerationOf(there)}.`
        : undefined;
    },
  },
  {
    name: 'a record, and its work, go after its copy',
    broken({ before, after, controller }) {
      if (controller === 'works' || controller === 'lease') return undefined;
      const copy = thereOf(before);
      const id = copy && originOf(copy);
      if (id === undefined) return undefined;
      const had = (at: Scene): string[] => [
        ...(recordOf(at)?.metadata.uid === id && recordOf(at)?.metadata.finalizers?.includes(REMOTE_FINALIZER) === true
          ? ['record']
          : []),
        ...(worksOf(at).some(({ metadata }) => metadata.name === id) ? ['work'] : []),
      ];
      const work = worksOf(before).find(({ metadata }) => metadata.name === id);
      // Whoever deleted the work, or its namespace, has deleted no record: it is made again.
      const isLeaving = before.get(NAMESPACES, '', HUB)?.metadata.deletionTimestamp !== undefined;
      const hasRecord = recordOf(before)?.metadata.uid === id;
      const isMadeAgain =
        work?.metadata.deletionTimestamp !== undefined && (work.spec.removed !== true || (isLeaving && hasRecord));
      const isGivenUp = recordOf(before)?.metadata.annotations?.[ABANDON_ANNOTATION] === id;
      const went = had(before).filter(
        (one) => !had(after).includes(one) && !(one === 'record' ? isGivenUp : isMadeAgain),
      );
      return went.length > 0 ? `The ${went.join(' and the ')} went, and the copy is there.` : undefined;
    },
  },
  {
    name: 'the namespace of a Listener goes without works',
    broken: ({ before, writes }) =>
      writes.some(({ verb, kind, error }) => verb === 'delete' && kind === 'Namespace' && error === undefined) &&
      worksOf(before).length > 0
        ? 'It goes with a work in it.'
        : undefined,
  },
  {
    name: 'another cluster is not taken for the one that enrolled',
    broken({ after, controller }) {
      const listener = listenerOf(after);
      const cluster = clusterIn(after);
      if (controller !== 'listeners' || cluster === undefined || cluster === CLUSTER) return undefined;
      // Its Lease may be there for a moment longer.
      if (listener === undefined) return undefined;
      return connected(listener) === 'True' || listener?.status?.clusterId !== CLUSTER
        ? `${cluster} holds the Lease, and the Listener is of ${listener?.status?.clusterId}, Connected ${connected(listener)}.`
        : undefined;
    },
  },
];

function scene(of: Scene, kind: string, name: string): KubeObject | undefined {
  return of.get(kind === 'Secret' ? SECRETS : APP_DEPLOYMENTS, SHOPS, name);
}

/** Why the cluster does not have the record as it is; undefined if nothing keeps it from that. */
function obstacle(of: Scene, record: AppDeployment): string | undefined {
  const there = thereOf(of);
  const isItsOwn = there !== undefined && originOf(there) === idOf(record);
  // A deletion is a generation more, of which the cluster is not told.
  const work = worksOf(of).find(({ metadata }) => metadata.name === idOf(record));
  const generation =
    record.metadata.deletionTimestamp === undefined ? record.metadata.generation : work?.spec.generation;
  if (isItsOwn && originGenerationOf(there) > (generation ?? 0)) return 'HubChanged';
  if (!isConsenting(of)) return 'NamespaceNotAllowed';
  if (there && !isItsOwn) return 'NameConflict';
  const names = record.spec.secrets.map(({ secretName }) => secretName);
  const foreign = names.some((name) => {
    const secret = of.get(SECRETS, SHOPS, name);
    // A value that is gone from the hub does not cross.
    return secret && ofCopy(secret) !== idOf(record) && of.get(SECRETS, TEAM, name) !== undefined;
  });
  return foreign ? 'NameConflict' : undefined;
}
/** The cluster gets no other change of a paused record. */
const isPaused = ({ metadata }: AppDeployment): boolean => metadata.annotations?.[PAUSED_ANNOTATION] !== undefined;
const isListed = (of: Scene): boolean => listenerOf(of)?.spec.namespaces?.includes(SHOPS) === true;
const isSilent = (of: Scene): boolean => connected(listenerOf(of)) !== 'True';

const REST_PROPERTIES: readonly RestProperty[] = [
  {
    name: 'a Listener is connected exactly where its cluster reports',
    broken(of) {
      const listener = listenerOf(of);
      if (!listener || listener.metadata.deletionTimestamp !== undefined) return undefined;
      const is = connected(listener) === 'True';
      const should = canRenew(of) && link(of, 'heard') === 'recently' && clusterIn(of) === CLUSTER;
      return is === should ? undefined : `Connected is ${is}, and should be ${should}.`;
    },
  },
  {
    name: 'a record has its copy, as it is',
    broken(of) {
      const record = recordOf(of);
      if (!canRenew(of) || !record || record.metadata.deletionTimestamp !== undefined || !isListed(of))
        return undefined;
      if (obstacle(of, record) !== undefined || isPaused(record)) return undefined;
      const there = thereOf(of);
      if (!there || originOf(there) !== idOf(record)) return 'The record has no copy.';
      if (originGenerationOf(there) !== record.metadata.generation)
        return `The copy is of generation ${originGenerationOf(there)}, and the record has ${record.metadata.generation}.`;
      const { listenerId: _id, listenerConfig: _config, ...sourceConfig } = record.spec.sourceConfig;
      return sortedText({ ...record.spec, sourceConfig }) === sortedText(there.spec)
        ? undefined
        : 'The copy has another spec.';
    },
  },
  {
    name: 'a copy has a record, or a work that deletes it',
    broken(of) {
      const there = thereOf(of);
      const id = there && originOf(there);
      if (!canRenew(of) || !there || id === undefined || of.mark(TEAM, 'restored') !== undefined) return undefined;
      return idOf(recordOf(of) ?? there) === id || worksOf(of).some(({ metadata }) => metadata.name === id)
        ? undefined
        : 'The copy is of no record.';
    },
  },
  {
    name: 'a deleted record is gone on both sides',
    broken(of) {
      const record = recordOf(of);
      if (!canRenew(of) || (record && isPaused(record))) return undefined;
      const isOlder = (id: string): boolean => {
        const there = thereOf(of);
        const work = worksOf(of).find(({ metadata }) => metadata.name === id);
        return (
          there !== undefined && originOf(there) === id && originGenerationOf(there) > (work?.spec.generation ?? 0)
        );
      };
      if (record?.metadata.deletionTimestamp !== undefined && !isOlder(idOf(record)))
        return 'The record is being deleted for ever.';
      const tombstone = worksOf(of).find(
        ({ metadata }) => metadata.deletionTimestamp !== undefined && !isOlder(metadata.name),
      );
      if (tombstone && listenerOf(of)) return 'A work is being deleted for ever.';
      const left = copiedSecrets(of).find(
        (one) => wasAsked(of, ofCopy(one) ?? '') && !worksOf(of).some(({ metadata }) => metadata.name === ofCopy(one)),
      );
      return left && `Secret ${left.metadata.name} of a deleted record is still there.`;
    },
  },
  {
    name: 'the values in the cluster are those of the hub, and no others',
    broken(of) {
      const record = recordOf(of);
      const there = thereOf(of);
      if (!canRenew(of) || !record || !there || originOf(there) !== idOf(record) || !isListed(of)) return undefined;
      if (record.metadata.deletionTimestamp !== undefined || obstacle(of, record) !== undefined || isPaused(record))
        return undefined;
      const wanted = new Set(record.spec.secrets.map(({ secretName }) => secretName));
      for (const name of wanted) {
        const [here, crossed] = [TEAM, SHOPS].map((at) => of.get<KubeObject & { data?: object }>(SECRETS, at, name));
        if (here && sortedText(here.data) !== sortedText(crossed?.data))
          return `Secret ${name} has other values there.`;
      }
      const stored = of.all<AppRevision>(APP_REVISIONS, SHOPS).flatMap(({ spec }) => spec.requested.secrets);
      for (const { secretName } of stored) wanted.add(secretName);
      const more = copiedSecrets(of).find(({ metadata }) => !wanted.has(metadata.name));
      return more && `Secret ${more.metadata.name} crossed, and nothing uses it.`;
    },
  },
  {
    name: 'only values that cross are on the way',
    broken(of) {
      const there = of.get<KubeObject & { data?: object }>(SECRETS, SHOPS, 'theirs');
      if (sortedText(there?.data) !== sortedText({ a: 'dGhlaXJz' }))
        return "The cluster's own Secret has another value.";
      const ours = of.all(SECRETS, HUB).find(({ metadata }) => metadata.name.endsWith('.theirs'));
      return ours && `${ours.metadata.name} is a copy of a Secret that does not cross.`;
    },
  },
  {
    name: 'the status is true',
    broken(of) {
      const record = recordOf(of);
      if (!record || !listenerOf(of) || !isListed(of)) return undefined;
      const said = `${record.status?.state} ${ready(record)?.status} ${ready(record)?.reason}`;
      const isLeaving = record.metadata.deletionTimestamp !== undefined;
      const silent = `${isLeaving ? 'AWAITING_DELETE' : 'UNKNOWN'} Unknown ListenerSilent`;
      if (isSilent(of)) return said === silent ? undefined : `It says ${said}, and the cluster is silent.`;
      const why = obstacle(of, record);
      // Nothing but an earlier state of the hub keeps the agent from deleting a copy.
      if (isLeaving && why !== 'HubChanged') return undefined;
      if (why !== undefined && !said.endsWith(`False ${why}`))
        return `It says ${said}, and the cluster refuses it: ${why}.`;
      const there = thereOf(of);
      const isThere = there !== undefined && originOf(there) === idOf(record);
      const isAvailable = conditionOf(record.status?.conditions, 'Available')?.status === 'True';
      if (why !== undefined)
        return !isThere && (record.status?.state === 'READY' || isAvailable)
          ? `It says ${said}, Available ${isAvailable}, and the cluster has no copy: ${why}.`
          : undefined;
      if (isPaused(record) && (!there || originGenerationOf(there) !== record.metadata.generation)) return undefined;
      const is = `${there?.status?.state} ${ready(there)?.status} ${ready(there)?.reason}`;
      if (said !== is) return `It says ${said}, and the copy ${is}.`;
      return record.status?.image === there?.status?.image
        ? undefined
        : `It says that ${record.status?.image} runs, and the copy ${there?.status?.image}.`;
    },
  },
  {
    name: 'the status is of the record as it is',
    broken(of) {
      const { metadata, status } = recordOf(of) ?? {};
      return metadata === undefined || status?.observedGeneration === metadata.generation
        ? undefined
        : `It is of generation ${status?.observedGeneration}, not ${metadata.generation}.`;
    },
  },
];

/** When every trouble is undone, and the hub knows what the cluster has. */
const MENDED_PROPERTIES: readonly RestProperty[] = [
  {
    name: 'a mended record becomes what a new one is',
    broken(of) {
      const record = recordOf(of);
      if (listenerOf(of) === undefined || !isListed(of)) return undefined;
      if (isSilent(of)) return 'The cluster is silent.';
      if (!record) return thereOf(of) && 'Nothing is on the hub, and something in the cluster.';
      return ready(record)?.status === 'True' ? undefined : `It is not Ready: ${ready(record)?.reason}.`;
    },
  },
];

const judged = <Seen>(
  properties: readonly { readonly name: string; readonly broken: (seen: Seen) => string | undefined }[],
  seen: Seen,
): Broken[] =>
  properties.flatMap(({ name, broken }) => {
    const message = broken(seen);
    return message === undefined ? [] : [{ property: name, message }];
  });

export const judgeListenerPass = (seen: PassSeen): Broken[] => judged(PASS_PROPERTIES, seen);

export function judgeListenerRest(of: Scene, namespace: string, isMended: boolean): Broken[] {
  if (namespace !== TEAM) return [];
  return [...judged(REST_PROPERTIES, of), ...(isMended ? judged(MENDED_PROPERTIES, of) : [])];
}
