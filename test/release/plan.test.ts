import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  changesOf,
  imageList,
  krewManifest,
  mirrored,
  namedImages,
  namesIn,
  releasedChart,
  releasedValues,
  versionTrouble,
} from './plan.ts';

const root = join(import.meta.dirname, '../..');
const values = readFileSync(join(root, 'charts/davit/values.yaml'), 'utf8');

describe('a version', () => {
  it.each(['0.1.0', '1.20.3-rc.1'])('%s is one', (version) => {
    expect(versionTrouble(version, version)).toBeUndefined();
  });
  it.each(['v0.1.0', '0.1', '0.1.0+build', '01.0.0', '', 'latest'])('"%s" is none', (version) => {
    expect(versionTrouble(version, version)).toMatch(/^--version must be a version such as 0\.1\.0/);
  });
  it('is that of package.json', () => {
    expect(versionTrouble('0.2.0', '0.1.0')).toMatch(/package\.json has version 0\.1\.0.*npm version 0\.2\.0/);
  });
});

describe('a registry', () => {
  it('has the image and the chart under names of their own', () => {
    expect(namesIn('registry.example.com:5000/platform')).toEqual({
      image: 'registry.example.com:5000/platform/davit',
      chart: 'registry.example.com:5000/platform/charts/davit',
      chartFolder: 'oci://registry.example.com:5000/platform/charts',
    });
  });
  it.each(['https://r.example', 'R.example/x', 'r.example/', 'r.example/a b', ''])('"%s" is none', (registry) => {
    expect(namesIn(registry)).toEqual({ refused: expect.stringContaining('without a scheme') as string });
  });
});

it('takes the changes of its own version', () => {
  const text = '# Changelog\n\n## 0.2.0\n\n- two\n\n## 0.1.0 (unreleased)\n\n- one\n';
  expect([changesOf(text, '0.2.0'), changesOf(text, '0.1.0'), changesOf(text, '0.1')]).toEqual([
    '- two',
    '- one',
    undefined,
  ]);
});

describe('the chart', () => {
  const image = { name: 'r.example/davit', digest: `sha256:${'a'.repeat(64)}` };
  const others = namedImages(values).map((name) => ({ name, digest: `sha256:${'b'.repeat(64)}` }));
  const released = releasedValues(values, image, others);

  it('names every image of the platform by its digest', () => {
    expect(others.length).toBeGreaterThan(3);
    expect(parse(released)).toMatchObject({
      image: { repository: image.name, digest: image.digest },
      imageDigests: Object.fromEntries(others.map(({ name, digest }) => [name, digest])),
    });
  });
  it('differs in nothing else, and keeps its comments', () => {
    const { image: _image, imageDigests: _digests, ...same } = parse(released) as Record<string, unknown>;
    const { image: _before, imageDigests: _none, ...before } = parse(values) as Record<string, unknown>;
    expect(same).toEqual(before);
    expect(released.match(/^ *# .*$/gm)).toEqual(values.match(/^ *# .*$/gm));
  });
  it('has the version of the release', () => {
    const chart = readFileSync(join(root, 'charts/davit/Chart.yaml'), 'utf8');
    expect(parse(releasedChart(chart, '7.8.9'))).toMatchObject({
      version: '7.8.9',
      appVersion: '7.8.9',
      name: 'davit',
    });
  });
});

it('lists images in one order, whatever theirs was', () => {
  const [a, b] = [
    { name: 'b.example/x:1', digest: 'sha256:1' },
    { name: 'a.example/y:2', digest: 'sha256:2' },
  ];
  expect(imageList([a, b])).toBe('a.example/y:2@sha256:2\nb.example/x:1@sha256:1\n');
  expect(imageList([b, a])).toBe(imageList([a, b]));
});

it.each([
  ['docker.io/library/registry:3.1.1', 'm.example/library/registry:3.1.1'],
  ['ghcr.io/a/b:1', 'm.example/a/b:1'],
  ['localhost/x:1', 'm.example/x:1'],
  ['postgres:17', 'm.example/postgres:17'],
])('a mirror has %s as %s', (name, there) => {
  expect(mirrored(name, 'm.example')).toBe(there);
  expect(mirrored(name, undefined)).toBe(name);
});

it('offers krew no archive for Windows, whose links need an .exe', () => {
  const { spec } = parse(krewManifest('0.1.0', 'https://e.example/p.tar.gz', '0'.repeat(64))) as {
    spec: { version: string; platforms: { selector: { matchExpressions: { values: string[] }[] } }[] };
  };
  expect(spec.version).toBe('v0.1.0');
  expect(spec.platforms.flatMap(({ selector }) => selector.matchExpressions.flatMap((one) => one.values))).toEqual([
    'darwin',
    'linux',
  ]);
});
