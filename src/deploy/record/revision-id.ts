// The id of a revision. Facade and controller compute it in the same way, so that the facade can return the id before the
// controller has created the revision.

import { createHash } from 'node:crypto';

/** UUID version 5 (RFC 9562, 5.5) of `name` in the namespace `recordUid`, in lower case. Throws if `recordUid` is not a UUID. */
export function revisionId(
  recordUid: string,
  name: `s${number}` | `g${number}` | `g${number}.${'p' | 'c'}${number}` | `o${string}.${number}`,
): string {
  const namespace = Buffer.from(recordUid.replaceAll('-', ''), 'hex');
  if (namespace.length !== 16) throw new TypeError(`A record's uid must be a uuid, not '${recordUid}'`);
  const bytes = createHash('sha1').update(namespace).update(name, 'utf8').digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Id of the revision that a raised `spec.revisionSerial` requests. */
export function serialRevisionId(recordUid: string, serial: number): string {
  return revisionId(recordUid, `s${serial}`);
}

/** Id of the revision that the `push`-th push to a branch asks for, while the record stays as it is. */
export function pushRevisionId(recordUid: string, generation: number, push: number): string {
  return revisionId(recordUid, `g${generation}.p${push}`);
}

/** Id of the revision by which an operation gives the record the database of this number. `operation`: its uid. */
export function operationRevisionId(recordUid: string, operation: string, database: number): string {
  return revisionId(recordUid, `o${operation}.${database}`);
}

/** Id of the revision that an edit without a new serial (kubectl, GitOps) requests. */
export function generationRevisionId(recordUid: string, generation: number): string {
  return revisionId(recordUid, `g${generation}`);
}

/**
 * Id of a revision of a copy in a listener's cluster, where one that a restored hub has forgotten already has generationRevisionId.
 * `copy`: generation of the copy.
 */
export function copyRevisionId(recordUid: string, generation: number, copy: number): string {
  return revisionId(recordUid, `g${generation}.c${copy}`);
}
