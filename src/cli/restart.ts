// Replaces the pods of a deployment by pods of the same content, each when its successor is ready.

import { askingToRebuild, isUnseen } from '../deployments/record/revision-request.ts';
import type { AppDeployment, AppDeploymentSpec } from '../schema/app-deployment.ts';
import { COMPONENT_LABEL, DEPLOYMENT_LABEL, STORE_PARTS } from '../schema/meta.ts';
import { type Command, DEPLOYMENT, type Done, OUTPUT, tell } from './command.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { FIELD_MANAGER, readRecord, requestRevision } from './records.ts';

export const restartCommand: Command = {
  name: 'restart',
  purpose: 'replace its pods without a change of it; the old pods serve until the new ones are ready',
  words: [DEPLOYMENT],
  flags: [OUTPUT],
  about: `An image or an upload is deployed again as a new revision with the same values, so that a tag that was pushed again is
pulled and a migration runs again. Where Davit builds from a repository, a new revision would build the newest commit:
the running image stays, and its Deployments are restarted as kubectl rollout restart does, which needs ClusterRole edit.
PostgreSQL and Redis are not restarted.`,
  async run(context) {
    tell(context, await restart(context.kubectl, context.words[0] ?? ''));
    return 0;
  },
};

export async function restart(kubectl: Kubectl, name: string): Promise<Done> {
  const record = await readRecord(kubectl, name);
  if (isBuiltFromRepository(record.spec)) return restartWorkloads(kubectl, record);
  return requestRevision(kubectl, name, ({ spec }, revisions) => {
    if (revisions.length === 0)
      throw new Failure(`${name} has no revision yet, so nothing runs that could be restarted.`);
    return {
      // A rollback that the controller has not seen goes on.
      spec: askingToRebuild(spec, spec, isUnseen(spec, revisions)),
      done: (revision) => ({
        says: `${name} is being restarted as ${revision}; each pod is replaced when its successor is ready. To follow it: ${PROGRAM} wait ${name}`,
        result: { name, revision },
      }),
    };
  });
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
