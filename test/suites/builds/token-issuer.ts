// Issues the tokens of a registry by Distribution's token protocol: a client that was refused asks the realm, with a
// password of ours, for what it wants to do; it gets a signed token for as much of that as the password allows.

import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { coversRepository } from '../../../src/build/registry/registry-grant.ts';
import { type Server, serve } from './servers.ts';

export const registryService = 'davit-registry';
export const tokenIssuer = 'davit';
const tokenSeconds = 300;

export type Action = 'pull' | 'push';

export interface TokenIssuer extends Server {
  /** What the registry verifies tokens by. */
  readonly jwks: string;
  /** A password for one repository, or with `PATH/*` for all below. */
  allow(repository: string, actions: readonly Action[], seconds: number): string;
}

interface Grant {
  readonly repository: string;
  readonly actions: readonly string[];
  readonly until: number;
}

interface Access {
  readonly type: 'repository';
  readonly name: string;
  readonly actions: readonly string[];
}

/** Repositories below `publicPrefix` may be pulled by anybody. */
export async function startTokenIssuer(address: string, publicPrefix: string): Promise<TokenIssuer> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = randomBytes(8).toString('hex');
  const grants = new Map<string, Grant>();

  function allowed(grant: Grant | undefined, scope: string): Access[] {
    const [, name, asked] = /^repository:(.+):([^:]+)$/.exec(scope) ?? [];
    if (name === undefined || asked === undefined) return [];
    const may = grant && coversRepository(grant, name) ? grant.actions : name.startsWith(publicPrefix) ? ['pull'] : [];
    const actions = asked.split(',').filter((action) => may.includes(action));
    return actions.length > 0 ? [{ type: 'repository', name, actions }] : [];
  }

  function token(access: readonly Access[]): string {
    const now = Math.floor(Date.now() / 1000);
    const header = { typ: 'JWT', alg: 'ES256', kid };
    const claims = {
      iss: tokenIssuer,
      aud: registryService,
      sub: 'builds',
      iat: now,
      nbf: now - 5,
      exp: now + tokenSeconds,
      jti: randomBytes(8).toString('hex'),
      access,
    };
    const body = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    const signature = sign('sha256', Buffer.from(body), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${body}.${signature.toString('base64url')}`;
  }

  const server = await serve(address, (request, response) => {
    // Clients that would rather have OAuth's POST fall back to GET when there is none.
    if (request.method !== 'GET') return void response.writeHead(404).end();
    const sent = /^Basic (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const password =
      sent &&
      Buffer.from(sent, 'base64')
        .toString()
        .replace(/^[^:]*:/, '');
    const grant = password === undefined ? undefined : grants.get(password);
    if (password !== undefined && !(grant && grant.until > Date.now())) return void response.writeHead(401).end();
    const scopes = new URL(request.url ?? '/', server.url).searchParams.getAll('scope').flatMap((s) => s.split(' '));
    const made = token(scopes.flatMap((scope) => allowed(grant, scope)));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ token: made, access_token: made, expires_in: tokenSeconds }));
  });

  return {
    ...server,
    jwks: JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' }] }),
    allow(repository, actions, seconds) {
      const password = randomBytes(18).toString('base64url');
      grants.set(password, { repository, actions, until: Date.now() + seconds * 1000 });
      return password;
    },
  };
}
