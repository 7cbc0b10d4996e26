// Commits and uploads, and what becomes of the build of each.

import { createHash } from 'node:crypto';

/** What becomes of a build, given that everything else works. */
export type Script = 'builds' | 'plan fails' | 'step fails' | 'never ends' | 'is held, then fails';

/** The davit.yaml of a commit. Any other is one that gives what `valueAt` says. */
export type FileScript = 'missing' | 'too large' | 'no text' | 'not valid';

export interface Sources {
  /** Moves the branch `main` of a repository; answers with the commit. */
  push(repository: string, script: Script, file?: FileScript): string;
  /** The davit.yaml of a commit; undefined where it has none. */
  fileOf(commit: string): Buffer | undefined;
  /** As though uploaded: answers with the path. */
  upload(script: Script): string;
  /** Undefined where there is no such commit or upload. */
  scriptOf(source: string): Script | undefined;
  /** The newest commit of a repository, by its path, such as `team/shop`. */
  headOf(path: string): string | undefined;
}

/** The variable that the davit.yaml of each commit sets. */
export const FILE_VARIABLE = 'FROM_FILE';

/** What the davit.yaml of a commit sets it to. */
export function valueAt(commit: string): string {
  return `at ${commit.slice(0, 12)}`;
}

/** More than the 64 KiB that are read. */
const TOO_LARGE = Buffer.from(`# ${'long '.repeat(14_000)}\n`);
const FILES: Readonly<Record<FileScript, Buffer | undefined>> = {
  missing: undefined,
  'too large': TOO_LARGE,
  'no text': Buffer.from([0xff, 0xfe, 0x00, 0x80]),
  'not valid': Buffer.from('env: [{nam: FROM_FILE}]\n'),
};

export function makeSources(): Sources {
  const files = new Map<string, FileScript>();
  const scripts = new Map<string, Script>();
  const heads = new Map<string, string>();
  let serial = 0;
  return {
    push(repository, script, file) {
      serial += 1;
      const commit = createHash('sha1').update(`commit ${serial}`).digest('hex');
      scripts.set(commit, script);
      heads.set(`team/${repository}`, commit);
      if (file !== undefined) files.set(commit, file);
      return commit;
    },
    upload(script) {
      serial += 1;
      const path = `uploads/${createHash('md5').update(`upload ${serial}`).digest('hex')}`;
      scripts.set(path, script);
      return path;
    },
    fileOf(commit) {
      const script = files.get(commit);
      const text = `env: [{name: ${FILE_VARIABLE}, value: "${valueAt(commit)}"}]\n`;
      return script === undefined ? Buffer.from(text) : FILES[script];
    },
    scriptOf: (source) => scripts.get(source),
    headOf: (path) => heads.get(path),
  };
}
