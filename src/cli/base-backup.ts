// A base backup of the archive of a deployment's own PostgreSQL, by CloudNativePG. Source: postgresql.cnpg.io/v1, "Backup".

import type { KubeObject } from '../lib/kube/client.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { API_VERSION, DEPLOYMENT_LABEL } from '../schema/meta.ts';
import { type Context, tell } from './command.ts';
import { createJob as create } from './jobs.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { listOf } from './records.ts';
import { explainRight } from './rights.ts';
import { withinTime } from './time-limit.ts';
import { untilReported } from './until-reported.ts';

const SCHEDULES = 'scheduledbackups.postgresql.cnpg.io';
const BACKUPS = 'backups.postgresql.cnpg.io';
const NEED = 'a base backup';

/** The used part of both kinds. */
interface CnpgBackup extends KubeObject {
  readonly spec: {
    readonly cluster: { readonly name: string };
    readonly method?: string;
    readonly pluginConfiguration?: object;
  };
  readonly status?: {
    readonly phase?: string;
    readonly error?: string;
    /** RFC 3339. */
    readonly startedAt?: string;
    readonly stoppedAt?: string;
  };
}

/** Phases of a backup that has not ended. The last one waits until changes reach the archive again. */
const UNENDED: ReadonlySet<string> = new Set([
  '',
  'pending',
  'started',
  'running',
  'finalizing',
  'walArchivingFailing',
]);

/** Resolves to the exit code. Throws Failure. */
export async function makeBaseBackup(context: Context, record: AppDeployment): Promise<number> {
  const { kubectl, warn, onInterrupt, suggested } = context;
  const { name } = record.metadata;
  const schedule = await scheduleOf(kubectl, name).catch(explainRight(NEED));
  await needNoneUnended(context, schedule).catch(explainRight(NEED));
  const backup = await create(kubectl, onDemand(record, schedule)).catch(explainRight(NEED));
  warn(`CloudNativePG makes base backup ${backup}.`);
  onInterrupt(
    () => `Base backup ${backup} goes on. To see how far it is: kubectl get ${BACKUPS} ${backup}${suggested}`,
  );
  const limited = withinTime(context, {
    message: (seconds) => `The base backup is not made after ${seconds} s. ${backup} goes on.`,
    hint: `${PROGRAM} status ${name}`,
  });
  const { startedAt = null, stoppedAt = null } = await untilCompleted(limited, backup);
  const isListed = startedAt !== null && (await untilListed(limited, name, startedAt));
  if (!isListed) warn(`The status of ${name} does not have it yet.`);
  tell(context, {
    says: `Base backup ${backup} of the archive of ${name} is in the store, since ${stoppedAt}.`,
    result: { name, baseBackup: { name: backup, startedAt, stoppedAt } },
  });
  return 0;
}

/** That of the present database. Throws Failure if there is none. */
async function scheduleOf(kubectl: Kubectl, name: string): Promise<CnpgBackup> {
  const all = await listOf<CnpgBackup>(kubectl, SCHEDULES, name);
  const [newest] = all.toSorted((a, b) => (madeAt(a) < madeAt(b) ? 1 : -1));
  if (newest) return newest;
  throw new Failure(
    `The archive of ${name} has no schedule of base backups yet: Davit makes it when an instance of PostgreSQL can make them. See condition ArchiveReady: ${PROGRAM} status ${name}`,
  );
}

function madeAt({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? '';
}

/** CloudNativePG makes one after the other. Throws Failure. */
async function needNoneUnended({ kubectl, suggested }: Context, { spec: { cluster } }: CnpgBackup): Promise<void> {
  const all = JSON.parse(await kubectl(['get', BACKUPS, '-o', 'json'])) as { readonly items: readonly CnpgBackup[] };
  const unended = all.items.find(
    ({ spec, status }) => spec.cluster.name === cluster.name && UNENDED.has(status?.phase ?? ''),
  );
  if (unended === undefined) return;
  throw new Failure(
    `Base backup ${unended.metadata.name} is not finished yet (${unended.status?.phase ?? 'not begun'}). Wait for its end: kubectl get ${BACKUPS} ${unended.metadata.name}${suggested}`,
  );
}

/** As the schedule has them made. It goes with the record, and nothing of the store goes with it. */
function onDemand({ metadata: { name, uid = '' } }: AppDeployment, { spec }: CnpgBackup): KubeObject {
  const { cluster, method, pluginConfiguration } = spec;
  return {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Backup',
    metadata: {
      generateName: `${cluster.name}-`,
      labels: { [DEPLOYMENT_LABEL]: name },
      ownerReferences: [{ apiVersion: API_VERSION, kind: 'AppDeployment', name, uid }],
    },
    spec: { cluster, method, pluginConfiguration },
  } as unknown as KubeObject;
}

const EVERY_MS = 1000;

/** Throws Failure with CloudNativePG's words if it fails. */
async function untilCompleted(
  { kubectl, warn, clock }: Context,
  backup: string,
): Promise<NonNullable<CnpgBackup['status']>> {
  let said = '';
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- asked until it has ended
    const { status = {} } = JSON.parse(await kubectl(['get', BACKUPS, backup, '-o', 'json'])) as CnpgBackup;
    const { phase = '', error } = status;
    if (phase === 'completed') return status;
    if (!UNENDED.has(phase)) throw new Failure(`The base backup failed. CloudNativePG says: ${error ?? phase}`);
    if (phase === 'walArchivingFailing' && said !== phase)
      warn('It waits until changes of the database reach the archive. Condition ArchiveReady says more.');
    said = phase;
    // oxlint-disable-next-line no-await-in-loop -- the time between two questions
    await clock.sleep(EVERY_MS);
  }
}

/** So long the plugin and the controller may take to tell it, in milliseconds. */
const REPORTED_MS = 30_000;

async function untilListed(context: Context, name: string, startedAt: string): Promise<boolean> {
  const found = await untilReported(context, name, {
    forMs: REPORTED_MS,
    find: ({ status }) =>
      Date.parse(status?.databaseArchive?.lastBackupAt ?? '') >= Date.parse(startedAt) ? true : undefined,
  });
  return found === true;
}
