// Rolls back to an earlier revision like POST /v2/deployments/{id}/revisions/{rid}/redeploy: writes its requested values and a
// raised serial, with the resourceVersion that was read.

import { revisionName } from '../deployments/record/names.ts';
import { serialRevisionId } from '../deployments/record/revision-id.ts';
import { imageOf } from '../deployments/record/revision-image.ts';
import { rollingBack } from '../deployments/record/revision-request.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { readRecord, readRevisions } from './records.ts';

/** Number of attempts after conflicts with a status write or another edit. */
const ATTEMPTS = 5;

/** Returns the message to print. `to` is a revision's name or the beginning of its id; by default the last deployed one before the newest. */
export async function rollBack(kubectl: Kubectl, name: string, to: string | undefined): Promise<string> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- each attempt starts from the current record
      return await attempt(kubectl, name, to);
    } catch (error) {
      if (attempts === ATTEMPTS || !(error instanceof Failure) || !error.message.includes('(Conflict)')) throw error;
    }
  }
}

async function attempt(kubectl: Kubectl, name: string, to: string | undefined): Promise<string> {
  const record = await readRecord(kubectl, name);
  if (record.metadata.deletionTimestamp) throw new Failure(`${name} is being deleted and can no longer be changed.`);
  const revisions = await readRevisions(kubectl, record);
  const target = chosen(revisions, to);
  const spec = rollingBack(record.spec, target.spec);
  const changed = { ...record, spec };
  await kubectl(['replace', '--field-manager=kubectl-davit', '-f', '-'], JSON.stringify(changed));
  const made = revisionName(name, serialRevisionId(record.metadata.uid ?? '', spec.revisionSerial ?? 0), (one) =>
    revisions.some(({ metadata }) => metadata.name === one),
  );
  return `${name} is being rolled back to ${target.metadata.name} (${imageOf(target) ?? 'no image'}) as ${made}; its scale stays. To follow the rollout: kubectl davit wait ${name}`;
}

/** Throws Failure with the existing revisions if none or several match. `revisions` newest first. */
export function chosen(revisions: readonly AppRevision[], to: string | undefined): AppRevision {
  const known = revisions.map(({ metadata, status }) => `${metadata.name} ${status?.state ?? 'CREATING'}`).join(', ');
  if (to === undefined) {
    const good = revisions.slice(1).find(({ status }) => status?.state === 'DEPLOYED');
    if (good) return good;
    throw new Failure(`No earlier revision has been deployed. Select a revision with --to: ${known || 'none exists'}.`);
  }
  const meant = revisions.filter(({ metadata, spec }) => metadata.name === to || spec.id.startsWith(to.toLowerCase()));
  const [one, another] = meant;
  if (one && !another) return one;
  throw new Failure(`${one ? 'More than one' : 'No'} revision matches "${to}". Revisions: ${known || 'none'}.`);
}
