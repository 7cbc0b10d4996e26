// The databases of a record that there are: the one that it uses, and those that it was moved from.

import { databaseNumberIn } from '../deployments/record/names.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { COMPONENT_LABEL, DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL } from '../schema/meta.ts';
import { Failure, type Kubectl } from './kubectl.ts';

const HOLDERS = ['persistentvolumeclaims', 'secrets', 'clusters.postgresql.cnpg.io'] as const;

/** As kubectl prints names: secret/shop--postgres. */
export interface Held {
  readonly object: string;
  readonly number: number;
}

/**
 * The volumes, Clusters and passwords of all databases of a record. Where there is no CloudNativePG, or the caller may not list its
 * Clusters, theirs are missing; their passwords are not.
 */
export async function databasesHeld(kubectl: Kubectl, { metadata }: AppDeployment): Promise<readonly Held[]> {
  const { name, uid = '' } = metadata;
  const labels = { [DEPLOYMENT_LABEL]: name, [COMPONENT_LABEL]: 'postgres', [DEPLOYMENT_UID_LABEL]: uid };
  const selector = Object.entries(labels)
    .map(([label, value]) => `${label}=${value}`)
    .join(',');
  const lists = await Promise.all(
    HOLDERS.map((kind) =>
      kubectl(['get', kind, '--selector', selector, '-o', 'name']).catch((error: unknown) => {
        if (kind !== 'clusters.postgresql.cnpg.io' || !(error instanceof Failure)) throw error;
        return '';
      }),
    ),
  );
  return lists
    .flatMap((text) => text.split('\n'))
    .flatMap((object) => {
      const number = databaseNumberIn(name, object.slice(object.indexOf('/') + 1));
      return number === undefined ? [] : [{ object, number }];
    });
}
