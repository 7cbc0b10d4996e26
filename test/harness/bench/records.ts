// The records of a benchmark: the same for every arm and every run, spread over a few tenants.

import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { FINALIZER } from '../../../src/kinds/meta.ts';
import { aSpec } from '../../support/builders.ts';

/** As a tenant applies it: nothing that the API server adds. */
export type BareRecord = Pick<AppDeployment, 'apiVersion' | 'kind' | 'spec'> & {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly finalizers?: readonly string[] };
};

const TENANTS = 10;

/** The namespaces that `count` records are spread over. */
export function tenantsOf(count: number): string[] {
  return Array.from({ length: Math.min(TENANTS, count) }, (_, index) => `bench-${index}`);
}

/**
 * `count` records, the `from`-th and those after it: plain ones, each with database, Redis and one server, whose children
 * are those of children.ts. Only name, namespace and image differ.
 */
export function recordsOf(count: number, from = 0): BareRecord[] {
  const tenants = tenantsOf(from + count);
  return Array.from({ length: count }, (_, offset) => {
    const index = from + offset;
    return recordIn(tenants[index % tenants.length] ?? '', index);
  });
}

/** The same records, all of one tenant. */
export function inOneNamespace(count: number): BareRecord[] {
  const [tenant = ''] = tenantsOf(1);
  return Array.from({ length: count }, (_, index) => recordIn(tenant, index));
}

/** The same record as the HTTP API makes it. */
export function overHttp(record: BareRecord): BareRecord {
  return { ...record, metadata: { ...record.metadata, finalizers: [FINALIZER] } };
}

export function recordIn(namespace: string, index: number): BareRecord {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { namespace, name: `shop-${index}` },
    spec: aSpec({ sourceRevisionConfig: { imageUri: imageOf(index) } }),
  };
}

/** One of eight, so that no record's image is its own and yet not all have the same. */
function imageOf(index: number): string {
  return `registry.example/shop:${1 + (index % 8)}`;
}
