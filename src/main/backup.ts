// `davit backup`: runs in the pods of backups. It reads the store's credentials from files and needs no cluster.

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import type { AllLives } from '../deploy/archive/archive.ts';
import { compareBackup } from '../deploy/archive/compare.ts';
import { fetchBackup, type Taken, Unusable } from '../deploy/archive/fetch.ts';
import { type StoredOf, storedByTenant } from '../deploy/archive/list.ts';
import type { Retention } from '../deploy/archive/retention.ts';
import { sendBackup } from '../deploy/archive/send.ts';
import type { BackupReport, SentBackup, VerificationReport } from '../kinds/database.ts';
import { isTime } from '../kinds/database-names.ts';
import { REFUSED } from '../kinds/meta.ts';
import { jsonOf } from '../runtime/json-value.ts';
import { makeObjectStore, type ObjectStore } from '../runtime/outbound/object-store.ts';
import { loadConfig } from './config.ts';
import { messageOf, terminate } from './termination-message.ts';

const USAGE = `Usage: davit backup send  --store JSON --credentials FOLDER --folder FOLDER --namespace NAME --deployment NAME --tenant UID --uid UID
                          --keep NUMBER [--keep-days NUMBER] [--verified NAME] [--number NUMBER] [--cluster-uid UID] [--by-hand]
       davit backup fetch --store JSON --credentials FOLDER --folder FOLDER --namespace NAME --deployment NAME --tenant UID[/UID]...
                          [--backup NAME] [--at TIME] [--known NAME] [--into UID] [--cluster]
       davit backup compare --folder FOLDER
       davit backup list --credentials FOLDER

send uploads the files of the dump to the store. fetch downloads them from the newest backup, from the named one, or from the newest of this time
or before, and writes FOLDER/fetched and FOLDER/manifest. If FOLDER/loaded exists, it fetches nothing. Both print one line of
JSON: {name, takenAt, sizeBytes}; send adds the version and number of the database, and the list of the store. compare compares FOLDER/contents, of a restored database, with FOLDER/manifest, and prints
{name, takenAt, comparedAt, tables, rows}; with uncompared, if the manifest has no counts. list prints the backups of all tenants in the store of the settings (variable DAVIT_SETTINGS):
{backups: [{namespace, tenant, deployment, count, newest, sizeBytes}]}.

  --store JSON           {"endpoint", "bucket", "prefix", "region", "pathStyle", "ca"}
  --credentials FOLDER   folder with the files accessKeyId and secretAccessKey
  --folder FOLDER        folder with the files of the dump, about, taken-at and server-version; fetch needs the last
  --tenant UID           uid of the namespace; fetch uses only backups of these namespaces and, after a slash, of the deployment with this uid
  --uid UID              uid of the deployment
  --known NAME           a backup that was complete before: fetch fails if neither it nor a newer one exists
  --keep NUMBER          scheduled backups of this deployment that are left in the store
  --keep-days NUMBER     days for which a backup is left, even beyond that number
  --verified NAME        the last verified backup, which is also left
  --cluster-uid UID      uid of the namespace kube-system
  --into UID             uid of the restored deployment: no other one gets the passwords of roles
  --cluster              restore into a Cluster of CloudNativePG, which gets one database and no roles
  --number NUMBER        number of the database within the deployment
  --by-hand              a person requested this backup: retention neither counts nor deletes it
  --termination-log FILE file for the result or the message of a failure. Default: /dev/termination-log, if it exists
`;

const Store = z.object({
  endpoint: z.url(),
  bucket: z.string().min(1),
  prefix: z.string().min(1),
  region: z.string().min(1),
  pathStyle: z.boolean(),
  ca: z.string().optional(),
});

class Misuse extends Error {}

type Reported = SentBackup | BackupReport | VerificationReport | { readonly backups: readonly StoredOf[] };

interface Arguments {
  /** Returns what is reported. */
  readonly run: () => Promise<Reported>;
  readonly terminationLog: string | undefined;
}

const COMMANDS = ['send', 'fetch', 'compare', 'list'] as const;
type Command = (typeof COMMANDS)[number];

/** The exit code: 0, 1 after a failure, 2 for wrong arguments, and REFUSED for a backup that cannot be used. */
export async function backup([name, ...args]: readonly string[]): Promise<number> {
  let given: Arguments;
  try {
    const command = COMMANDS.find((one) => one === name);
    if (command === undefined) throw new Misuse('Use the command send, fetch, compare or list.');
    given = readArguments(command, args);
  } catch (error) {
    process.stderr.write(`davit backup: ${messageOf(error)}\n\n${USAGE}`);
    return 2;
  }
  try {
    const text = JSON.stringify(await given.run());
    process.stdout.write(`${text}\n`);
    terminate('backup', given.terminationLog, text);
    return 0;
  } catch (error) {
    warn(messageOf(error));
    terminate('backup', given.terminationLog, messageOf(error));
    return error instanceof Unusable ? REFUSED : 1;
  }
}

const TEXT = { type: 'string' } as const;
const OPTIONS = {
  store: TEXT,
  credentials: TEXT,
  folder: TEXT,
  namespace: TEXT,
  deployment: TEXT,
  uid: TEXT,
  keep: TEXT,
  'keep-days': TEXT,
  verified: TEXT,
  number: TEXT,
  tenant: { ...TEXT, multiple: true },
  'cluster-uid': TEXT,
  into: TEXT,
  cluster: { type: 'boolean' },
  'by-hand': { type: 'boolean' },
  backup: TEXT,
  at: TEXT,
  known: TEXT,
  'termination-log': TEXT,
} as const;
type Flag = 'by-hand' | 'cluster';
type Texts = Record<Exclude<keyof typeof OPTIONS, Flag | 'tenant'>, string>;
type Values = Readonly<Partial<Texts & Record<Flag, boolean> & { readonly tenant: readonly string[] }>>;

function readArguments(command: Command, args: readonly string[]): Arguments {
  const values: Values = parseArgs({ args: [...args], options: OPTIONS }).values;
  const { folder, 'termination-log': terminationLog } = values;
  if (command === 'list') return { terminationLog, run: listing(values) };
  if (!folder) throw new Misuse('--folder is required.');
  if (command === 'compare') return { terminationLog, run: () => compareBackup(folder, new Date()) };
  const { credentials, namespace, deployment } = values;
  if (!credentials || !namespace || !deployment)
    throw new Misuse('--credentials, --namespace and --deployment are required.');
  const store = Store.safeParse(jsonOf(values.store));
  if (!store.success) throw new Misuse(`--store is not valid: ${z.prettifyError(store.error)}`);
  const from = { prefix: store.data.prefix, namespace, deployment };
  const use = command === 'fetch' ? fetching(values, from, folder) : sending(values, from, folder);
  return { terminationLog, run: () => inStore(store.data, credentials, use) };
}

/** With a key for the whole store. */
function listing({ credentials }: Values): Arguments['run'] {
  if (!credentials) throw new Misuse('--credentials is required.');
  const { store } = loadConfig().settings.backups;
  if (!store) throw new Misuse('settings.backups.store is not set.');
  return () =>
    inStore(store, credentials, async (of) => ({
      backups: storedByTenant(await of.list(`${store.prefix}/`), store.prefix),
    }));
}

type Use = (store: ObjectStore) => Promise<SentBackup | BackupReport>;

function fetching(
  { tenant = [], known, at, backup, into, cluster: isCluster }: Values,
  from: AllLives,
  folder: string,
): Use {
  if (at !== undefined && !isTime(at)) throw new Misuse('--at must be a time.');
  if (tenant.length === 0) throw new Misuse('--tenant is required.');
  const tenants = tenant.map(takenOf);
  return async (store) => {
    const { name, takenAt, sizeBytes } = await fetchBackup(store, {
      from,
      tenants,
      known,
      folder,
      backup,
      at,
      into,
      isCluster,
    });
    return { name, takenAt, sizeBytes };
  };
}

/** UID, or UID/UID. */
function takenOf(text: string): Taken {
  const [tenant = '', uid] = text.split('/');
  return { tenant, uid };
}

function sending(values: Values, from: AllLives, folder: string): Use {
  const { uid, verified, tenant: [tenant] = [], 'cluster-uid': cluster, 'by-hand': isByHand = false } = values;
  if (!uid || !tenant) throw new Misuse('--uid and --tenant are required.');
  const keep = wholeNumber(values, 'keep', 1);
  if (keep === undefined) throw new Misuse('--keep is required.');
  const retention: Retention = { keep, keepDays: wholeNumber(values, 'keep-days', 1), verified };
  const number = wholeNumber(values, 'number', 0);
  const random = randomBytes(4).toString('hex');
  const now = (): Date => new Date();
  const owner = { ...from, tenant, uid };
  return (store) => sendBackup(store, { owner, folder, retention, isByHand, number, cluster, random, now, warn });
}

/** Undefined where it is not given. Throws Misuse for what is no number, or less than `least`. */
function wholeNumber(values: Values, option: 'keep' | 'keep-days' | 'number', least: number): number | undefined {
  const text = values[option];
  const number = Number(text);
  if (text === undefined) return undefined;
  if (!Number.isInteger(number) || number < least)
    throw new Misuse(`--${option} must be a number of at least ${least}.`);
  return number;
}

async function inStore<T>(
  address: z.infer<typeof Store>,
  credentials: string,
  use: (store: ObjectStore) => Promise<T>,
): Promise<T> {
  const store = makeObjectStore(address, credentialsIn(credentials));
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Throws an Error that says which key is missing. */
function credentialsIn(folder: string): { readonly accessKeyId: string; readonly secretAccessKey: string } {
  const read = (key: string): string => {
    try {
      return readFileSync(join(folder, key), 'utf8').trim();
    } catch (error) {
      throw new Error(`The credentials Secret has no key ${key}. It needs accessKeyId and secretAccessKey.`, {
        cause: error,
      });
    }
  };
  return { accessKeyId: read('accessKeyId'), secretAccessKey: read('secretAccessKey') };
}

function warn(message: string): void {
  process.stderr.write(`davit backup: ${message}\n`);
}
