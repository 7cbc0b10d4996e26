// The plainest code host there is: git's own HTTP backend behind a few lines, without accounts and without an API.

import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
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
  const { stdout } = await run('git', ['--exec-path']);
  const backend = join(stdout.trim(), 'git-http-backend');
  const server = await serve(address, (request, response) => {
    const url = new URL(request.url ?? '/', server.url);
    const child = spawn(backend, [], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REQUEST_METHOD: request.method,
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      },
    });
    request.pipe(child.stdin);
    child.stdin.on('error', () => undefined);
    child.on('error', () => response.destroy());
    let head = '';
    child.stdout.on('data', function read(chunk: Buffer) {
      // Headers end at the first empty line; what follows are bytes.
      head += chunk.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      child.stdout.off('data', read);
      const lines = head.slice(0, end).split('\r\n');
      const headers = lines.map((line) => line.split(/: */, 2) as [string, string]);
      const status = Number(headers.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200);
      response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status')));
      response.write(Buffer.from(head.slice(end + 4), 'latin1'));
      child.stdout.pipe(response);
    });
  });
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
        // oxlint-disable-next-line no-await-in-loop -- a few files
        await mkdir(dirname(join(work, name)), { recursive: true });
        // oxlint-disable-next-line no-await-in-loop -- a few files
        await writeFile(join(work, name), content);
      }
      await git(work, 'add', '--all');
      await git(work, 'commit', '-q', '-m', 'Change');
      await git(work, 'push', '-q', 'origin', 'HEAD:main');
      return { url: `${server.url}/${repository}.git`, commit: await git(work, 'rev-parse', 'HEAD') };
    },
  };
}
