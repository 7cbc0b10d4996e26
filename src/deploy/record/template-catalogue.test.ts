import { expect, it } from 'vitest';
import { aSpec } from '../../../test/support/builders.ts';
import type { AppTemplate, AppTemplateSpec } from '../../kinds/app-template.ts';
import { notOffered, type Offered, templateFields } from './template-catalogue.ts';

const REPOSITORY = 'https://code.example/templates/chat';

function template(spec: AppTemplateSpec): AppTemplate {
  return { apiVersion: 'davit.dev/v1alpha1', kind: 'AppTemplate', metadata: { name: 't' }, spec };
}

const CATALOGUE = [
  template({ imageUri: 'templates/chat:1' }),
  template({ repoUrl: REPOSITORY, repoRef: 'main', workflowConfigPath: 'davit.json' }),
  template({ repoUrl: REPOSITORY, repoRef: 'next' }),
  template({ repoUrl: 'https://code.example/templates/free' }),
];

const cases: readonly { readonly name: string; readonly wanted: Offered; readonly missing: (keyof Offered)[] }[] = [
  { name: 'an image', wanted: { imageUri: 'templates/chat:1' }, missing: [] },
  { name: 'another tag', wanted: { imageUri: 'templates/chat:2' }, missing: ['imageUri'] },
  { name: 'a repository', wanted: { repoUrl: REPOSITORY }, missing: [] },
  { name: 'another repository', wanted: { repoUrl: `${REPOSITORY}2`, repoRef: 'main' }, missing: ['repoUrl'] },
  { name: 'its branch', wanted: { repoUrl: REPOSITORY, repoRef: 'next' }, missing: [] },
  { name: 'a branch of its own', wanted: { repoUrl: REPOSITORY, repoRef: 'mine' }, missing: ['repoRef'] },
  {
    name: 'a path that only another branch has open',
    wanted: { repoUrl: REPOSITORY, repoRef: 'main', workflowConfigPath: 'other.json' },
    missing: ['workflowConfigPath'],
  },
  {
    name: 'what a template leaves open',
    wanted: { repoUrl: 'https://code.example/templates/free', repoRef: 'any', workflowConfigPath: 'any.json' },
    missing: [],
  },
  {
    name: 'both, and neither is offered',
    wanted: { imageUri: 'a', repoUrl: 'https://code.example/b' },
    missing: ['imageUri', 'repoUrl'],
  },
  { name: 'nothing', wanted: {}, missing: [] },
];

it.each(cases)('$name', ({ wanted, missing }) => {
  expect(notOffered(wanted, CATALOGUE)).toEqual(missing);
});

it('of a record: what templates offer, and no more', () => {
  const spec = aSpec({
    source: 'internal_template',
    sourceConfig: { repoUrl: REPOSITORY, resourceSpec: { cpu: 1 } },
    sourceRevisionConfig: { repoRef: 'main' },
  });
  expect(templateFields(spec)).toEqual({ repoUrl: REPOSITORY, repoRef: 'main' });
});
