// CustomResourceDefinitions built from the schemas in this folder. This file neither reads nor writes files;
// src/tools/crds.ts prints its result.

import { APP_LOGS } from './app-log.ts';
import { APP_REVISIONS } from './app-revision.ts';
import { patternWords } from './findings.ts';
import { KINDS, type Kind } from './kinds.ts';
import { LISTENER_LOGS } from './listener-log.ts';
import { LISTENER_WORKS } from './listener-work.ts';
import { celRules } from './primitives.ts';
import { type PatternWords, type StructuralSchema, structuralSchema } from './structural-schema.ts';

/** Generated files are reviewed and applied as plain YAML, so the object stays plain too. */
export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced';
    readonly names: { readonly kind: string; readonly [field: string]: unknown };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: StructuralSchema };
      readonly [field: string]: unknown;
    }[];
  };
}

/** All of Davit's CustomResourceDefinitions, the most important first. */
export function customResourceDefinitions(): CustomResourceDefinition[] {
  return KINDS.map(customResourceDefinition);
}

function customResourceDefinition(kind: Kind): CustomResourceDefinition {
  const { group, version, plural } = kind.resource;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind: kind.resource.kind,
        listKind: `${kind.resource.kind}List`,
        plural,
        singular: kind.resource.kind.toLowerCase(),
        shortNames: [kind.shortName],
        categories: ['davit'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: kind.columns,
          ...(kind.selectableFields && { selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })) }),
          schema: { openAPIV3Schema: rootSchema(kind) },
        },
      ],
    },
  };
}

/** Kinds whose spec only Davit writes. */
const BY_DAVIT: ReadonlySet<string> = new Set([
  APP_LOGS.kind,
  APP_REVISIONS.kind,
  LISTENER_WORKS.kind,
  LISTENER_LOGS.kind,
]);

function wordsFor({ resource }: Kind): PatternWords {
  return BY_DAVIT.has(resource.kind) ? () => undefined : patternWords;
}

function rootSchema(kind: Kind): StructuralSchema {
  return {
    type: 'object',
    description: kind.description,
    ...(kind.specRequired && { required: ['spec'] }),
    properties: {
      apiVersion: { type: 'string', description: `Always ${kind.resource.group}/${kind.resource.version}.` },
      kind: { type: 'string', description: `Always ${kind.resource.kind}.` },
      metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 253 } } },
      spec: { description: 'Desired state.', ...structuralSchema(kind.spec, wordsFor(kind)) },
      status: {
        description: 'Observed state. Only Davit writes it.',
        ...structuralSchema(kind.status),
        ...(kind.statusDefault && { default: kind.statusDefault }),
      },
    },
    ...(kind.rules && celRules(kind.rules)),
  };
}
