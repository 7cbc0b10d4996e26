// The bounds of a hub and a listener's cluster.

import type { Bound } from './bound.ts';
import type { Cast } from './cast.ts';
import { CLUSTER_EVENTS } from './cluster-events.ts';
import type { Event } from './event.ts';
import * as happens from './listener-events.ts';
import { judgeListenerPass, judgeListenerRest } from './listener-properties.ts';
import {
  beginListener,
  HUB,
  keysOfListener,
  LISTENER,
  makeListenerPass,
  ON_HUB,
  SHOPS,
  TEAM,
} from './listener-world.ts';
import { image } from './people-events.ts';
import type { Admission } from './scene.ts';

const cast = (whole: boolean): Cast => ({
  keys: (scene, namespace) => keysOfListener(scene, namespace, whole),
  make: makeListenerPass,
  judgePass: judgeListenerPass,
  judgeRest: judgeListenerRest,
  mend: happens.mendListener,
});
/** On the hub alone: the copy is edited by an event of its own. */
const onHub = (event: Event): Event => ({
  ...event,
  subjects: (scene, namespace) => (namespace === TEAM ? event.subjects(scene, namespace) : []),
});
const inCluster = (event: Event): Event => ({
  ...event,
  subjects: (scene, namespace) => (namespace === SHOPS ? event.subjects(scene, namespace) : []),
});
const IMAGE = onHub(image('2'));

/** What the bounds of listeners have in common. `admission`: of the cluster's own Davit, where it is the real one. */
const of = (
  whole: boolean,
  admission: Admission,
): Pick<Bound, 'settings' | 'namespaces' | 'begin' | 'cast' | 'admission'> => ({
  settings: ON_HUB,
  namespaces: [TEAM, HUB, SHOPS],
  begin: beginListener,
  cast: cast(whole),
  admission,
});

const LISTENERS: Bound = {
  name: 'listeners',
  about:
    "A record that a further cluster runs: changed, deleted, made again, given up; the link cut, the agent and the hub's controller restarted.",
  ...of(false, {}),
  events: [
    ...happens.STAND_INS,
    ...happens.LINK_EVENTS,
    IMAGE,
    happens.deleteRemote,
    happens.remakeRemote,
    happens.giveUp,
    happens.rotateValues,
    happens.otherValues,
    happens.linkCut,
    happens.linkMended,
    happens.agentRestarts,
    happens.hubRestarts,
  ],
  people: 3,
  troubles: 2,
};

const HUBS: Bound = {
  name: 'hubs',
  about:
    'A hub that is backed up and restored; a revoked token, a clone of the cluster, the Listener itself, its namespace and its works.',
  ...of(false, { admit: happens.refuseInLeaving }),
  // The backup has an earlier generation than the cluster.
  history: [`somebody backs the hub up in ${TEAM}`, `somebody sets image 2 of shop in ${TEAM}`],
  events: [
    ...happens.STAND_INS,
    ...happens.LINK_EVENTS,
    IMAGE,
    happens.deleteRemote,
    happens.remakeRemote,
    happens.valuesGone,
    happens.backUp,
    happens.restoreHub,
    happens.namespacesOf([]),
    happens.namespacesOf([SHOPS]),
    happens.deleteListener,
    happens.deleteWork,
    happens.deleteHubNamespace,
    happens.tokenRevoked,
    happens.tokenBack,
    happens.cloneConnects,
    happens.linkCut,
    happens.linkMended,
  ],
  people: 3,
  troubles: 2,
};

const NAMES: Bound = {
  name: 'names',
  about:
    'The name of the copy in the cluster: taken by others, free again; a backup of the hub from before the record was made.',
  ...of(false, {}),
  history: [
    `somebody deletes record shop in ${TEAM}`,
    `somebody backs the hub up in ${TEAM}`,
    `somebody makes record shop again in ${TEAM}`,
  ],
  events: [
    ...happens.STAND_INS,
    ...happens.LINK_EVENTS,
    happens.deleteRemote,
    happens.remakeRemote,
    happens.giveUp,
    happens.backUp,
    happens.restoreHub,
    happens.deleteCopy,
    happens.deleteWork,
    happens.foreignRecord,
    happens.foreignRecordGone,
    happens.foreignSecret,
    happens.linkCut,
    happens.linkMended,
  ],
  people: 3,
  troubles: 2,
};

const edges = (admission: Admission): Bound => ({
  name: 'edges',
  about:
    "The copy in the cluster, which its own Davit runs: edited and deleted there, its name taken, the Listener's label gone.",
  ...of(true, admission),
  events: [
    ...CLUSTER_EVENTS.filter(({ calm }) => calm === true).map(inCluster),
    ...happens.LINK_EVENTS,
    IMAGE,
    happens.deleteRemote,
    happens.remakeRemote,
    happens.editCopy,
    happens.deleteCopy,
    happens.deleteCopiedSecret,
    happens.foreignRecord,
    happens.foreignRecordGone,
    happens.foreignSecret,
    happens.refuseHub,
    happens.acceptHub(LISTENER),
    happens.linkCut,
    happens.linkMended,
  ],
  people: 3,
  troubles: 2,
});

export const listenerBounds = (admission: Admission): readonly Bound[] => [LISTENERS, HUBS, NAMES, edges(admission)];
