// The rules for records that a CRD cannot have, because they depend on a setting: charts/davit/files/admission-rules.json, which the
// chart's admission policies read.

import { POD_SUMS, SUM_WITH_SIDECARS, WORKER_FIELDS } from '../deploy/record/limits.ts';
import { NOT_OWN_IMAGE } from '../deploy/record/own-image.ts';
import { NFS_MESSAGE, POD_POLICIES, RESTRICTED_RULES } from '../kinds/pod-policy.ts';
import {
  CSI_DRIVER_MESSAGE,
  NAMESPACE_ATTRIBUTE_MESSAGE,
  POD_CERTIFICATE_MESSAGE,
  refusedKeyMessage,
} from '../kinds/pod-reach.ts';
import { ODD_SPELLING_MESSAGE, ODD_SPELLINGS } from '../kinds/registry-images.ts';
import { NUMBER_FIELDS } from '../kinds/resource-spec.ts';

const LIMITS = ['cpu', 'memoryMb', 'scale', 'storageGi'] as const;

export function admissionRulesJson(): string {
  const rules = {
    restricted: RESTRICTED_RULES.map(({ refused, message }) => ({ refused, message })),
    // By limit: the numbers of a record that it is for.
    limitedFields: Object.fromEntries(
      LIMITS.map((limit) => [
        limit,
        NUMBER_FIELDS.filter(({ limitedBy }) => limitedBy === limit).map(({ field }) => field),
      ]),
    ),
    podSums: POD_SUMS,
    // The same of each named worker.
    workerFields: Object.fromEntries(
      LIMITS.map((limit) => [limit, WORKER_FIELDS.filter((one) => one.limit === limit).map(({ field }) => field)]),
    ),
    workerSums: WORKER_FIELDS.filter(({ kind }) => kind !== undefined),
    oddSpellings: ODD_SPELLINGS,
    messages: {
      sumWithSidecars: SUM_WITH_SIDECARS,
      notOwnImage: NOT_OWN_IMAGE,
      oddSpelling: ODD_SPELLING_MESSAGE,
      nfs: NFS_MESSAGE,
      namespaceAttribute: NAMESPACE_ATTRIBUTE_MESSAGE,
      csiDriver: CSI_DRIVER_MESSAGE,
      podCertificate: POD_CERTIFICATE_MESSAGE,
      refusedKey: Object.fromEntries(
        POD_POLICIES.map((policy) => [
          policy,
          { labels: refusedKeyMessage('labels', policy), annotations: refusedKeyMessage('annotations', policy) },
        ]),
      ),
    },
  };
  return `${JSON.stringify(rules, null, 2)}\n`;
}
