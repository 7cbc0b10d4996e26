// Checks that a deployment of source internal_template uses values of a template in the catalogue.

import { fromSnake, snake } from '../../lib/http/casing.ts';
import type { FieldError } from '../../lib/http/http-error.ts';
import type { Rule } from '../../organization/facade/validation.ts';
import { type AppDeploymentSpec, SourceConfig, SourceRevisionConfig } from '../../schema/app-deployment.ts';
import type { AppTemplate } from '../../schema/app-template.ts';
import { notOffered, type Offered, templateFields } from '../record/template-catalogue.ts';

/** Maximum number of choices in a message. */
const NAMED = 10;

/** The rule for a new deployment. */
export function templateRule(templates: () => readonly AppTemplate[]): Rule {
  return function* (draft) {
    if (draft['source'] !== 'internal_template') return;
    const wanted = templateFields({
      sourceConfig: fromSnake(SourceConfig, draft['source_config']),
      sourceRevisionConfig: fromSnake(SourceRevisionConfig, draft['source_revision_config']),
    });
    yield* findingsOf(wanted, notOffered(wanted, templates()), templates());
  };
}

/** For a change: checks only new values, because removing a template must not affect deployments that were made from it. */
export function* catalogueFindings(
  before: AppDeploymentSpec,
  after: AppDeploymentSpec,
  templates: () => readonly AppTemplate[],
): Generator<FieldError> {
  if (after.source !== 'internal_template') return;
  const [old, wanted] = [templateFields(before), templateFields(after)];
  const changed = (Object.keys(wanted) as (keyof Offered)[]).filter((field) => wanted[field] !== old[field]);
  if (changed.length === 0) return;
  const missing = notOffered(wanted, templates()).filter((field) => changed.includes(field));
  for (const finding of findingsOf(wanted, missing, templates())) yield { ...finding, loc: ['body', ...finding.loc] };
}

function* findingsOf(
  wanted: Offered,
  missing: readonly (keyof Offered)[],
  templates: readonly AppTemplate[],
): Generator<FieldError> {
  for (const field of missing) {
    const where = field === 'repoUrl' ? 'source_config' : 'source_revision_config';
    yield {
      loc: [where, snake(field)],
      msg: `no template offers this: ${choices(field, wanted, templates)}`,
      type: 'value_error',
    };
  }
}

function choices(field: keyof Offered, { repoUrl }: Offered, templates: readonly AppTemplate[]): string {
  const ofRepository = field === 'repoRef' || field === 'workflowConfigPath';
  const offers = templates
    .filter(({ spec }) => !ofRepository || spec.repoUrl === repoUrl)
    .flatMap(({ spec }) => spec[field] ?? []);
  const names = [...new Set(offers)].toSorted();
  if (names.length === 0) return `the catalogue has no ${snake(field)}. Ask the platform team to add a template`;
  const more = names.length > NAMED ? `, and ${names.length - NAMED} more` : '';
  return `choose ${names.slice(0, NAMED).join(', ')}${more}`;
}
