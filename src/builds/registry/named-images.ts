// The images of the platform's registry that records and revisions name, from the watch caches.

import { type Caches, IMAGE_NAMED } from '../../deployments/cluster/caches.ts';
import { deploymentIn, type ImageName, type RegistrySettings } from '../../deployments/record/registry-names.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { imagesNamed } from './unneeded.ts';

export interface NamedImages {
  /** Images of this repository, whichever deployments of the tenant name them. */
  in(repository: string): ImageName[];
  ofRecord(record: AppDeployment): ImageName[];
  ofRevision(revision: AppRevision): ImageName[];
}

export function makeNamedImages(caches: Caches, registry: RegistrySettings): NamedImages {
  function named(namespace: string, records: readonly AppDeployment[], revisions: readonly AppRevision[]): ImageName[] {
    const tenantId = caches.namespaces.get({ name: namespace })?.metadata.uid;
    return tenantId === undefined ? [] : imagesNamed(registry, { namespace, tenantId }, records, revisions);
  }
  return {
    in(repository) {
      const { namespace } = deploymentIn(registry, repository) ?? {};
      if (namespace === undefined) return [];
      const image = `${registry.host}/${repository}`;
      const [records, revisions] = [
        caches.records.byIndex(namespace, IMAGE_NAMED, image),
        caches.revisions.byIndex(namespace, IMAGE_NAMED, image),
      ];
      return named(namespace, records, revisions);
    },
    ofRecord: (record) => named(record.metadata.namespace ?? '', [record], []),
    ofRevision: (revision) => named(revision.metadata.namespace ?? '', [], [revision]),
  };
}
