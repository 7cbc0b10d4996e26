// Which values of a davit.yaml in a repository a revision takes, and whether they fit the record. Whoever can push writes the file, and
// only whoever may change the record decides what it may use: so this is a list of what is taken, and everything else is left.

import type { AppDeployment, AppDeploymentSpec, SourceConfig } from '../../kinds/app-deployment.ts';
import type { Requested, RevisionFile } from '../../kinds/app-revision.ts';
import { NUMBER_FIELDS } from '../../kinds/resource-spec.ts';
import type { Settings } from '../../kinds/settings.ts';
import { type SpecBreach, specBreaches } from '../../kinds/spec-rules.ts';
import { asArray, asObject, present } from '../../runtime/json-value.ts';
import type { Commit } from './build-source.ts';
import { canonical } from './canonical.ts';
import { type FileValues, withFile } from './file-values.ts';
import { limitViolations, placementBreaches } from './limits.ts';
import { SCALE_FIELDS } from './requested-scale.ts';

/** A file that a revision needs before it can be made. */
export interface FileNeed {
  /** Id of that revision: each reads the file, unless an earlier one has that of its commit. */
  readonly id: string;
  readonly path: string;
  /** Absent: the newest commit of the record's ref. */
  readonly commit?: string;
}

/** What was read. */
export interface CodeFile {
  readonly path: string;
  /** Absent only with a failure. */
  readonly commit?: Commit;
  readonly values?: FileValues;
  /** Names of the secret variables that the code needs. */
  readonly secrets?: readonly string[];
  readonly notTaken?: readonly string[];
  readonly failure?: NonNullable<RevisionFile['failure']>;
}

/** `waits`: why it is not known yet, for people. The record is reconciled again when it is. */
export type ReadCodeFile = (record: AppDeployment, need: FileNeed) => CodeFile | { readonly waits: string };

/** Sizes that are not taken besides the scale, which is the record's and of no revision. A volume never shrinks again. */
const SIZES_KEPT: readonly string[] = [...SCALE_FIELDS, 'dbStorageGi'];
export const SIZES_TAKEN: readonly string[] = NUMBER_FIELDS.map(({ field }) => field).filter(
  (field) => !SIZES_KEPT.includes(field),
);
/** How the code is run. A store, and what follows a queue, are the record's: data and scale depend on them. */
export const RUNTIME_TAKEN: readonly string[] = [
  'port',
  'healthPath',
  'server',
  'queue',
  'orchestrator',
  'executor',
  'migrate',
  'envNames',
  'postgresUriScheme',
  'without',
];
export const CONFIG_TAKEN = [
  'env',
  'tasks',
  'installCommand',
  'buildCommand',
] as const satisfies readonly (keyof SourceConfig)[];

/** What is taken of such a configuration. It may have any content: an older Davit may have stored it. */
export function takenFrom(config: Readonly<Record<string, unknown>>): FileValues {
  const only = (fields: readonly string[], values: unknown): object =>
    Object.fromEntries(Object.entries(asObject(values)).filter(([field]) => fields.includes(field)));
  const {
    secrets: _none,
    secretReferences: _any,
    sourceRevisionConfig: _of,
    ...values
  } = canonical({
    ...only(CONFIG_TAKEN, config),
    resourceSpec: only(SIZES_TAKEN, config['resourceSpec']),
    runtime: only(RUNTIME_TAKEN, config['runtime']),
  } as Requested);
  return values;
}

/** The record's spec with the values of a revision: what is resolved, judged and shown of it. */
export function specWith<Spec extends Readonly<Pick<AppDeploymentSpec, 'sourceConfig'>>>(
  spec: Spec,
  { resourceSpec, runtime, env, tasks, installCommand, buildCommand }: Requested,
): Spec {
  return {
    ...spec,
    sourceConfig: {
      ...spec.sourceConfig,
      ...present({ resourceSpec, runtime, env, tasks, installCommand, buildCommand }),
    },
  };
}

/**
 * What is wrong with a record together with its file, and not with the record alone. `own`: what the record asks for. Places are those
 * of the record, but a secret that is missing has its place in the file.
 */
export function fileBreaches(
  spec: Readonly<AppDeploymentSpec>,
  own: Requested,
  { values = {}, secrets = [] }: Pick<CodeFile, 'values' | 'secrets'>,
  settings: Pick<Settings, 'limits' | 'placement'>,
): SpecBreach[] {
  const there = [...own.secrets, ...own.secretReferences].map(({ name }) => name);
  const missing = missingSecrets(secrets, there);
  const { requested, fields } = withFile(own, values);
  if (fields.length === 0) return missing;
  const whole = specWith(spec, requested);
  const before = new Set([...specBreaches(spec)].map(({ message }) => message));
  const excesses = limitViolations({ resourceSpec: requested.resourceSpec }, settings.limits, own);
  return [
    ...missing,
    ...[...specBreaches(whole)].filter(({ message }) => !before.has(message)),
    ...excesses.map(({ field, of, most }) => ({
      at: ['sourceConfig', 'resourceSpec', field],
      message: `${of === undefined ? '' : `${of} `}must be at most ${most} on this platform`,
    })),
    ...placementBreaches(whole.sourceConfig, settings, own),
  ];
}

/** The secret variables that a file names and that have no value, by their places in the file. `there`: names that have one. */
export function missingSecrets(names: readonly string[], there: readonly string[]): SpecBreach[] {
  return names.flatMap((name, index) => {
    const message = `names ${name}, which the deployment lacks: set its value, for example with kubectl davit secrets`;
    return there.includes(name) ? [] : [{ at: ['secrets', index], message }];
  });
}

/** The snapshot's part that says what the file gave. */
export function revisionFileOf(
  { path, values, secrets, notTaken = [], failure }: CodeFile,
  fields: readonly string[],
): RevisionFile {
  return {
    path,
    ...(values && !failure && { given: JSON.stringify({ ...values, ...(secrets && { secrets }) }) }),
    ...(fields.length > 0 && !failure && { fields: [...fields] }),
    ...(notTaken.length > 0 && { notTaken: [...notTaken] }),
    ...(failure && { failure }),
  };
}

/** The file as an earlier snapshot stored it. Undefined if that has nothing of it. */
export function fileIn(file: RevisionFile | undefined): CodeFile | undefined {
  if (file?.given === undefined) return undefined;
  const { path, given, notTaken } = file;
  try {
    const content = asObject(JSON.parse(given) as unknown);
    const secrets = asArray(content['secrets']).filter((name) => typeof name === 'string');
    return { path, values: takenFrom(content), secrets, ...(notTaken && { notTaken }) };
  } catch {
    return undefined;
  }
}
