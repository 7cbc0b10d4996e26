// Rolls back to an earlier revision like POST /v2/deployments/{id}/revisions/{rid}/redeploy: writes its requested values and a
// raised serial, with the resourceVersion that was read.

import { changeLine, differences, type FieldChange } from '../deployments/record/revision-diff.ts';
import { imageOf } from '../deployments/record/revision-image.ts';
import { isUnseen, rollingBack } from '../deployments/record/revision-request.ts';
import type { AppRevision } from '../schema/app-revision.ts';
import { type Command, DEPLOYMENT, type Done, OUTPUT, tell } from './command.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { partChanges, partWords } from './part-changes.ts';
import { PROGRAM } from './program.ts';
import { requestRevision } from './records.ts';
import { tableOf } from './table.ts';

export const rollbackCommand: Command = {
  name: 'rollback',
  purpose: 'roll back to an earlier revision; the number of pods stays',
  words: [DEPLOYMENT],
  flags: [
    {
      name: 'to',
      value: 'REVISION',
      help: 'name of the revision or beginning of its id; by default the last deployed one before what is deployed, with other values',
    },
    OUTPUT,
  ],
  about: `First it prints what changes, each field, variable and secret; of a secret the name alone. PROGRAM revisions NAME lists the revisions, and
PROGRAM diff NAME FROM TO shows what differs between two without a rollback.`,
  changes: {
    nothing: 'Nothing was rolled back.',
    by: ['replace'],
    sent: ([name = '']) => `The rollback goes on. To follow it: ${PROGRAM} wait ${name}`,
  },
  async run(context) {
    const {
      kubectl,
      words: [name = ''],
      flags,
      say,
    } = context;
    tell(context, await rollBack(kubectl, { name, to: flags.text('to'), say }));
    return 0;
  },
};

interface RollbackRequest {
  readonly name: string;
  /** A revision's name or the beginning of its id; by default what `chosen` takes. */
  readonly to?: string | undefined;
  /** Takes what changes, line by line, before it is written. After a conflict with another change it is compared again. */
  readonly say: (line: string) => void;
}

export function rollBack(kubectl: Kubectl, { name, to, say }: RollbackRequest): Promise<Done> {
  let said = '';
  return requestRevision(kubectl, name, (record, revisions) => {
    const target = chosen(revisions, to);
    const [newest = target] = revisions;
    const changes = differences(newest, target);
    const lines = [...warningAbout(target), ...changedLines(newest, changes, isUnseen(record.spec, revisions))];
    if (lines.join('\n') !== said) for (const line of lines) say(line);
    said = lines.join('\n');
    const spec = rollingBack(record.spec, target.spec);
    const parts = partChanges(record.spec.sourceConfig, spec.sourceConfig);
    const image = imageOf(target);
    const scale = ['its scale stays', ...partWords(parts)].join(', ');
    return {
      spec,
      done: (revision) => ({
        says: `${name} is being rolled back to ${target.metadata.name} (${image ?? 'no image'}) as ${revision}; ${scale}. To follow the rollout: ${PROGRAM} wait ${name}`,
        result: { name, revision, to: target.metadata.name, image: image ?? null, ...parts, changes },
      }),
    };
  });
}

function warningAbout({ metadata, status }: AppRevision): string[] {
  if (status?.state === 'DEPLOYED') return [];
  const failure = status?.failure?.message ?? status?.message;
  return [`${metadata.name} was never deployed: it is ${status?.state ?? 'CREATING'}.${failure ? ` ${failure}` : ''}`];
}

/** What a rollback from the newest revision changes. `isBehind`: the record asks for more than the newest has. */
function changedLines({ metadata }: AppRevision, changes: readonly FieldChange[], isBehind: boolean): string[] {
  const beyond = isBehind
    ? [`The latest change of it has no revision yet, and is given up with all that differs from ${metadata.name}.`]
    : [];
  if (changes.length === 0) return [`Nothing differs from the newest revision, ${metadata.name}.`, ...beyond];
  const rows = tableOf(changes.map((one) => [`  ${one.field}`, changeLine(one).replaceAll('\n', '\\n')]));
  return [`What changes from ${metadata.name}, the newest revision:`, ...rows, ...beyond];
}

/**
 * By default the last deployed revision before the newest that has other values. After a rollback it is one before that to which it
 * went: twice in a row never comes back to what was left. Throws Failure with the existing revisions if none or several match.
 * `revisions` newest first.
 */
export function chosen(revisions: readonly AppRevision[], to: string | undefined): AppRevision {
  if (to !== undefined) return matching(revisions, to);
  const [newest, previous] = revisions;
  if (newest === undefined) throw new Failure('No earlier revision has been deployed: none exists.');
  // A later change leaves the field of an earlier rollback in the record.
  const isRollback = newest.spec.rollbackTo !== undefined && newest.spec.rollbackTo !== previous?.spec.rollbackTo;
  const target = isRollback ? revisions.findIndex(({ spec }) => spec.id === newest.spec.rollbackTo?.toLowerCase()) : -1;
  const earlier = revisions.slice(Math.max(target, 0) + 1).filter(({ status }) => status?.state === 'DEPLOYED');
  const isOther = (one: AppRevision): boolean => differences(newest, one).length > 0;
  const good = earlier.find(isOther);
  if (good) return good;
  const others = revisions.filter((one) => one.status?.state === 'DEPLOYED' && isOther(one));
  const choice = others.length > 0 ? `Select one with --to: ${listed(others)}` : NONE_LEFT;
  if (earlier.length > 0)
    throw new Failure(`Every earlier revision that has been deployed has the values of the newest one. ${choice}.`);
  throw new Failure(
    `No ${target > 0 ? 'revision before that of the last rollback' : 'earlier revision'} has been deployed. ${choice}.`,
  );
}

/** What to do where no revision of other values has been deployed. */
const NONE_LEFT = `There is none with other values to go back to. Deploy a corrected one, or choose a failed one that ${PROGRAM} revisions lists with --to`;

/** The revision of a name or of the beginning of an id. Throws Failure with the existing ones if none or several match. */
export function matching(revisions: readonly AppRevision[], wanted: string): AppRevision {
  const [one, another] = revisions.filter((revision) => isMeant(revision, wanted));
  if (one && !another) return one;
  throw new Failure(
    `${one ? 'More than one' : 'No'} revision matches "${wanted}". Revisions: ${listed(revisions) || 'none'}.`,
  );
}

/** Whether `wanted` is its name or the beginning of its id. */
export function isMeant({ metadata, spec }: AppRevision, wanted: string): boolean {
  return metadata.name === wanted || spec.id.startsWith(wanted.toLowerCase());
}

function listed(revisions: readonly AppRevision[]): string {
  return revisions.map(({ metadata, status }) => `${metadata.name} ${status?.state ?? 'CREATING'}`).join(', ');
}
