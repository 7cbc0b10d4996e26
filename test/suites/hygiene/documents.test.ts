// What the documents say there is, and what there is: metrics and environment variables are compared by name.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isFailure, REASONS, type Reason } from '../../../src/api/app-deployment-conditions.ts';
import { BUILD_REASONS } from '../../../src/api/build.ts';
import { makeMetrics } from '../../../src/runtime/metrics.ts';
import { addProcessMetrics } from '../../../src/runtime/process-metrics.ts';
import { CATALOGUE, firstLine } from '../../support/documents/catalogue.ts';
import {
  commandsOf,
  documentedCommands,
  fences,
  scriptsOf,
  TRANSCRIPTS,
  textOf,
} from '../../support/documents/documented.ts';
import { ELSEWHERE, GROUPS } from '../e2e/broken-deployments.ts';
import { apiPage } from '../http/api-reference.ts';

const root = join(import.meta.dirname, '../../..');
const operations = readFileSync(join(root, 'docs/operations.md'), 'utf8');

it('docs/operations.md names every metric with its labels, and no other', () => {
  const { registry } = makeMetrics();
  addProcessMetrics(registry, { command: 'controller', version: '0.0.0' });
  const there = (registry.getMetricsAsArray() as unknown as { name: string; labelNames: string[] }[])
    .filter(({ name }) => name.startsWith('davit_'))
    .map(({ name, labelNames }) => `${name} ${labelNames.join(', ')}`);
  const section = operations.slice(operations.indexOf('## Metrics'), operations.indexOf('## Alerts'));
  const rows = [...section.matchAll(/^\| `(davit_[a-z_]+)` \| ([a-z, ]*) ?\|/gm)];
  expect(there.length).toBeGreaterThan(20);
  expect(rows.map(([, name = '', labels = '']) => `${name} ${labels.trim()}`).toSorted()).toEqual(there.toSorted());
});

it('docs/operations.md says about every alert what to do, and about no other', () => {
  const { groups } = parse(readFileSync(join(root, 'charts/davit/files/alerts.yaml'), 'utf8')) as {
    groups: { rules: { alert: string; annotations: { summary?: string; runbook: string } }[] }[];
  };
  const alerts = groups.flatMap(({ rules }) => rules);
  const section = operations.slice(operations.indexOf('## Alerts'), operations.indexOf('## Troubleshooting'));
  const paragraphs = [...section.matchAll(/^### (\w+)\n\n(.{40})/gm)].map(([, name = '']) => name);
  expect(alerts.length).toBeGreaterThan(10);
  expect(paragraphs.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  for (const { alert, annotations } of alerts) {
    expect(annotations.runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`);
    expect(annotations.summary).toMatch(/\.$/);
  }
});

it('alerts and dashboard use metrics and reasons that there are', () => {
  const { registry } = makeMetrics();
  addProcessMetrics(registry, { command: 'controller', version: '0.0.0' });
  const there = new Set(registry.getMetricsAsArray().map(({ name }) => name));
  const texts = ['alerts.yaml', 'dashboard.json'].map((file) =>
    readFileSync(join(root, 'charts/davit/files', file), 'utf8'),
  );
  const used = texts.join('').match(/\b(davit|process|nodejs)_[a-z_0-9]+/g) ?? [];
  const missing = new Set(used.map((name) => name.replace(/(?<=_seconds)_(bucket|count|sum)$/, '')));
  expect(missing.size).toBeGreaterThan(20);
  expect([...missing].filter((name) => !there.has(name))).toEqual([]);
  const reasons = texts.flatMap((text) =>
    [...text.matchAll(/reason[!=]~\\?"([\w|]+)/g)].flatMap(([, one = '']) => one.split('|')),
  );
  expect(reasons.length).toBeGreaterThan(10);
  expect(reasons.filter((reason) => !(reason in REASONS) && !(reason in BUILD_REASONS))).toEqual([]);
});

it('every failure is made to happen: in docs/troubleshooting.md, or by a test that is named for it', () => {
  const failures = (Object.keys(REASONS) as Reason[]).filter(isFailure);
  const shown = GROUPS.flatMap((group) => group.failures);
  const named = [...shown.map(({ reason }) => reason), ...Object.keys(ELSEWHERE)];
  expect(failures.filter((reason) => !named.includes(reason))).toEqual([]);
  expect(shown.filter(({ reason }) => reason in ELSEWHERE)).toEqual([]);
  for (const [reason, test] of Object.entries(ELSEWHERE))
    expect(readFileSync(join(root, test), 'utf8')).toContain(reason);
  const headings = [...textOf('docs/troubleshooting.md').matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  expect(headings).toEqual(['Reasons', ...shown.map(({ title }) => title)]);
});

it('docs/operations.md shows no reason that there is not', () => {
  const shown = [...operations.matchAll(/^ {4}Reason: +(\w+)$/gm)].map((match) => match[1] ?? '');
  expect(shown.length).toBeGreaterThan(15);
  expect(shown.filter((reason) => !(reason in REASONS))).toEqual([]);
});

it('docs/operations.md names every variable of the environment, and no other', () => {
  const config = readFileSync(join(root, 'src/config.ts'), 'utf8');
  const there = new Set([...config.matchAll(/^ {2}(DAVIT_[A-Z_]+):/gm)].map((match) => match[1] ?? ''));
  const section = operations.slice(
    operations.indexOf('## Environment of the processes'),
    operations.indexOf('## Metrics'),
  );
  const named = new Set([...section.matchAll(/`(DAVIT_[A-Z_]+)`/g)].map((match) => match[1] ?? ''));
  expect(there.size).toBeGreaterThan(10);
  expect([...named].toSorted()).toEqual([...there].toSorted());
});

it('docs/api.md is what the OpenAPI document says; if not: npm run generate', async () => {
  expect(await apiPage()).toBe(readFileSync(join(root, 'docs/api.md'), 'utf8'));
});

it('docs/security.md names tests that are there', () => {
  const text = readFileSync(join(root, 'docs/security.md'), 'utf8');
  const rows = [...text.matchAll(/\| `((?:test|src)\/[^`]+)`: "(.+?)" \|/g)];
  expect(rows.length).toBeGreaterThan(15);
  const missing = rows.filter(([, file = '', title = '']) => !readFileSync(join(root, file), 'utf8').includes(title));
  expect(missing.map(([row]) => row)).toEqual([]);
});

describe('the commands of the documents', () => {
  const there = new Set(documentedCommands().map(firstLine));

  it('are run by a test, or are known not to be: test/support/documents/catalogue.ts', () => {
    expect(there.size).toBeGreaterThan(50);
    expect([...there].toSorted()).toEqual(Object.keys(CATALOGUE).toSorted());
  });

  it.each(TRANSCRIPTS)('of $document are in the section that a test runs', ({ document, heading }) => {
    const run = scriptsOf(document, heading);
    expect(fences(textOf(document), 'sh')).toEqual(run);
  });

  it('are found in fences, consoles and sentences, put together over lines, without comments', () => {
    const markdown = [
      'Say `kubectl get appd`, `kubectl get` or `npm test`.',
      '  ```sh',
      '  one two # three',
      "  four -d '{",
      "  five}' \\",
      '  six',
      '  ```',
      '```console',
      '$ seven',
      'eight',
      '```',
    ];
    expect(commandsOf(markdown.join('\n'))).toEqual([
      'one two',
      "four -d '{\nfive}' \\\nsix",
      'seven',
      'kubectl get appd',
      'npm test',
    ]);
  });
});
