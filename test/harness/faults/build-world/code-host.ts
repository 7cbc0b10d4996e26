// The code host, which the controller asks by its API and from which pods fetch.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Ailments } from './ailments.ts';
import type { Sources } from './sources.ts';

/** What no log, status or event may tell. */
export const SOURCE_TOKEN = 'canary-of-the-code-host-7f3a';

/** `told`: the commits that the API has named as those of a branch. */
export function codeHost(
  sources: Sources,
  ailments: Ailments,
  told: Set<string>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { ails } = ailments;
  return async (request, response) => {
    const url = new URL(request.url ?? '/', 'https://x');
    const isApi = url.pathname.startsWith('/api/');
    if (await ailments.meet(isApi ? ails.api : ails.git, request, response)) return;
    const say = (status: number, body: unknown): void => void response.writeHead(status).end(JSON.stringify(body));
    const wanted = isApi ? `token ${SOURCE_TOKEN}` : basic('x-access-token', SOURCE_TOKEN);
    if (request.headers.authorization !== wanted) return say(401, { message: 'who are you' });
    const [owner, name] = url.pathname.replace('/api/v1/repos/', '/').split('/').slice(1);
    const head = sources.headOf(`${owner}/${name}`);
    if (head === undefined) return say(404, {});
    if (isApi && url.pathname.includes('/contents/')) {
      const commit = url.searchParams.get('ref') ?? '';
      if (await ailments.meet(ails.file, request, response)) return;
      const file = sources.scriptOf(commit) ? sources.fileOf(commit) : undefined;
      if (file === undefined) return say(404, {});
      return say(200, { type: 'file', size: file.length, encoding: 'base64', content: file.toString('base64') });
    }
    if (isApi && !url.pathname.endsWith('/commits')) return say(200, {});
    const ref = url.searchParams.get('sha') ?? '';
    const commit = ref === 'main' ? head : sources.scriptOf(ref) ? ref : undefined;
    if (isApi && commit !== undefined) told.add(commit);
    say(200, commit === undefined ? [] : [{ sha: commit }]);
  };
}

export function basic(user = '', password = ''): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}
