// Replaces the pods of a deployment by pods of the same content, each when its successor is ready.

import { askingToRebuild, isUnseen } from '../deployments/record/revision-request.ts';
import { activeRevision } from '../deployments/record/revisions.ts';
import type { AppDeployment, AppDeploymentSpec } from '../schema/app-deployment.ts';
import type { AppRevision, RevisionState } from '../schema/app-revision.ts';
import { COMPONENT_LABEL, DEPLOYMENT_LABEL, STORE_PARTS } from '../schema/meta.ts';
import { needFinished } from './cloning.ts';
import { type Command, DEPLOYMENT, type Done, OUTPUT, tell, withFlags } from './command.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { FIELD_MANAGER, readRecord, readRevisions, requestRevision } from './records.ts';
import { ignoreForbidden } from './stored-backups.ts';

export const restartCommand: Command = {
  name: 'restart',
  purpose: 'replace its pods without a change of it; the old pods serve until the new ones are ready',
  words: [DEPLOYMENT],
  flags: [OUTPUT],
  about: `An image or an upload is deployed again as a new revision with the same values, so that a tag that was pushed again is
pulled and a migration runs again. Where Davit builds from a repository, a new revision would build the newest commit:
the running image stays, and its Deployments are restarted as kubectl rollout restart does, which needs ClusterRole edit.
PostgreSQL and Redis are not restarted.`,
  changes: {
    nothing: 'Nothing was restarted.',
    by: ['replace', 'rollout'],
    sent: ([name = '']) => `The restart goes on. To follow it: ${PROGRAM} wait ${name}`,
  },
  async run(context) {
    const { warning, done } = await restart(context.kubectl, context.words[0] ?? '');
    if (warning !== undefined) context.warn(withFlags(warning, context.suggested));
    tell(context, done);
    return 0;
  },
};

interface Restarted {
  readonly done: Done;
  /** What is restarted, where the newest revision has failed or is not deployed yet. */
  readonly warning: string | undefined;
}

async function restart(kubectl: Kubectl, name: string): Promise<Restarted> {
  const record = await readRecord(kubectl, name);
  needFinished(record, `Nothing was restarted: no pod of ${name} runs until it is finished.`);
  if (isBuiltFromRepository(record.spec)) {
    const revisions = await readRevisions(kubectl, record).catch(ignoreForbidden);
    const warning = revisions && ofNewest(name, revisions, startedAgain);
    return { done: await restartWorkloads(kubectl, record), warning };
  }
  let warning: string | undefined;
  const done = await requestRevision(kubectl, name, ({ spec }, revisions) => {
    if (revisions.length === 0)
      throw new Failure(`${name} has no revision yet, so nothing runs that could be restarted.`);
    // What the controller has not seen is another revision than the one that failed.
    warning = isUnseen(spec, revisions) ? undefined : ofNewest(name, revisions, triedAgain);
    return {
      // A rollback that the controller has not seen goes on.
      spec: askingToRebuild(spec, spec, isUnseen(spec, revisions)),
      done: (revision) => ({
        says: `${name} is being restarted as ${revision}; each pod is replaced when its successor is ready. To follow it: ${PROGRAM} wait ${name}`,
        result: { name, revision },
      }),
    };
  });
  return { done, warning };
}

const FAILED: ReadonlySet<RevisionState> = new Set(['CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'INTERRUPTED']);
/** Pods of it may wait for ever, such as for an image that cannot be pulled. */
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

/** What is to be known of a restart because of the newest revision, if anything. `revisions`: newest first. */
function ofNewest(
  name: string,
  revisions: readonly AppRevision[],
  words: (of: NewestRevision) => string | undefined,
): string | undefined {
  const [newest] = revisions;
  const state = newest?.status?.state;
  if (!newest || state === undefined) return undefined;
  const active = activeRevision(revisions)?.metadata.name;
  return words({ name, newest, state, is: `The newest revision ${newest.metadata.name} is ${state}`, active });
}

/**
 * A new revision has the values of the record, which are those of the newest one. Where another one serves meanwhile, one may have meant
 * that.
 */
function triedAgain({ name, state, is, active }: NewestRevision): string | undefined {
  if (active !== undefined && (FAILED.has(state) || BEING_DEPLOYED.has(state)))
    return `${is}, and its values are tried again. ${active} stays active until they are ready. ${goBackTo(name, active)}`;
  return FAILED.has(state)
    ? `${is}, and its values are tried again. None was deployed before. ${whyOf(name)}`
    : undefined;
}

/** Where a repository is built: the Deployments keep the template that they have. */
function startedAgain({ name, newest: { metadata, status }, state, is, active }: NewestRevision): string | undefined {
  if (!FAILED.has(state)) return undefined;
  const newest = metadata.name;
  if (active === undefined) return `${is}. Its pods start again, and nothing is built. ${whyOf(name)}`;
  const isRolledOut = state === 'DEPLOY_FAILED' && status?.migration?.phase !== 'Failed';
  return isRolledOut && status?.failure === undefined
    ? `${is}: its pods start again, and ${active} stays active until they are ready. ${goBackTo(name, active)}`
    : `${is}: ${active}, which is active, is restarted, and ${newest} is not tried again. ${whyOf(name)}\nTo build the newest commit, ask for a new revision (docs/reference.md, "Asking for a revision").`;
}

function whyOf(name: string): string {
  return `Why it failed: ${PROGRAM} status ${name}`;
}

function goBackTo(name: string, active: string): string {
  return `To have the values of ${active} instead: ${PROGRAM} rollback ${name} --to ${active}`;
}

function isBuiltFromRepository({
  sourceRevisionConfig: { imageUri, sourceTarballPath },
  source,
}: AppDeploymentSpec): boolean {
  const isOfRepository = source === 'codehost' || source === 'internal_template';
  return isOfRepository && imageUri === undefined && sourceTarballPath === undefined;
}

async function restartWorkloads(
  kubectl: Kubectl,
  {
    metadata: { name, deletionTimestamp },
    spec: {
      sourceConfig: { runtime },
    },
  }: AppDeployment,
): Promise<Done> {
  if (deletionTimestamp) throw new Failure(`${name} is being deleted and can no longer be changed.`);
  const selector = `${DEPLOYMENT_LABEL}=${name}`;
  const restart = (kind: string, which: string): Promise<string> =>
    kubectl(['rollout', 'restart', kind, '--selector', which, FIELD_MANAGER]);
  const restarted = await restart('deployments.apps', selector);
  const workers = Object.values(runtime?.workers ?? {});
  // The StatefulSets of the stores stay.
  if (workers.some(({ singleton }) => singleton === true))
    await restart('statefulsets.apps', `${selector},${COMPONENT_LABEL} notin (${STORE_PARTS.join(',')})`);
  if (restarted.trim() === '') throw new Failure(`${name} has no pods yet, so nothing runs that could be restarted.`);
  return {
    says: `${name} is being restarted with the image that runs; each pod is replaced when its successor is ready. To follow it: ${PROGRAM} status ${name}`,
    result: { name, revision: null },
  };
}
