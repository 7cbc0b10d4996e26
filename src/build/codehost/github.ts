// GitHub and GitHub Enterprise Server, with Octokit. Pages are read sequentially, as GitHub asks: concurrent requests
// count against a secondary rate limit.

import { createAppAuth } from '@octokit/auth-app';
import { Octokit, type OctokitOptions } from '@octokit/core';
import { paginateRest } from '@octokit/plugin-paginate-rest';
import { CodeHostFailed } from '../../runtime/errors.ts';
import { codeHostFailure, type Session } from './listing-session.ts';
import { type Listed, readPage } from './repositories.ts';

export interface GitHubAccount {
  /** https://api.github.com, or that of an Enterprise Server; no slash at the end. */
  readonly apiUrl: string;
  /** A token, or an App's id, installation and private key (PEM). */
  readonly credentials:
    | { readonly token: string }
    | { readonly appId: number; readonly installationId: number; readonly privateKey: string };
}

const PaginatingOctokit = Octokit.plugin(paginateRest);
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** All repositories that the account can see. Throws CodeHostFailed. */
export async function listGitHub({ apiUrl, credentials }: GitHubAccount, session: Session): Promise<Listed> {
  const octokit = new PaginatingOctokit({
    ...optionsOf(apiUrl, session),
    ...('token' in credentials ? { auth: credentials.token } : { authStrategy: createAppAuth, auth: credentials }),
  });
  const route = 'token' in credentials ? 'GET /user/repos' : 'GET /installation/repositories';
  const listed: Listed = [];
  try {
    for await (const page of octokit.paginate.iterator(route, { per_page: 100 })) listed.push(...readPage(page.data));
  } catch (error) {
    throw asFailure(error);
  }
  return listed;
}

function optionsOf(baseUrl: string, session: Session): OctokitOptions {
  return { baseUrl, userAgent: 'davit', log: silent, request: { fetch: fetchWith(session) } };
}

/**
 * Returns a token that may read the repository, or has the given permissions. For an App, it is limited to this repository and expires
 * within an hour. Otherwise it is the integration's own token. Throws CodeHostFailed.
 */
export async function gitHubToken(
  { apiUrl, credentials }: GitHubAccount,
  repository: string,
  session: Session,
  permissions: Readonly<Record<string, string>> = { contents: 'read' },
): Promise<string> {
  if ('token' in credentials) return credentials.token;
  const octokit = new Octokit({ ...optionsOf(apiUrl, session), authStrategy: createAppAuth, auth: credentials });
  try {
    const { token } = (await octokit.auth({
      type: 'installation',
      repositoryNames: [repository],
      permissions,
    })) as { readonly token: string };
    return token;
  } catch (error) {
    throw asFailure(error);
  }
}

interface OctokitRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The part of the Fetch API that Octokit uses. Failures pass through, wrapped by Octokit. */
function fetchWith(session: Session): (url: string, request: OctokitRequest) => Promise<object> {
  return async (url, { method, headers, body }) => {
    const answer = await session.ask(url, { method, headers, body });
    const isAuthorized = answer.status !== 401;
    // Octokit corrects a wrong clock by the message of a 401. All other failures are handled here, in particular 409,
    // which Octokit's paging treats as an empty list.
    if (answer.status >= 300 && isAuthorized)
      throw codeHostFailure(answer.status, (name) => answer.headers.get(name), answer.body, new Date());
    if (isAuthorized) needJson(answer.body);
    return {
      status: answer.status,
      url: answer.url,
      headers: answer.headers,
      text: () => Promise.resolve(answer.body),
    };
  };
}

/** Rejects an empty answer, which Octokit treats as an empty list. */
function needJson(body: string): void {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null) return;
  } catch {
    // Text that is not JSON is reported below.
  }
  throw new CodeHostFailed('malformed', "The code host's answer is not JSON.");
}

function asFailure(error: unknown): CodeHostFailed {
  if (error instanceof CodeHostFailed) return error;
  const { cause, status } = error as { readonly cause?: unknown; readonly status?: number };
  if (cause instanceof CodeHostFailed) return cause;
  if (status === 401) return codeHostFailure(401, () => null, '', new Date());
  // Without a status there was no response: the credentials cannot be used, for example because the key is invalid.
  if (status === undefined && isAboutKeys(error))
    return new CodeHostFailed(
      'refused',
      "The integration's private key is not valid PEM. Store the App's private key as PEM.",
      {
        cause: error,
      },
    );
  return new CodeHostFailed('malformed', "The code host's answer is not a list of repositories.", {
    cause: error,
  });
}

function isAboutKeys(error: unknown): boolean {
  return error instanceof Error && /key|PEM|PKCS|asn1|decod|DataError/i.test(`${error.name} ${error.message}`);
}

function ignore(): void {
  // Octokit's warnings contain URLs.
}
