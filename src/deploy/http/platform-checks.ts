// All rules of a record that the API server does not judge, or does not name exactly: its own (rules.ts), and what it may name of the platform:
// hosts, Listeners, integrations, templates, and images of the registry.

import { synced } from '../../api/caches.ts';
import type { FacadeContext } from '../../api/collection.ts';
import type { AppDeployment, AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { AppTemplate } from '../../kinds/app-template.ts';
import { HOSTS_ANNOTATION } from '../../kinds/meta.ts';
import { uses } from '../../kinds/source-rules.ts';
import { snake } from '../../runtime/http/casing.ts';
import type { FieldError } from '../../runtime/http/http-error.ts';
import { buildsAnew, codeHostProblem } from '../record/code-host.ts';
import { claimable, hostOf, mayClaim } from '../record/hostnames.ts';
import { notOffered, type Offered, templateFields } from '../record/template-catalogue.ts';
import { listenerFindings } from './listener-rules.ts';
import { type ImageRegistry, registryFindings } from './registry-rules.ts';
import { specFindings } from './rules.ts';

export interface Checking extends Pick<FacadeContext, 'caches' | 'settings'> {
  readonly registry: ImageRegistry | undefined;
}

/** The catalogue of templates. */
export function catalogueOf({ caches }: Pick<Checking, 'caches'>): readonly AppTemplate[] {
  return synced(caches.templates, 'templates').list();
}

/** Checks a new record. Throws RegistryFailed if the registry cannot be asked. */
export async function findingsOfNew(
  checking: Checking,
  record: AppDeployment,
  tenantId: string,
): Promise<FieldError[]> {
  const { caches, settings, registry } = checking;
  const { namespace = '' } = record.metadata;
  return [
    ...specFindings(record.spec, settings),
    ...catalogueFindings(undefined, record.spec, () => catalogueOf(checking)),
    ...hostFindings(checking, record),
    ...listenerFindings(record.spec.sourceConfig, synced(caches.listeners, 'listeners').list(namespace)),
    ...codeHostFindings(checking, record),
    ...(await registryFindings(record, tenantId, { builds: settings.builds, registry })),
  ];
}

/** Checks a record whose spec becomes `spec`, as far as it changes. Throws RegistryFailed if the registry cannot be asked. */
export async function findingsOfChange(
  checking: Checking,
  before: AppDeployment,
  spec: AppDeploymentSpec,
  tenantId: string,
): Promise<FieldError[]> {
  const { settings, registry } = checking;
  const after = { ...before, spec };
  return [
    ...specFindings(spec, settings, before.spec),
    ...catalogueFindings(before.spec, spec, () => catalogueOf(checking)),
    ...hostFindings(checking, after, before.spec.sourceConfig.customUrl),
    ...(buildsAnew(before.spec.sourceRevisionConfig, spec.sourceRevisionConfig)
      ? codeHostFindings(checking, after)
      : []),
    ...(await registryFindings(after, tenantId, { builds: settings.builds, registry }, before.spec)),
  ];
}

/** Its tenant must be allowed to use the integration, and the repository must be on the integration's host. */
function codeHostFindings({ caches, settings }: Checking, { metadata, spec }: AppDeployment): FieldError[] {
  if (!uses(spec.source, 'integration')) return [];
  const integrations = synced(caches.integrations, 'integrations').list(settings.organizationNamespace);
  const problem = codeHostProblem(spec, metadata.namespace ?? '', integrations);
  if (problem === undefined) return [];
  const at = ['body', 'source_config'] as const;
  // A missing integration and another tenant's get the same message.
  if (problem.is === 'unknown') {
    const msg = 'is not an integration of this tenant. GET /v1/integrations/forge/codehost/install lists them';
    return [{ loc: [...at, 'integration_id'], msg, type: 'value_error' }];
  }
  const msg = `is not on the integration's host: it must begin with https://${problem.host}/`;
  return [{ loc: [...at, 'repo_url'], msg, type: 'value_error' }];
}

/** Whether the tenant may claim the host. Only the controller knows whether another deployment has it already. */
function hostFindings({ caches, settings }: Checking, { metadata, spec }: AppDeployment, old?: string): FieldError[] {
  const { namespace = '', name } = metadata;
  const { address } = settings;
  const { customUrl } = spec.sourceConfig;
  if (customUrl === undefined || customUrl === old || address.kind === 'none') return [];
  const allowed = caches.tenants.get({ name: namespace })?.metadata.annotations?.[HOSTS_ANNOTATION];
  const place = { name, namespace };
  if (mayClaim(hostOf(customUrl), place, allowed, address)) return [];
  const msg = `this tenant cannot claim this host. It can claim: ${claimable(place, allowed, address)}`;
  return [{ loc: ['body', 'source_config', 'custom_url'], msg, type: 'value_error' }];
}

/** Maximum number of choices in a message. */
const NAMED = 10;

/** Checks only new values, because removing a template must not affect deployments that were made from it. `before`: absent for a new one. */
function* catalogueFindings(
  before: AppDeploymentSpec | undefined,
  after: AppDeploymentSpec,
  templates: () => readonly AppTemplate[],
): Generator<FieldError> {
  if (!uses(after.source, 'catalogue')) return;
  const [old, wanted] = [before && templateFields(before), templateFields(after)];
  const changed = (Object.keys(wanted) as (keyof Offered)[]).filter((field) => wanted[field] !== old?.[field]);
  if (changed.length === 0) return;
  const missing = notOffered(wanted, templates()).filter((field) => changed.includes(field));
  for (const field of missing) {
    const where = field === 'repoUrl' ? 'source_config' : 'source_revision_config';
    yield {
      loc: ['body', where, snake(field)],
      msg: `no template offers this: ${choices(field, wanted, templates())}`,
      type: 'value_error',
    };
  }
}

function choices(field: keyof Offered, { repoUrl }: Offered, templates: readonly AppTemplate[]): string {
  const ofRepository = field === 'repoRef' || field === 'workflowConfigPath';
  const offers = templates
    .filter(({ spec }) => !ofRepository || spec.repoUrl === repoUrl)
    .flatMap(({ spec }) => spec[field] ?? []);
  const names = [...new Set(offers)].toSorted();
  if (names.length === 0) return `the catalogue has no ${snake(field)}. Ask the platform team to add a template`;
  const more = names.length > NAMED ? `, and ${names.length - NAMED} more` : '';
  return `choose ${names.slice(0, NAMED).join(', ')}${more}`;
}
