// The tables of conditions and reasons in docs/operations.md, made from the code that sets them. The prose around them
// is written by hand.

import { CONDITION_TYPES, REASONS } from '../api/app-deployment-conditions.ts';

const BEGIN = '<!-- generated from src/api/app-deployment-conditions.ts: begin -->';
const END = '<!-- generated from src/api/app-deployment-conditions.ts: end -->';

/** `page` with the tables between its two markers regenerated. Throws an Error if a marker is missing. */
export function withConditionsTable(page: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin)
    throw new Error(`write the conditions table: docs/operations.md needs the lines "${BEGIN}" and "${END}"`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${conditionsTable()}\n${page.slice(end)}`;
}

function conditionsTable(): string {
  const types = Object.entries(CONDITION_TYPES).map(([type, meaning]) => `| ${type} | ${cell(meaning)} |\n`);
  const reasons = Object.entries(REASONS).map(
    ([reason, { meaning, todo }]) => `| ${reason} | ${cell(meaning)} | ${cell(todo)} |\n`,
  );
  return `| Condition | True when |\n|---|---|\n${types.join('')}\n| Reason | What it means | What to do |\n|---|---|---|\n${reasons.join('')}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
