// What the form for a new deployment offers, asks for and says.

import { describe, expect, it } from 'vitest';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { ApiError, type Finding } from './api.ts';
import { basesOf, choicesOf, databasesOf, digestIn, failuresOf, type Given, setOf, unfit } from './create-request.ts';

const TEMPLATES: Platform['templates'] = [
  { name: 'chat', image_uri: 'templates/chat:2', repo_url: null, repo_ref: null, workflow_config_path: null },
  {
    name: 'shop',
    image_uri: null,
    repo_url: 'https://code.example/templates/shop',
    repo_ref: 'main',
    workflow_config_path: null,
  },
];

function platform(
  more: Partial<Pick<Platform, 'sources' | 'integrations' | 'templates'>> = {},
  builds = true,
): Platform {
  return {
    sources: ['codehost', 'external_docker', 'internal_docker', 'internal_source', 'internal_template'],
    builds: { available: builds, registry: builds ? 'registry.example' : null },
    integrations: [{ id: 'i', name: 'git', kind: 'gitea', host: 'git.example' }],
    templates: TEMPLATES,
    ...more,
  } as unknown as Platform;
}

it.each([
  [{ python: 'base/py:{version}', node: 'base/node:20' }, ': base/py:{version} for Python, base/node:20 for Node.js. '],
  [{ python: null, node: 'base/node:20' }, ': base/node:20 for Node.js. '],
  [{ python: null, node: null }, 'This platform has no base images'],
])('base images %j are said', (images, said) => {
  expect(basesOf({ builds: { base_images: images } } as unknown as Platform)).toContain(said);
});

it.each([
  [true, 'Davit creates a PostgreSQL with a volume of 10 GiB and a Redis'],
  [false, 'This platform creates no databases: secrets POSTGRES_URI_CUSTOM'],
])('whether databases come along, %s, is said', (own, said) => {
  const sizes = { plain: { postgres: { storage_gi: 10 } } };
  expect(databasesOf({ stores: { own }, default_type: 'plain', sizes } as unknown as Platform)).toContain(said);
});

describe('what can be chosen', () => {
  const blocked = (of: Platform): unknown => choicesOf(of).map(({ source, blocked: why }) => [source, why]);

  it('is what the platform takes and the form can make', () => {
    expect(blocked(platform())).toEqual([
      ['external_docker', undefined],
      ['codehost', undefined],
      ['internal_template', undefined],
      ['internal_source', undefined],
      ['internal_docker', undefined],
    ]);
    expect(blocked(platform({ sources: ['external_docker'] }))).toEqual([['external_docker', undefined]]);
  });

  it('says what is missing', () => {
    expect(blocked(platform({ integrations: [], templates: [] }))).toEqual([
      ['external_docker', undefined],
      ['codehost', expect.stringContaining('no integration')],
      ['internal_template', expect.stringContaining('no template')],
      ['internal_source', undefined],
      ['internal_docker', undefined],
    ]);
    expect(blocked(platform({}, false))).toEqual([
      ['external_docker', undefined],
      ['codehost', expect.stringContaining('has no builds')],
      ['internal_template', undefined],
      ['internal_source', expect.stringContaining('has no builds')],
      ['internal_docker', expect.stringContaining('no registry')],
    ]);
  });
});

describe('the request', () => {
  const given: Given = {
    'new-name': 'shop',
    'new-image': 'shop:1',
    'new-integration': 'i',
    'new-repository': 'https://git.example/a/x',
    'new-ref': 'main',
    'new-config': 'Dockerfile',
  };

  it.each([
    ['external_docker', {}, { image_uri: 'shop:1' }],
    [
      'codehost',
      {},
      {
        integration_id: 'i',
        repo_url: 'https://git.example/a/x',
        build_on_push: false,
        repo_ref: 'main',
        workflow_config_path: 'Dockerfile',
      },
    ],
    [
      'codehost',
      { 'new-push': 'on' },
      {
        integration_id: 'i',
        repo_url: 'https://git.example/a/x',
        build_on_push: true,
        repo_ref: 'main',
        workflow_config_path: 'Dockerfile',
      },
    ],
    ['internal_source', {}, { workflow_config_path: 'Dockerfile' }],
    ['internal_docker', {}, {}],
    ['internal_template', { 'new-template': 'chat' }, { image_uri: 'templates/chat:2' }],
    [
      'internal_template',
      { 'new-template': 'shop' },
      {
        repo_url: 'https://code.example/templates/shop',
        repo_ref: 'main',
        workflow_config_path: 'Dockerfile',
      },
    ],
  ] as const)('of %s with %j', (source, more, fields) => {
    const set = setOf(source, { ...given, ...more }, TEMPLATES);
    expect(Object.fromEntries(set.map(({ field, value }) => [field, value]))).toEqual({ name: 'shop', ...fields });
  });

  it('is not made of a template that is gone', () => {
    expect(() => setOf('internal_template', given, TEMPLATES)).toThrow('Choose a template.');
  });
});

describe('a refusal', () => {
  const refused = (...findings: Finding[]): ApiError => new ApiError(422, 'all of it', undefined, findings);
  const at = (loc: string, msg: string): Finding => ({ loc: ['body', ...loc.split('.')], msg, type: 'value_error' });

  it('stands at the fields that are shown, and otherwise with its path', () => {
    const error = refused(
      at('name', 'must be short'),
      at('source_config.repo_url', 'must be a URL'),
      at('source_config.repo_url', 'must exist'),
      at('source_config.resource_spec.cpu', 'is too large'),
    );
    expect(failuresOf(error, ['new-name', 'new-repository'])).toEqual({
      'new-name': 'Name must be short.',
      'new-repository': 'Repository must be a URL. Repository must exist.',
      '': 'source_config.resource_spec.cpu is too large.',
    });
    expect(failuresOf(refused(at('source_config.repo_url', 'is not offered')), ['new-template'])).toEqual({
      'new-template': 'Template is not offered.',
    });
  });

  it('of a field that was set stands there as well', () => {
    const set = [
      { field: 'repo_url', value: '' },
      { field: 'image_uri', value: '' },
    ];
    const error = refused(
      { loc: ['body', 'set', 1, 'value'], msg: 'image_uri must name an image', type: 'value_error' },
      { loc: ['body', 'set', 0, 'value'], msg: 'repo_url must be a URL', type: 'value_error' },
      at('file.image_uri', 'is required'),
    );
    expect(failuresOf(error, ['new-image'], set)).toEqual({
      'new-image': 'Image must name an image. Image is required.',
      '': 'repo_url must be a URL.',
    });
    expect(failuresOf(new ApiError(412, 'exists'), [])).toEqual({ 'new-name': 'exists' });
  });

  it('without findings, or of nobody, is said as it is; a name that is taken stands at the name', () => {
    expect(failuresOf(new ApiError(409, 'taken'), [])).toEqual({ 'new-name': 'taken' });
    expect(failuresOf(new ApiError(503, 'later'), ['new-name'])).toEqual({ '': 'later' });
    expect(failuresOf(new Error('broken'), [])).toEqual({ '': 'broken' });
    expect(failuresOf('odd', [])).toEqual({ '': 'odd' });
  });
});

describe('a digest', () => {
  const digest = `sha256:${'0a'.repeat(32)}`;

  it.each([digest, ` 1: digest: ${digest} size: 528\n`, `registry.example/team/shop@${digest}`])(
    'is found in %j',
    (text) => expect(digestIn(text)).toBe(digest),
  );

  it.each(['', 'shop:1', digest.slice(0, -1), `${digest}0`, digest.toUpperCase()])('is not in %j', (text) =>
    expect(digestIn(text)).toBeUndefined(),
  );
});

describe('a file', () => {
  const gzip = Uint8Array.of(0x1f, 0x8b, 8);

  it('is taken up to the limit, if it is compressed', () => {
    expect(unfit({ name: 'a.tar.gz', size: 1024 * 1024 }, gzip, 1)).toBeUndefined();
    expect(unfit({ name: 'a.tar.gz', size: 1024 * 1024 + 1 }, gzip, 1)).toMatch(/^a\.tar\.gz is larger than 1 MiB\./);
    expect(unfit({ name: 'a.zip', size: 10 }, Uint8Array.of(0x50, 0x4b, 3), 1)).toMatch(/not compressed with gzip/);
    expect(unfit({ name: 'empty', size: 0 }, new Uint8Array(), 1)).toMatch(/not compressed with gzip/);
  });
});
