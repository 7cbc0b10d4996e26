// Access to a record's repository at its code host, after a check that the tenant may still use the integration.

import type { Caches } from '../deploy/cluster/caches.ts';
import type { Commit } from '../deploy/record/build-source.ts';
import { codeHostProblem } from '../deploy/record/code-host.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { BuildReason } from '../kinds/build.ts';
import type { CodeHostIntegration } from '../kinds/code-host-integration.ts';
import type { Settings } from '../kinds/settings.ts';
import { uses } from '../kinds/source-rules.ts';
import { CodeHostFailed, undefinedIfNotFound } from '../runtime/errors.ts';
import { SECRETS } from '../runtime/kube/api-resources.ts';
import type { KubeClient, SecretObject } from '../runtime/kube/client.ts';
import type { Account, CodeHosts } from './codehost/code-hosts.ts';
import type { CommitStatus, FileContent } from './codehost/source.ts';

/** Why a build cannot proceed. */
export interface BuildHindrance {
  readonly reason: BuildReason;
  readonly message: string;
  /** Whether a retry may help. */
  readonly retry: boolean;
  /** Milliseconds since the build was queued after which a retry no longer helps. Without it retries never end. */
  readonly retryForMs?: number;
  /** Delay that the code host asked for. */
  readonly retryAfterMs?: number;
}

export interface SourceAccess {
  /** Resolves the record's ref to its current commit. */
  commit(record: AppDeployment): Promise<Commit | BuildHindrance>;
  /** Reads a file of the record's repository at a commit. */
  file(
    record: AppDeployment,
    at: { readonly path: string; readonly commit: string },
  ): Promise<FileContent | BuildHindrance>;
  /** Puts a status on a commit of the record's repository. */
  status(record: AppDeployment, status: CommitStatus): Promise<'put' | BuildHindrance>;
  /**
   * Returns a token that may read the record's repository, and CA certificates (PEM) for its host. The token is empty
   * for a template: its repository is public.
   */
  credential(record: AppDeployment): Promise<{ readonly token: string; readonly ca?: string } | BuildHindrance>;
}

export function makeSourceAccess(options: {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly settings: Settings;
  readonly codeHosts: Pick<CodeHosts, 'commit' | 'file' | 'status' | 'token'>;
}): SourceAccess {
  const { client, caches, settings, codeHosts } = options;

  async function accountOf({ metadata, spec }: CodeHostIntegration): Promise<Account> {
    const ref = { namespace: settings.organizationNamespace, name: spec.credentialsRef.name };
    const secret = await client.get<SecretObject>(SECRETS, ref).catch(undefinedIfNotFound);
    return {
      key: `${metadata.uid} ${metadata.resourceVersion} ${secret?.metadata.resourceVersion}`,
      spec,
      credential: (key) => {
        const value = secret?.data?.[key];
        return value === undefined ? undefined : Buffer.from(value, 'base64').toString();
      },
    };
  }

  /**
   * Checks the integration at each use, since its tenants may have changed after the record was written. Converts
   * CodeHostFailed to a BuildHindrance.
   */
  async function withAccount<Result>(
    record: AppDeployment,
    use: (account: Account, repoUrl: string, integration: CodeHostIntegration) => Promise<Result>,
  ): Promise<Result | BuildHindrance> {
    const { sourceConfig } = record.spec;
    const integrations = caches.integrations.list();
    const problem = codeHostProblem(record.spec, record.metadata.namespace ?? '', integrations);
    const integration = integrations.find(({ metadata }) => metadata.uid === sourceConfig.integrationId?.toLowerCase());
    if (problem || !integration)
      return {
        reason: 'IntegrationNotFound',
        message: `${sourceConfig.integrationId} does not exist, does not list namespace ${record.metadata.namespace}, or has another host than ${sourceConfig.repoUrl}. Ask the platform team to list the namespace, then create a new revision.`,
        retry: false,
      };
    try {
      return await use(await accountOf(integration), sourceConfig.repoUrl ?? '', integration);
    } catch (error) {
      if (error instanceof CodeHostFailed) return failureFrom(error);
      throw error;
    }
  }

  function authoritiesOf(url = ''): { readonly ca?: string } {
    const host = URL.parse(url)?.host;
    const ca = settings.codeHosts.find((allowed) => allowed.host === host)?.ca;
    return ca === undefined ? {} : { ca };
  }

  return {
    commit: (record) =>
      withAccount(record, (account, repoUrl) =>
        codeHosts.commit(account, repoUrl, record.spec.sourceRevisionConfig.repoRef ?? ''),
      ),
    file: (record, at) => withAccount(record, (account, repoUrl) => codeHosts.file(account, repoUrl, at)),
    status: (record, status) =>
      withAccount(record, async (account, repoUrl) => {
        await codeHosts.status(account, repoUrl, status);
        return 'put' as const;
      }),
    async credential(record) {
      if (!uses(record.spec.source, 'integration'))
        return { token: '', ...authoritiesOf(record.spec.sourceConfig.repoUrl) };
      return withAccount(record, async (account, repoUrl, { spec }) => {
        const token = await codeHosts.token(account, repoUrl);
        return { token, ...authoritiesOf(spec.apiUrl) };
      });
    },
  };
}

export function isHindrance(value: object | string): value is BuildHindrance {
  return typeof value === 'object' && 'reason' in value && 'retry' in value;
}

/** Code hosts list a branch only some seconds after its push: Gitea processes a first push in a queue. */
const REF_APPEARS_MS = 15_000;

function failureFrom({ why, missing, message, retryAfterSeconds }: CodeHostFailed): BuildHindrance {
  switch (why) {
    case 'missing':
      return missing === 'ref'
        ? {
            reason: 'RefNotFound',
            message: `${message} Set repo_ref to an existing one.`,
            retry: true,
            retryAfterMs: 5000,
            retryForMs: REF_APPEARS_MS,
          }
        : { reason: 'RepositoryNotFound', message: `${message} Check repo_url and the integration.`, retry: false };
    case 'refused':
    case 'forbidden':
      return {
        reason: 'CodeHostRefused',
        message: `${message} Renew the credentials in the integration's Secret, then create a new revision.`,
        retry: false,
      };
    case 'limited':
    case 'unreachable':
    case 'timeout':
    case 'malformed':
      return {
        reason: 'CodeHostUnreachable',
        message: `${message} Davit retries automatically.`,
        retry: true,
        ...(retryAfterSeconds !== undefined && { retryAfterMs: retryAfterSeconds * 1000 }),
      };
    default:
      return why satisfies never;
  }
}
