// `davit backup`: runs in the pods of backups. It reads the store's credentials from files and needs no cluster.

import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import type { Owner } from '../deployments/archive/archive.ts';
import { fetchBackup, Unusable } from '../deployments/archive/fetch.ts';
import { sendBackup } from '../deployments/archive/send.ts';
import { jsonOf } from '../lib/json-value.ts';
import { makeObjectStore, type ObjectStore } from '../lib/outbound/object-store.ts';
import type { SentBackup } from '../schema/database.ts';
import { REFUSED } from '../schema/meta.ts';

const USAGE = `Usage: davit backup send  --store JSON --credentials FOLDER --folder FOLDER --namespace NAME --deployment NAME --uid UID --keep NUMBER
       davit backup fetch --store JSON --credentials FOLDER --folder FOLDER --namespace NAME --deployment NAME [--backup NAME] [--at TIME]

send takes FOLDER/dump to the store. fetch writes it from the newest backup, from that of this name, or from the newest of this time
or before, and writes FOLDER/fetched. Where FOLDER/loaded is there, it fetches nothing. Each prints one line of JSON: {name, takenAt,
sizeBytes}.

  --store JSON           {"endpoint", "bucket", "prefix", "region", "pathStyle", "ca"}
  --credentials FOLDER   folder with the files accessKeyId and secretAccessKey
  --folder FOLDER        folder with the files dump, taken-at and server-version; fetch needs the last
  --keep NUMBER          backups of this deployment that are left in the store
  --termination-log FILE file for the result or the message of a failure. Default: /dev/termination-log, if it exists
`;

/** Kubernetes truncates a termination message to this size. */
const MAX_TERMINATION_BYTES = 4096;
const TERMINATION_LOG = '/dev/termination-log';

const Store = z.object({
  endpoint: z.url(),
  bucket: z.string().min(1),
  prefix: z.string().min(1),
  region: z.string().min(1),
  pathStyle: z.boolean(),
  ca: z.string().optional(),
});

class Misuse extends Error {}

interface Arguments {
  readonly store: z.infer<typeof Store>;
  readonly credentials: string;
  readonly folder: string;
  readonly from: Omit<Owner, 'uid'>;
  /** What is done with the store. */
  readonly run: (store: ObjectStore) => Promise<SentBackup>;
  readonly terminationLog: string | undefined;
}

/** The exit code: 0, 1 after a failure, 2 for wrong arguments, and REFUSED for a backup that cannot be used. */
export async function backup([command, ...args]: readonly string[]): Promise<number> {
  let given: Arguments;
  try {
    if (command !== 'send' && command !== 'fetch') throw new Misuse('Give the command send or fetch.');
    given = readArguments(command, args);
  } catch (error) {
    process.stderr.write(`davit backup: ${messageOf(error)}\n\n${USAGE}`);
    return 2;
  }
  let store: ObjectStore | undefined;
  try {
    store = makeObjectStore(given.store, credentialsIn(given.credentials));
    const { name, takenAt, sizeBytes } = await given.run(store);
    const text = JSON.stringify({ name, takenAt, sizeBytes });
    process.stdout.write(`${text}\n`);
    terminate(given.terminationLog, text);
    return 0;
  } catch (error) {
    warn(messageOf(error));
    terminate(given.terminationLog, messageOf(error));
    return error instanceof Unusable ? REFUSED : 1;
  } finally {
    await store?.close();
  }
}

function readArguments(command: 'send' | 'fetch', args: readonly string[]): Arguments {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: text,
      credentials: text,
      folder: text,
      namespace: text,
      deployment: text,
      uid: text,
      keep: text,
      backup: text,
      at: text,
      'termination-log': text,
    },
  });
  const { credentials, folder, namespace, deployment, uid, backup: name, at } = values;
  if (!credentials || !folder || !namespace || !deployment)
    throw new Misuse('--credentials, --folder, --namespace and --deployment are required.');
  const store = Store.safeParse(jsonOf(values.store));
  if (!store.success) throw new Misuse(`--store is not as described: ${z.prettifyError(store.error)}`);
  const from = { prefix: store.data.prefix, namespace, deployment };
  const common = { store: store.data, credentials, folder, from, terminationLog: values['termination-log'] };
  if (command === 'fetch') {
    if (at !== undefined && Number.isNaN(Date.parse(at))) throw new Misuse('--at must be a time.');
    return { ...common, run: (opened) => fetchBackup(opened, { from, folder, backup: name, at }) };
  }
  const keep = Number(values.keep);
  if (!uid) throw new Misuse('--uid is required.');
  if (!Number.isInteger(keep) || keep < 1) throw new Misuse('--keep must be a number of at least 1.');
  const random = randomBytes(4).toString('hex');
  const now = (): Date => new Date();
  return {
    ...common,
    run: (opened) => sendBackup(opened, { owner: { ...from, uid }, folder, keep, random, now, warn }),
  };
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

/** Kubernetes creates the file before the container starts. Outside of Kubernetes the file is not created in /dev. */
function terminate(file: string | undefined, message: string): void {
  const text = Buffer.from(message).subarray(0, MAX_TERMINATION_BYTES).toString();
  try {
    writeFileSync(file ?? TERMINATION_LOG, text, { flag: file === undefined ? 'r+' : 'w' });
  } catch (error) {
    if (file !== undefined) warn(`The termination message was not written: ${messageOf(error)}`);
  }
}

function warn(message: string): void {
  process.stderr.write(`davit backup: ${message}\n`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
