// POST /v2/deployments/{id}/restart: pods of the same content in place of those that run.

import { failures } from '../../api/openapi.ts';
import type { App } from '../../api/validation.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { COMPONENT_LABEL, DEPLOYMENT_LABEL, FACADE_FIELD_MANAGER, STORE_PARTS } from '../../kinds/meta.ts';
import { type FieldError, HttpError } from '../../runtime/http/http-error.ts';
import { DEPLOYMENTS, STATEFUL_SETS } from '../../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject, Resource } from '../../runtime/kube/client.ts';
import { keepsCommit, restartNote } from '../record/restart.ts';
import { askingToRebuild, isUnseen } from '../record/revision-request.ts';
import { revisionsOf } from '../record/revisions.ts';
import { Deployment, DeploymentPath, ShownSecrets } from './payloads.ts';
import { NoFields } from './revisions/payloads.ts';
import type { RouteNeeds } from './route-needs.ts';
import { refuseChange } from './update.ts';

export function registerRestart(app: App, { auth, deployments, presentChanged, now }: RouteNeeds): void {
  const ownOf = (record: AppDeployment): AppRevision[] => revisionsOf(record, deployments.revisionsOf(record));
  app.post('/v2/deployments/:deployment_id/restart', {
    onRequest: auth.as('patch'),
    schema: {
      tags: ['deployments'],
      operationId: 'restartDeployment',
      summary:
        'Replace the pods without a change. An image or an upload is deployed again as a new revision. What Davit builds from a repository keeps its image: its Deployments are restarted, which needs the right to patch them',
      params: DeploymentPath,
      querystring: ShownSecrets,
      body: NoFields.prefault({}),
      response: { 200: Deployment, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const admitted = auth.admitted(request);
      const { deployment_id: id } = request.params;
      const found = await deployments.find(admitted, id);
      if (keepsCommit(found.spec)) {
        refuseChange(found);
        await restartWorkloads(admitted.caller.kube, found, now().toISOString());
        return presentChanged(request, reply, {
          record: found,
          values: new Map(),
          warnings: notesOn(found, ownOf(found)),
        });
      }
      const changed = await deployments.change(admitted, id, (record) => {
        const own = ownOf(record);
        if (own.length === 0)
          throw new HttpError(
            409,
            `${record.metadata.name} has no revision yet, so nothing runs that could be restarted.`,
          );
        // A rollback that the controller has not seen stays.
        const spec = askingToRebuild(record.spec, record.spec, isUnseen(record.spec, own));
        return { spec, values: new Map(), warnings: notesOn(record, own) };
      });
      return presentChanged(request, reply, changed);
    },
  });
}

function notesOn({ metadata: { name }, spec }: AppDeployment, own: readonly AppRevision[]): FieldError[] {
  const msg = restartNote(name, spec, own);
  return msg === undefined ? [] : [{ loc: ['path', 'deployment_id'], msg, type: 'restarted' }];
}

/** As `kubectl rollout restart` does. The StatefulSets of PostgreSQL and Redis stay. Throws HttpError 409 where no pod was made yet. */
async function restartWorkloads(
  kube: KubeClient,
  { metadata: { name, namespace = '' }, spec }: AppDeployment,
  at: string,
): Promise<void> {
  const singletons = Object.values(spec.sourceConfig.runtime?.workers ?? {}).some((one) => one.singleton === true);
  const of = `${DEPLOYMENT_LABEL}=${name}`;
  const workloads: readonly (readonly [Resource, string])[] = [
    [DEPLOYMENTS, of],
    ...(singletons ? [[STATEFUL_SETS, `${of},${COMPONENT_LABEL} notin (${STORE_PARTS.join(',')})`] as const] : []),
  ];
  const restarted = await Promise.all(
    workloads.map(async ([resource, labelSelector]) => {
      const { items } = await kube.listAll<KubeObject>(resource, { namespace, labelSelector, metadataOnly: true });
      const patch = { spec: { template: { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': at } } } } };
      const write = ({ metadata }: KubeObject): Promise<KubeObject> =>
        kube.mergePatch(resource, { namespace, name: metadata.name }, patch, { fieldManager: FACADE_FIELD_MANAGER });
      return Promise.all(items.map(write));
    }),
  );
  if (restarted.flat().length === 0)
    throw new HttpError(409, `${name} has no pods yet, so nothing runs that could be restarted.`);
}
