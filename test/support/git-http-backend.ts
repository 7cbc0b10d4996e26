// git's own HTTP backend (git-http-backend, a CGI program) behind a server of a test, without accounts.

import { execFileSync, spawn } from 'node:child_process';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';

/** Serves the repositories in the folder. */
export function gitHttpBackend(folder: string): RequestListener {
  const backend = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');
  return (request, response) => {
    const url = new URL(request.url ?? '/', 'https://git.example');
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
  };
}
