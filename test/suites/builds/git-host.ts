// The plainest code host there is: git's own HTTP backend behind a few lines, without accounts and without an API.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gitHttpBackend } from '../../support/git-http-backend.ts';
import { type Server, serve } from './servers.ts';

const run = promisify(execFile);

export interface GitHost extends Server {
  /** Makes the repository, or one more commit in it; answers with address and commit. */
  commit(
    repository: string,
    files: Readonly<Record<string, string>>,
  ): Promise<{ readonly url: string; readonly commit: string }>;
}

export async function startGitHost(address: string, folder: string): Promise<GitHost> {
  await mkdir(folder, { recursive: true });
  const server = await serve(address, gitHttpBackend(folder));
  const git = async (cwd: string, ...args: string[]): Promise<string> => {
    const who = ['-c', 'user.name=Test', '-c', 'user.email=test@code.example', '-c', 'init.defaultBranch=main'];
    return (await run('git', [...who, ...args], { cwd })).stdout.trim();
  };
  return {
    ...server,
    async commit(repository, files) {
      const bare = join(folder, `${repository}.git`);
      await git(folder, 'init', '-q', '--bare', bare);
      const work = await mkdtemp(join(folder, '.work-'));
      await git(work, 'clone', '-q', bare, '.');
      for (const [name, content] of Object.entries(files)) {
        await mkdir(dirname(join(work, name)), { recursive: true });
        await writeFile(join(work, name), content);
      }
      await git(work, 'add', '--all');
      await git(work, 'commit', '-q', '-m', 'Change');
      await git(work, 'push', '-q', 'origin', 'HEAD:main');
      return { url: `${server.url}/${repository}.git`, commit: await git(work, 'rev-parse', 'HEAD') };
    },
  };
}
