// source_config of a request over that of a record.

import { deploymentTypeMeant, SourceConfig } from '../../kinds/app-deployment.ts';
import { merged } from '../../runtime/http/casing.ts';
import type { CreateDeployment, PatchDeployment } from './payloads.ts';

type Sent = CreateDeployment['source_config'] | NonNullable<PatchDeployment['source_config']>;

/** An empty object asks for it with all defaults, and an empty list of namespaces for none. */
const ASK_WHEN_EMPTY: ReadonlySet<string> = new Set(['backup', 'archive', 'extensions', 'from']);

/** What is not sent stays, and an empty text, list or map removes a field. */
export function mergedConfig(before: SourceConfig, sent: Sent): SourceConfig {
  const { deployment_type: type, ...others } = sent;
  const meant = type ? deploymentTypeMeant(type) : type;
  const after = merged(SourceConfig, before, { ...others, deployment_type: meant }, ASK_WHEN_EMPTY) ?? {};
  return Object.fromEntries(Object.entries(after).filter(([, value]) => value !== ''));
}
