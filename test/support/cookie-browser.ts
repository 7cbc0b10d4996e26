// What a browser does with cookies and redirects, without a page: for flows that lead through several sites.

import { Agent, request } from 'undici';

export interface Visited {
  readonly status: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface Browser {
  /** Opens an address, and follows redirects until one leads to an address for which `stop` is true. */
  open(url: string, stop?: (url: string) => boolean): Promise<Visited>;
  /** Sends a form. */
  submit(url: string, stop?: (url: string) => boolean, fields?: Readonly<Record<string, string>>): Promise<Visited>;
  /** Sends what a page's script would, and follows no redirect. */
  send(method: 'POST' | 'PUT', url: string, body: string, headers: Readonly<Record<string, string>>): Promise<Visited>;
  close(): Promise<void>;
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** `at`: where a public origin really is. `ca`: authorities of TLS. */
export function makeBrowser(at: Readonly<Record<string, string>>, ca: string): Browser {
  const agent = new Agent({ connect: { ca } });
  const jars = new Map<string, Map<string, string>>();

  async function step(
    url: URL,
    method: 'GET' | 'POST' | 'PUT',
    body?: string,
    headers: Readonly<Record<string, string>> = FORM,
  ): Promise<Visited> {
    const jar = jars.get(url.origin) ?? new Map<string, string>();
    jars.set(url.origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await request(new URL(url.pathname + url.search, at[url.origin] ?? url.origin), {
      dispatcher: agent,
      method,
      headers: {
        accept: 'text/html',
        ...(cookie !== '' && { cookie }),
        ...(body !== undefined && headers),
      },
      ...(body !== undefined && { body }),
    });
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    return { status: answer.statusCode, url: url.href, headers: answer.headers, body: await answer.body.text() };
  }

  async function follow(first: Visited, stop: (url: string) => boolean): Promise<Visited> {
    let visited = first;
    for (let hops = 0; hops < 20; hops += 1) {
      const { location } = visited.headers;
      if (visited.status < 300 || visited.status > 399 || typeof location !== 'string') return visited;
      const next = new URL(location, visited.url);
      if (stop(next.href)) return { ...visited, url: next.href };
      visited = await step(next, 'GET');
    }
    throw new Error(`too many redirects, the last to ${visited.url}`);
  }

  const never = (): boolean => false;
  return {
    open: async (url, stop = never) => follow(await step(new URL(url), 'GET'), stop),
    submit: async (url, stop = never, fields = {}) =>
      follow(await step(new URL(url), 'POST', new URLSearchParams(fields).toString()), stop),
    send: (method, url, body, headers) => step(new URL(url), method, body, headers),
    close: () => agent.close(),
  };
}
