// The record `sized` of a tenant of its own, whose stores really run and are given other sizes.

import { expect } from 'vitest';
import { type Attached, eventually } from '../../support/running-davit.ts';
import { SMALLEST } from '../../support/smallest-sizes.ts';

export interface Sized {
  /** kubectl in the tenant's namespace. */
  inTenant(...args: readonly string[]): Promise<string>;
  /** Gives the record these sizes, and of the others the smallest. */
  apply(resourceSpec?: object): Promise<void>;
  /** Until the record says so of its current generation, for at most two minutes. */
  says(type: string, wanted: object): Promise<void>;
  /** What PostgreSQL prints. */
  sql(statement: string): Promise<string>;
}

export function sizedRecord(davit: Attached, namespace: string): Sized {
  const inTenant = (...args: readonly string[]): Promise<string> => davit.kubectl(['-n', namespace, ...args]);
  return {
    inTenant,
    async apply(resourceSpec) {
      await davit.kubectl(['apply', '-f', '-'], {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'AppDeployment',
        metadata: { name: 'sized', namespace },
        spec: {
          source: 'external_docker',
          sourceRevisionConfig: { imageUri: davit.images.sample },
          sourceConfig: { resourceSpec: { ...SMALLEST, ...resourceSpec } },
        },
      });
    },
    says: (type, wanted) =>
      eventually(async () => {
        const { metadata, status } = await davit.kubectlJson<{
          metadata: { generation: number };
          status?: { observedGeneration: number; conditions: { type: string; status: string; reason: string }[] };
        }>(['get', 'appd', 'sized', '-n', namespace]);
        expect(status?.observedGeneration).toBe(metadata.generation);
        expect(status?.conditions.find((condition) => condition.type === type)).toMatchObject(wanted);
      }, 120_000),
    sql: (statement) => inTenant('exec', 'sized--postgres-0', '--', 'psql', '-U', 'app', '-Atc', statement),
  };
}
