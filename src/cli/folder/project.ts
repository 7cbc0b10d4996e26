// What the files of a folder say about its deployment, and the davit.yaml that is made of that. Pure.

import { stringify } from 'yaml';
import { IMPOSSIBLE_NAME, NAME_MAX_LENGTH } from '../../kinds/name-patterns.ts';
import { isManifest, MANIFESTS, NO_START, startCommand } from '../../kinds/plain-folders.ts';
import { DEFAULT_CONFIGURATION, FILE_NAME, isDockerfile } from '../../kinds/source-files.ts';
import { Misuse } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { Failure } from '../transport/kubectl.ts';
import { type ContainerFacts, containerFacts, type Found, portArgument } from './dockerfile.ts';

/** Files whose text is read, besides the one that is built from. */
export const READ_FILES = ['package.json', 'pyproject.toml'] as const;

export interface Folder {
  /** As messages name it. */
  readonly path: string;
  /** Its own name, without those of the folders above it. */
  readonly name: string;
  /** Names of its files. */
  readonly files: readonly string[];
}

/** By name: the text of each of READ_FILES that exists, and of the file that is built from. */
export type Texts = ReadonlyMap<string, string>;

export interface Project {
  readonly name: Found<string>;
  /** The workflow configuration file or Dockerfile. */
  readonly config: string;
  /** Undefined for a workflow configuration file. */
  readonly container: ContainerFacts | undefined;
  /** Other files that could be built from. */
  readonly alternatives: readonly string[];
  /** The start command of a folder that is built from its list of packages; "" if Davit finds no command. */
  readonly start?: string;
  /** Whether package.json has a script that builds. */
  readonly hasBuildScript: boolean;
  /** The file of variables that the configuration file names. */
  readonly envFile?: string;
}

/** A name of a deployment that resembles the text. It may be empty or too long. */
export function deploymentName(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^[-0-9]+|-$/g, '');
}

/** The file that is built from, unless a flag names it. Throws Failure if there is none, or no telling which. */
export function configurationIn({ path, files }: Folder): string {
  const dockerfiles = files.filter(isDockerfile);
  const [found, another] = dockerfiles;
  if (files.includes(DEFAULT_CONFIGURATION)) return DEFAULT_CONFIGURATION;
  if (dockerfiles.includes('Dockerfile')) return 'Dockerfile';
  if (another !== undefined)
    throw new Misuse(
      `${path} has ${dockerfiles.join(', ')}, but none is named Dockerfile. Choose one: ${PROGRAM} init ${path} --config ${found}`,
    );
  if (found !== undefined) return found;
  const manifest = MANIFESTS.find((name) => files.includes(name));
  if (manifest !== undefined) return manifest;
  throw new Failure(
    `${path} has neither ${DEFAULT_CONFIGURATION} nor a Dockerfile, from which images are built. Nothing was written. Name the folder of the application: ${PROGRAM} init FOLDER, or write a Dockerfile there first.`,
  );
}

const NO_FACTS: ContainerFacts = { otherPorts: [] };

/** Throws Failure if a deployment's name cannot be made, or if the configuration file cannot be built from. */
export function projectOf(folder: Folder, config: string, texts: Texts): Project {
  const manifest = parsedJson(texts.get('package.json'));
  const text = texts.get(config) ?? '';
  const isContainer = isDockerfile(config);
  if (!isContainer && !isManifest(config)) needGraphs(config, text);
  const alternatives = folder.files.filter(
    (file) => file !== config && (file === DEFAULT_CONFIGURATION || isDockerfile(file)),
  );
  const scripts = objectIn(manifest, 'scripts');
  const envFile = isContainer ? undefined : textIn(parsedJson(text), 'env');
  const container = isContainer ? withStartScript(containerFacts(text), config, textIn(scripts, 'start')) : undefined;
  return {
    name: nameOf(folder, textIn(manifest, 'name'), texts.get('pyproject.toml') ?? ''),
    config,
    container,
    alternatives,
    hasBuildScript: textIn(scripts, 'build') !== undefined,
    ...(envFile !== undefined && { envFile }),
    ...(isManifest(config) && {
      start: startCommand(config, (file) => folder.files.includes(file), texts.get('package.json'))?.join(' ') ?? '',
    }),
  };
}

function withStartScript(facts: ContainerFacts, file: string, start: string | undefined): ContainerFacts {
  const port = portArgument(start ?? '');
  const fromScript = port === undefined ? undefined : { value: port, from: 'the script start of package.json' };
  const named = <T>(found: Found<T> | undefined): Found<T> | undefined =>
    found && { ...found, from: `${found.from} of ${file}` };
  return { ...facts, port: named(facts.port) ?? fromScript, healthPath: named(facts.healthPath) };
}

function needGraphs(file: string, text: string): void {
  const content = parsedJson(text);
  if (content === undefined)
    throw new Failure(`${file} is not a JSON object, so a build would fail. Correct it, then run init again.`);
  if (objectIn(content, 'graphs') === undefined)
    throw new Failure(
      `${file} has no graphs, so a build would fail. Add graphs, or choose a Dockerfile with --config.`,
    );
}

function nameOf(folder: Folder, ofPackage: string | undefined, pyproject: string): Found<string> {
  const candidates = [
    { text: ofPackage?.replace(/^@[^/]*\//, ''), from: 'package.json' },
    { text: pyprojectName(pyproject), from: 'pyproject.toml' },
    { text: folder.name, from: 'the folder' },
  ];
  for (const { text, from } of candidates) {
    const value = nameFrom(text ?? '');
    if (value !== undefined) return { value, from };
  }
  throw new Misuse(`The name of folder ${folder.path} cannot become the name of a deployment. Choose one with --name.`);
}

/** That of its repository, without registry, tag and digest. Throws Misuse for what gives no name. */
export function nameOfImage(image: string): Found<string> {
  const [repository = ''] = image.split('@');
  const own = (repository.split('/').at(-1) ?? '').split(':', 1)[0] ?? '';
  const value = nameFrom(own);
  if (value === undefined)
    throw new Misuse(`The name of image ${image} cannot become the name of a deployment. Choose one with --name.`);
  return { value, from: 'the image' };
}

/** Undefined if a text gives none. */
function nameFrom(text: string): string | undefined {
  const value = deploymentName(text).slice(0, NAME_MAX_LENGTH).replace(/-$/, '');
  return value === '' || value === IMPOSSIBLE_NAME ? undefined : value;
}

/** Only a name on a line of its own is found: there is no other reason to read TOML. */
function pyprojectName(text: string): string | undefined {
  const [, section] = /^\[(?:project|tool\.poetry)\].*\r?\n([^[]*)/m.exec(text) ?? [];
  return /^name\s*=\s*(["'])([^"'\n]+)\1/m.exec(section ?? '')?.[2];
}

type Json = Readonly<Record<string, unknown>>;

/** Undefined for what is no JSON object. */
function parsedJson(text: string | undefined): Json | undefined {
  try {
    return asJson(JSON.parse((text ?? '').replace(/^\ufeff/, '')));
  } catch {
    return undefined;
  }
}

function asJson(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

function objectIn(object: Json | undefined, key: string): Json | undefined {
  return asJson(object?.[key]);
}

function textIn(object: Json | undefined, key: string): string | undefined {
  const value = object?.[key];
  return typeof value === 'string' ? value : undefined;
}

/**
 * A line that begins with `#` and no space is an example: without the `#` it is a field. `schema`: where editors find the JSON Schema.
 */
export function fileText(project: Project, schema: string): string {
  const { name, config, container, alternatives, hasBuildScript, start } = project;
  return written(`How this folder is deployed: ${PROGRAM} deploy`, name, schema, [
    '',
    '# What the image is built from: a Dockerfile, a workflow configuration file, or a list of packages.',
    ...(alternatives.length === 0 ? [] : [`# Or: ${alternatives.join(', ')}.`]),
    `workflow_config_path: ${scalar(config)}`,
    ...(start === undefined
      ? []
      : [start === '' ? `# No program to start was found. ${NO_START}.` : `# It starts: ${start}`]),
    ...(container === undefined && hasBuildScript
      ? ['# Runs in the build after the installation. package.json has this script.', '#build_command: npm run build']
      : []),
    '',
    ...(container !== undefined || start !== undefined
      ? containerRuntime(container ?? NO_FACTS, config)
      : WORKFLOW_RUNTIME),
  ]);
}

/** The text of a davit.yaml for an image. The command names the image, because each release has another one. */
export function imageFileText(name: Found<string>, schema: string): string {
  return written(`How an image is deployed: ${PROGRAM} deploy --image IMAGE --file ${FILE_NAME}`, name, schema, [
    '# Nothing is built.',
    'source: external_docker',
    '',
    '# How the image is run. Without a port, it listens on PORT, which the platform sets. A pod gets requests while a GET of',
    '# health_path answers 200; if absent, /ok. An image that needs no PostgreSQL or no Redis is cheaper and starts sooner without.',
    '#runtime: {port: 8080, health_path: /healthz, database: none, redis: none}',
  ]);
}

function written(how: string, name: Found<string>, schema: string, own: readonly string[]): string {
  const lines = [
    `# yaml-language-server: $schema=${schema}`,
    `# ${how} reads it. Flags override it. Absent fields`,
    '# stay as they are in the deployment. To use a line that begins with #, remove the #.',
    '',
    `# From ${name.from}. A deployment keeps its name.`,
    `name: ${scalar(name.value)}`,
    ...own,
    '',
    ...OFTEN_WANTED,
  ];
  return `${lines.join('\n')}\n`;
}

const OFTEN_WANTED = [
  `# Sizes, and how many pods. If absent, the platform's: ${PROGRAM} platform`,
  '#resource_spec: {cpu: 0.5, memory_mb: 512, min_scale: 1, max_scale: 3}',
  '',
  '# Plain variables. Their values are visible to everybody who can read the deployment.',
  '#env: [{name: LOG_LEVEL, value: info}]',
  '',
  '# Secret variables by name. Their values do not belong here: deploy asks for missing values, or takes',
  '# them from --secret or --secrets-file.',
  '#secrets: [API_KEY]',
];

const WORKFLOW_RUNTIME = [
  '# How the image is run. An image from a workflow configuration file needs nothing here.',
  '#runtime: {server: {termination_grace_period_seconds: 60}}',
];

function containerRuntime({ port, healthPath, otherPorts }: ContainerFacts, config: string): string[] {
  const further = otherPorts.length === 0 ? '' : ` ${config} also exposes ${otherPorts.join(', ')}.`;
  return [
    '# How the image is run.',
    'runtime:',
    ...(port === undefined
      ? [`  # ${config} names no port. If absent, the image listens on PORT, which the platform sets.`, '  #port: 8080']
      : [`  # From ${port.from}.${further} The platform sets PORT to it.`, `  port: ${port.value}`]),
    '  # A pod gets requests while a GET of this path answers 200. If absent, /ok.',
    ...(healthPath === undefined
      ? [`  # ${config} has no HEALTHCHECK that names it.`, '  #health_path: /healthz']
      : [`  # From ${healthPath.from}.`, `  health_path: ${scalar(healthPath.value)}`]),
    '  # An image that needs no PostgreSQL or no Redis is cheaper and starts sooner without.',
    '  #database: none',
    '  #redis: none',
  ];
}

function scalar(text: string): string {
  return stringify(text, { lineWidth: 0 }).trimEnd();
}
