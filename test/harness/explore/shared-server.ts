// The shared PostgreSQL server in the explorer, on which a record has a role and a database beside those of others. The controller that
// speaks to it sees what its last look has shown, and takes one step at a time; the decisions are the real ones.

import type { Pod } from '../../../src/deployments/assess/observed.ts';
import { isReadyPod } from '../../../src/deployments/assess/pod-failures.ts';
import { serverTroubleOf } from '../../../src/deployments/database-server/troubles.ts';
import { databaseNumberIn, names } from '../../../src/deployments/record/names.ts';
import {
  type Found,
  nextForGone,
  nextForThere,
  type ServerFacts,
  type SharedOrder,
  type Step,
  sharedDatabaseName,
  sharedMark,
} from '../../../src/deployments/record/shared-database.ts';
import type { SharedDatabases } from '../../../src/deployments/shared-databases.ts';
import { canonicalJson } from '../../../src/lib/json-value.ts';
import { PODS, SECRETS } from '../../../src/lib/kube/api-resources.ts';
import type { KubeObject } from '../../../src/lib/kube/client.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/schema/app-deployment.ts';
import { conditionOf } from '../../../src/schema/conditions.ts';
import {
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  EMPTY_DATABASE_ANNOTATION,
} from '../../../src/schema/meta.ts';
import { afterStep } from '../../support/fake-shared-server.ts';
import type { Event } from './event.ts';
import type { PassSeen } from './pass-seen.ts';
import { records, revisionsOf } from './people-events.ts';
import { MARKS, type Mark, retainedMark, type Scene } from './scene.ts';

const INSTALLATION = 'davit';
const FACTS: ServerFacts = { version: 150_004, isReadOnly: false, mayManage: true, connections: 100, given: 0 };
/** A role and a database of another record, which nobody here has made. */
const NEIGHBOUR = `${INSTALLATION}_${'f'.repeat(32)}`;
const NEIGHBOURS: Database = {
  role: { mark: sharedMark('f'.repeat(32)), canLogin: true, connections: 10, elevated: [] },
  database: { owner: NEIGHBOUR, publicConnects: false, isOpen: true },
  password: 'of the neighbour',
  data: 'of the neighbour',
};

interface Database extends Found {
  readonly password?: string;
  /** Absent while the database is empty. */
  readonly data?: string;
  /** Name of the record for which it was made. */
  readonly record?: string;
}
type Server = Readonly<Record<string, Database>>;

const SERVER = 'shared server';
const IS_DOWN = 'shared server down';
const SEEN = 'shared server as seen';
const ORDER = 'shared order';
/** What a step has done that none may do. */
const WRONG = 'shared server wrong';
/** What the database of this name is to hold: `there`, or `lost` after somebody has dropped it. */
const DATA = 'shared data ';

const serverIn = (scene: Scene, namespace: string): Server =>
  JSON.parse(scene.mark(namespace, SERVER) ?? '{}') as Server;
function put(scene: Scene, namespace: string, name: string, database: Database): void {
  const { [name]: _before, ...others } = serverIn(scene, namespace);
  const isThere = database.role !== undefined || database.database !== undefined;
  scene.setMark(namespace, SERVER, canonicalJson(isThere ? { ...others, [name]: database } : others));
}
export function putSharedServer(scene: Scene, namespace: string): void {
  put(scene, namespace, NEIGHBOUR, NEIGHBOURS);
}

const nameOf = ({ metadata }: AppDeployment): string => sharedDatabaseName(INSTALLATION, metadata.uid ?? '');
export const isServerDown = (scene: Scene, namespace: string): boolean => scene.mark(namespace, IS_DOWN) !== undefined;

interface Seen {
  readonly isDown: boolean;
  readonly found: Readonly<Record<string, Found>>;
}
/** What a look shows now. */
function look(scene: Scene, namespace: string): Seen {
  const found = Object.entries(serverIn(scene, namespace)).map(([name, { role, database }]) => [
    name,
    { ...(role && { role }), ...(database && { database }) },
  ]);
  return isServerDown(scene, namespace)
    ? { isDown: true, found: {} }
    : { isDown: false, found: Object.fromEntries(found) };
}
const factsOf = ({ found }: Seen): ServerFacts => ({
  ...FACTS,
  given: Object.values(found).reduce((sum, { role }) => sum + Math.max(0, role?.connections ?? 0), 0),
});
const lastLook = (scene: Scene, namespace: string): Seen | undefined => {
  const text = scene.mark(namespace, SEEN);
  return text === undefined ? undefined : (JSON.parse(text) as Seen);
};
const noteLook = (scene: Scene, namespace: string): void =>
  scene.setMark(namespace, SEEN, canonicalJson(look(scene, namespace)));

/** What a pass knows of the server, and asks it for. */
export function sharedDatabasesOf(scene: Scene): SharedDatabases {
  return {
    view({ metadata: { namespace = '' } }, name) {
      const seen = lastLook(scene, namespace);
      if (seen === undefined) return { is: 'unknown' };
      if (seen.isDown) return { is: 'troubled', trouble: serverTroubleOf({ code: undefined, message: 'no route' }) };
      return { is: 'seen', view: { facts: factsOf(seen), found: seen.found[name] ?? {} }, reserved: 0 };
    },
    order: ({ metadata: { namespace = '' } }, order) => scene.setMark(namespace, ORDER, canonicalJson(order)),
    awaitRoom: () => undefined,
  };
}

/** The order of a record that is there. */
function orderIn(scene: Scene, namespace: string): SharedOrder | undefined {
  const text = scene.mark(namespace, ORDER);
  return text === undefined ? undefined : (JSON.parse(text) as SharedOrder);
}
function passwordIn(scene: Scene, namespace: string, name: string): string | undefined {
  return scene.get<KubeObject & { data?: Record<string, string> }>(SECRETS, namespace, name)?.data?.['password'];
}

/** What no step may do, whatever was asked for. */
function wrongIn(
  { name, do: what }: Step,
  before: Database,
  after: Database,
  uids: readonly string[],
): string | undefined {
  const { role, database } = before;
  if (role && !uids.some((uid) => role.mark === sharedMark(uid)))
    return `${what} ${name}: the role has mark ${role.mark}.`;
  if (role === undefined && database && what !== 'create role')
    return `${what} ${name}: nobody here made the database.`;
  if (what === 'open' && after.database?.publicConnects === true) return `${what} ${name}: everybody may connect.`;
  if (what === 'drop database' && database !== undefined && database.owner !== name)
    return `${what} ${name}: its owner is ${database.owner}.`;
  return undefined;
}

const carriesOut: Event = {
  name: 'Davit goes on with its order for database %',
  by: 'cluster',
  calm: true,
  subjects(scene, namespace) {
    const order = orderIn(scene, namespace);
    return order && !isServerDown(scene, namespace) ? [order.wanted.name] : [];
  },
  happen(scene, namespace, name) {
    const order = orderIn(scene, namespace);
    if (!order) return;
    const before = serverIn(scene, namespace)[name] ?? {};
    const seen = look(scene, namespace);
    const view = { facts: factsOf(seen), found: seen.found[name] ?? {} };
    const next = order.is === 'there' ? nextForThere(view, order.wanted) : nextForGone(view, order.wanted);
    const alive = records(scene, namespace);
    const owner = alive.find((record) => nameOf(record) === name);
    const secret = order.is === 'there' ? passwordIn(scene, namespace, order.secret) : undefined;
    const needsPassword = next.is === 'step' && ['create role', 'create database'].includes(next.step.do);
    if (next.is !== 'step' || !owner || (needsPassword && secret === undefined)) {
      scene.setMark(namespace, ORDER, undefined);
      noteLook(scene, namespace);
      return;
    }
    const { step } = next;
    const left: Database = {
      ...afterStep(before, step),
      record: owner.metadata.name,
      ...(needsPassword
        ? { password: secret as string }
        : before.password !== undefined && { password: before.password }),
      ...(step.do !== 'drop database' && before.data !== undefined && { data: before.data }),
    };
    const uids = alive.map(({ metadata }) => metadata.uid ?? '');
    const wrong = wrongIn(step, before, left, uids);
    if (wrong !== undefined) scene.setMark(namespace, WRONG, wrong);
    put(scene, namespace, name, left);
    const { deletionTimestamp } = owner.metadata;
    const isAsked = deletionTimestamp !== undefined && owner.spec.databaseDeletionPolicy === 'Delete';
    if (step.do === 'drop database' && isAsked) scene.setMark(namespace, `${DATA}${name}`, undefined);
  },
};

const looks: Event = {
  name: 'Davit looks at the shared server',
  by: 'cluster',
  calm: true,
  subjects: (scene, namespace) => (scene.mark(namespace, SEEN) === canonicalJson(look(scene, namespace)) ? [] : ['']),
  happen: (scene, namespace) => noteLook(scene, namespace),
};
/** What it knew and was asked for is in no store. */
const forgets: Event = {
  name: 'the controller of the shared server forgets what it knew',
  by: 'cluster',
  subjects: () => [''],
  happen(scene, namespace) {
    for (const mark of [SEEN, ORDER]) scene.setMark(namespace, mark, undefined);
  },
};

/** Whether pods with this Secret can connect. */
export function sharedServes(scene: Scene, namespace: string, secret: string): boolean {
  if (isServerDown(scene, namespace)) return false;
  const password = passwordIn(scene, namespace, secret);
  return records(scene, namespace).some((record) => {
    const { role, database, password: is } = serverIn(scene, namespace)[nameOf(record)] ?? {};
    const isTheirs = databaseNumberIn(record.metadata.name, secret) !== undefined;
    return (
      isTheirs && role?.canLogin === true && database?.isOpen === true && password !== undefined && is === password
    );
  });
}

function podsOf(scene: Scene, { metadata: { namespace = '', name } }: AppDeployment): readonly Pod[] {
  return scene
    .all<Pod>(PODS, namespace)
    .filter(
      ({ metadata: { labels = {} } }) => labels[DEPLOYMENT_LABEL] === name && labels[COMPONENT_LABEL] === 'server',
    );
}

/** Whether Davit has seen the server as it is. */
export function isServerSeen(scene: Scene, namespace: string): boolean {
  return scene.mark(namespace, SERVER) === undefined || looks.subjects(scene, namespace).length === 0;
}

/** Records of which a pod serves, and whose database is there. */
const writing = (scene: Scene, namespace: string): readonly AppDeployment[] =>
  records(scene, namespace).filter((record) => {
    const { name } = record.metadata;
    return podsOf(scene, record).some(isReadyPod) && sharedServes(scene, namespace, names(name).postgresSecret);
  });
const applicationWrites: Event = {
  name: 'the application of % writes to the shared server',
  by: 'cluster',
  calm: true,
  subjects: (scene, namespace) =>
    writing(scene, namespace)
      .filter((record) => serverIn(scene, namespace)[nameOf(record)]?.data === undefined)
      // Davit has said that it serves, so that it knows.
      .filter(({ status }) => status?.activeRevisionId !== undefined)
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const record = scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, subject);
    if (!record) return;
    const name = nameOf(record);
    put(scene, namespace, name, { ...serverIn(scene, namespace)[name], data: 'of the application' });
    scene.setMark(namespace, `${DATA}${name}`, 'there');
  },
};

/** What an administrator of the server does to the database of a record. */
function administrator(
  words: string,
  { can, after }: { readonly can: (one: Database) => boolean; readonly after: (one: Database) => Database },
): Event {
  return {
    name: `an administrator of the server ${words} %`,
    by: 'people',
    subjects: (scene, namespace) =>
      records(scene, namespace)
        .filter((record) => !isServerDown(scene, namespace) && can(serverIn(scene, namespace)[nameOf(record)] ?? {}))
        .map(({ metadata }) => metadata.name),
    happen(scene, namespace, subject) {
      const record = scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, subject);
      if (!record) return;
      const name = nameOf(record);
      const left = after(serverIn(scene, namespace)[name] ?? {});
      put(scene, namespace, name, left);
      const isLost = left.data === undefined && scene.mark(namespace, `${DATA}${name}`) !== undefined;
      if (isLost) scene.setMark(namespace, `${DATA}${name}`, 'lost');
    },
  };
}

const ROTATED = Buffer.from('another password').toString('base64');
const rotates: Event = {
  name: 'an administrator of the server sets another password of %',
  by: 'people',
  subjects: (scene, namespace) =>
    records(scene, namespace)
      .filter((record) => {
        const { role, password } = serverIn(scene, namespace)[nameOf(record)] ?? {};
        const secret = scene.get(SECRETS, namespace, names(record.metadata.name).postgresSecret);
        const isTheirs = secret?.metadata.labels?.[DEPLOYMENT_UID_LABEL] === record.metadata.uid;
        return role !== undefined && password !== ROTATED && isTheirs && !isServerDown(scene, namespace);
      })
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const record = scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, subject);
    const secret = scene.get(SECRETS, namespace, names(subject).postgresSecret);
    if (!record || !secret) return;
    const name = nameOf(record);
    put(scene, namespace, name, { ...serverIn(scene, namespace)[name], password: ROTATED });
    scene.change(SECRETS, secret, { data: { password: ROTATED, uri: ROTATED } });
  },
};

const marked = (words: string, value: string | undefined): Event => ({
  name: words,
  by: 'cluster',
  subjects: (scene, namespace) => (scene.mark(namespace, IS_DOWN) === value ? [] : ['']),
  happen: (scene, namespace) => scene.setMark(namespace, IS_DOWN, value),
});

export const SHARED_SERVER_EVENTS: readonly Event[] = [
  carriesOut,
  looks,
  forgets,
  applicationWrites,
  marked('the shared server does not answer', 'yes'),
  marked('the shared server answers again', undefined),
  rotates,
  administrator('opens to everybody the database of', {
    can: ({ database }) => database?.publicConnects === false,
    after: (one) => ({ ...one, database: { ...one.database, publicConnects: true } as Found['database'] }) as Database,
  }),
  administrator('gives CREATEDB to the role of', {
    can: ({ role }) => role?.elevated.length === 0,
    after: (one) => ({ ...one, role: { ...one.role, elevated: ['CREATEDB'] } as Found['role'] }) as Database,
  }),
  administrator('drops the database of', {
    can: ({ database }) => database !== undefined,
    after: ({ database: _database, data: _data, ...others }) => others,
  }),
  administrator('drops the database and the role of', {
    can: ({ role, database }) => role !== undefined && database !== undefined,
    after: () => ({}),
  }),
  administrator('makes a role of the name of', {
    can: ({ role, database }) => role === undefined && database === undefined,
    after: () => ({ role: { mark: undefined, canLogin: true, connections: -1, elevated: [] } }),
  }),
];

/** What a careful administrator does: the server answers, and a role that nobody has made goes. */
export function mendSharedServer(scene: Scene, namespace: string): void {
  scene.setMark(namespace, IS_DOWN, undefined);
  for (const [name, { role }] of Object.entries(serverIn(scene, namespace)))
    if (role && role.mark === undefined) put(scene, namespace, name, {});
}

/** What a pass does to the password of data on the shared server. */
export function sharedIsWrong({ before, after }: PassSeen, record: AppDeployment): string | undefined {
  const { namespace = '', name } = record.metadata;
  const secret = names(name).postgresSecret;
  const { data } = serverIn(before, namespace)[nameOf(record)] ?? {};
  const [was, is] = [passwordIn(before, namespace, secret), passwordIn(after, namespace, secret)];
  return data !== undefined && is !== undefined && was !== is
    ? `The pass makes another Secret ${secret}; the data on the shared server has another password.`
    : undefined;
}

/** What is wrong on the shared server at rest, or was on the way. */
export function sharedServerIsWrong(scene: Scene, namespace: string): string | undefined {
  if (scene.mark(namespace, SERVER) === undefined) return undefined;
  const wrong = scene.mark(namespace, WRONG);
  if (wrong !== undefined) return wrong;
  const server = serverIn(scene, namespace);
  if (canonicalJson(server[NEIGHBOUR]) !== canonicalJson(NEIGHBOURS)) return 'What belongs to a neighbour has changed.';
  for (const { metadata, value } of scene.all<Mark>(MARKS, namespace)) {
    const name = metadata.name.startsWith(DATA) ? metadata.name.slice(DATA.length) : undefined;
    if (name !== undefined && value === 'there' && server[name]?.data === undefined)
      return `The data of ${name} is gone, and nobody has dropped it.`;
  }
  const names_ = new Set(records(scene, namespace).map(nameOf));
  const left = Object.entries(server).find(
    ([name, { record }]) =>
      record !== undefined && !names_.has(name) && scene.mark(namespace, retainedMark(record)) === undefined,
  );
  return left && `Role ${left[0]} is of no record.`;
}
const isAnswering = ({ status }: AppDeployment): boolean =>
  conditionOf(status?.conditions, 'DatabaseReady')?.reason === 'Answering';

/** What is wrong with the database of a record at rest. */
export function sharedDatabaseIsWrong(scene: Scene, record: AppDeployment): string | undefined {
  const { namespace = '', annotations = {} } = record.metadata;
  const [newest] = revisionsOf(scene, record);
  if (scene.mark(namespace, SERVER) === undefined || !newest?.spec.resolved.sharedDatabase) return undefined;
  const name = nameOf(record);
  const { role, database, data } = serverIn(scene, namespace)[name] ?? {};
  const { state, activeRevisionId } = record.status ?? {};
  const pods = podsOf(scene, record).filter(isReadyPod);
  if (database !== undefined && pods.length > 0 && activeRevisionId !== undefined && state !== 'READY')
    return `The state is ${state}, and ${pods[0]?.metadata.name} serves.`;
  if (isServerDown(scene, namespace)) return undefined;
  const should = scene.mark(namespace, `${DATA}${name}`);
  const isGivenUp = annotations[EMPTY_DATABASE_ANNOTATION] !== undefined;
  if (should === 'lost' && database && data === undefined && !isGivenUp)
    return `Database ${name} was made again and is empty; its data is gone.`;
  if (!isAnswering(record)) return undefined;
  const isRight =
    role?.canLogin === true &&
    role.elevated.length === 0 &&
    role.connections === newest.spec.resolved.sharedDatabase.connections &&
    database?.owner === name &&
    database.isOpen &&
    !database.publicConnects;
  return isRight ? undefined : `It is said to answer, and is ${canonicalJson({ role, database })}.`;
}
