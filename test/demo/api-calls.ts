// Davit's HTTP API as the demo calls it.

import type { Platform, Tenant } from '../support/platform.ts';
import { type DemoCluster, DemoError } from './demo-cluster.ts';

/** What a step of the demo needs to know. */
export interface Stage {
  readonly platform: Platform;
  readonly tenant: Tenant;
  readonly cluster: DemoCluster;
  readonly stopping: AbortSignal;
}

/** As much of an answer as the demo reads. */
export interface Deployment {
  readonly id: string;
  readonly status: string;
  /** The state of the latest revision. While it is DEPLOYING, the status may be UNKNOWN. */
  readonly phase?: string | null;
  readonly latest_revision_id?: string | null;
  readonly detail?: unknown;
}

/** Throws a DemoError with what the API says. */
export async function call<T = Deployment>(
  { platform, tenant }: Pick<Stage, 'platform' | 'tenant'>,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const response = await fetch(`${platform.apiUrl}${path}`, {
    method,
    headers: {
      'x-api-key': tenant.token,
      'x-tenant-id': tenant.id,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as T & { readonly detail?: unknown };
  if (!response.ok) throw new DemoError(`${method} ${path}: ${response.status} ${JSON.stringify(answer.detail)}`);
  return answer;
}
