// A real S3-compatible server on this machine for one cluster, over TLS, with its objects as files.

import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeObjectStore } from '../../src/runtime/outbound/object-store.ts';
import { makeAuthority } from '../cluster/certificates.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { freePort } from '../cluster/control-plane.ts';
import type { Progress } from '../cluster/prepared.ts';
import { ensureTools, toolPath } from '../cluster/tools.ts';
import { eventually } from './running-davit.ts';

export const BUCKET = 'backups';

export interface Store {
  readonly endpoint: string;
  /** PEM. */
  readonly ca: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Keys of all objects, sorted. */
  keys(): Promise<string[]>;
  /** The file that is the object. */
  fileOf(key: string): string;
  read(key: string): Promise<string>;
}

export async function startStore(cluster: Cluster, progress: Progress): Promise<Store> {
  const tools = await ensureTools(['versitygw'], progress);
  const authority = makeAuthority('davit-store');
  const folder = join(cluster.runDir, 'store');
  const objects = join(folder, 'objects');
  const address = `${cluster.hostAddress}:${await freePort(cluster.hostAddress)}`;
  const { certificate, key } = authority.serving('store', [cluster.hostAddress]);
  const path = (name: string): string => join(folder, name);
  await mkdir(join(objects, BUCKET), { recursive: true, mode: 0o700 });
  await Promise.all([writeFile(path('tls.crt'), certificate), writeFile(path('tls.key'), key, { mode: 0o600 })]);
  const credentials = { accessKeyId: 'davit', secretAccessKey: randomBytes(18).toString('base64url') };
  await cluster.startProcess({
    name: 'store',
    command: toolPath(tools, 'versitygw', 'versitygw'),
    args: [
      '--port',
      address,
      '--cert',
      path('tls.crt'),
      '--key',
      path('tls.key'),
      'posix',
      '--sidecar',
      folder,
      objects,
    ],
    env: { ROOT_ACCESS_KEY: credentials.accessKeyId, ROOT_SECRET_KEY: credentials.secretAccessKey, HOME: folder },
  });
  const endpoint = `https://${address}`;
  const ca = authority.certificate;
  const client = makeObjectStore(
    { endpoint, bucket: BUCKET, region: 'us-east-1', pathStyle: true, ca },
    credentials,
    1,
  );
  await eventually(() => client.list(''));
  await client.close();
  const fileOf = (key: string): string => join(objects, BUCKET, key);
  return {
    endpoint,
    ca,
    credentials,
    async keys() {
      const entries = await readdir(join(objects, BUCKET), { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      return files.map((file) => join(file.parentPath, file.name).slice(join(objects, BUCKET).length + 1)).toSorted();
    },
    fileOf,
    read: (key) => readFile(fileOf(key), 'utf8'),
  };
}
