// What a revision of a record takes of a davit.yaml of its repository, or why it takes nothing. Pure.

import { configIn, type DeploymentFile } from '../deploy/http/deployment-file.ts';
import { judgeFile } from '../deploy/http/judge-file.ts';
import type { Commit } from '../deploy/record/build-source.ts';
import { CONFIG_TAKEN, type CodeFile } from '../deploy/record/code-file.ts';
import { type AppDeploymentSpec, SourceConfig } from '../kinds/app-deployment.ts';
import type { BuildReason } from '../kinds/build.ts';
import { fileLine } from '../kinds/file-finding.ts';
import type { Settings } from '../kinds/settings.ts';
import { listed, shortened } from '../kinds/text.ts';
import { snake, toSnake } from '../runtime/http/casing.ts';
import { asObject, isObject, sameJson } from '../runtime/json-value.ts';
import type { FileContent } from './codehost/source.ts';

export interface PushedFile {
  readonly path: string;
  readonly commit: Commit;
  readonly content: FileContent;
}

export function judgeCodeFile(
  spec: Readonly<AppDeploymentSpec>,
  { path, commit, content }: PushedFile,
  settings: Pick<Settings, 'limits' | 'placement'>,
): CodeFile {
  const failed = (message: string): CodeFile => {
    const reason: BuildReason = 'FileInvalid';
    return { path, commit, failure: { reason, message: shortened(message) } };
  };
  if ('problem' in content)
    return failed(
      `${path}, the file in davit_file, ${content.problem}. Add or correct it and push, or remove davit_file.`,
    );
  const judged = judgeFile(content.text, { by: 'push', spec, settings });
  if (judged.findings.length > 0 || !('file' in judged)) {
    const lines = judged.findings.map((finding) => fileLine(path, finding));
    return failed(
      `${path} of commit ${commit.commit.slice(0, 12)} is not valid: ${listed(lines, ' ')} Correct it and push. The running revision keeps serving.`,
    );
  }
  const { file, values } = judged;
  return {
    path,
    commit,
    values,
    secrets: file.secrets ?? [],
    notTaken: notTakenOf(file, { config: configIn(file), values, spec }),
  };
}

/** Fields that name the deployment, its source or its needs: no build uses them. */
const NEVER_TAKEN: ReadonlySet<string> = new Set(['name', 'source', 'secrets']);

/** Objects of the file that are taken field by field, and their names in the record. */
const NESTED: Readonly<Record<string, 'resourceSpec' | 'runtime'>> = {
  resource_spec: 'resourceSpec',
  runtime: 'runtime',
};

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
  return Object.entries(file).flatMap(([name, value]) => {
    if (value === null || value === undefined || NEVER_TAKEN.has(name)) return [];
    const field = NESTED[name];
    if (field !== undefined) {
      const [taken, ofRecord] = [asObject(values[field]), asObject(spec.sourceConfig[field])];
      return Object.entries(asObject(config[field]))
        .filter(([inner, said]) => isGiven(said) && taken[inner] === undefined && !sameJson(said, ofRecord[inner]))
        .map(([inner]) => `${name}.${snake(inner)}`);
    }
    const isTaken = CONFIG_TAKEN.some((field) => snake(field) === name);
    return isTaken || !isGiven(value) || sameJson(value, own[name]) ? [] : [name];
  });
}

function isGiven(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  return !(Array.isArray(value) || isObject(value)) || Object.keys(value as object).length > 0;
}
