// The repositories of an integration, for all kinds of code hosts. Nothing is cached, but concurrent requests for the
// same list share one listing.

import type { Commit } from '../../deploy/record/build-source.ts';
import type { CodeHostIntegrationSpec } from '../../kinds/code-host-integration.ts';
import { PRIVATE_KEY_KEY, TOKEN_KEY } from '../../kinds/code-host-integration.ts';
import { CodeHostFailed } from '../../runtime/errors.ts';
import { type GuardedFetchOptions, makeGuardedFetch } from '../../runtime/outbound/guarded-fetch.ts';
import type { Proxies } from '../../runtime/outbound/proxy.ts';
import { listGitea } from './gitea.ts';
import { type GitHubAccount, gitHubToken, listGitHub } from './github.ts';
import { makeSession, type Session, type SessionOptions } from './listing-session.ts';
import { deployable, type Listed, type Repository } from './repositories.ts';
import {
  type CommitStatus,
  commitAt,
  type FileContent,
  fileAt,
  putStatus,
  type RepositoryName,
  repositoryName,
} from './source.ts';

export interface Account {
  /** Identifies this integration and the version of its credentials. */
  readonly key: string;
  readonly spec: CodeHostIntegrationSpec;
  /** A value of the Secret with the credentials; undefined if it is missing. */
  readonly credential: (key: string) => string | undefined;
}

export interface CodeHosts {
  /** The repositories that can be deployed, by owner and name. Throws CodeHostFailed. */
  repositories(account: Account): Promise<readonly Repository[]>;
  /** Resolves a branch, tag or commit of the repository to its current commit. Throws CodeHostFailed. */
  commit(account: Account, repoUrl: string, ref: string): Promise<Commit>;
  /** Reads a file of the repository at a commit. Throws CodeHostFailed. */
  file(account: Account, repoUrl: string, at: { readonly path: string; readonly commit: string }): Promise<FileContent>;
  /** Puts a status on a commit. Throws CodeHostFailed: `refused` if the account may not write statuses. */
  status(account: Account, repoUrl: string, status: CommitStatus): Promise<void>;
  /**
   * Returns a token that git uses as the password to fetch the repository: the one with the shortest lifetime that the
   * host issues. Throws CodeHostFailed.
   */
  token(account: Account, repoUrl: string): Promise<string>;
  close(): Promise<void>;
}

export interface CodeHostsOptions extends GuardedFetchOptions, Pick<SessionOptions, 'pausesMs' | 'onRequest'> {
  readonly proxies: Proxies | undefined;
  /** Time limit of a complete list. */
  readonly deadlineMs?: number;
}

/** Less than the time limit of clients. */
const DEADLINE_MS = 25_000;

interface RepositoryAccess {
  readonly host: { readonly apiUrl: string; readonly authorization: string };
  readonly repository: RepositoryName;
  readonly session: Session;
}

export function makeCodeHosts(options: CodeHostsOptions): CodeHosts {
  const { deadlineMs = DEADLINE_MS, pausesMs, onRequest, ...guarding } = options;
  const guarded = makeGuardedFetch(guarding);
  const underWay = new Map<string, Promise<readonly Repository[]>>();

  function sessionWith({ kind, apiUrl }: CodeHostIntegrationSpec): Session {
    return makeSession({
      guarded,
      kind,
      origin: new URL(apiUrl).origin,
      signal: AbortSignal.timeout(deadlineMs),
      ...(pausesMs && { pausesMs }),
      ...(onRequest && { onRequest }),
    });
  }

  async function list({ spec, credential }: Account): Promise<readonly Repository[]> {
    return deployable(await listed(spec, apiUrlOf(spec), credential, sessionWith(spec)));
  }

  async function token(
    { spec, credential }: Account,
    { name }: RepositoryName,
    session: Session,
    permissions?: Readonly<Record<string, string>>,
  ): Promise<string> {
    const credentials = credentialsOf(spec, credential);
    return 'token' in credentials
      ? credentials.token
      : gitHubToken({ apiUrl: apiUrlOf(spec), credentials }, name, session, permissions);
  }

  /** What a request about one repository needs. */
  async function accessTo(
    account: Account,
    repoUrl: string,
    permissions?: Readonly<Record<string, string>>,
  ): Promise<RepositoryAccess> {
    const { spec } = account;
    const repository = nameIn(repoUrl);
    const session = sessionWith(spec);
    const authorization = `token ${await token(account, repository, session, permissions)}`;
    return { host: { apiUrl: apiUrlOf(spec), authorization }, repository, session };
  }

  return {
    repositories(account) {
      const before = underWay.get(account.key);
      if (before !== undefined) return before;
      const listing = list(account).finally(() => underWay.delete(account.key));
      underWay.set(account.key, listing);
      return listing;
    },
    async commit(account, repoUrl, ref) {
      const { host, repository, session } = await accessTo(account, repoUrl);
      return commitAt(account.spec.kind, host, repository, ref, session);
    },
    async file(account, repoUrl, at) {
      const { host, repository, session } = await accessTo(account, repoUrl);
      return fileAt(host, repository, at, session);
    },
    async status(account, repoUrl, status) {
      const { host, repository, session } = await accessTo(account, repoUrl, { statuses: 'write' }).catch(asRefusal);
      await putStatus(host, repository, status, session);
    },
    async token(account, repoUrl) {
      return token(account, nameIn(repoUrl), sessionWith(account.spec));
    },
    close: guarded.close,
  };
}

/** GitHub answers 422 to an App that has not been given the permission. */
function asRefusal(error: unknown): never {
  if (!(error instanceof CodeHostFailed) || error.why !== 'malformed') throw error;
  throw new CodeHostFailed('refused', 'The code host issued no token that may write commit statuses.', {
    cause: error,
  });
}

/** The API's URL without a trailing slash. */
function apiUrlOf({ apiUrl }: CodeHostIntegrationSpec): string {
  return apiUrl.replace(/(?<!\/)\/+$/, '');
}

function nameIn(repoUrl: string): RepositoryName {
  const name = repositoryName(repoUrl);
  if (name === undefined)
    throw new CodeHostFailed(
      'missing',
      `${repoUrl} is not the URL of a repository. Set repo_url to https://HOST/OWNER/NAME.`,
      {
        missing: 'repository',
      },
    );
  return name;
}

function credentialsOf(
  { app }: CodeHostIntegrationSpec,
  credential: Account['credential'],
): GitHubAccount['credentials'] {
  const key = app === undefined ? TOKEN_KEY : PRIVATE_KEY_KEY;
  const value = credential(key)?.trim();
  if (value === undefined || value === '')
    throw new CodeHostFailed('refused', `The integration's Secret does not exist or has no key ${key}.`);
  // A token must be a valid header value.
  if (key === TOKEN_KEY && !/^[\x21-\x7e]+$/.test(value))
    throw new CodeHostFailed('refused', `Key ${key} of the integration's Secret contains no token.`);
  return app === undefined
    ? { token: value }
    : { appId: app.id, installationId: app.installationId, privateKey: value };
}

async function listed(
  spec: CodeHostIntegrationSpec,
  apiUrl: string,
  credential: Account['credential'],
  session: Session,
): Promise<Listed> {
  const credentials = credentialsOf(spec, credential);
  if (spec.kind === 'gitea' && 'token' in credentials) return listGitea({ apiUrl, token: credentials.token }, session);
  return listGitHub({ apiUrl, credentials }, session);
}
