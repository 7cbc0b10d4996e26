// What a new deployment can be made of, the request that makes it, and the image that was pushed to one. Pure.

import type { ApplyFile } from '../deploy/http/file-payloads.ts';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { DEFAULT_CONFIGURATION } from '../kinds/source-files.ts';
import type { Source } from '../kinds/source-rules.ts';
import type { Finding } from './api.ts';
import { messageOf } from './text.ts';

interface Field {
  readonly label: string;
  readonly help: string;
  /** Its names in a davit.yaml. */
  readonly names: readonly string[];
}

/** By the id of the element. */
export const FIELDS = {
  'new-name': {
    label: 'Name',
    help: 'Lower-case letters, digits and single hyphens. A name cannot be changed later.',
    names: ['name'],
  },
  'new-source': { label: 'What it runs', help: 'The kind of source cannot be changed later.', names: ['source'] },
  'new-image': {
    label: 'Image',
    help: 'For example registry.example.com/team/shop:1.5.0. The container listens on PORT, and answers GET /ok with 200 when it is ready.',
    names: ['image_uri'],
  },
  'new-integration': {
    label: 'Code host',
    help: 'The integration whose credentials read the repository.',
    names: ['integration_id'],
  },
  'new-repository': { label: 'Repository', help: 'The repository cannot be changed later.', names: ['repo_url'] },
  'new-template': {
    label: 'Template',
    help: "An application of the platform's catalogue.",
    names: ['image_uri', 'repo_url'],
  },
  'new-ref': {
    label: 'Branch, tag or commit',
    help: 'For a branch, the newest commit is built.',
    names: ['repo_ref'],
  },
  'new-folder': {
    label: 'Folder',
    help: 'The browser packs it, without .git, .env, node_modules, links, and what its .gitignore and .dockerignore name.',
    names: [],
  },
  'new-archive': {
    label: 'Or an archive',
    help: 'A .tar.gz of the folder, such as tar -czf shop.tar.gz -C shop . makes. Leave .git and .env out.',
    names: ['source_tarball_path'],
  },
  'new-config': {
    label: 'Configuration file or Dockerfile',
    help: `Its path in the source, such as Dockerfile or ${DEFAULT_CONFIGURATION}.`,
    names: ['workflow_config_path'],
  },
  'new-digest': {
    label: 'Digest of the image',
    help: 'The last line of docker push has it: sha256: and 64 characters. You can paste the whole line.',
    names: ['image_uri'],
  },
  'new-push': {
    label: 'Build on every push to the branch',
    help: 'The code host must report pushes, by a webhook.',
    names: ['build_on_push'],
  },
} as const satisfies Readonly<Record<string, Field>>;
export type FieldId = keyof typeof FIELDS;

export interface Choice {
  readonly source: Source;
  readonly label: string;
  /** Why it cannot be chosen on this platform, and what to do. */
  readonly blocked?: string;
}

/** In the order of the form. */
const LABELS: Readonly<Record<Source, string>> = {
  external_docker: 'An image of a registry',
  codehost: 'A repository',
  internal_template: 'A template',
  internal_source: 'An upload of source code',
  internal_docker: 'An image that you push',
};

/** What is asked for before the platform has said what it offers. */
export const IMAGE: Choice = { source: 'external_docker', label: LABELS.external_docker };

const NO_BUILDS = 'This platform has no builds. Deploy an image, or ask the platform team to configure builds.';
const NO_INTEGRATION =
  'This tenant has no integration with a code host. Ask the platform team to create a CodeHostIntegration.';
const NO_REGISTRY =
  'This platform has no registry to push to. Deploy an image of another one, or ask the platform team to set builds.registry.';
const NO_TEMPLATE = 'The catalogue has no templates. Ask the platform team to create an AppTemplate.';

/** The sources of the platform. */
export function choicesOf({ sources, builds, integrations, templates }: Platform): Choice[] {
  const withoutBuilds = builds.available ? undefined : NO_BUILDS;
  const blocked: Readonly<Record<Source, string | undefined>> = {
    external_docker: undefined,
    codehost: withoutBuilds ?? (integrations.length === 0 ? NO_INTEGRATION : undefined),
    internal_template: templates.length === 0 ? NO_TEMPLATE : undefined,
    internal_source: withoutBuilds,
    internal_docker: builds.registry === null ? NO_REGISTRY : undefined,
  };
  return (Object.keys(LABELS) as Source[])
    .filter((source) => sources.includes(source))
    .map((source) => {
      const why = blocked[source];
      const label = `${LABELS[source]}${why === undefined ? '' : ' (not possible here)'}`;
      return { source, label, ...(why !== undefined && { blocked: why }) };
    });
}

/** The base images that a configuration file is built on. */
export function basesOf({ builds: { base_images: images } }: Platform): string {
  const named = [images.python && `${images.python} for Python`, images.node && `${images.node} for Node.js`];
  return named.some(Boolean)
    ? `A configuration file is built on the platform's base image: ${named.filter(Boolean).join(', ')}. A Dockerfile names its own.`
    : 'This platform has no base images: the configuration file must set base_image. A Dockerfile names its own.';
}

/** The databases that come with a new deployment. */
export function databasesOf({ stores, sizes, default_type: type }: Platform): string {
  const without = 'For an image that needs neither, set runtime.database and runtime.redis to none under More.';
  return stores.own
    ? `Davit creates a PostgreSQL with a volume of ${sizes[type]?.postgres['storage_gi']} GiB and a Redis for it. ${without}`
    : `This platform creates no databases: secrets POSTGRES_URI_CUSTOM and REDIS_URI_CUSTOM name yours. ${without}`;
}

/** What stands in the fields, by their id; a checkbox that is not set is absent. */
export type Given = Readonly<Partial<Record<FieldId, string>>>;

/** Fields of a davit.yaml. */
export type SetFields = NonNullable<ApplyFile['set']>;

/** What the fields say, as the API applies it over a text. Throws an Error with a sentence for a template that is not there. */
export function setOf(source: Source, given: Given, templates: Platform['templates']): SetFields {
  // With the others, so that all errors are found at once.
  return [{ field: 'name', value: given['new-name'] ?? '' }, ...contentOf(source, given, templates)];
}

function contentOf(source: Source, given: Given, templates: Platform['templates']): SetFields {
  const config = { field: 'workflow_config_path', value: given['new-config'] ?? '' };
  const ref = { field: 'repo_ref', value: given['new-ref'] ?? '' };
  switch (source) {
    case 'external_docker':
      return [{ field: 'image_uri', value: given['new-image'] ?? '' }];
    case 'codehost':
      return [
        { field: 'integration_id', value: given['new-integration'] ?? '' },
        { field: 'repo_url', value: given['new-repository'] ?? '' },
        { field: 'build_on_push', value: given['new-push'] !== undefined },
        ref,
        config,
      ];
    case 'internal_source':
      return [config];
    case 'internal_docker':
      // The image is named afterwards: until then there is nothing that it could be in.
      return [];
    case 'internal_template': {
      const template = templates.find((one) => one.name === given['new-template']);
      if (template === undefined) throw new Error('Choose a template.');
      const { image_uri: image, repo_url: repository } = template;
      return repository === null
        ? [{ field: 'image_uri', value: image }]
        : [{ field: 'repo_url', value: repository }, ref, config];
    }
  }
}

/** The digest in what a person has copied from the output of a push; undefined if there is none. */
export function digestIn(text: string): string | undefined {
  return /\bsha256:[0-9a-f]{64}(?![0-9a-f])/.exec(text)?.[0];
}

/** What is not sent: what is wrong with a field. */
export class Unfit extends Error {
  readonly field: FieldId;

  constructor(field: FieldId, sentence: string) {
    super(sentence);
    this.field = field;
  }
}

/** Sentences by the id of their field; under '' what belongs to none that is shown. */
export type Failures = Readonly<Partial<Record<FieldId | '', string>>>;

export interface Refusal extends Error {
  readonly status: number;
  readonly findings: readonly Finding[];
}

/** `error` is what a request was rejected with; `shown` are the fields that a person sees; `set` are those that were sent. */
export function failuresOf(error: unknown, shown: readonly FieldId[], set: SetFields = []): Failures {
  if (error === undefined) return {};
  const message = messageOf(error);
  if (error instanceof Unfit) return { [error.field]: message };
  if (!isRefusal(error)) return { '': message };
  // A name that is taken is no finding: the request is right in itself.
  if (error.status === 409 || error.status === 412) return { 'new-name': message };
  if (error.findings.length === 0) return { '': message };
  const failures: Partial<Record<FieldId | '', string>> = {};
  for (const finding of error.findings) {
    const { loc } = finding;
    const sent = loc.slice(1).join('.');
    const isSet = loc[1] === 'set';
    const field = isSet ? set[Number(loc[2])]?.field : sent.replace(/^(?:file|source_(?:revision_)?config)\./, '');
    const id = shown.find((one) => (FIELDS[one].names as readonly unknown[]).includes(field)) ?? '';
    // An error of a field that was set names it itself.
    const msg = isSet ? finding.msg.replace(`${field} `, '') : finding.msg;
    const sentence = `${id === '' ? (isSet ? field : sent) : FIELDS[id].label} ${msg}${msg.endsWith('.') ? '' : '.'}`;
    failures[id] = failures[id] === undefined ? sentence : `${failures[id]} ${sentence}`;
  }
  return failures;
}

/** By its fields: it was made by a script that has a class of its own. */
export function isRefusal(error: unknown): error is Refusal {
  return error instanceof Error && 'findings' in error && Array.isArray(error.findings);
}

/** What is wrong with the text of a davit.yaml that was sent. */
export function findingsOfText(error: unknown): readonly Finding[] {
  return isRefusal(error) ? error.findings.filter(({ loc }) => loc[1] === 'file') : [];
}

/** RFC 1952: the first bytes of gzip. */
const GZIP = [0x1f, 0x8b, 0x08];

/** Why a file cannot be uploaded; undefined if it can. `beginning`: its first bytes. */
export function unfit(
  file: { readonly name: string; readonly size: number },
  beginning: Uint8Array,
  mostMb: number,
): string | undefined {
  if (GZIP.some((byte, place) => beginning[place] !== byte))
    return `${file.name} is not compressed with gzip. Make a .tar.gz of the folder.`;
  if (file.size > mostMb * 1024 * 1024)
    return `${file.name} is larger than ${mostMb} MiB. Leave out what a build does not need.`;
  return undefined;
}
