// Where a record's own stores answer. `<service>.<namespace>.svc` resolves with every cluster domain.

import type { AppDeployment } from '../../schema/app-deployment.ts';
import { namespaceOf } from '../record/metadata.ts';
import { names } from '../record/names.ts';

export function postgresHost(record: AppDeployment): string {
  return `${names(record.metadata.name).postgresService}.${namespaceOf(record)}.svc`;
}

export function redisHost(record: AppDeployment): string {
  return `${names(record.metadata.name).redisService}.${namespaceOf(record)}.svc`;
}
