// The Secrets with the passwords of a record's own PostgreSQL and Redis. They are created once and then only observed: a
// regenerated password would not open the existing data.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { accessOf, driverOf, type MadeFor, SUPERUSER_PASSWORD_KEY } from '../record/database-driver.ts';
import { names } from '../record/names.ts';
import { POSTGRES_PORT } from './database/service.ts';
import { keptMeta } from './owner.ts';
import { REDIS_PORT } from './service.ts';
import { postgresHost, redisHost } from './store-hosts.ts';

export interface Secret extends KubeObject {
  readonly kind: 'Secret';
  readonly type: string;
  readonly stringData: Readonly<Record<string, string>>;
}

/**
 * Keys `password` and `uri`; for a Cluster `username` too, and the type that CloudNativePG asks for; for a pod whose application is no
 * superuser also the superuser's password, which no pod of the application gets. sslmode=disable: the image of a pod
 * serves no TLS, a Cluster has an authority of its own that no client knows, and only pods of this record reach either (network.ts).
 */
export function postgresSecret(
  record: AppDeployment,
  { password, superuserPassword }: Readonly<Record<'password' | 'superuserPassword', string>>,
  postgres: MadeFor,
  databaseNumber = 0,
): Secret {
  const { postgresSecret: name } = names(record.metadata.name, databaseNumber);
  const { user, database } = accessOf(postgres);
  const isCluster = driverOf(postgres) === 'cloudnative-pg';
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: keptMeta(record, name, 'postgres'),
    type: isCluster ? 'kubernetes.io/basic-auth' : 'Opaque',
    stringData: {
      ...(isCluster && { username: user }),
      password,
      ...(postgres.user && { [SUPERUSER_PASSWORD_KEY]: superuserPassword }),
      uri: `postgresql://${user}:${encodeURIComponent(password)}@${postgresHost(record, databaseNumber)}:${POSTGRES_PORT}/${database}?sslmode=disable`,
    },
  };
}

/** Keys `password`, `uri` and `redis.conf`, the file from which the server reads its password. */
export function redisSecret(record: AppDeployment, password: string): Secret {
  const { redisSecret: name } = names(record.metadata.name);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: keptMeta(record, name, 'redis'),
    type: 'Opaque',
    stringData: {
      password,
      uri: `redis://:${encodeURIComponent(password)}@${redisHost(record)}:${REDIS_PORT}/0`,
      'redis.conf': redisConf(password),
    },
  };
}

/**
 * Text of redis.conf. The data is the state of the queue. It is in an append-only file on the pod's scratch space: a restarted
 * container loses at most a second, and a replaced pod starts empty. Source of the quoting: "redis.conf", strings in double
 * quotes.
 */
export function redisConf(password: string): string {
  const quoted = `"${password.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}"`;
  return `${[
    'bind * -::*',
    'port 6379',
    'protected-mode no',
    'dir /data',
    'save ""',
    'appendonly yes',
    'appendfsync everysec',
    `requirepass ${quoted}`,
  ].join('\n')}\n`;
}
