// The tables of conditions and reasons in docs/reference.md, made from the code that sets them. The prose around them
// is written by hand.

import { CONDITION_TYPES, REASONS } from '../schema/app-deployment-conditions.ts';
import { BUILD_REASONS } from '../schema/build.ts';
import { withTable } from './sections.ts';

/** The page with its tables regenerated. Throws an Error if a marker is missing. */
export function withConditionsTable(page: string): string {
  const withConditions = withTable(page, 'src/schema/app-deployment-conditions.ts', conditionsTable());
  return withTable(withConditions, 'src/schema/build.ts', reasonsTable(BUILD_REASONS));
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
