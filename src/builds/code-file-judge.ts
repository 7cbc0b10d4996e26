// Judges a davit.yaml of a repository: what a revision of the record takes of it, or why it takes nothing. The schema and the rules are
// those of the plugin. Pure.

import { configIn, type DeploymentFile } from '../deployments/http/deployment-file.ts';
import { readText } from '../deployments/http/deployment-file-text.ts';
import type { Commit } from '../deployments/record/build-source.ts';
import { CONFIG_TAKEN, type CodeFile, fileBreaches, takenFrom } from '../deployments/record/code-file.ts';
import { withFile } from '../deployments/record/file-values.ts';
import { requestedOf, sameJson } from '../deployments/record/wanted-revision.ts';
import { snake, toSnake } from '../lib/http/casing.ts';
import { asArray, asObject, isObject } from '../lib/json-value.ts';
import { type AppDeploymentSpec, SourceConfig } from '../schema/app-deployment.ts';
import type { BuildReason } from '../schema/build.ts';
import { ResourceSpec } from '../schema/resource-spec.ts';
import { Runtime } from '../schema/runtime.ts';
import type { Settings } from '../schema/settings.ts';
import type { SpecBreach } from '../schema/spec-rules.ts';
import { listed, shortened } from '../schema/text.ts';
import type { FileContent } from './codehost/source.ts';

export interface JudgedFile {
  readonly path: string;
  readonly commit: Commit;
  readonly content: FileContent;
}

export function judgeCodeFile(
  spec: Readonly<AppDeploymentSpec>,
  { path, commit, content }: JudgedFile,
  settings: Pick<Settings, 'limits'>,
): CodeFile {
  const failed = (message: string): CodeFile => {
    const reason: BuildReason = 'FileInvalid';
    return { path, commit, failure: { reason, message: shortened(message) } };
  };
  if ('problem' in content)
    return failed(
      `${path}, which davit_file names, ${content.problem}. Add or correct it and push, or remove davit_file.`,
    );
  const read = readText(content.text, path, spec.source);
  const invalid = (errors: readonly string[]): CodeFile =>
    failed(
      `${path} of commit ${commit.commit.slice(0, 12)} is not valid: ${listed(errors, ' ')} Correct it and push. What served goes on serving.`,
    );
  if ('errors' in read) return invalid(read.errors);
  const config = configIn(read.file);
  const values = takenFrom(config);
  const secrets = read.file.secrets ?? [];
  const own = requestedOf(spec);
  const breaches = fileBreaches(spec, own, { values, secrets }, settings);
  if (breaches.length > 0) {
    const whole = withFile(own, values).requested;
    return invalid(
      breaches.map(({ at, message }) => read.errorAt(placeIn(read.file, whole, at), inFileWords(message))),
    );
  }
  return { path, commit, values, secrets, notTaken: notTakenOf(read.file, { config, values, spec }) };
}

/** The place in the file of a breach of the record's spec. An element of a list is found by its name. */
function placeIn(file: DeploymentFile, whole: object, [first, ...rest]: SpecBreach['at']): SpecBreach['at'] {
  if (first !== 'sourceConfig') return first === undefined ? [] : [first, ...rest];
  const [field = '', index, ...inner] = rest;
  const name = snake(String(field));
  const list = asObject(whole)[String(field)];
  if (typeof index !== 'number' || !Array.isArray(list)) return [name, ...[index ?? [], inner].flat().map(inSnake)];
  const wanted = asObject(list[index])['name'];
  const at = asArray(asObject(file)[name]).findIndex((one) => asObject(one)['name'] === wanted);
  return at < 0 ? [name] : [name, at, ...inner];
}

/** A sentence that names fields as the file does. */
function inFileWords(message: string): string {
  return `${message.replaceAll(/\b[a-z]+[A-Z]\w*\b/g, snake)}.`;
}

function inSnake(step: string | number): string | number {
  return typeof step === 'number' ? step : snake(step);
}

/** Fields that name the deployment, its source or its needs: no build takes them, and nobody expects it. */
const NEVER_TAKEN: ReadonlySet<string> = new Set(['name', 'source', 'secrets']);

interface Taken {
  readonly config: Readonly<Record<string, unknown>>;
  readonly values: CodeFile['values'];
  readonly spec: Readonly<AppDeploymentSpec>;
}

/** The fields of the file, under its own names, that only the record decides, and where the record has something else. */
function notTakenOf(file: DeploymentFile, { config, values = {}, spec }: Taken): string[] {
  const own: Readonly<Record<string, unknown>> = {
    ...toSnake(SourceConfig, spec.sourceConfig),
    ...Object.fromEntries(Object.entries(spec.sourceRevisionConfig).map(([field, value]) => [snake(field), value])),
    secret_references: spec.secretReferences,
  };
  const nested = { resource_spec: ResourceSpec.shape, runtime: Runtime.shape } as const;
  return Object.entries(file).flatMap(([name, value]) => {
    if (value === null || value === undefined || NEVER_TAKEN.has(name)) return [];
    if (name === 'resource_spec' || name === 'runtime') {
      const field = name === 'runtime' ? 'runtime' : 'resourceSpec';
      const said: Readonly<Record<string, unknown>> = { ...asObject(config[field]) };
      const taken: Readonly<Record<string, unknown>> = { ...values[field] };
      const ofRecord: Readonly<Record<string, unknown>> = { ...spec.sourceConfig[field] };
      return Object.keys(nested[name])
        .filter(
          (inner) => isGiven(said[inner]) && taken[inner] === undefined && !sameJson(said[inner], ofRecord[inner]),
        )
        .map((inner) => `${name}.${snake(inner)}`);
    }
    const isTaken = CONFIG_TAKEN.some((field) => snake(field) === name);
    return isTaken || !isGiven(value) || sameJson(value, own[name]) ? [] : [name];
  });
}

function isGiven(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  return !(Array.isArray(value) || isObject(value)) || Object.keys(value as object).length > 0;
}
