// The one judgement of a davit.yaml. Pure.

import { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { Settings } from '../../kinds/settings.ts';
import type { Source } from '../../kinds/source-rules.ts';
import { sentPath } from '../../runtime/http/casing.ts';
import type { FieldError } from '../../runtime/http/http-error.ts';
import { asObject, ownValue } from '../../runtime/json-value.ts';
import { fileBreaches, missingSecrets, takenFrom } from '../record/code-file.ts';
import { type FileValues, withFile } from '../record/file-values.ts';
import { requestedOf } from '../record/requested.ts';
import { configIn, DEFAULT_SOURCE, type DeploymentFile, fileFindings, placeInFile } from './deployment-file.ts';
import { type ReadText, readText } from './deployment-file-text.ts';

/** A field of the file, such as `resource_spec.cpu`, and the value that it gets. */
export interface SetField {
  readonly field: string;
  readonly value?: unknown;
}

interface ByCaller {
  readonly by: 'caller';
  /** Fields that win over the text. */
  readonly set: readonly SetField[];
  /** What is deployed: the source of a file that names none. A file may not name another one. */
  readonly source: Source | undefined;
  /** Names of the secret variables whose values come with the file. */
  readonly given: readonly string[];
  /** The deployment that the file is about; undefined if it does not exist. */
  readonly specOf: (file: DeploymentFile) => AppDeploymentSpec | undefined;
}

interface ByPush {
  readonly by: 'push';
  readonly spec: Readonly<AppDeploymentSpec>;
  readonly settings: Pick<Settings, 'limits' | 'placement'>;
}

type Unread = Extract<ReadText, { readonly findings: unknown }>;

export interface JudgedFile extends Exclude<ReadText, Unread> {
  /** With one, nothing of the file applies. Locations are within the file. */
  readonly findings: readonly FieldError[];
  /** Each secret variable that the file names and that has no value. Those of a push are among the findings. */
  readonly missing: readonly FieldError[];
  /** What a push takes, under the record's names. */
  readonly values: FileValues;
}

/**
 * Judges the text of a davit.yaml by its schema, its rules and the secrets of its deployment. `by` says who brings the file, which is the
 * one difference between the doors:
 *
 * - `caller`: somebody who may change the deployment, by `POST /v2/deployments/file` (kubectl davit deploy, the page, curl). Every field
 *   applies and wins over the deployment, and what the file leaves out stays. A file without a field is refused: it was probably not written.
 * - `push`: somebody who may push to the repository, but perhaps not change the deployment. Only the fields that `takenFrom` lists
 *   apply, and only where the deployment does not set them: what people change between two pushes stays.
 */
export function judgeFile(text: string | undefined, bringing: ByCaller | ByPush): JudgedFile | Unread {
  const read = readText(text ?? '', (file) =>
    bringing.by === 'push' ? bringing.spec.source : sourceOfFile(file, bringing),
  );
  if ('findings' in read) return read;
  if (bringing.by === 'push') return judgePushed(read, bringing);
  return { ...read, values: {}, ...judgeBrought(read.file, text, bringing) };
}

function sourceOfFile(file: DeploymentFile, { source, specOf }: ByCaller): Source {
  return file.source ?? source ?? specOf(file)?.source ?? DEFAULT_SOURCE;
}

function judgeBrought(
  written: DeploymentFile,
  text: string | undefined,
  bringing: ByCaller,
): Pick<JudgedFile, 'file' | 'findings' | 'missing'> {
  const { set, source, given, specOf } = bringing;
  if (text !== undefined && Object.keys(written).length === 0) return { file: written, findings: [EMPTY], missing: [] };
  const file = set.reduce<object>(
    (content, { field, value }) => withField(content, field.split('.'), value ?? null),
    written,
  ) as DeploymentFile;
  const ofSet = set.length === 0 ? [] : fileFindings(file, (one) => sourceOfFile(one, bringing));
  if (ofSet.length > 0) return { file, findings: ofSet, missing: [] };
  const { secrets = [], secretReferences = [] } = specOf(file) ?? {};
  const there = [...secrets, ...secretReferences, ...(file.secret_references ?? [])].map(({ name }) => name);
  const missing = missingSecrets(file.secrets ?? [], [...there, ...given]).map(
    ({ at, message: msg }): FieldError => ({ loc: at, msg, type: 'missing' }),
  );
  return { file, findings: [...wrongSource(file, source)], missing };
}

const EMPTY: FieldError = {
  loc: [],
  msg: 'is empty. Add a field such as "name: shop", or leave the file out.',
  type: 'missing',
};

function withField(content: object, [step = '', ...rest]: readonly string[], value: unknown): object {
  const inner = asObject(ownValue(asObject(content), step));
  return { ...content, [step]: rest.length === 0 ? value : withField(inner, rest, value) };
}

function* wrongSource({ source }: DeploymentFile, wanted: Source | undefined): Generator<FieldError> {
  if (!source || wanted === undefined || source === wanted) return;
  const msg = `is ${source}, but this request deploys ${wanted}: remove source from the file, or deploy from the source in it`;
  yield { loc: ['source'], msg, type: 'value_error' };
}

function judgePushed(read: Exclude<ReadText, Unread>, { spec, settings }: ByPush): JudgedFile {
  const { file, placed } = read;
  const [own, values] = [requestedOf(spec), takenFrom(configIn(file))];
  const breaches = fileBreaches(spec, own, { values, secrets: file.secrets ?? [] }, settings);
  const lists = { ...withFile(own, values).requested };
  const findings = breaches.map(({ at, message: msg }) => {
    const loc = placeInFile(sentPath(AppDeploymentSpec, at), file, lists);
    return placed({ loc, msg: `${msg}.`, type: 'value_error' });
  });
  return { ...read, values, findings, missing: [] };
}
