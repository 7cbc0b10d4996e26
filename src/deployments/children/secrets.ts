// The Secrets with the passwords of a record's own PostgreSQL and Redis. They are created once and then only observed: a
// regenerated password would not open the existing data.

import type { KubeObject } from '../../lib/kube/client.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { names } from '../record/names.ts';
import { POSTGRES_PORT } from './database/service.ts';
import { keptMeta } from './owner.ts';
import { redisConf } from './redis/redis-conf.ts';
import { REDIS_PORT } from './redis/service.ts';
import { POSTGRES_DATABASE, POSTGRES_USER, postgresHost, redisHost } from './store-hosts.ts';

export interface Secret extends KubeObject {
  readonly kind: 'Secret';
  readonly type: string;
  readonly stringData: Readonly<Record<string, string>>;
}

/**
 * Keys `password` and `uri`. sslmode=disable: the image serves no TLS, and only pods of this record reach it (network.ts).
 */
export function postgresSecret(record: AppDeployment, password: string): Secret {
  const { postgresSecret: name } = names(record.metadata.name);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: keptMeta(record, name, 'postgres'),
    type: 'Opaque',
    stringData: {
      password,
      uri: `postgresql://${POSTGRES_USER}:${encodeURIComponent(password)}@${postgresHost(record)}:${POSTGRES_PORT}/${POSTGRES_DATABASE}?sslmode=disable`,
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
