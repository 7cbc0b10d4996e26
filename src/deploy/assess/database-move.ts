// Which driver the database of a record has, where the record asks for another one, and which databases are kept.

import type { AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { ConditionInput } from '../../kinds/conditions.ts';
import type { DatabaseOffer } from '../../kinds/database.ts';
import { MOST_KEPT } from '../../kinds/database-names.ts';
import type { Condition } from '../../kinds/primitives.ts';
import type { Settings } from '../../kinds/settings.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { driverFixedMessage, driverInUseMessage } from '../record/database-driver.ts';
import { type DatabaseOfRecord, databaseOf } from '../record/database-move.ts';
import { databaseOffers } from '../record/database-offers.ts';
import { runsHere } from '../record/listener-assignment.ts';
import { databaseNumberIn } from '../record/names.ts';
import { driverOfHolder } from '../record/retained-databases.ts';
import { driverThere } from './database-cluster.ts';
import { type Entry, pass, stalled } from './entry.ts';
import { isNextDatabase, isOurs, type Observed, type ObservedChildren } from './observed.ts';

interface Seen {
  readonly observed: Observed;
}

/** A database that no operation made has the driver that the record asks for, or the record asks for nothing else. */
export function checkDriver({ observed }: Seen): Entry | undefined {
  const found = driverMismatch(observed);
  if (!found || found.isMade || observed.operation?.status?.move?.to.driver === found.asked) return undefined;
  const { name } = observed.record.metadata;
  const message = driverFixedMessage(name, found.has, found.asked);
  return stalled('DatabaseDriverFixed', `source_config.database.driver: ${message}`);
}

/** After a move nothing is held up: what the record asks for may come from a repository that nobody has changed yet. */
export function checkDriverInUse({ observed }: Seen): Entry | undefined {
  const found = driverMismatch(observed);
  if (!found?.isMade) return undefined;
  const { name } = observed.record.metadata;
  return pass('DatabaseDriverInUse', driverInUseMessage(name, found.has, found.asked));
}

/**
 * The conditions of the last status, without those whose time starts again: of the database before, and of workloads that an operation had
 * stopped. Otherwise the next database would be given up before it has started.
 */
export function stillCounting(
  observed: ObservedChildren,
  wanted: readonly ConditionInput[],
): readonly Condition[] | undefined {
  const isHeldNow = wanted.some(({ type, reason }) => type === 'WorkloadsReady' && reason === 'OperationRunning');
  return observed.record.status?.conditions?.filter(
    ({ type, reason }) =>
      !(type === 'DatabaseReady' && isNextDatabase(observed)) &&
      !(type === 'WorkloadsReady' && reason === 'OperationRunning' && !isHeldNow),
  );
}

/** Undefined where the record asks for the driver that its database has. `isMade`: whether an operation made the database. */
function driverMismatch(observed: Observed):
  | {
      readonly has: DatabaseOffer['driver'];
      readonly asked: DatabaseOffer['driver'];
      readonly isMade: boolean;
    }
  | undefined {
  const asked = observed.record.spec.sourceConfig.database?.driver;
  const has = driverThere(observed);
  if (asked === undefined || has === undefined || asked === has) return undefined;
  return { has, asked, isMade: observed.names.databaseNumber > 0 };
}

/** What the platform has for the next database of the record. Undefined where it has none here that Davit made. */
export function offersOf(
  observed: Observed,
  settings: Settings,
  latest: AppRevision | undefined,
): DatabaseOffer[] | undefined {
  const now = latest && databaseOf(latest);
  return now !== undefined && runsHere(observed.record)
    ? [...databaseOffers(settings, observed.cloudNativePg === true)]
    : undefined;
}

/** Kinds of what has, or opens, the data of a database. */
export const HOLDS_DATA: ReadonlySet<string> = new Set(['PersistentVolumeClaim', 'Cluster', 'Secret']);

/** What has, or opens, the data of a database, with the number of that database. */
export interface NumberedObject {
  readonly number: number;
  readonly object: KubeObject;
}

/** The volumes, Clusters and passwords of all databases of the record's name, also of those that earlier deployments have left. */
export function databasesOfName({
  record,
  children,
}: Pick<ObservedChildren, 'record' | 'children'>): readonly NumberedObject[] {
  return children.flatMap((object) => {
    const number = databaseNumberIn(record.metadata.name, object.metadata.name);
    return number !== undefined && HOLDS_DATA.has(object.kind) ? [{ number, object }] : [];
  });
}

/** The same, without what earlier deployments have left. */
export function numberedDatabases(observed: Pick<ObservedChildren, 'record' | 'children'>): readonly NumberedObject[] {
  return databasesOfName(observed).filter(({ object }) => isOurs(object, observed));
}

/** The databases that the record does not use and whose data is there: those of the highest numbers, in the order of their numbers. */
export function keptDatabases(observed: ObservedChildren): AppDeploymentStatus['databasesKept'] {
  const kept = numberedDatabases(observed).flatMap(({ number, object }): DatabaseOfRecord[] =>
    object.kind === 'Secret' || number === observed.names.databaseNumber
      ? []
      : [{ driver: driverOfHolder(object), number }],
  );
  return kept.length === 0 ? undefined : kept.toSorted((a, b) => a.number - b.number).slice(-MOST_KEPT);
}
