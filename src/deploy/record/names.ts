// All names derived from a record's name. Children are named `<name>--<part>`. A record's name does not contain `--`, so no
// two records have a child of the same name.

import { isRole } from '../../kinds/worker-parts.ts';

/** Jobs of a CronJob have numbers after its name, and pods of a StatefulSet a label with its name and a hash. */
const LONGEST_NAME = 52;

export interface Names {
  /** Deployment of the main service. */
  readonly server: string;
  /** Service of the main service. */
  readonly service: string;
  readonly queue: string;
  readonly orchestrator: string;
  readonly executor: string;
  readonly redis: string;
  readonly redisService: string;
  readonly redisSecret: string;
  /** Number of the database whose names these are. */
  readonly databaseNumber: number;
  readonly postgres: string;
  readonly postgresService: string;
  readonly postgresSecret: string;
  readonly postgresClaim: string;
  readonly networkPolicies: { readonly server: string; readonly postgres: string; readonly redis: string };
  /** Ingress or HTTPRoute. */
  readonly address: string;
  /** Secret that a certificate issuer fills. */
  readonly certificate: string;
  readonly tracingProject: string;
  /** Job that migrates for the revision of this id (a uuid). */
  migration(id: string): string;
  /** Workload of a role, or of the worker of this name, at most 52 characters. */
  part(part: string): string;
  /** CronJob of the task of this name, at most 52 characters. */
  task(name: string): string;
  /** Job that runs a command once; `suffix` is 1 to 16 characters of a-z and 0-9. */
  run(suffix: string): string;
  /** CronJob that backs up the deployment's own PostgreSQL. No task has this name: that of a task does not begin with a hyphen. */
  readonly backup: string;
  /** Job that loads the backup with which the deployment's own PostgreSQL begins. Jobs that list the store have more after it. */
  readonly restore: string;
  /** CronJob that restores the newest backup into a temporary server. */
  readonly verification: string;
  /** Name of the AppRevision of this id (a uuid). */
  revision(id: string): string;
  /** Its name where another revision of the record has the same first eight digits. */
  longRevision(id: string): string;
  /** Name of a Secret of values; `suffix` is 1 to 16 random characters of a-z and 0-9. */
  variables(suffix: string): string;
}

/**
 * The names of all children of the record `recordName` (1 to 40 characters, no `--`). Each is a DNS label. `databaseNumber`: of the
 * record's databases, of which a move makes another one (database-move.ts).
 */
export function names(recordName: string, databaseNumber = 0): Names {
  const redis = `${recordName}--redis`;
  const queue = `${recordName}--queue`;
  const orchestrator = `${recordName}--orchestrator`;
  const executor = `${recordName}--executor`;
  const ofRoles = { server: recordName, queue, orchestrator, executor };
  const first = `${recordName}--postgres`;
  // At most 50 characters, which CloudNativePG takes, and no name of a worker or a task.
  const postgres = databaseNumber === 0 ? first : `${recordName}---pg${databaseNumber}`;
  return {
    ...ofRoles,
    service: recordName,
    redis,
    redisService: redis,
    redisSecret: redis,
    databaseNumber,
    postgres,
    postgresService: postgres,
    postgresSecret: postgres,
    postgresClaim: postgres,
    networkPolicies: { server: `${recordName}--server`, postgres: first, redis },
    address: recordName,
    certificate: `${recordName}--tls`,
    tracingProject: recordName,
    migration: (id) => `${recordName}--migrate-${id.slice(0, 8).toLowerCase()}`,
    part: (part) => (isRole(part) ? ofRoles[part] : shortened(`${recordName}--${part}`)),
    task: (name) => shortened(`${recordName}--${name}`),
    run: (suffix) => `${recordName}--run-${suffix}`,
    backup: `${recordName}---backup`,
    restore: databaseNumber === 0 ? `${recordName}---restore` : `${postgres}-restore`,
    verification: `${recordName}---verify`,
    revision: (id) => `${recordName}--${id.slice(0, 8).toLowerCase()}`,
    longRevision: (id) => `${recordName}--${id.replaceAll('-', '').slice(0, 16).toLowerCase()}`,
    variables: (suffix) => `${recordName}--vars-${suffix}`,
  };
}

/** Which of the databases of the record `recordName` an object of this name belongs to. Undefined: none. */
export function databaseNumberIn(recordName: string, objectName: string): number | undefined {
  if (objectName === names(recordName).postgres) return 0;
  const number = Number(/---pg([1-9]\d{0,3})$/.exec(objectName)?.[1]);
  return objectName === names(recordName, number || 0).postgres ? number : undefined;
}

/** The number of the database in the name of the Job that loads its backup. */
export function restoreNumberIn(recordName: string, jobName: string): number | undefined {
  const number = Number(/---pg([1-9]\d{0,3})-restore$/.exec(jobName)?.[1]) || 0;
  return jobName === names(recordName, number).restore ? number : undefined;
}

/** A checksum tells a name that is cut from others. */
function shortened(name: string): string {
  if (name.length <= LONGEST_NAME) return name;
  let sum = 0x811c9dc5;
  for (const letter of name) sum = Math.imul(sum ^ letter.charCodeAt(0), 0x01000193) >>> 0;
  const digits = sum.toString(16).padStart(8, '0');
  return `${name.slice(0, LONGEST_NAME - 9)}-${digits}`;
}

/** The name that a revision gets. `isTaken`: whether another revision of the record has a name, to which the controller then adds digits. */
export function revisionName(recordName: string, id: string, isTaken: (name: string) => boolean): string {
  const { revision, longRevision } = names(recordName);
  return isTaken(revision(id)) ? longRevision(id) : revision(id);
}

/** Whether a Secret has the name of values of the record `recordName`, which editors may use without the right to read them. */
export function holdsValuesOf(recordName: string, secretName: string): boolean {
  return secretName.startsWith(names(recordName).variables(''));
}

/** Name of the Job that builds a revision, and the beginning of the names of what belongs to it. Ids are unique in the cluster. */
export function buildName(revisionId: string): string {
  return `build-${revisionId.toLowerCase()}`;
}

/** Secret of a tenant's namespace with which its pods pull from the platform's registry. */
export const PULL_SECRET = 'davit-registry-pull';
