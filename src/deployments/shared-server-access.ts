// The shared server with the credentials that its administrator's Secret has now. The Secret is in Davit's own namespace.

import { NotFound, Terminal } from '../lib/errors.ts';
import { SECRETS } from '../lib/kube/api-resources.ts';
import type { KubeClient, SecretObject } from '../lib/kube/client.ts';
import { PostgresFailed } from '../lib/outbound/postgres.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { DEPLOYMENT_UID_LABEL } from '../schema/meta.ts';
import type { SharedServerSettings } from '../schema/settings.ts';
import { makeSharedServer, type SharedServer } from './database-server/server.ts';

export interface SharedServerAccessOptions {
  readonly client: KubeClient;
  /** Davit's own. */
  readonly namespace: string;
  readonly settings: SharedServerSettings;
  readonly make?: typeof makeSharedServer;
}

export interface SharedServerAccess {
  /** Reads the Secret, and connects again where it has changed. Throws PostgresFailed where it has no credentials. */
  current(): Promise<SharedServer>;
  close(): Promise<void>;
}

export function makeSharedServerAccess(options: SharedServerAccessOptions): SharedServerAccess {
  const { client, namespace, settings, make = makeSharedServer } = options;
  const { host, port, sslMode, adminSecret, adminDatabase: database } = settings;
  let now: { readonly credentials: string; readonly server: SharedServer } | undefined;

  async function credentialsOf(): Promise<Readonly<Record<'user' | 'password' | 'ca', string>>> {
    const found = await client.get(SECRETS, { namespace, name: adminSecret }).catch((error: unknown) => {
      if (error instanceof NotFound) throw without(`Secret ${adminSecret} is missing`);
      throw new PostgresFailed(`Secret ${adminSecret} in Davit's namespace cannot be read`, undefined, {
        cause: error,
      });
    });
    const { data = {} } = found as { readonly data?: Readonly<Record<string, string>> };
    const valueOf = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
    const credentials = { user: valueOf('username'), password: valueOf('password'), ca: valueOf('ca.crt') };
    if (credentials.user === '' || credentials.password === '')
      throw without(`Secret ${adminSecret} does not have the keys username and password`);
    return credentials;
  }

  return {
    async current() {
      const { user, password, ca } = await credentialsOf();
      const credentials = JSON.stringify([user, password, ca]);
      if (now?.credentials === credentials) return now.server;
      const before = now?.server;
      const tls = ca === '' ? { rejectUnauthorized: false } : { ca, rejectUnauthorized: true };
      const address = { host, port, database, user, password, tls: sslMode === 'disable' ? undefined : tls };
      now = { credentials, server: make(address) };
      // What is under way on it ends first.
      void before?.close();
      return now.server;
    },
    async close() {
      await now?.server.close();
    },
  };
}

/** The password in a Secret of the record's. Throws if the Secret is not there, or is not the record's. */
export async function passwordOf(
  record: AppDeployment,
  secret: string,
  client: Pick<KubeClient, 'get'>,
): Promise<string> {
  const { namespace, uid } = record.metadata;
  const ref = { namespace: namespace ?? '', name: secret };
  const { metadata, data = {} } = (await client.get(SECRETS, ref)) as SecretObject;
  const password = Buffer.from(data['password'] ?? '', 'base64').toString('utf8');
  if (metadata.labels?.[DEPLOYMENT_UID_LABEL] !== uid || !/^[\x21-\x7E]{8,}$/.test(password))
    throw new Terminal(`Secret ${ref.name} in ${namespace} has no password of the deployment.`);
  return password;
}

/** As the server says it of wrong ones. */
function without(problem: string): PostgresFailed {
  return new PostgresFailed(problem, '28000');
}
