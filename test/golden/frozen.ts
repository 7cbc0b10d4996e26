// What a contract of pods is held to: of the children of one stored revision all that a change of would restart pods, or
// could not be made at all. A file holds the revision as it is stored (its first document), then what was made of it.

import { readFileSync } from 'node:fs';
import { parseAllDocuments, stringify } from 'yaml';
import type { Inputs } from '../../src/deploy/children/inputs.ts';
import type { AppRevisionSpec } from '../../src/kinds/app-revision.ts';
import type { KubeObject } from '../../src/runtime/kube/client.ts';
import { aRecord, SETTINGS } from '../support/builders.ts';

/** Nothing here is worked out by today's code: a changed default cannot reach it. */
export interface Given {
  readonly tenantId: string;
  readonly secretDigests?: Inputs['secretDigests'];
  readonly revision: AppRevisionSpec;
}

interface Rendered extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Fields of a workload's spec that nobody can change once it is there, and the template of its pods. */
const HELD = ['serviceName', 'podManagementPolicy', 'volumeClaimTemplates', 'selector', 'template'] as const;

/** `name` such as contract-2/plain.yaml. */
export function frozenFile(name: string): URL {
  return new URL(name, import.meta.url);
}

export function readFrozen(name: string): { readonly given: Given; readonly want: readonly unknown[] } {
  const [given, ...want] = parseAllDocuments(readFileSync(frozenFile(name), 'utf8')).map(
    (one) => one.toJS() as unknown,
  );
  return { given: given as Given, want };
}

export function frozenText(given: Given, children: readonly unknown[]): string {
  // Folded lines of a script would be hard to read, and aliases harder.
  return [given, ...children]
    .map((one) => stringify(one, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
}

/** The record of the stored revision gives its name, namespace and uid alone. */
export function inputsOf({ tenantId, secretDigests, revision }: Given, settings = SETTINGS): Inputs {
  const { metadata, spec } = aRecord();
  const { deploymentName: name, deploymentUid: uid, source } = revision;
  return {
    record: {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { ...metadata, name, uid },
      spec: { ...spec, source },
    },
    revision: {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppRevision',
      metadata: { name: `${name}--${revision.id.slice(0, 8)}`, namespace: 'team' },
      spec: revision,
    },
    tenantId,
    settings,
    ...(secretDigests && { secretDigests }),
  };
}

/** As JSON has it: what is undefined is absent. */
export function heldParts(children: readonly KubeObject[]): unknown[] {
  const parts = children.flatMap(({ kind, metadata, spec = {} }: Rendered) => {
    // CloudNativePG makes the pods of a Cluster from all of it.
    if (kind === 'Service' || kind === 'Cluster') return [{ kind, name: metadata.name, spec }];
    if (spec['template'] === undefined) return [];
    return [{ kind, name: metadata.name, spec: Object.fromEntries(HELD.map((field) => [field, spec[field]])) }];
  });
  return JSON.parse(JSON.stringify(parts)) as unknown[];
}
