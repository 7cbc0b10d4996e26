// Runs what the pods of backups and verifications would run, step by step as their manifests say, on a PostgreSQL of this machine and a store in
// memory. Another PostgreSQL, which is emptied before, is the pod's own server; a step that reaches for the host of the live database gets the live one.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IContainer } from 'kubernetes-models/v1/Container';
import { makeBackup } from '../../../src/deploy/children/database/backup.ts';
import { makeVerification } from '../../../src/deploy/children/database/verification.ts';
import type { Inputs } from '../../../src/deploy/children/inputs.ts';
import { VerificationReport as Report, SentBackup, type VerificationReport } from '../../../src/kinds/database.ts';
import { SERVER_CONTAINER } from '../../../src/kinds/meta.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { backup } from '../../../src/main/backup.ts';
import { aRecord, aRevision } from '../../support/builders.ts';
import type { FakeS3 } from '../../support/fake-s3.ts';
import type { LocalPostgres } from '../../support/local-postgres.ts';
import { dropAll } from '../../support/whole-server.ts';

export const ACCESS_KEY = 'key';
const BUCKET = 'backups';
export const BUCKET_NAME = BUCKET;

export interface Place {
  readonly postgres: LocalPostgres;
  /** The pods' own server. */
  readonly own: LocalPostgres;
  readonly s3: FakeS3;
}

export interface Life {
  readonly uid: string;
  readonly keep: number;
  /** Name of the last backup, as the status of the record has it. */
  readonly known?: string | undefined;
  /** Name of the one that was verified last, likewise. */
  readonly verified?: string | undefined;
}

/** What happens to a pod: before a step, or while a script of it runs. */
export interface Accident {
  readonly before?: (step: string, folder: string) => 'skip' | undefined;
  readonly during?: (step: string, process: ChildProcess) => void;
  /** Another key than the store's. */
  readonly accessKey?: string;
}

export interface Ended {
  /** What its last container reported; undefined if the pod failed. */
  readonly report: unknown;
  readonly words: string;
}

type CronJob = NonNullable<ReturnType<typeof makeBackup>>;

function cronJobOf(make: (inputs: Inputs) => CronJob | undefined, { uid, keep, known, verified }: Life): CronJob {
  const settings = Settings.parse({
    backups: {
      default: { enabled: false },
      store: { endpoint: 'https://s3.example', bucket: BUCKET },
      image: 'registry.example/davit:1',
    },
  });
  const made = aRecord({ sourceConfig: { database: { backup: { verify: true, keep } } } });
  const record = {
    ...made,
    metadata: { ...made.metadata, namespace: 'team', name: 'shop', uid },
    status: {
      ...made.status,
      ...(known !== undefined && { databaseBackup: { name: known } }),
      ...(verified !== undefined && { databaseVerification: { name: verified } }),
    },
  };
  const job = make({ record, revision: aRevision(record), tenantId: 't', settings });
  if (job === undefined) throw new Error('no CronJob was made');
  return job;
}

/** One run of a CronJob's pod, whose containers follow one another. */
async function runPod(cronJob: CronJob, place: Place, accident: Accident): Promise<Ended> {
  const folder = mkdtempSync(join(tmpdir(), 'davit-pod-'));
  const spec = cronJob.spec?.jobTemplate.spec?.template.spec;
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  if (containers.some(({ name }) => name === SERVER_CONTAINER)) dropAll(place.own);
  let said = '';
  try {
    for (const container of containers.filter(({ name }) => name !== SERVER_CONTAINER)) {
      if (accident.before?.(container.name, folder) === 'skip') continue;
      const step = { container, folder };
      const { code, words } = await (container.command
        ? runScript(step, place, accident)
        : runDavit(step, place, accident));
      said = words;
      if (code !== 0) return { report: undefined, words: `${container.name}: ${words}` };
    }
    return { report: JSON.parse(said) as unknown, words: said };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Step {
  readonly container: IContainer;
  readonly folder: string;
}

interface StepEnd {
  readonly code: number;
  readonly words: string;
}

/** Every host but that of the pod is the live one. */
function runScript({ container, folder }: Step, { postgres, own }: Place, accident: Accident): Promise<StepEnd> {
  const given = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value]));
  const isOwn = given['PGHOST'] === '127.0.0.1';
  const env: Record<string, string> = { ...(isOwn ? own : postgres).env };
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && !name.startsWith('PG')) env[name] = value;
  env['PGDATABASE'] = 'app';
  const [command = '', ...args] = (container.command ?? []).map((one) =>
    one.replaceAll('/dev/termination-log', 'termination'),
  );
  const child = spawn(command, args, { cwd: folder, env, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  accident.during?.(container.name, child);
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => void (words += chunk.toString()));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code: code ?? 137, words })));
}

async function runDavit({ container, folder }: Step, { s3 }: Place, accident: Accident): Promise<StepEnd> {
  const [command, ...given] = container.args ?? [];
  if (command !== 'backup') throw new Error(`${container.name} runs davit ${command}`);
  const [name = '', ...args] = given.filter((arg) => !/^--(store|folder|credentials)=/.test(arg));
  const log = join(folder, 'termination-log');
  writeFileSync(log, '');
  writeFileSync(join(folder, 'accessKeyId'), accident.accessKey ?? ACCESS_KEY);
  writeFileSync(join(folder, 'secretAccessKey'), 'secret');
  const store = { endpoint: s3.url, bucket: BUCKET, prefix: 'davit', region: 'us-east-1', pathStyle: true };
  const ours = [`--store=${JSON.stringify(store)}`, `--folder=${folder}`, `--credentials=${folder}`];
  const code = await backup([name, ...args, ...ours, `--termination-log=${log}`]);
  return { code, words: readFileSync(log, 'utf8') };
}

/** Returns the backup that its pod reports; undefined if it failed. */
export async function backUp(place: Place, life: Life, accident: Accident = {}): Promise<SentBackup | undefined> {
  const { report } = await runPod(cronJobOf(makeBackup, life), place, accident);
  return SentBackup.array().safeParse([report]).data?.[0];
}

export interface Verified {
  /** What the status would claim; undefined if it claims nothing. */
  readonly verified: VerificationReport | undefined;
  readonly uncompared: string | undefined;
  readonly words: string;
}

/** What it has restored stays in the pods' own server until the next one. */
export async function verify(place: Place, life: Life, accident: Accident = {}): Promise<Verified> {
  const { report, ...ended } = await runPod(cronJobOf(makeVerification, life), place, accident);
  const read = Report.array().safeParse([report]).data?.[0];
  const uncompared = read?.uncompared;
  return { ...ended, verified: uncompared === undefined ? read : undefined, uncompared };
}
