// Commits and uploads, and what becomes of the build of each.

import { createHash } from 'node:crypto';

/** What becomes of a build, given that everything else works. */
export type Script = 'builds' | 'plan fails' | 'step fails' | 'never ends' | 'is held, then fails';

export interface Sources {
  /** Moves the branch `main` of a repository; answers with the commit. */
  push(repository: string, script: Script): string;
  /** As though uploaded: answers with the path. */
  upload(script: Script): string;
  /** Undefined where there is no such commit or upload. */
  scriptOf(source: string): Script | undefined;
  /** The newest commit of a repository, by its path, such as `team/shop`. */
  headOf(path: string): string | undefined;
}

export function makeSources(): Sources {
  const scripts = new Map<string, Script>();
  const heads = new Map<string, string>();
  let serial = 0;
  return {
    push(repository, script) {
      serial += 1;
      const commit = createHash('sha1').update(`commit ${serial}`).digest('hex');
      scripts.set(commit, script);
      heads.set(`team/${repository}`, commit);
      return commit;
    },
    upload(script) {
      serial += 1;
      const path = `uploads/${createHash('md5').update(`upload ${serial}`).digest('hex')}`;
      scripts.set(path, script);
      return path;
    },
    scriptOf: (source) => scripts.get(source),
    headOf: (path) => heads.get(path),
  };
}
