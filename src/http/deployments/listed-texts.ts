// What lists show of records, as JSON text that is made once for each version of a record and of its revisions: pages
// are asked for again and again, and to show a hundred records anew costs more than all the rest of an answer.

import type { AppDeployment } from '../../api/app-deployment.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import type { Tenant } from '../identity.ts';

export interface ListedTextsOptions {
  readonly revisionsOf: (record: AppDeployment) => readonly AppRevision[];
  /** As a list shows it: the same for every caller, so without the values of its secrets. */
  readonly present: (record: AppDeployment, tenant: Tenant) => object;
}

interface Kept {
  readonly tenantId: string;
  readonly revisions: readonly AppRevision[];
  readonly text: string;
}

/** The text of a record. It is kept for as long as the cache holds this version of the record. */
export function makeListedTexts({
  revisionsOf,
  present,
}: ListedTextsOptions): (record: AppDeployment, tenant: Tenant) => string {
  const texts = new WeakMap<AppDeployment, Kept>();
  return (record, tenant) => {
    const revisions = revisionsOf(record);
    const kept = texts.get(record);
    if (kept !== undefined && kept.tenantId === tenant.id && areSame(kept.revisions, revisions)) return kept.text;
    const text = JSON.stringify(present(record, tenant));
    texts.set(record, { tenantId: tenant.id, revisions, text });
    return text;
  };
}

/** Objects of a cache are never changed in place: another version is another object. */
function areSame(a: readonly AppRevision[], b: readonly AppRevision[]): boolean {
  return a.length === b.length && a.every((revision, index) => revision === b[index]);
}
