// Caches the JSON of records in lists and its version, for each version of a record and its revisions: serializing a hundred records
// costs more than the rest of an answer.

import { versionOf } from '../../lib/http/preconditions.ts';
import type { Tenant } from '../../organization/facade/authorization.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';

export interface ListedTextsOptions {
  readonly revisionsOf: (record: AppDeployment) => readonly AppRevision[];
  /** Presents a record of a list. The result is the same for every caller, so it contains no values of secrets. */
  readonly present: (record: AppDeployment, tenant: Tenant) => object;
}

export interface ListedText {
  readonly text: Buffer;
  readonly version: string;
}

interface Kept extends ListedText {
  readonly tenantId: string;
  readonly revisions: readonly AppRevision[];
}

/** The JSON of a record. It is cached as long as this version of the record is. */
export function makeListedTexts({
  revisionsOf,
  present,
}: ListedTextsOptions): (record: AppDeployment, tenant: Tenant) => ListedText {
  const texts = new WeakMap<AppDeployment, Kept>();
  return (record, tenant) => {
    const revisions = revisionsOf(record);
    const kept = texts.get(record);
    if (kept !== undefined && kept.tenantId === tenant.id && areSame(kept.revisions, revisions)) return kept;
    const text = ownBytes(JSON.stringify(present(record, tenant)));
    const made = { tenantId: tenant.id, revisions, text, version: versionOf(text) };
    texts.set(record, made);
    return made;
  };
}

/** Not from Node's shared pool: a cached buffer would keep the whole pool in memory. */
function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** Cached objects are not modified: another version is another object. */
function areSame(a: readonly object[], b: readonly object[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}

const [BEGIN, COMMA] = [Buffer.from('{"resources":['), Buffer.from(',')];

/** Up to this many bytes a string is faster, because it is sent in one piece with the headers. A longer string would be copied. */
const MOST_AS_STRING = 16 * 1024;

/** The answer to a list. `offset` is the beginning of the next page. */
export function listOf(texts: readonly Buffer[], offset: number): Buffer | string {
  const parts = texts.flatMap((text, index) => (index === 0 ? [text] : [COMMA, text]));
  const bytes = Buffer.concat([BEGIN, ...parts, Buffer.from(`],"offset":${offset}}`)]);
  return bytes.length <= MOST_AS_STRING ? bytes.toString() : bytes;
}
