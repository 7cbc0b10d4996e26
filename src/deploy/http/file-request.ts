// What a request with a davit.yaml stands for: the deployment of its name, and the request that creates or changes it. Pure.

import { inApiWords } from '../../api/field-words.ts';
import { readBody } from '../../api/validation.ts';
import { type AppDeployment, SourceRevisionConfig } from '../../kinds/app-deployment.ts';
import { fieldSentence } from '../../kinds/file-finding.ts';
import type { Settings } from '../../kinds/settings.ts';
import { type Source, uses } from '../../kinds/source-rules.ts';
import { toSnake } from '../../runtime/http/casing.ts';
import { type FieldError, HttpError } from '../../runtime/http/http-error.ts';
import { asArray, asObject } from '../../runtime/json-value.ts';
import { objectChanges } from '../record/revision-diff.ts';
import { withVariables } from '../record/variables.ts';
import {
  changeTo,
  DEFAULT_SOURCE,
  type DeploymentFile,
  fileOf,
  placeInFile,
  requestOf,
  wholeRequest,
  withoutNull,
} from './deployment-file.ts';
import type { AppliedFile, ApplyFile } from './file-payloads.ts';
import { judgeFile } from './judge-file.ts';
import {
  type CreateDeployment,
  CreateDeploymentBody,
  type Deployment,
  type PatchDeployment,
  PatchDeploymentBody,
} from './payloads.ts';

export interface FileAsks {
  readonly name: string;
  /** Undefined: it is to be created. */
  readonly there: AppDeployment | undefined;
  readonly file: DeploymentFile;
  /** Secret variables that the file names and that have no value. */
  readonly missingSecrets: readonly string[];
  readonly creation: () => CreateDeployment;
  /** `now`: the deployment as an answer shows it. */
  readonly changeFrom: (record: AppDeployment, now: Deployment) => PatchDeployment;
  /** An error of that creation or change, at the place that the sender wrote. */
  readonly asSent: (finding: FieldError) => FieldError;
}

interface Asking {
  readonly recordOf: (name: string) => AppDeployment | undefined;
  readonly settings: Pick<Settings, 'builds'>;
  /** Missing secrets are no error. */
  readonly isDryRun: boolean;
}

/** Throws HttpError 422, and 409 for a deployment of another source or one that nothing would build. */
export function asksOf(body: ApplyFile, { recordOf, settings, isDryRun }: Asking): FileAsks {
  const text = body.file ?? undefined;
  const [set, env, secrets] = [body.set ?? [], body.env ?? [], body.secrets ?? []];
  const nameIn = (file: DeploymentFile): string => body.name ?? file.name ?? body.default_name ?? '';
  const judged = judgeFile(text, {
    by: 'caller',
    set,
    source: body.source ?? undefined,
    given: secrets.map(({ name }) => name),
    specOf: (file) => recordOf(nameIn(file))?.spec,
  });
  if (!('file' in judged)) throw new HttpError(422, judged.findings.map(inText));
  const { file, missing } = judged;
  const inFile = (finding: FieldError): FieldError => {
    const at = set.findLastIndex(({ field }) => isOneIn(field.split('.'), finding.loc));
    const msg = inApiWords(finding.msg);
    if (at >= 0) return { ...finding, loc: ['body', 'set', at, 'value'], msg: fieldSentence({ ...finding, msg }) };
    return inText(text === undefined ? finding : judged.placed(finding));
  };
  const name = nameIn(file);
  const findings = [...judged.findings, ...(isDryRun ? [] : missing)].map(inFile);
  if (name === '') findings.push(NAMELESS);
  if (findings.length > 0) throw new HttpError(422, findings);
  const there = recordOf(name);
  const source = file.source ?? body.source ?? there?.spec.source ?? DEFAULT_SOURCE;
  if (there !== undefined && there.spec.source !== source) throw refusedSource(there, source);
  if (there === undefined && uses(source, 'upload')) needBuilds(settings.builds, name);
  const missingSecrets = missing.map(({ loc }) => file.secrets?.[Number(loc[1])] ?? '');
  // Where they are no error, the rest is judged as if they had values.
  const values = [...secrets, ...missingSecrets.map((one) => ({ name: one, value: '' }))];
  /** source_config of the newest request. */
  let config: Readonly<Record<string, unknown>> = {};
  const fieldsFrom = (record?: AppDeployment, now?: Deployment): object => {
    const sent = requestOf(file);
    const { source_config, source_revision_config, secret_references } =
      record !== undefined && body.whole ? wholeRequest(sent, fileOf(record)) : sent;
    const own = now?.source_config;
    config = {
      ...(own ? changeTo(source_config, own) : source_config),
      ...(env.length > 0 && { env: withVariables(file.env ?? own?.env ?? [], env) }),
    };
    const { source_tarball_path: path } = body;
    return {
      source_config: config,
      source_revision_config: { ...source_revision_config, ...(path && { source_tarball_path: path }) },
      ...(secret_references !== undefined && { secret_references }),
    };
  };
  return {
    name,
    there,
    file,
    missingSecrets,
    creation: () => readBody(CreateDeploymentBody, { name, source, ...fieldsFrom(), secrets: values }),
    changeFrom: (record, now) =>
      readBody(PatchDeploymentBody, {
        ...fieldsFrom(record, now),
        ...(values.length > 0 && { secrets: values, secrets_mode: 'merge' }),
      }),
    asSent(finding) {
      const [, part = '', field, index, ...inner] = finding.loc;
      if (part === 'name' && body.name) return finding;
      if (part === 'name' && !file.name) return { ...finding, loc: ['body', 'default_name'] };
      if (part === 'source' && !file.source) return finding;
      if (field === 'source_tarball_path') return { ...finding, loc: ['body', field] };
      if (!IN_FILES.has(String(part))) return finding;
      const { name: variable } = asObject(asArray(config['env'])[Number(index)]);
      const at = field === 'env' ? env.findLastIndex((one) => one.name === variable) : -1;
      if (at >= 0) return { ...finding, loc: ['body', 'env', at, ...inner] };
      return inFile({ ...finding, loc: placeInFile(finding.loc.slice(1), file, config) });
    },
  };
}

/** Parts of a request that a file has. */
const IN_FILES: ReadonlySet<string> = new Set([
  'name',
  'source',
  'source_config',
  'source_revision_config',
  'secret_references',
]);

const NAMELESS: FieldError = {
  loc: ['body', 'name'],
  msg: 'is required: neither the request nor its file has one',
  type: 'missing',
};

function inText(finding: FieldError): FieldError {
  return { ...finding, loc: ['body', 'file', ...finding.loc] };
}

/** Whether a place is within the field of this path, or the field within it. */
function isOneIn(path: readonly string[], loc: FieldError['loc']): boolean {
  return loc.length > 0 && path.every((step, at) => at >= loc.length || String(loc[at]) === step);
}

function needBuilds({ registry, images }: Settings['builds'], name: string): void {
  if (registry !== undefined && images.builder !== undefined) return;
  const missing =
    registry === undefined
      ? 'registry (setting builds.registry)'
      : 'image of a builder (setting builds.images.builder)';
  throw new HttpError(
    409,
    `This platform builds no images: it has no ${missing}. Build the image elsewhere, push it, and deploy it: kubectl davit deploy --image IMAGE --name ${name}`,
  );
}

/** How a deployment of a source is changed. */
const CHANGED_BY: Readonly<Record<Source, string>> = {
  codehost: 'push to its repository',
  external_docker: 'deploy an image',
  internal_docker: 'push an image to it',
  internal_source: 'upload its folder',
  internal_template: 'change its template',
};

function refusedSource({ metadata: { name }, spec: { source } }: AppDeployment, wanted: Source): HttpError {
  return new HttpError(
    409,
    `Deployment "${name}" has source ${source}, which cannot become ${wanted}. To change it, ${CHANGED_BY[source]}. For another deployment, choose another name.`,
  );
}

/** A record, and its answer. */
export interface Shown {
  readonly record: AppDeployment;
  readonly answer: Deployment;
}

/** What differs, apart from the upload. Values in force are compared, with defaults. */
export function changesInForce(before: Shown, after: Shown): AppliedFile['changes'] {
  return objectChanges(comparable(before), comparable(after)).map((one) => ({ from: null, to: null, ...one }));
}

/** An answer has the image and the branch of the latest revision, which a change that was just made is not yet. */
function comparable({ record, answer: { source_config: config, secret_references: references } }: Shown): object {
  const revision = toSnake(SourceRevisionConfig, record.spec.sourceRevisionConfig);
  return asObject(withoutNull({ ...revision, source_tarball_path: null, secret_references: references, ...config }));
}
