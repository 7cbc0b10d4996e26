// The token server that the registry refers its clients to (Distribution's token protocol).

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../../../api/validation.ts';
import { HttpError } from '../../../runtime/http/http-error.ts';
import { coversRepository, mayBePassword, type RegistryGrant, registryGrant } from '../../registry/registry-grant.ts';
import type { TagLimit } from '../../registry/tag-limit.ts';
import {
  type Action,
  type Grant,
  grantsFor,
  issueToken,
  pushes,
  TOKEN_SERVICE,
  type TokenAnswer,
} from '../../registry/tokens.ts';
import type { BuildContext } from './platform.ts';

/** Time limit of the request to the registry. */
export const ASK_MS = 20_000;

export interface TokenServerContext extends Pick<BuildContext, 'platform' | 'now' | 'randomId'> {
  /** Undefined where tags are not limited. */
  readonly limit: TagLimit | undefined;
}

export function registerTokenServer(app: App, { platform, now, randomId, limit }: TokenServerContext): void {
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

  async function pushRefusal(grant: RegistryGrant, granted: readonly Grant[]): Promise<string | undefined> {
    if (grant.isLimited !== true || !pushes(granted)) return undefined;
    return limit?.refusal(grant.repository, AbortSignal.timeout(ASK_MS)).catch(() => undefined);
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
      const granted = grantsFor(scopes, allowed);
      const refusal = await pushRefusal(grant, granted);
      if (refusal !== undefined)
        return reply.code(403).send({ detail: refusal, errors: [{ code: 'DENIED', message: refusal }] });
      return issueToken(await registry.keyRing(), granted, {
        now: now(),
        id: randomId(),
        isLimited: grant.isLimited === true,
      });
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
