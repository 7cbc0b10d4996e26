// Writes davit.yaml beside the code, from what the folder has, or for an image.

import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { readText } from '../../deploy/http/deployment-file-text.ts';
import { fileLine } from '../../kinds/file-finding.ts';
import { FILE_NAME, SCHEMA_FILE_NAME } from '../../kinds/source-files.ts';
import { type Context, type Flags, InvalidFile, Misuse } from '../line/command.ts';
import { needImage, needName } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import { Failure } from '../transport/kubectl.ts';
import { needFolder, pathWithin } from './pack.ts';
import {
  configurationIn,
  type Folder,
  fileText,
  imageFileText,
  nameOfImage,
  type Project,
  projectOf,
  READ_FILES,
} from './project.ts';

/** What an application describes itself with is smaller. */
const LARGEST_READ_BYTES = 1024 * 1024;
/** Value of --output for standard output. */
const PRINTED = '-';

/** Resolves to the exit code. Throws Failure and Misuse. */
export async function init(context: Context): Promise<number> {
  const { words, flags, server, say } = context;
  const folder = words[0] ?? '.';
  const path = flags.text('output') ?? join(folder, FILE_NAME);
  const name = flags.text('name');
  if (name !== undefined) needName(name, '--name');
  const schema = server === undefined ? SCHEMA_FILE_NAME : `${server.replace(/(?<!\/)\/+$/, '')}/${SCHEMA_FILE_NAME}`;
  const made = await (flags.has('image') ? ofImage : ofFolder)({ folder, path, flags, schema, name });
  const { text } = made;
  // What is written must be what deploy reads.
  const read = readText(text);
  const named = path === PRINTED ? FILE_NAME : path;
  if ('findings' in read) throw new InvalidFile(read.findings.map((finding) => fileLine(named, finding)).join('\n'));
  if (path === PRINTED) {
    say(text.trimEnd());
    return 0;
  }
  await write(path, text, flags.has('force'));
  say(`Wrote ${path}: ${made.summary}.`);
  for (const line of made.todo) say(line);
  if (server === undefined)
    say(`To let editors complete it: ${PROGRAM} schema > ${join(dirname(path), SCHEMA_FILE_NAME)}`);
  return 0;
}

interface Wanted {
  readonly folder: string;
  /** The file to write. */
  readonly path: string;
  readonly flags: Flags;
  /** Where editors find the schema. */
  readonly schema: string;
  /** Of --name. */
  readonly name: string | undefined;
}

interface Made {
  readonly text: string;
  readonly summary: string;
  /** Lines that say how to deploy it. */
  readonly todo: readonly string[];
}

async function ofFolder({ folder, path, flags, schema, name }: Wanted): Promise<Made> {
  const found = await projectIn(folder, flags.text('config'));
  const project = name === undefined ? found : { ...found, name: { value: name, from: '--name' } };
  const file = path === join(folder, FILE_NAME) ? [] : ['--file', path];
  const secrets = project.envFile === undefined ? [] : ['--secrets-file', join(folder, project.envFile)];
  return {
    text: fileText(project, schema),
    summary: summaryOf(project),
    todo: [
      `To deploy: ${PROGRAM} deploy ${[folder, ...file, ...secrets].join(' ')}`,
      `On a platform that builds nothing (${PROGRAM} platform shows it), push an image first: ${PROGRAM} deploy --image IMAGE --file ${path}`,
    ],
  };
}

async function ofImage({ path, flags, schema, name }: Wanted): Promise<Made> {
  if (flags.has('config')) throw new Misuse('--config is for a build, but --image is already built.');
  const image = flags.text('image') ?? '';
  needImage(image);
  const own = name === undefined ? nameOfImage(image) : { value: name, from: '--name' };
  if (path !== PRINTED) await needFolder(dirname(path));
  return {
    text: imageFileText(own, schema),
    summary: `name ${own.value} (${own.from})`,
    todo: [`To deploy: ${PROGRAM} deploy --image ${image} --file ${path}`],
  };
}

async function projectIn(path: string, given: string | undefined): Promise<Project> {
  await needFolder(path);
  const entries = await readdir(path, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
  const folder: Folder = { path, name: basename(resolve(path)), files: files.toSorted() };
  const config = given === undefined ? configurationIn(folder) : pathWithin(path, given);
  const wanted = [config, ...READ_FILES.filter((file) => files.includes(file))];
  const texts = await Promise.all(wanted.map(async (file) => [file, await textOf(path, file)] as const));
  return projectOf(folder, config, new Map(texts));
}

async function textOf(folder: string, file: string): Promise<string> {
  const path = join(folder, file);
  try {
    const { size } = await stat(path);
    if (size > LARGEST_READ_BYTES) throw new Failure(`${path} is larger than 1 MiB, so it is not read.`);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${path} cannot be read: ${(error as Error).message}`);
  }
}

async function write(path: string, text: string, isReplaced: boolean): Promise<void> {
  try {
    await writeFile(path, text, { flag: isReplaced ? 'w' : 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new Failure(`${path} exists and was not changed. --force replaces it, and --output - prints the new one.`);
    throw new Failure(`${path} cannot be written: ${message}`);
  }
}

function summaryOf({ name, config, container }: Project): string {
  const { port, healthPath } = container ?? {};
  return [
    `name ${name.value} (${name.from})`,
    `built from ${config}`,
    ...(port === undefined ? [] : [`port ${port.value} (${port.from})`]),
    ...(healthPath === undefined ? [] : [`health path ${healthPath.value} (${healthPath.from})`]),
  ].join(', ');
}
