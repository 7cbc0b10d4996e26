// Checks that a deployment of source internal_template uses values of a template in the catalogue.

import { snake } from '../../lib/http/casing.ts';
import type { FieldError } from '../../lib/http/http-error.ts';
import type { AppDeploymentSpec } from '../../schema/app-deployment.ts';
import type { AppTemplate } from '../../schema/app-template.ts';
import { notOffered, type Offered, templateFields } from '../record/template-catalogue.ts';

/** Maximum number of choices in a message. */
const NAMED = 10;

/** Checks only new values, because removing a template must not affect deployments that were made from it. `before`: absent for a new one. */
export function* catalogueFindings(
  before: AppDeploymentSpec | undefined,
  after: AppDeploymentSpec,
  templates: () => readonly AppTemplate[],
): Generator<FieldError> {
  if (after.source !== 'internal_template') return;
  const [old, wanted] = [before && templateFields(before), templateFields(after)];
  const changed = (Object.keys(wanted) as (keyof Offered)[]).filter((field) => wanted[field] !== old?.[field]);
  if (changed.length === 0) return;
  const missing = notOffered(wanted, templates()).filter((field) => changed.includes(field));
  for (const field of missing) {
    const where = field === 'repoUrl' ? 'source_config' : 'source_revision_config';
    yield {
      loc: ['body', where, snake(field)],
      msg: `no template offers this: ${choices(field, wanted, templates())}`,
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
