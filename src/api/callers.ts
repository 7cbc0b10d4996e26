// Whose limits a request uses up: those of a user whose token was valid once, or of another credential that was checked, otherwise
// those of the address. Behind a proxy an address may be everybody.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sentBy } from './auth.ts';
import type { Authentication } from './authentication.ts';

const CREDENTIAL: unique symbol = Symbol('credential');

declare module 'fastify' {
  interface FastifyRequest {
    [CREDENTIAL]: string | undefined;
  }
  interface FastifyContextConfig {
    /**
     * For routes without tokens: checks the request's own credential, such as a signature, before the body is read. Resolves to whom it
     * belongs, such as a repository; to undefined if it is wrong. It must cost little.
     */
    readonly credentialOf?: (request: FastifyRequest) => Promise<string | undefined>;
    /** The credential covers the body, so the route counts its requests, when it knows whether the credential is good. */
    readonly countsLater?: boolean;
  }
}

export interface Callers {
  /** `user NAME`, the credential's owner, or `address IP`. */
  callerOf(request: FastifyRequest): string;
}

/** Call it before the limits are registered. */
export function registerCallers(app: FastifyInstance, userOf: Authentication['remembered']): Callers {
  app.decorateRequest(CREDENTIAL, undefined);
  app.addHook('onRequest', async (request) => {
    const { credentialOf } = request.routeOptions.config;
    if (credentialOf === undefined) return;
    try {
      request[CREDENTIAL] = await credentialOf(request);
    } catch {
      // The handler needs the same key, and its answer says what is wrong.
    }
  });
  return {
    callerOf(request) {
      const sender = sentBy(request);
      const username = sender && userOf(sender);
      return username === undefined ? (request[CREDENTIAL] ?? addressOf(request)) : `user ${username}`;
    },
  };
}

export function addressOf({ ip }: FastifyRequest): string {
  return `address ${ip}`;
}
