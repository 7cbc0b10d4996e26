// What lists show of records, as JSON in UTF-8 that is made once for each version of a record and of its revisions: to
// show a hundred records again costs more than all the rest of an answer.

import type { AppDeployment } from '../../api/app-deployment.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import type { Tenant } from '../core/authorization.ts';

export interface ListedTextsOptions {
  readonly revisionsOf: (record: AppDeployment) => readonly AppRevision[];
  /** As a list shows it: the same for every caller, so without the values of its secrets. */
  readonly present: (record: AppDeployment, tenant: Tenant) => object;
}

interface Kept {
  readonly tenantId: string;
  readonly revisions: readonly AppRevision[];
  readonly text: Buffer;
}

/** The text of a record. It is kept for as long as the cache holds this version of the record. */
export function makeListedTexts({
  revisionsOf,
  present,
}: ListedTextsOptions): (record: AppDeployment, tenant: Tenant) => Buffer {
  const texts = new WeakMap<AppDeployment, Kept>();
  return (record, tenant) => {
    const revisions = revisionsOf(record);
    const kept = texts.get(record);
    if (kept !== undefined && kept.tenantId === tenant.id && areSame(kept.revisions, revisions)) return kept.text;
    const text = ownBytes(JSON.stringify(present(record, tenant)));
    texts.set(record, { tenantId: tenant.id, revisions, text });
    return text;
  };
}

/** Not of the pool that short-lived buffers share: one that is kept would keep its neighbours too. */
function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** What is kept is never changed in place: another version is another object. */
function areSame(a: readonly object[], b: readonly object[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}

const [BEGIN, COMMA] = [Buffer.from('{"resources":['), Buffer.from(',')];

/** Up to so many bytes a string is sent sooner: in one piece with the headers. More would be copied each time. */
const MOST_AS_STRING = 16 * 1024;

/** Puts the answer to a list together; `offset` is where the next page begins. */
export function listOf(texts: readonly Buffer[], offset: number): Buffer | string {
  const parts = texts.flatMap((text, index) => (index === 0 ? [text] : [COMMA, text]));
  const bytes = Buffer.concat([BEGIN, ...parts, Buffer.from(`],"offset":${offset}}`)]);
  return bytes.length <= MOST_AS_STRING ? bytes.toString() : bytes;
}
