// Reads the davit.yaml of the commits that records ask for. A record that needs a file asks for it and is reconciled again when the file is
// known, so that no pass of a record waits for a code host.

import { LruMap } from 'toad-cache';
import { pausedBy } from '../deploy/assess/pause.ts';
import type { Caches } from '../deploy/cluster/caches.ts';
import type { Commit } from '../deploy/record/build-source.ts';
import type { CodeFile, FileNeed, ReadCodeFile } from '../deploy/record/code-file.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import { conditionOf } from '../kinds/conditions.ts';
import type { Settings } from '../kinds/settings.ts';
import { steadyMessage } from '../kinds/text.ts';
import type { Reconcile } from '../runtime/controller/controller.ts';
import { keyOf, refOf } from '../runtime/controller/keys.ts';
import { judgeCodeFile } from './code-file-judge.ts';
import type { FileContent } from './codehost/source.ts';
import { type BuildHindrance, isHindrance, type SourceAccess } from './source-access.ts';

/** Name of the controller that reads. */
export const CODE_FILES = 'code-files';

/** Files that stay in memory, by commit: at most 64 KiB each. */
const MOST_FILES = 100;
/** Records whose last answer is kept until its revision is made. An answer that is lost is asked for again. */
const MOST_ANSWERS = 1000;
/** Delay before a retry after a temporary failure. */
const RETRY_MS = 15_000;

interface Wanted {
  /** The need with the record's uid and what it says of its repository, as JSON. */
  readonly what: string;
  readonly need: FileNeed;
  /** Time of the first attempt, on the clock of the reader. */
  since?: number;
  waits?: string;
}

interface Answered {
  readonly what: string;
  readonly found: BuildHindrance | { readonly commit: Commit; readonly content: FileContent };
}

/** What records ask for, and what was read. Keys are those of records. */
export interface CodeFiles {
  /** `ask` is called with the key of a record whose file is to be read. */
  lookup(record: AppDeployment, need: FileNeed, ask: (key: string) => void): ReturnType<ReadCodeFile>;
  wantedBy(key: string): Wanted | undefined;
  answer(key: string, wanted: Wanted, found: Answered['found']): void;
  forget(key: string): void;
}

/** What the process before this one has reported stays until there is an answer, so that a restart writes nothing. */
function reportedBefore({ metadata, status }: AppDeployment): string | undefined {
  const { reason, observedGeneration, message } = conditionOf(status?.conditions, 'Ready') ?? {};
  return reason === 'FileUnread' && observedGeneration === metadata.generation ? message : undefined;
}

export function makeCodeFiles(settings: Pick<Settings, 'limits' | 'placement'>): CodeFiles {
  // The reader takes each out: a record whose need was forgotten would wait until it changes.
  const wanted = new Map<string, Wanted>();
  const answers = new LruMap<Answered>(MOST_ANSWERS);
  return {
    lookup(record, need, ask) {
      const key = keyOf(record.metadata.namespace, record.metadata.name);
      const what = whatOf(record, need);
      const answered = answers.get(key);
      if (answered?.what === what) return judgedFile(record, need, answered.found, settings);
      if (wanted.get(key)?.what !== what) {
        wanted.set(key, { what, need });
        ask(key);
      }
      return {
        waits: wanted.get(key)?.waits ?? reportedBefore(record) ?? `${need.path} is being read from the code host.`,
      };
    },
    wantedBy: (key) => wanted.get(key),
    answer(key, one, found) {
      // The record may ask for something else by now.
      if (wanted.get(key) === one) wanted.delete(key);
      answers.set(key, { what: one.what, found });
    },
    forget(key) {
      wanted.delete(key);
    },
  };
}

function whatOf({ metadata, spec: { sourceConfig, sourceRevisionConfig } }: AppDeployment, need: FileNeed): string {
  return JSON.stringify([
    metadata.uid,
    sourceConfig.integrationId,
    sourceConfig.repoUrl,
    sourceRevisionConfig.repoRef,
    need,
  ]);
}

function judgedFile(
  { spec }: AppDeployment,
  { path }: FileNeed,
  found: Answered['found'],
  settings: Pick<Settings, 'limits' | 'placement'>,
): CodeFile {
  if (!isHindrance(found)) return judgeCodeFile(spec, { path, ...found }, settings);
  const { reason, message } = found;
  return { path, failure: { reason, message: `${path} cannot be read. ${message}` } };
}

export interface CodeFileReaderOptions {
  readonly files: CodeFiles;
  readonly caches: Caches;
  readonly sources: Pick<SourceAccess, 'commit' | 'file'>;
  readonly settings: Settings;
  /** Monotonic time in milliseconds. */
  readonly elapsed: () => number;
  /** Called with the key of a record about whose file something is new. */
  readonly onChange: (key: string) => void;
}

/** Returns a reconciler whose keys are those of records: `namespace/name`. It writes nothing. */
export function makeCodeFileReader(options: CodeFileReaderOptions): Reconcile {
  const { files, caches, sources, settings, elapsed, onChange } = options;
  const contents = new LruMap<FileContent>(MOST_FILES);

  async function read(record: AppDeployment, { path, commit: known }: FileNeed): Promise<Answered['found']> {
    const commit = known === undefined ? await sources.commit(record) : { commit: known };
    if (isHindrance(commit)) return commit;
    const { integrationId, repoUrl } = record.spec.sourceConfig;
    // The rights of a tenant are checked before each use of the code host. Its own record has read this commit.
    const key = JSON.stringify([record.metadata.uid, integrationId, repoUrl, commit.commit, path]);
    const content = contents.get(key) ?? (await sources.file(record, { path, commit: commit.commit }));
    if (isHindrance(content)) return content;
    contents.set(key, content);
    return { commit, content };
  }

  return async function reconcile(key) {
    const record = caches.records.get(refOf(key));
    const wanted = files.wantedBy(key);
    if (!wanted) return {};
    // Its own pass asks again when it may go on.
    if (!record || record.metadata.deletionTimestamp !== undefined || pausedBy(record, settings) !== undefined) {
      files.forget(key);
      return {};
    }
    wanted.since ??= elapsed();
    const found = await read(record, wanted.need);
    const isLate = isHindrance(found) && elapsed() - wanted.since >= (found.retryForMs ?? Infinity);
    if (isHindrance(found) && found.retry && !isLate) {
      const waits = steadyMessage(`${wanted.need.path} cannot be read yet. ${found.message}`, wanted.waits);
      const isNews = wanted.waits !== waits;
      wanted.waits = waits;
      if (isNews) onChange(key);
      return { requeueAfterMs: found.retryAfterMs ?? RETRY_MS };
    }
    files.answer(key, wanted, found);
    onChange(key);
    // Another need may have come meanwhile.
    return files.wantedBy(key) === undefined ? {} : { requeueAfterMs: 1 };
  };
}
