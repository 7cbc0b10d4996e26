// Requests to a registry, with the credentials that it asks for.

import type { RegistryTransport, Sent } from '../../../runtime/outbound/registry-transport.ts';
import type { Authorize } from '../authorization.ts';
import type { Grant } from '../tokens.ts';
import { type Answer, discard } from './answers.ts';

export interface RegistryClientOptions {
  /** https://HOST[:PORT], or http:// if the settings allow it. */
  readonly origin: string;
  readonly transport: RegistryTransport;
  readonly authorize: Authorize;
}

export interface Asked extends Sent, Grant {}

export interface RegistryRequests extends Pick<RegistryClientOptions, 'origin' | 'transport'> {
  ask(url: URL, asked: Asked): Promise<Answer>;
  urlOf(repository: string, path: string): URL;
}

export function makeRequests({ origin, transport, authorize }: RegistryClientOptions): RegistryRequests {
  /**
   * WWW-Authenticate header of the latest 401 response. A stream can be sent only once, so a request without a body
   * must have received the challenge before.
   */
  let challenge: string | undefined;

  async function ask(url: URL, { repository, actions, type, headers, ...sent }: Asked): Promise<Answer> {
    const send = async (): Promise<{ answer: Answer; isAuthorized: boolean }> => {
      const grant = { repository, actions, ...(type && { type }) };
      const authorization = await authorize.header(grant, challenge, sent.signal);
      const answer = await transport.request(url, { ...sent, headers: { ...headers, ...authorization } });
      return { answer, isAuthorized: authorization !== undefined };
    };
    const { answer, isAuthorized } = await send();
    const asked = answer.headers['www-authenticate'];
    const isStream = sent.body !== undefined && typeof sent.body !== 'string';
    if (answer.statusCode !== 401 || typeof asked !== 'string' || isAuthorized || isStream) return answer;
    challenge = asked;
    await discard(answer);
    return (await send()).answer;
  }

  return { origin, transport, ask, urlOf: (repository, path) => new URL(`${origin}/v2/${repository}/${path}`) };
}
