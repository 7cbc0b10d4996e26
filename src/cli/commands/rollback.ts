// Rolls back to an earlier revision: says what changes, and asks the HTTP API for it.

import type { Deployment } from '../../deploy/http/payloads.ts';
import type { Revision, RevisionDiff } from '../../deploy/http/revisions/payloads.ts';
import { changeLine } from '../../deploy/record/revision-diff.ts';
import { API_FLAGS, type Command, type Context, DEPLOYMENT, OUTPUT, tell } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { changesOfParts, partWords } from '../text/part-changes.ts';
import { tableOf } from '../text/table.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { matching, needDeployment } from './build-log.ts';
import { afterOthers, newRevision } from './deployment-change.ts';
import { readCreated } from './revisions.ts';

export const rollbackCommand: Command = {
  name: 'rollback',
  purpose: 'roll back to an earlier revision; the number of pods stays',
  words: [DEPLOYMENT],
  flags: [
    {
      name: 'to',
      value: 'REVISION',
      help: 'name of the revision or beginning of its id; by default the last deployed one with other values',
    },
    OUTPUT,
    ...API_FLAGS,
  ],
  about: `First prints each field, variable and secret that changes; of secrets, only the name. PROGRAM revisions NAME lists the revisions, and
PROGRAM diff NAME FROM TO compares two without a rollback.`,
  changes: {
    nothing: 'Nothing was rolled back.',
    sent: ([name = '']) => `The rollback was requested. To follow it: ${PROGRAM} wait ${name}`,
  },
  run: rollBack,
};

interface Plan {
  readonly target: Revision;
  readonly changes: RevisionDiff['changes'];
  readonly lines: readonly string[];
}

async function rollBack(context: Context): Promise<number> {
  const [name = ''] = context.words;
  const api = await context.api();
  const { id } = await needDeployment(api, name);
  let said = '';
  const { target, changes, revision } = await afterOthers(async () => {
    const { body: now, etag } = await api.tagged<Deployment>(`/v2/deployments/${id}`);
    const plan = await planOf(api, now, context.flags.text('to'));
    // Somebody else's change in between may have changed what changes.
    if (plan.lines.join('\n') !== said) for (const line of plan.lines) context.say(line);
    said = plan.lines.join('\n');
    const path = `/v2/deployments/${id}/revisions/${plan.target.id}/redeploy?secrets=names`;
    const after = await api.call<Deployment>('POST', path, {}, etag);
    return { ...plan, revision: await newRevision(api, now, after) };
  });
  const { name: to, image } = target;
  const { from, to: kept } = changes.find(({ field }) => field === 'parts') ?? {};
  const parts = changesOfParts(from?.split(', ') ?? [], kept?.split(', ') ?? []);
  const scale = ['the number of pods stays the same', ...partWords(parts)].join(', ');
  tell(context, {
    says: `${name} is being rolled back to ${to} (${image ?? 'no image'}) as ${revision}; ${scale}. To follow the rollout: ${PROGRAM} wait ${name}`,
    result: { name, revision, to, image, ...parts, changes },
  });
  return 0;
}

/** `to`: a revision's name or the beginning of its id; by default the one that the API takes. */
async function planOf(
  api: HttpApi,
  { id, latest_revision_id: latest }: Deployment,
  to: string | undefined,
): Promise<Plan> {
  const revisions = await readCreated(api, id);
  const of = to === undefined ? 'rollback' : `revisions/${matching(revisions, to).id}/diff`;
  const diff = await api.call<RevisionDiff>('GET', `/v2/deployments/${id}/${of}`);
  const [target, newest] = [matching(revisions, diff.to), matching(revisions, diff.from)];
  const { changes } = diff;
  return { target, changes, lines: [...warningAbout(target), ...changedLines(newest, changes, latest !== newest.id)] };
}

function warningAbout({ name, status, status_message: message }: Revision): string[] {
  return status === 'DEPLOYED' ? [] : [`${name} was never deployed: it is ${status}. ${message ?? ''}`.trim()];
}

/** What a rollback from the newest revision changes. `isBehind`: the deployment asks for more than the newest has. */
function changedLines({ name }: Revision, changes: RevisionDiff['changes'], isBehind: boolean): string[] {
  const beyond = isBehind
    ? [`The latest change has no revision yet. The rollback discards it, with all its differences from ${name}.`]
    : [];
  if (changes.length === 0) return [`Nothing differs from the newest revision, ${name}.`, ...beyond];
  const rows = tableOf(changes.map((one) => [`  ${one.field}`, changeLine(one).replaceAll('\n', '\\n')]));
  return [`What changes from ${name}, the newest revision:`, ...rows, ...beyond];
}
