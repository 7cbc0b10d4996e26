// Whether a record names an integration that its tenant may use, and a repository on the integration's
// host. Facade and controller share this check.

import type { AppDeploymentSpec, SourceRevisionConfig } from '../../kinds/app-deployment.ts';
import type { CodeHostIntegration, CodeHostIntegrationSpec } from '../../kinds/code-host-integration.ts';

/** The problem: no such integration for this tenant (whether it exists or not), or a repository on another host. */
export type CodeHostProblem =
  | { readonly is: 'unknown' }
  | { readonly is: 'another host'; readonly host: string | undefined };

/** `integrations` are all of the organization; `namespace` is the record's. Ids are compared without regard to case. */
export function codeHostProblem(
  { sourceConfig: { integrationId, repoUrl } }: Pick<AppDeploymentSpec, 'sourceConfig'>,
  namespace: string,
  integrations: readonly CodeHostIntegration[],
): CodeHostProblem | undefined {
  if (integrationId === undefined) return undefined;
  const found = integrations.find(({ metadata }) => metadata.uid === integrationId.toLowerCase());
  if (found === undefined || !found.spec.tenants.includes(namespace)) return { is: 'unknown' };
  const host = repositoryHost(found.spec);
  return repoUrl === undefined || hostOfRepository(repoUrl) === host ? undefined : { is: 'another host', host };
}

/** Whether `after` names something in the repository that `before` does not: only then it is checked again. */
export function buildsAnew(before: SourceRevisionConfig, after: SourceRevisionConfig): boolean {
  return before.repoRef !== after.repoRef || before.workflowConfigPath !== after.workflowConfigPath;
}

/** OWNER/NAME in lower case, as webhooks name a repository: https://code.example/Team/Shop.git is team/shop. */
export function repositoryOfUrl(repoUrl: string): string {
  const path = URL.parse(repoUrl)?.pathname ?? '';
  return path
    .replace(/^\/+|(?<!\/)\/+$/g, '')
    .split('/')
    .slice(-2)
    .join('/')
    .replace(/\.git$/, '')
    .toLowerCase();
}

/** github.com and GitHub's other clouds serve their API on a separate host; other code hosts serve it under a path. */
function repositoryHost({ kind, apiUrl }: CodeHostIntegrationSpec): string | undefined {
  const url = URL.parse(apiUrl);
  const isCloud = kind === 'github' && url?.pathname === '/' && url.host.startsWith('api.');
  return isCloud ? url.host.slice('api.'.length) : url?.host;
}

/** Undefined for a URL whose host parsers could interpret differently. */
function hostOfRepository(repoUrl: string): string | undefined {
  const url = URL.parse(repoUrl);
  if (url === null || url.username !== '' || url.password !== '' || repoUrl.includes('\\')) return undefined;
  return url.host;
}
