// The route of push tokens.

import { z } from 'zod';
import { failures } from '../../../api/openapi.ts';
import { time } from '../../../api/payload-fields.ts';
import type { App } from '../../../api/validation.ts';
import { DeploymentPath } from '../../../deploy/http/payloads.ts';
import { tenantRepositories } from '../../../deploy/record/registry-names.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import { REGISTRY_USER, registryPassword } from '../../registry/registry-grant.ts';
import { makeTagLimit } from '../../registry/tag-limit.ts';
import { type BuildContext, changeableOf, placeOf } from './platform.ts';
import { ASK_MS, registerTokenServer } from './token-server.ts';

const PUSH_SECONDS = 3600;

const PushTokenRequest = z
  .object({
    supports_registry_username: z.boolean().nullish().describe('Has no effect: the answer always has username.'),
  })
  .meta({ id: 'PushTokenRequest', examples: [{ supports_registry_username: true }] });

const PushToken = z
  .object({
    token: z.string().describe('Password of the registry. Valid for one hour and for this repository only.'),
    username: z.string().describe('User name for the token.'),
    registry_url: z.string().describe("Registry and path of the tenant's repositories."),
    repository_url: z.string().describe('Repository to push to. PATCH the deployment with its digest afterwards.'),
    expires_at: time.describe('When the token expires.'),
  })
  .meta({
    id: 'PushToken',
  });

export function registerRegistry(app: App, { auth, deployments, platform, now, randomId }: BuildContext): void {
  const upkeep = platform.settings.builds.registry?.upkeep;
  // Where nothing is deleted, nothing that is full could be pushed to again.
  const limit = platform.registry && upkeep?.enabled ? makeTagLimit(platform.registry.client, upkeep, now) : undefined;

  app.post('/v2/deployments/:deployment_id/push-token', {
    onRequest: auth.as('patch'),
    schema: {
      tags: ['builds'],
      operationId: 'createPushToken',
      summary: "Get a password to push the deployment's image with (internal_docker)",
      params: DeploymentPath,
      body: PushTokenRequest.prefault({}),
      response: { 200: PushToken, ...failures(400, 401, 403, 404, 409, 413, 415, 422) },
    },
    handler: async (request) => {
      const admitted = auth.admitted(request);
      const { tenant } = admitted;
      const only = { use: 'push', what: 'Push tokens' } as const;
      const record = await changeableOf(deployments, admitted, request.params.deployment_id, only);
      const { registry, settings, repository, image } = placeOf(platform, record, tenant.id);
      if (!settings.tokens)
        throw new HttpError(
          409,
          `The registry of this platform does not accept Davit's tokens. Push to ${image} with your own credential, then PATCH image_uri with the digest.`,
        );
      // Garbage collection on a volume fails at a repository that has a manifest and never had a blob. While the registry is away
      // nobody can push either, and the controller's sweep does it later.
      if (settings.upkeep !== undefined)
        await registry.client
          .ensureBlob(repository, AbortSignal.timeout(ASK_MS))
          .catch((err: unknown) => request.log.warn({ err }, 'Could not upload the first blob of a repository'));
      const refusal = await limit?.refusal(repository, AbortSignal.timeout(ASK_MS)).catch(() => undefined);
      if (refusal !== undefined) throw new HttpError(409, refusal);
      const expires = Math.floor(now().getTime() / 1000) + PUSH_SECONDS;
      const grant = { repository, actions: ['pull', 'push'], expires, isLimited: true } as const;
      const identity = { namespace: tenant.namespace, tenantId: tenant.id };
      return {
        token: registryPassword(await registry.passwordKey(), grant),
        username: REGISTRY_USER,
        registry_url: `${settings.host}/${tenantRepositories(settings, identity)}`,
        repository_url: image,
        expires_at: new Date(expires * 1000).toISOString(),
      };
    },
  });

  registerTokenServer(app, { platform, now, randomId, limit });
}
