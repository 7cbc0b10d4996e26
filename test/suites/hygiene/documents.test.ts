// What the documents say there is, and what there is: metrics and environment variables are compared by name.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isFailure, REASONS, type Reason } from '../../../src/kinds/app-deployment-conditions.ts';
import { BUILD_REASONS } from '../../../src/kinds/build.ts';
import { customResourceDefinitions } from '../../../src/kinds/crd.ts';
import { makeAllMetrics } from '../../../src/main/metrics.ts';
import { addProcessMetrics } from '../../../src/runtime/controller/metrics.ts';
import { compatibilityPage } from '../../cluster/tested-versions.ts';
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
import { apiFiles } from '../http/api-reference.ts';

const root = join(import.meta.dirname, '../../..');
const monitoring = textOf('docs/monitoring.md');
const settings = textOf('docs/settings.md');

it('docs/monitoring.md names every metric with its labels, and no other', () => {
  const { registry } = makeAllMetrics();
  addProcessMetrics(registry, { command: 'controller', version: '0.0.0' });
  const there = (registry.getMetricsAsArray() as unknown as { name: string; labelNames: string[] }[])
    .filter(({ name }) => name.startsWith('davit_'))
    .map(({ name, labelNames }) => `${name} ${labelNames.join(', ')}`);
  const section = monitoring.slice(monitoring.indexOf('## Metrics'), monitoring.indexOf('## Alerts'));
  const rows = [...section.matchAll(/^\| `(davit_[a-z_]+)` \| ([a-z_, ]*) ?\|/gm)];
  expect(there.length).toBeGreaterThan(20);
  expect(rows.map(([, name = '', labels = '']) => `${name} ${labels.trim()}`).toSorted()).toEqual(there.toSorted());
});

it('docs/monitoring.md says about every alert what to do, and about no other', () => {
  const { groups } = parse(readFileSync(join(root, 'charts/davit/files/alerts.yaml'), 'utf8')) as {
    groups: { rules: { alert: string; annotations: { summary?: string; runbook: string } }[] }[];
  };
  const alerts = groups.flatMap(({ rules }) => rules);
  const section = monitoring.slice(monitoring.indexOf('## Alerts'), monitoring.indexOf('## Troubleshooting'));
  const paragraphs = [...section.matchAll(/^### (\w+)\n\n(.{40})/gm)].map(([, name = '']) => name);
  expect(alerts.length).toBeGreaterThan(10);
  expect(paragraphs.toSorted()).toEqual([...new Set(alerts.map(({ alert }) => alert))].toSorted());
  for (const { alert, annotations } of alerts) {
    expect(annotations.runbook).toBe(`docs/monitoring.md#${alert.toLowerCase()}`);
    expect(annotations.summary).toMatch(/\.$/);
  }
});

it('alerts and dashboard use metrics and reasons that there are', () => {
  const { registry } = makeAllMetrics();
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

it('the configuration of kube-state-metrics reads fields that there are', () => {
  interface Resource {
    readonly groupVersionKind: object;
    readonly labelsFromPath: Readonly<Record<string, string[]>>;
    readonly metrics: readonly { readonly each: Readonly<Record<string, Reading | string>> }[];
  }
  interface Reading {
    readonly path?: string[];
    readonly valueFrom?: string[];
    readonly labelsFromPath?: Readonly<Record<string, string[]>>;
  }
  const file = readFileSync(join(root, 'charts/davit/files/kube-state-metrics.yaml'), 'utf8');
  const [resource, ...more] = (parse(file) as { spec: { resources: Resource[] } }).spec.resources;
  expect([resource?.groupVersionKind, more]).toEqual([
    { group: 'davit.dev', version: 'v1alpha1', kind: 'AppDeployment' },
    [],
  ]);
  const paths = (resource?.metrics ?? []).flatMap(({ each }) =>
    Object.values(each).flatMap((reading) => {
      if (typeof reading === 'string') return [];
      const { path = [], valueFrom, labelsFromPath = {} } = reading;
      return [...(valueFrom ? [valueFrom] : []), ...Object.values(labelsFromPath)].map((last) => [...path, ...last]);
    }),
  );
  expect(paths.length).toBeGreaterThan(8);
  const [crd] = customResourceDefinitions();
  const { openAPIV3Schema } = crd?.spec.versions[0]?.schema ?? {};
  interface Schema {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly items?: Schema;
  }
  const isThere = (path: readonly string[]): boolean =>
    path.reduce<Schema | undefined>(
      (schema, field) => (schema?.items ?? schema)?.properties?.[field],
      openAPIV3Schema as Schema,
    ) !== undefined;
  expect(paths.filter((path) => !isThere(path))).toEqual([]);
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

it('docs/settings.md names every variable of the environment, and no other', () => {
  const config = readFileSync(join(root, 'src/main/config.ts'), 'utf8');
  const there = new Set([...config.matchAll(/^ {2}(DAVIT_[A-Z_]+):/gm)].map((match) => match[1] ?? ''));
  const section = settings.slice(settings.indexOf('## Environment of the processes'));
  const named = new Set([...section.matchAll(/`(DAVIT_[A-Z_]+)`/g)].map((match) => match[1] ?? ''));
  expect(there.size).toBeGreaterThan(10);
  expect([...named].toSorted()).toEqual([...there].toSorted());
});

it('docs/openapi.json is what the facade serves; if not: npm run generate', async () => {
  for (const [file, content] of await apiFiles()) expect(content).toBe(readFileSync(file, 'utf8'));
});

it('docs/upgrade.md has the versions that are tested; if not: npm run generate', () => {
  expect(compatibilityPage()).toBe(readFileSync(join(root, 'docs/upgrade.md'), 'utf8'));
});

it.each([
  ['docs/security.md', 15],
  ['docs/sign-in.md', 5],
])('%s names tests that are there', (document, least) => {
  const text = readFileSync(join(root, document), 'utf8');
  const rows = [...text.matchAll(/\| `([^`]+\.test\.ts)`: "(.+?)" \|/g)];
  expect(rows.length).toBeGreaterThan(least);
  const tests = globSync('{src,test}/**/*.test.ts', { cwd: root });
  const isThere = (name: string, title: string): boolean =>
    tests.some((file) => basename(file) === name && readFileSync(join(root, file), 'utf8').includes(title));
  const missing = rows.filter(([, name = '', title = '']) => !isThere(name, title));
  expect(missing.map(([row]) => row)).toEqual([]);
});

it('every link of the documents leads to a file and a heading that there is', () => {
  const links = trackedMarkdown().flatMap((file) =>
    [...proseOf(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => ({ file, link })),
  );
  const relative = links.filter(({ link }) => !/^[a-z]+:/.test(link));
  expect(relative.length).toBeGreaterThan(100);
  expect(relative.filter(({ file, link }) => !leads(file, link))).toEqual([]);
});

it('every heading of a document that code, chart or messages name is there', () => {
  const named = execFileSync(
    'git',
    ['grep', '-hoE', `docs/[a-z-]+\\.md, ["'][^"']+`, '--', 'src', 'charts', 'test/demo'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  const pairs = [...named.matchAll(/^(\S+), ["'](.+)$/gm)];
  expect(pairs.length).toBeGreaterThan(5);
  const missing = pairs.filter(([, file = '', title = '']) => !textOf(file).includes(`# ${title}\n`));
  expect(missing.map(([whole]) => whole)).toEqual([]);
});

function trackedMarkdown(): string[] {
  const listed = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' });
  return listed.split('\n').filter((file) => file !== '' && existsSync(join(root, file)));
}

function proseOf(file: string): string {
  return textOf(file).replaceAll(/^ *```.*?^ *```/gms, '');
}

function leads(from: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const file = path === '' ? from : join(dirname(from), path);
  if (!existsSync(join(root, file))) return false;
  return anchor === undefined || anchorsOf(file).has(anchor);
}

/** As GitHub names the headings of a file. */
function anchorsOf(file: string): ReadonlySet<string> {
  const headings = [...proseOf(file).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title);
  return new Set(
    headings.map((title) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

describe('the commands of the documents', () => {
  const there = new Set(documentedCommands().map(firstLine));

  it('are there where a test runs them', () => {
    expect(Object.keys(CATALOGUE).filter((line) => !there.has(line))).toEqual([]);
  });

  it('are commands of a shell', () => {
    const commands = documentedCommands();
    expect(commands.length).toBeGreaterThan(50);
    const wrong = commands.filter((command) => spawnSync('bash', ['-n'], { input: command }).status !== 0);
    expect(wrong).toEqual([]);
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
