// The code host, which the controller asks by its API and from which pods fetch.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Ailments } from './ailments.ts';
import type { Sources } from './sources.ts';

/** What no log, status or event may tell. */
export const SOURCE_TOKEN = 'canary-of-the-code-host-7f3a';
/** The davit.yaml of every commit, in base64. */
const FILE_OF_ALL = Buffer.from('env: [{name: FROM_FILE, value: "yes"}]\n').toString('base64');

export function codeHost(
  sources: Sources,
  ailments: Ailments,
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
      const content = sources.scriptOf(url.searchParams.get('ref') ?? '') ? FILE_OF_ALL : undefined;
      return content === undefined ? say(404, {}) : say(200, { type: 'file', encoding: 'base64', content });
    }
    if (isApi && !url.pathname.endsWith('/commits')) return say(200, {});
    const ref = url.searchParams.get('sha') ?? '';
    const commit = ref === 'main' ? head : sources.scriptOf(ref) ? ref : undefined;
    say(200, commit === undefined ? [] : [{ sha: commit }]);
  };
}

export function basic(user = '', password = ''): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}
