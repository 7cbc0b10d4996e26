// renovate.json finds every pin: the packages, the Go modules, the bases of images and the images of the chart.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Settings } from '../../../src/kinds/settings.ts';

const root = join(import.meta.dirname, '../../..');

interface Manager {
  readonly managerFilePatterns: readonly string[];
}

interface Configuration {
  readonly enabledManagers: readonly string[];
  readonly ignorePaths: readonly string[];
  readonly npm: Manager;
  readonly gomod: Manager;
  readonly dockerfile: Manager;
  readonly customManagers: readonly (Manager & { readonly matchStrings: readonly string[] })[];
  readonly packageRules: readonly { readonly matchFileNames?: readonly string[] }[];
}

const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const configuration = JSON.parse(read('renovate.json')) as Configuration;
const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');

/** Renovate takes text between slashes for a regular expression of RE2. */
function expressionOf(pattern: string): RegExp {
  const [, source] = /^\/(.*)\/$/.exec(pattern) ?? [];
  if (source === undefined) throw new Error(`${pattern} stands between no slashes`);
  return new RegExp(source);
}

function filesOf({ managerFilePatterns }: Manager): string[] {
  const expressions = managerFilePatterns.map(expressionOf);
  return tracked.filter((file) => expressions.some((one) => one.test(file)));
}

/** The images that a text names, as the custom managers find them. */
function imagesIn(text: string): string[] {
  return configuration.customManagers
    .flatMap(({ matchStrings }) => matchStrings)
    .flatMap((source) => [...text.matchAll(new RegExp(source, 'g'))])
    .map(({ groups = {} }) => {
      const { depName, currentValue, currentDigest } = groups;
      return `${depName}:${currentValue}${currentDigest === undefined ? '' : `@${currentDigest}`}`;
    });
}

/** The values of YAML that are names of images: with a registry's host and a tag or digest. */
function imagesOf(value: unknown): string[] {
  if (typeof value === 'string') return /^[\w-]+(\.[\w-]+)+\/[^\s:]+[:@]\S+$/.test(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(imagesOf) : [];
}

describe('renovate.json', () => {
  it('leaves out only packages that are installed: its preset would leave out test and examples', () => {
    expect(configuration.enabledManagers).toEqual(['npm', 'gomod', 'dockerfile', 'custom.regex']);
    expect(configuration.ignorePaths).toEqual(['**/node_modules/**']);
  });

  it.each([
    { manager: 'npm', name: 'package.json' },
    { manager: 'gomod', name: 'go.mod' },
    { manager: 'dockerfile', name: 'Dockerfile' },
  ] as const)('has every $name', ({ manager, name }) => {
    const files = tracked.filter((file) => file.split('/').at(-1) === name);
    expect(files.length).toBeGreaterThan(0);
    expect(filesOf(configuration[manager])).toEqual(files);
  });

  it('has every image of the chart and of the settings', () => {
    expect(configuration.customManagers.flatMap(filesOf)).toEqual([
      'charts/davit/values.yaml',
      'src/kinds/settings.ts',
    ]);
    const chart = imagesOf(parse(read('charts/davit/values.yaml')));
    const settings = imagesOf(Settings.parse({}));
    expect(Math.min(chart.length, settings.length)).toBeGreaterThan(2);
    expect(imagesIn(read('charts/davit/values.yaml'))).toEqual(expect.arrayContaining(chart));
    expect(imagesIn(read('src/kinds/settings.ts')).toSorted()).toEqual(settings.toSorted());
  });

  it('finds a tag with and without a digest', () => {
    const image = `docker.io/library/postgres:17.6-trixie@sha256:${'0a'.repeat(32)}`;
    expect(imagesIn(`postgres: ${image}\nredis: 'ghcr.io/x/y:8' # as a default`)).toEqual([image, 'ghcr.io/x/y:8']);
  });

  it('uses what RE2 knows: no look-around, and no reference to a group', () => {
    const { npm, gomod, dockerfile, customManagers } = configuration;
    const sources = [npm, gomod, dockerfile, ...customManagers].flatMap((one) => one.managerFilePatterns);
    const all = [...sources, ...customManagers.flatMap(({ matchStrings }) => matchStrings)];
    expect(all.filter((source) => /\(\?[=!]|\(\?<[=!]|\\[1-9]/.test(source))).toEqual([]);
  });

  it('has rules only for folders that are there', () => {
    const folders = configuration.packageRules.flatMap(({ matchFileNames = [] }) => matchFileNames);
    const there = (glob: string): boolean => {
      const [start = ''] = glob.split('*');
      return tracked.some((file) => file.startsWith(start));
    };
    expect(folders.filter((glob) => !there(glob))).toEqual([]);
  });
});

describe('every base of a Dockerfile', () => {
  it.each(filesOf(configuration.dockerfile))('is an image with a tag, or an argument with one: %s', (file) => {
    const text = read(file);
    const values = new Map([...text.matchAll(/^ARG (\w+)=(\S+)$/gm)].map(([, name = '', value = '']) => [name, value]));
    const bases = [...text.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)].map(
      ([, base = '']) => values.get(/^\$\{(\w+)\}$/.exec(base)?.[1] ?? '') ?? base,
    );
    expect(bases.length).toBeGreaterThan(0);
    expect(bases.filter((base) => !/^[^$\s]+:[\w.-]+(@sha256:[0-9a-f]{64})?$/.test(base))).toEqual([]);
  });
});

describe('every Go module', () => {
  // Renovate leaves indirect modules alone unless a tool is in them.
  it.each(filesOf(configuration.gomod))('has a pin that is direct, or the module of a tool: %s', (file) => {
    const text = read(file);
    const blocks = [...text.matchAll(/^(tool|require) \(\n([^)]*)\n\)$/gm)].flatMap(([, word = '', lines = '']) =>
      lines.split('\n').map((line) => `${word} ${line.trim()}`),
    );
    const all = [...blocks, ...text.split('\n').filter((line) => /^(tool|require) [^(]/.test(line))];
    const tools = all.flatMap((line) => /^tool (\S+)$/.exec(line)?.[1] ?? []);
    const modules = all.flatMap((line) => /^require (\S+) v\S+/.exec(line)?.[1] ?? []);
    const direct = all.filter((line) => /^require \S+ v\S+$/.test(line));
    expect(tools.length + direct.length).toBeGreaterThan(0);
    expect(tools.filter((tool) => !modules.some((name) => `${tool}/`.startsWith(`${name}/`)))).toEqual([]);
  });
});
