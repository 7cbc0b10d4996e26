// Retained data of an earlier deployment of the same name (databaseDeletionPolicy: Retain). It is adopted only on explicit
// request: nobody gets another's data by choosing a name, and no data is mounted unintentionally.

import type { DatabaseDriver } from '../../kinds/database.ts';
import {
  ADOPT_DATABASE_ANNOTATION,
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  EXTERNAL_POSTGRES_VARIABLE,
  POSTGRES_IMAGE_ANNOTATION,
  POSTGRES_USER_ANNOTATION,
  USED_LAST_ANNOTATION,
} from '../../kinds/meta.ts';
import { present } from '../../runtime/json-value.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import {
  type ActionFailure,
  childOf,
  dataHolderOf,
  isOurs,
  type ObservedChildren,
  type PostgresClusterSeen,
  refText,
  refTo,
} from '../assess/observed.ts';
import { OWNER } from '../record/database-driver.ts';
import type { DataThere } from '../record/resolved-values.ts';
import { driverOfHolder, storageOf } from '../record/retained-databases.ts';
import { EXTERNAL_DATABASE, markOf, OF_BEFORE_EXTERNAL } from '../record/used-last.ts';

export interface KeptData {
  /** Objects to adopt in this order: the password before the volume that it opens. */
  readonly takeUp: readonly KubeObject[];
  /** Failures that prevent the creation of the database. */
  readonly refusals: readonly ActionFailure[];
}

export const NO_KEPT_DATA: KeptData = { takeUp: [], refusals: [] };

/** The plan for retained data if the record has its own PostgreSQL. */
export function planAdoption(observed: ObservedChildren, driver: DatabaseDriver): KeptData {
  const { postgresSecret } = observed.names;
  const secret = childOf(observed, 'Secret', postgresSecret);
  const claim = dataHolderOf(observed);
  const kept = [secret, claim].filter((object) => object !== undefined && isKept(object, observed));
  const [first] = kept as KubeObject[];
  if (!first) return NO_KEPT_DATA;
  const from = origin(first);
  if (kept.some((object) => object && origin(object) !== from)) return dataRefused(first, mixed(kept as KubeObject[]));
  // Whoever has not chosen it would take old data for the last.
  if (secret && claim && isKept(secret, observed) && markOf(secret).next === EXTERNAL_DATABASE)
    return dataRefused(secret, howToChoose(kept as KubeObject[], secret, driverOfHolder(claim)));
  if (claim && isKept(claim, observed) && driverOfHolder(claim) !== driver)
    return dataRefused(claim, ofOtherDriver(claim, kept as KubeObject[]));
  if (secret && isKept(secret, observed) && !claim) return dataRefused(secret, lacksVolume(secret, observed, driver));
  if (claim && isKept(claim, observed) && !secret) return dataRefused(claim, lacksPassword(claim, postgresSecret));
  if (observed.record.metadata.annotations?.[ADOPT_DATABASE_ANNOTATION] !== from)
    return dataRefused(first, howToTakeUp(kept as KubeObject[]));
  const going = (kept as KubeObject[]).find(({ metadata }) => metadata.deletionTimestamp !== undefined);
  if (going)
    return dataRefused(
      going,
      `${refText(refTo(going))} is being deleted. The deployment continues automatically when it is gone.`,
    );
  return { takeUp: kept as KubeObject[], refusals: [] };
}

/** Known facts about the volume with this record's name, whether it is this record's or an earlier one's. */
export function dataThere(observed: ObservedChildren): DataThere {
  const holder = dataHolderOf(observed);
  const { databaseNumber: number } = observed.names;
  const numbered = number > 0 && { number };
  if (!holder) return { ...numbered };
  const { spec }: PostgresClusterSeen = holder;
  const image = holder.metadata.annotations?.[POSTGRES_IMAGE_ANNOTATION] ?? spec?.imageName;
  return {
    ...numbered,
    ...present({ image, userId: spec?.postgresUID }),
    made: holder.metadata.annotations?.[POSTGRES_USER_ANNOTATION] === undefined ? {} : { user: OWNER.user },
    storageGi: Math.ceil(storageOf(holder) / 2 ** 30),
    driver: driverOfHolder(holder),
  };
}

function ofOtherDriver(holder: KubeObject, kept: readonly KubeObject[]): string {
  const driver = driverOfHolder(holder);
  return `The database of an earlier deployment of this name was retained: ${refText(refTo(holder))}, with driver ${driver}. Set source_config.database.driver to ${driver} to adopt it. ${howToDiscard(kept)}`;
}

/** What kubectl calls the kinds of a database. */
const KUBECTL_KINDS: Readonly<Record<string, string>> = {
  PersistentVolumeClaim: 'pvc',
  Cluster: 'clusters.postgresql.cnpg.io',
  Secret: 'secret',
};

/** One command that a person can copy. */
function howToDiscard(kept: readonly KubeObject[]): string {
  return `To delete it and begin with an empty one: ${byPluginOrHttp('discard', kept)}.`;
}

/** `kept`: with the claim or the Cluster, whose labels name the deployment. */
function byPluginOrHttp(act: 'adopt' | 'discard', kept: readonly KubeObject[]): string {
  const { uid, labels, namespace } = kept.find(({ kind }) => kind !== 'Secret')?.metadata ?? {};
  const path = `/v2/retained-databases/${uid}`;
  const request = act === 'adopt' ? `POST ${path}/adopt` : `DELETE ${path}`;
  return `kubectl davit database ${act} ${labels?.[DEPLOYMENT_LABEL]} -n ${namespace}, or ${request}`;
}

/** How to delete retained objects that do not form a database: a password without data, or with the data of another deployment. */
function howToDelete(kept: readonly KubeObject[]): string {
  const objects = kept.map(({ kind, metadata: { name } }) => `${KUBECTL_KINDS[kind]}/${name}`).join(' ');
  return `To begin with an empty one: kubectl delete ${objects} -n ${kept[0]?.metadata.namespace}.`;
}

/** Whether Davit created it for another record of this name. */
function isKept(object: KubeObject, observed: ObservedChildren): boolean {
  return origin(object) !== undefined && componentOf(object) === 'postgres' && !isOurs(object, observed);
}

function origin({ metadata }: KubeObject): string | undefined {
  return metadata.labels?.[DEPLOYMENT_UID_LABEL];
}

/** The part of a child of a record. */
export function componentOf({ metadata }: KubeObject): string | undefined {
  return metadata.labels?.[COMPONENT_LABEL];
}

function dataRefused(object: KubeObject, message: string): KeptData {
  return { takeUp: [], refusals: [{ reason: 'DatabaseKept', ref: refTo(object), message }] };
}

function howToTakeUp(kept: readonly KubeObject[]): string {
  const what = kept.map(refTo).map(refText).join(' and ');
  return `The database of an earlier deployment of this name was retained: ${what}. To adopt it: ${byPluginOrHttp('adopt', kept)}. ${howToDiscard(kept)}`;
}

function howToChoose(kept: readonly KubeObject[], secret: KubeObject, driver: DatabaseDriver): string {
  const { name, namespace } = secret.metadata;
  const what = kept.map(refTo).map(refText).join(' and ');
  return `The database of an earlier deployment of this name was retained: ${what}. ${OF_BEFORE_EXTERNAL} To use the external database, name the Secret with its URI as ${EXTERNAL_POSTGRES_VARIABLE} in secret_references. To use the retained data anyway, confirm it: kubectl annotate secret ${name} -n ${namespace} --overwrite "${USED_LAST_ANNOTATION}=${origin(secret)} ${driver}"; then adopt it. ${howToDiscard(kept)}`;
}

function lacksPassword(claim: KubeObject, secretName: string): string {
  return `${refText(refTo(claim))} was retained, but its password is missing: Secret ${secretName} does not exist. Restore the Secret from a backup. ${howToDiscard([claim])}`;
}

function lacksVolume(secret: KubeObject, observed: ObservedChildren, driver: DatabaseDriver): string {
  const { names } = observed;
  const holder =
    driver === 'cloudnative-pg' ? `Cluster ${names.postgres}` : `PersistentVolumeClaim ${names.postgresClaim}`;
  return `${refText(refTo(secret))} is the password of a database of an earlier deployment of this name, but its data does not exist. Restore ${holder} from a backup. ${howToDelete([secret])}`;
}

function mixed(kept: readonly KubeObject[]): string {
  return `${kept.map(refTo).map(refText).join(' and ')} belong to different deployments, so the password may not open the volume. Restore the matching one. ${howToDelete(kept)}`;
}
