// /v2/retained-databases: databases of deployments that are gone. They are listed, adopted and deleted with the caller's token.

import { z } from 'zod';
import type { Auth, RequestContext } from '../../api/auth.ts';
import { failures } from '../../api/openapi.ts';
import { id, NoParameters, time } from '../../api/payload-fields.ts';
import type { App } from '../../api/validation.ts';
import type { Deployments } from '../../deploy/http/repository.ts';
import { NoFields } from '../../deploy/http/revisions/payloads.ts';
import { names } from '../../deploy/record/names.ts';
import { type RetainedDatabase, retainedDatabases } from '../../deploy/record/retained-databases.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import { DATABASE_DRIVERS } from '../../kinds/database-names.ts';
import {
  ADOPT_DATABASE_ANNOTATION,
  COMPONENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  USED_LAST_ANNOTATION,
} from '../../kinds/meta.ts';
import { Uuid } from '../../kinds/primitives.ts';
import { Forbidden, NotFound, undefinedIfNotFound } from '../../runtime/errors.ts';
import { HttpError } from '../../runtime/http/http-error.ts';
import { PERSISTENT_VOLUME_CLAIMS, POSTGRES_CLUSTERS, SECRETS } from '../../runtime/kube/api-resources.ts';
import type { KubeObject, ObjectRef, Resource } from '../../runtime/kube/client.ts';
import { servedResources } from '../../runtime/kube/discovery.ts';

const RetainedResponse = z
  .object({
    id: id.describe('uid of its volume claim, or of its Cluster.'),
    deployment_name: z.string().describe('Name of the deployment that retained it.'),
    deployment_id: z.string().describe('Id of that deployment, which was deleted.'),
    number: z.int().describe('Its number among the databases of that deployment.'),
    driver: z.enum(DATABASE_DRIVERS).describe('Driver of the database.'),
    claim: z.string().describe('Name of its PersistentVolumeClaim, or of its Cluster.'),
    size_bytes: z.int().describe('Size of its volumes, in bytes.'),
    created_at: time.describe('When it was created.'),
    wanted_by: id.nullable().describe('Id of the deployment of that name that waits for it. null if none does.'),
  })
  .meta({ id: 'RetainedDatabase' });
export type RetainedResponse = z.output<typeof RetainedResponse>;

const RetainedList = z
  .object({
    resources: z.array(RetainedResponse).describe('The retained databases of the tenant, the oldest first.'),
    hidden: z.array(z.string()).describe('Kinds that the caller may not list.'),
  })
  .meta({
    id: 'RetainedDatabaseList',
  });
export type RetainedList = z.output<typeof RetainedList>;

const RetainedPath = z.object({ database_id: Uuid.describe('Id of a retained database.') });

export interface RetainedNeeds {
  readonly auth: Auth;
  readonly deployments: Deployments;
}

export function registerRetained(app: App, { auth, deployments }: RetainedNeeds): void {
  app.get('/v2/retained-databases', {
    onRequest: auth.as('list', PERSISTENT_VOLUME_CLAIMS),
    schema: {
      tags: ['deployments'],
      operationId: 'listRetainedDatabases',
      summary: 'List the databases that deleted deployments have retained',
      querystring: NoParameters,
      response: { 200: RetainedList, ...failures(401, 403, 422) },
    },
    handler: async (request, reply) => {
      if (request.method === 'HEAD')
        reply.header('allow', await auth.allowed(request, { DELETE: 'delete' }, PERSISTENT_VOLUME_CLAIMS));
      const admitted = auth.admitted(request);
      const { retained, deploymentOf, hidden } = await lookIn(admitted);
      const resources = retained.map(async (one) => {
        const uid = deploymentOf(one.deployment);
        const record = uid === undefined ? undefined : await deployments.find(admitted, uid).catch(undefinedIfUnknown);
        return present(one, record && awaitedNumber(record) === one.number ? uid : undefined);
      });
      return { resources: await Promise.all(resources), hidden };
    },
  });

  app.post('/v2/retained-databases/:database_id/adopt', {
    onRequest: auth.as('patch'),
    schema: {
      tags: ['deployments'],
      operationId: 'adoptRetainedDatabase',
      summary: 'Let the deployment of the same name use a retained database with its data',
      params: RetainedPath,
      body: NoFields.prefault({}),
      response: { 200: RetainedResponse, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request) => {
      const admitted = auth.admitted(request);
      const { found, retained, deploymentOf } = await find(admitted, request.params.database_id);
      const { deployment, origin } = found;
      auth.concerns(request, deployment);
      const uid = deploymentOf(deployment);
      if (uid === undefined)
        throw new HttpError(409, `Deployment "${deployment}", which could use it, does not exist. Create it first.`);
      const refused = whyNotAdopted(await deployments.find(admitted, uid), found, retained);
      if (refused !== undefined) throw new HttpError(409, refused);
      await deployments.change(admitted, uid, ({ spec }) => ({
        spec,
        values: new Map(),
        annotations: { [ADOPT_DATABASE_ANNOTATION]: origin },
      }));
      return present(found, uid);
    },
  });

  app.delete('/v2/retained-databases/:database_id', {
    onRequest: auth.as('delete', PERSISTENT_VOLUME_CLAIMS),
    schema: {
      tags: ['deployments'],
      operationId: 'deleteRetainedDatabase',
      summary: 'Delete a retained database with its data and its password',
      params: RetainedPath,
      response: {
        204: z.undefined().describe('The deletion has begun.'),
        ...failures(401, 403, 404, 409, 422),
      },
    },
    handler: async (request, reply) => {
      const admitted = auth.admitted(request);
      const { found } = await find(admitted, request.params.database_id);
      auth.concerns(request, found.deployment);
      await discard(admitted, found);
      return reply.code(204).send();
    },
  });
}

interface Seen {
  readonly retained: readonly RetainedDatabase[];
  /** uid of the deployment of this name. */
  readonly deploymentOf: (name: string) => string | undefined;
  readonly hidden: string[];
}

const OF_POSTGRES = `${COMPONENT_LABEL}=postgres,${DEPLOYMENT_UID_LABEL}`;

/** Live, because a cache that lags would show the database of a new deployment as a retained one. */
async function lookIn({ caller, tenant: { namespace } }: RequestContext): Promise<Seen> {
  const asked = { namespace, labelSelector: OF_POSTGRES };
  const claims = await caller.kube.listAll(PERSISTENT_VOLUME_CLAIMS, asked);
  const clusters = await caller.kube.listAll(POSTGRES_CLUSTERS, asked).catch(async (error: unknown) => {
    if (error instanceof NotFound) return { items: [] };
    if (!(error instanceof Forbidden)) throw error;
    // The API server looks at the rights first, so that a kind which is not installed is refused as well.
    const isInstalled = (await servedResources(caller.kube, POSTGRES_CLUSTERS)).has(POSTGRES_CLUSTERS.plural);
    return isInstalled ? undefined : { items: [] };
  });
  // After their databases, so that each of these has its deployment.
  const { items: records } = await caller.kube.listAll(APP_DEPLOYMENTS, { namespace, metadataOnly: true });
  const uids = new Map(records.map(({ metadata: { name, uid = '' } }) => [name, uid]));
  return {
    retained: retainedDatabases([...claims.items, ...(clusters?.items ?? [])], new Set(uids.values())),
    deploymentOf: (name) => uids.get(name),
    hidden: clusters === undefined ? [POSTGRES_CLUSTERS.kind] : [],
  };
}

/** Throws HttpError 404. */
async function find(admitted: RequestContext, wanted: string): Promise<Seen & { readonly found: RetainedDatabase }> {
  const seen = await lookIn(admitted);
  const found = seen.retained.find(({ holder }) => holder.metadata.uid === wanted.toLowerCase());
  if (!found) throw new HttpError(404, `Retained database "${wanted}" does not exist.`);
  return { ...seen, found };
}

/**
 * Deletes exactly the observed versions. An adoption changes the password and then the volume, so the password is deleted first: an adoption
 * that has begun is a conflict. A dry run of both deletions comes before, so that a missing right leaves both objects.
 */
async function discard(
  { caller }: RequestContext,
  { holder, deployment, number, origin }: RetainedDatabase,
): Promise<void> {
  const { namespace = '' } = holder.metadata;
  const ref = { namespace, name: names(deployment, number).postgresSecret };
  const secret = await caller.kube.get(SECRETS, ref, { metadataOnly: true }).catch(undefinedIfNotFound);
  const isItsOwn = secret?.metadata.labels?.[DEPLOYMENT_UID_LABEL] === origin;
  const resource = holder.kind === 'Cluster' ? POSTGRES_CLUSTERS : PERSISTENT_VOLUME_CLAIMS;
  const objects: readonly (readonly [Resource, KubeObject])[] = [
    ...(secret && isItsOwn ? [[SECRETS, secret] as const] : []),
    [resource, holder],
  ];
  for (const dryRun of [true, false])
    for (const [kind, { metadata }] of objects) {
      const { uid = '', resourceVersion = '', name } = metadata;
      const place: ObjectRef = { namespace, name };
      await caller.kube.remove(kind, place, { uid, resourceVersion, dryRun });
    }
}

/** Number of the retained database that a deployment waits for. Undefined where it waits for none, and before its first report. */
function awaitedNumber({ status }: AppDeployment): number | undefined {
  const isWaiting = conditionOf(status?.conditions, 'Ready')?.reason === 'DatabaseKept';
  return isWaiting ? (status?.databaseNumber ?? 0) : undefined;
}

function undefinedIfUnknown(error: unknown): undefined {
  if (error instanceof HttpError && error.status === 404) return undefined;
  throw error;
}

/** Undefined where the deployment can adopt it. */
function whyNotAdopted(
  record: AppDeployment,
  found: RetainedDatabase,
  retained: readonly RetainedDatabase[],
): string | undefined {
  const { deployment, number } = found;
  const awaited = awaitedNumber(record);
  if (awaited !== undefined) return awaited === number ? undefined : howToChoose(found, awaited);
  if (conditionOf(record.status?.conditions, 'Ready') !== undefined)
    return `"${deployment}" does not wait for a retained database.`;
  return retained.filter((one) => one.deployment === deployment).length > 1
    ? `Davit has not observed "${deployment}" yet. Send the request again in a few seconds.`
    : undefined;
}

/** A deployment has the number of its database from its first revision on. */
function howToChoose({ holder, deployment, origin, number, driver }: RetainedDatabase, awaited: number): string {
  const { namespace } = holder.metadata;
  const annotate = (of: number, value: string): string =>
    `kubectl annotate secret ${names(deployment, of).postgresSecret} -n ${namespace} --overwrite ${value}`;
  return `"${deployment}" waits for database ${awaited}, which was used last, and adopts no other. To use database ${number} instead: delete "${deployment}", run ${annotate(awaited, `${USED_LAST_ANNOTATION}-`)} and ${annotate(number, `"${USED_LAST_ANNOTATION}=${origin} ${driver}"`)}, and create "${deployment}" again.`;
}

function present(
  { holder, deployment, origin, number, driver, sizeBytes }: RetainedDatabase,
  wantedBy: string | undefined,
): RetainedResponse {
  const { uid = '', name, creationTimestamp = '' } = holder.metadata;
  return {
    id: uid,
    deployment_name: deployment,
    deployment_id: origin,
    number,
    driver,
    claim: name,
    size_bytes: sizeBytes,
    created_at: creationTimestamp,
    wanted_by: wantedBy ?? null,
  };
}
