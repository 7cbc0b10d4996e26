// What a restart of a deployment does, and what to know of it because of the newest revision. Pure.

import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppRevision, RevisionState } from '../../kinds/app-revision.ts';
import { FAILED_STATES } from '../../kinds/revision-states.ts';
import { SOURCE_RULES } from '../../kinds/source-rules.ts';
import { isUnseen } from './revision-request.ts';
import { activeRevision } from './revisions.ts';

const PLUGIN = 'kubectl davit';

/** A new revision would build the newest commit, so the pods are restarted as they are. */
export function keepsCommit({ source, sourceRevisionConfig }: AppDeploymentSpec): boolean {
  return SOURCE_RULES[source].content.includes('repoUrl') && sourceRevisionConfig.imageUri === undefined;
}

/**
 * A sentence where the newest revision has failed or is still being deployed: people may have meant the one that serves. `own`: its
 * revisions, newest first.
 */
export function restartNote(name: string, spec: AppDeploymentSpec, own: readonly AppRevision[]): string | undefined {
  const [newest] = own;
  const state = newest?.status?.state;
  if (!newest || state === undefined) return undefined;
  const active = activeRevision(own)?.metadata.name;
  const of = { name, newest, state, is: `The newest revision ${newest.metadata.name} is ${state}`, active };
  if (keepsCommit(spec)) return startedAgain(of);
  // What the controller has not seen is another revision than the one that failed.
  return isUnseen(spec, own) ? undefined : triedAgain(of);
}

const FAILED: ReadonlySet<RevisionState> = new Set([...FAILED_STATES, 'INTERRUPTED']);
/** Its pods may never start, such as for an image that cannot be pulled. */
const BEING_DEPLOYED: ReadonlySet<RevisionState> = new Set(['AWAITING_DEPLOY', 'DEPLOYING']);

interface NewestRevision {
  readonly name: string;
  readonly newest: AppRevision;
  readonly state: RevisionState;
  /** Such as `The newest revision shop--1c8ac5f4 is BUILD_FAILED`. */
  readonly is: string;
  /** Name of the revision that was deployed last, if there is one. */
  readonly active: string | undefined;
}

function triedAgain({ name, state, is, active }: NewestRevision): string | undefined {
  if (active !== undefined && (FAILED.has(state) || BEING_DEPLOYED.has(state)))
    return `${is}. Davit deploys its values again. ${active} stays active until the new pods are ready. ${goBackTo(name, active)}`;
  return FAILED.has(state)
    ? `${is}. Davit deploys its values again. No revision was deployed before. ${whyOf(name)}`
    : undefined;
}

/** Where a repository is built: the Deployments keep the template that they have. */
function startedAgain({ name, newest: { metadata, status }, state, is, active }: NewestRevision): string | undefined {
  if (!FAILED.has(state)) return undefined;
  const newest = metadata.name;
  if (active === undefined) return `${is}. Davit restarts its pods and builds nothing. ${whyOf(name)}`;
  const isRolledOut = state === 'DEPLOY_FAILED' && status?.migration?.phase !== 'Failed';
  return isRolledOut && status?.failure === undefined
    ? `${is}. Davit restarts its pods. ${active} stays active until they are ready. ${goBackTo(name, active)}`
    : `${is}. Davit restarts the active revision, ${active}, and does not deploy ${newest} again. ${whyOf(name)}\nTo build the newest commit, create a new revision (docs/deploy.md, "Asking for a revision").`;
}

function whyOf(name: string): string {
  return `Why it failed: ${PLUGIN} status ${name}`;
}

function goBackTo(name: string, active: string): string {
  return `To return to the values of ${active}: ${PLUGIN} rollback ${name} --to ${active}`;
}
