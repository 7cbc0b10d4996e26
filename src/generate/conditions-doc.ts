// The tables of conditions and reasons in docs/reference.md, made from the code that sets them. The prose around them
// is written by hand.

import { CONDITION_TYPES, REASONS } from '../schema/app-deployment-conditions.ts';
import { BUILD_REASONS } from '../schema/build.ts';

const BEGIN = '<!-- generated from src/schema/app-deployment-conditions.ts: begin -->';
const END = '<!-- generated from src/schema/app-deployment-conditions.ts: end -->';

const BUILDS_BEGIN = '<!-- generated from src/schema/build.ts: begin -->';
const BUILDS_END = '<!-- generated from src/schema/build.ts: end -->';

/** `page` with the tables between its markers regenerated. Throws an Error if a marker is missing. */
export function withConditionsTable(page: string): string {
  return between(between(page, BEGIN, conditionsTable(), END), BUILDS_BEGIN, reasonsTable(BUILD_REASONS), BUILDS_END);
}

function between(page: string, from: string, table: string, to: string): string {
  const begin = page.indexOf(from);
  const end = page.indexOf(to);
  if (begin < 0 || end < begin)
    throw new Error(`write the conditions table: docs/reference.md needs the lines "${from}" and "${to}"`);
  return `${page.slice(0, begin + from.length)}\n\n${table}\n${page.slice(end)}`;
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
