// Prints what is made from the schemas: `npm run generate` writes the files, `--check` says which are not current.

import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { deploymentFileSchema } from '../deploy/http/deployment-file-schema.ts';
import { CONDITION_TYPES, REASONS } from '../kinds/app-deployment-conditions.ts';
import { BUILD_REASONS } from '../kinds/build.ts';
import { type CustomResourceDefinition, customResourceDefinitions } from '../kinds/crd.ts';
import { POD_REACH } from '../kinds/pod-reach.ts';
import { SCHEMA_FILE_NAME } from '../kinds/source-files.ts';
import { admissionRulesJson } from './admission-rules.ts';
import { valuesSchema } from './chart-values.ts';
import { withDefaults } from './crd-defaults.ts';
import { withResourceSpecTables } from './resource-spec-doc.ts';
import { withRuntimeTable } from './runtime-doc.ts';
import { withTable } from './sections.ts';

const HEADER = '# Generated from src/kinds by `npm run generate`. Do not edit.\n';

/** Path within the repository → what must stand there. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const { version } = parse(current('charts/davit/Chart.yaml')) as { readonly version: string };
  const crds = customResourceDefinitions()
    .map(withDefaults)
    .map((crd) => annotated(crd, { 'davit.dev/version': version }));
  return new Map([
    ...crds.map((crd) => [`crds/${fileName(crd)}`, yaml(crd)] as const),
    ...crds.map((crd) => [`charts/davit/files/crds/${fileName(crd)}`, yaml(kept(crd))] as const),
    // JSON: Helm has to read it.
    ['charts/davit/files/pod-reach.json', `${JSON.stringify(POD_REACH, null, 2)}\n`],
    ['charts/davit/files/admission-rules.json', admissionRulesJson()],
    ['charts/davit/values.schema.json', `${JSON.stringify(valuesSchema(), null, 2)}\n`],
    [`docs/${SCHEMA_FILE_NAME}`, `${JSON.stringify(deploymentFileSchema(), null, 2)}\n`],
    ['docs/reasons.md', withConditionsTable(current('docs/reasons.md'))],
    ['docs/fields.md', withRuntimeTable(withResourceSpecTables(current('docs/fields.md')))],
  ]);
}

/** Paths of generated files whose contents are not what the schemas say. */
export function staleFiles(): string[] {
  return [...generatedFiles()].filter(([path, text]) => current(path) !== text).map(([path]) => path);
}

// Uninstalling the chart must not take every record of the cluster with it.
function kept(crd: CustomResourceDefinition): CustomResourceDefinition {
  return annotated(crd, { 'helm.sh/resource-policy': 'keep' });
}

/** The version says which chart the definitions are from: kubectl get crd -o yaml shows it. */
function annotated(
  crd: CustomResourceDefinition,
  annotations: Readonly<Record<string, string>>,
): CustomResourceDefinition {
  return { ...crd, metadata: { ...crd.metadata, annotations: { ...crd.metadata.annotations, ...annotations } } };
}

function fileName(crd: CustomResourceDefinition): string {
  return `${crd.metadata.name.split('.')[0]}.yaml`;
}

function yaml(crd: CustomResourceDefinition): string {
  return HEADER + stringify(crd, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false });
}

function place(path: string): URL {
  return new URL(`../../${path}`, import.meta.url);
}

function current(path: string): string {
  try {
    return readFileSync(place(path), 'utf8');
  } catch {
    return '';
  }
}

if (import.meta.main) {
  const stale = staleFiles();
  if (process.argv.includes('--check')) {
    for (const path of stale) process.stderr.write(`${path} is outdated: run npm run generate\n`);
    process.exitCode = stale.length === 0 ? 0 : 1;
  } else {
    const files = generatedFiles();
    for (const path of stale) writeFileSync(place(path), files.get(path) ?? '');
    process.stdout.write(stale.length === 0 ? 'All generated files are current.\n' : `Written: ${stale.join(', ')}\n`);
  }
}

/** The page with its tables regenerated. Throws an Error if a marker is missing. */
function withConditionsTable(page: string): string {
  const withConditions = withTable(page, 'src/kinds/app-deployment-conditions.ts', conditionsTable());
  return withTable(withConditions, 'src/kinds/build.ts', reasonsTable(BUILD_REASONS));
}

function conditionsTable(): string {
  const types = Object.entries(CONDITION_TYPES).map(([type, meaning]) => `| ${type} | ${cell(meaning)} |\n`);
  return `| Condition | True when |\n|---|---|\n${types.join('')}\n${reasonsTable(REASONS)}`;
}

function reasonsTable(reasons: Readonly<Record<string, { readonly meaning: string; readonly todo: string }>>): string {
  const rows = Object.entries(reasons).map(
    ([reason, { meaning, todo }]) => `| ${reason} | ${cell(meaning)} | ${cell(todo)} |\n`,
  );
  return `| Reason | What it means | What to do |\n|---|---|---|\n${rows.join('')}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
