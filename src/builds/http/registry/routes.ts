// The routes of push tokens, and of the token server that the registry refers its clients to (Distribution's token protocol).

import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DeploymentPath } from '../../../deployments/http/payloads.ts';
import { tenantRepositories } from '../../../deployments/record/registry-names.ts';
import { HttpError } from '../../../lib/http/http-error.ts';
import { failures } from '../../../organization/facade/openapi.ts';
import { time } from '../../../organization/facade/payload-fields.ts';
import type { App } from '../../../organization/facade/validation.ts';
import {
  coversRepository,
  mayBePassword,
  REGISTRY_USER,
  type RegistryGrant,
  registryGrant,
  registryPassword,
} from '../../registry/registry-grant.ts';
import { type Action, grantsFor, issueToken, TOKEN_SERVICE, type TokenAnswer } from '../../registry/tokens.ts';
import { type BuildContext, changeableOf, placeOf } from './platform.ts';

const PUSH_SECONDS = 3600;
/** Time limit of the request to the registry. */
const ASK_MS = 20_000;

const PushTokenRequest = z
  .object({
    supports_registry_username: z
      .boolean()
      .nullish()
      .describe('Accepted without effect: the answer always has username.'),
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
    examples: [
      {
        token: 'davit-registry-1.eyJyIjoi….x4Zq',
        username: REGISTRY_USER,
        registry_url: 'registry.example.com/team-7d1f2c34',
        repository_url: 'registry.example.com/team-7d1f2c34/shop',
        expires_at: '2026-01-01T01:00:00.000Z',
      },
    ],
  });

export function registerRegistry(app: App, { auth, deployments, platform, now, randomId }: BuildContext): void {
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
      const only = { source: 'internal_docker', what: 'Push tokens' } as const;
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
          .catch((err: unknown) => request.log.warn({ err }, 'The repository did not get its first blob'));
      const expires = Math.floor(now().getTime() / 1000) + PUSH_SECONDS;
      const grant = { repository, actions: ['pull', 'push'], expires } as const;
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

  /** Docker clients show `errors`, other clients `detail`. */
  function refuse(reply: FastifyReply, detail: string): FastifyReply {
    void reply.header('www-authenticate', `Basic realm="${TOKEN_SERVICE}"`);
    return reply.code(401).send({ detail, errors: [{ code: 'UNAUTHORIZED', message: detail }] });
  }

  async function grantOf(request: FastifyRequest): Promise<RegistryGrant | undefined> {
    const password = passwordIn(request);
    if (platform.registry === undefined || password === undefined || !mayBePassword(password)) return undefined;
    return registryGrant(await platform.registry.passwordKey(), password, now());
  }

  app.get('/v1/registry/token', {
    schema: { hide: true },
    config: {
      async credentialOf(request) {
        const grant = await grantOf(request);
        return grant && `registry ${grant.repository}`;
      },
    },
    handler: async (request, reply): Promise<TokenAnswer | FastifyReply> => {
      const { registry } = platform;
      if (registry === undefined || platform.settings.builds.registry?.tokens !== true)
        throw new HttpError(404, "The registry of this platform does not accept Davit's tokens.");
      if (passwordIn(request) === undefined)
        return refuse(reply, 'Log in with a push token: user davit, the token as password.');
      const grant = await grantOf(request);
      if (grant === undefined) return refuse(reply, 'The password is not valid or has expired. Get a new push token.');
      const { service, scope } = request.query as { readonly service?: unknown; readonly scope?: unknown };
      if (service !== undefined && service !== TOKEN_SERVICE)
        throw new HttpError(400, `Tokens are issued for service ${TOKEN_SERVICE} only.`);
      const scopes = [scope ?? []].flat().filter((one) => typeof one === 'string');
      const allowed = (repository: string): readonly Action[] =>
        coversRepository(grant, repository) ? grant.actions : [];
      return issueToken(await registry.keyRing(), grantsFor(scopes, allowed), { now: now(), id: randomId() });
    },
  });
}

/** The password of Basic authentication. The user name is ignored. */
function passwordIn({ headers }: FastifyRequest): string | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/_=-]+)$/i.exec(headers.authorization ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const [, ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return rest.length === 0 ? undefined : rest.join(':');
}
