// What a record may name of the platform: hosts, Listeners, integrations, templates, and images of the registry.

import type { FieldError } from '../../lib/http/http-error.ts';
import { synced } from '../../organization/facade/caches.ts';
import type { FacadeContext } from '../../organization/facade/collection.ts';
import type { AppDeployment, AppDeploymentSpec } from '../../schema/app-deployment.ts';
import type { AppTemplate } from '../../schema/app-template.ts';
import { HOSTS_ANNOTATION } from '../../schema/meta.ts';
import { buildsAnew } from '../record/code-host.ts';
import { codeHostFindings } from './code-host-rules.ts';
import { hostFindings } from './hostname-rules.ts';
import { listenerFindings } from './listener-rules.ts';
import { type ImageRegistry, registryFindings } from './registry-rules.ts';
import { catalogueFindings } from './template-rules.ts';

export interface Checking extends Pick<FacadeContext, 'caches' | 'settings'> {
  readonly registry: ImageRegistry | undefined;
}

/** The catalogue of internal_template. */
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
    ...hostFindingsOf(checking, record),
    ...listenerFindings(record.spec.sourceConfig, synced(caches.listeners, 'listeners').list(namespace)),
    ...codeHostFindingsOf(checking, record),
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
    ...catalogueFindings(before.spec, spec, () => catalogueOf(checking)),
    ...hostFindingsOf(checking, after, before.spec.sourceConfig.customUrl),
    ...(buildsAnew(before.spec.sourceRevisionConfig, spec.sourceRevisionConfig)
      ? codeHostFindingsOf(checking, after)
      : []),
    ...(await registryFindings(after, tenantId, { builds: settings.builds, registry }, before.spec)),
  ];
}

function codeHostFindingsOf({ caches, settings }: Checking, record: AppDeployment): FieldError[] {
  if (record.spec.source !== 'codehost') return [];
  return codeHostFindings(record, synced(caches.integrations, 'integrations').list(settings.organizationNamespace));
}

function hostFindingsOf({ caches, settings }: Checking, { metadata, spec }: AppDeployment, old?: string): FieldError[] {
  const { namespace = '', name } = metadata;
  const { customUrl } = spec.sourceConfig;
  if (customUrl === old) return [];
  const allowed = caches.tenants.get({ name: namespace })?.metadata.annotations?.[HOSTS_ANNOTATION];
  return hostFindings({ name, namespace }, customUrl, allowed, settings.address);
}
