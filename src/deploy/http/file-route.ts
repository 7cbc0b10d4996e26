// POST /v2/deployments/file: creates or changes the deployment that a davit.yaml describes, with what a file does not have.

import type { FastifyRequest } from 'fastify';
import { refusedFor } from '../../api/errors.ts';
import { failures } from '../../api/openapi.ts';
import type { App } from '../../api/validation.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { HttpError } from '../../runtime/http/http-error.ts';
import { ifMatch } from '../../runtime/http/preconditions.ts';
import { AppliedFile, ApplyFile, ApplyFileQuery } from './file-payloads.ts';
import { asksOf, changesInForce, type FileAsks, type Shown } from './file-request.ts';
import type { PatchDeployment } from './payloads.ts';
import type { RouteNeeds } from './route-needs.ts';

export function registerApplyFile(
  app: App,
  { auth, deployments, settings, present, presentChanged }: RouteNeeds,
): void {
  const [mayCreate, mayPatch] = [auth.as('create'), auth.as('patch')];
  app.post('/v2/deployments/file', {
    // A request that can only create needs no right to change what is there.
    onRequest: (request) => (onlyCreates(request) ? mayCreate : mayPatch)(request),
    schema: {
      tags: ['deployments'],
      operationId: 'applyDeploymentFile',
      summary: 'Create or change the deployment that a davit.yaml describes. What the file leaves out stays',
      querystring: ApplyFileQuery,
      body: ApplyFile,
      response: { 200: AppliedFile, 201: AppliedFile, ...failures(400, 401, 403, 409, 412, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { dry_run: isDryRun } = request.query;
      const { tenant } = auth.admitted(request);
      const recordOf = (name: string): AppDeployment | undefined => deployments.named(tenant, name);
      const asks = asksOf(request.body, { recordOf, settings, isDryRun });
      const { name, there, file, missingSecrets } = asks;
      auth.concerns(request, name);
      const precondition = ifMatch(request);
      if (there === undefined && precondition !== undefined)
        throw new HttpError(412, `Deployment "${name}" does not exist, so If-Match matches no version of it.`);
      if (there !== undefined && onlyCreates(request))
        throw new HttpError(412, `A deployment named "${name}" already exists. Choose another name.`);
      if (there === undefined && !onlyCreates(request)) await mayCreate(request);
      const admitted = auth.admitted(request);
      const seen: { before: Shown | null } = { before: null };
      const changed = await asSent(asks, async () => {
        if (there === undefined) {
          const payload = asks.creation();
          const values = new Map(payload.secrets.map((one) => [one.name, one.value]));
          return { record: await deployments.create(admitted, payload, isDryRun), values, warnings: [] };
        }
        const patchOf = (record: AppDeployment): PatchDeployment => {
          seen.before = { record, answer: present(record, tenant) };
          return asks.changeFrom(record, seen.before.answer);
        };
        return deployments.patch(admitted, there.metadata.uid ?? '', patchOf, 'if needed', precondition, isDryRun);
      });
      const { before } = seen;
      if (before === null && !isDryRun) reply.code(201);
      return {
        name,
        created: before === null,
        changes:
          before === null
            ? []
            : changesInForce(before, { record: changed.record, answer: present(changed.record, tenant) }),
        missing_secrets: [...missingSecrets],
        file: { ...file },
        deployment: isDryRun ? (before?.answer ?? null) : await presentChanged(request, reply, changed),
      };
    },
  });
}

/** RFC 9110, 13.1.2. */
function onlyCreates({ headers }: FastifyRequest): boolean {
  return headers['if-none-match']?.trim() === '*';
}

async function asSent<T>(asks: FileAsks, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const { status, detail } = refusedFor(error);
    if (status !== 422 || typeof detail === 'string') throw error;
    throw new HttpError(422, detail.map(asks.asSent));
  }
}
