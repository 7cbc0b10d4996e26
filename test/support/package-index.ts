// The package indexes of this machine for builds, whose pods have no way out of the cluster: requests to this machine's end
// of the link go on to the indexes that pip and npm are configured with, and what these say of other addresses leads back here.

import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { freePort } from '../cluster/control-plane.ts';
import { close, listen } from './http-servers.ts';

const run = promisify(execFile);

export interface Upstream {
  /** Of pip, with the path of its simple index. */
  readonly pip: string;
  /** Origins that the pages of pip's index lead to. */
  readonly files: readonly string[];
  readonly npm: string;
}

export interface PackageIndex {
  readonly pip: string;
  readonly npm: string;
  close(): Promise<void>;
}

/** What the programs of this machine use; their own defaults where nothing is configured. */
export async function machineUpstream(): Promise<Upstream> {
  const ask = async (program: string, ...args: readonly string[]): Promise<string> =>
    (await run(program, [...args])).stdout.trim();
  const [page = '', files = ''] = (
    await ask(
      'python3',
      '-c',
      'from pip._internal.models.index import PyPI; print(PyPI.simple_url, PyPI.file_storage_domain)',
    )
  ).split(' ');
  const configured = await ask('python3', '-m', 'pip', 'config', 'get', 'global.index-url').catch(() => page);
  const npm = await ask('npm', 'config', 'get', 'registry');
  return { pip: configured, files: [`https://${files}`], npm };
}

export async function startPackageIndex(address: string, { pip, files, npm }: Upstream): Promise<PackageIndex> {
  const port = await freePort(address);
  const own = `http://${address}:${port}`;
  const origins = [...new Set([pip, npm, ...files].map((url) => new URL(url).origin))];

  /** `/0/path` is that path at the first origin. */
  const here = (url: string): string => {
    const { origin, pathname } = new URL(url);
    return `${own}/${origins.indexOf(origin)}${pathname.replace(/\/$/, '')}`;
  };

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, index = '', path = ''] = /^\/(\d+)(\/.*)$/.exec(request.url ?? '') ?? [];
    const origin = origins[Number(index)];
    if (index === '' || origin === undefined || !['GET', 'HEAD'].includes(request.method ?? '')) {
      response.writeHead(404).end();
      return;
    }
    const { accept = '*/*' } = request.headers;
    const answer = await fetch(`${origin}${path}`, { method: request.method ?? 'GET', headers: { accept } });
    const type = answer.headers.get('content-type') ?? 'application/octet-stream';
    const isPage = /json|html/.test(type);
    response.writeHead(answer.status, { 'content-type': type });
    if (isPage) {
      const text = await answer.text();
      response.end(origins.reduce((page, other, place) => page.replaceAll(other, `${own}/${place}`), text));
    } else if (answer.body) await pipeline(Readable.fromWeb(answer.body), response);
    else response.end();
  }

  const server = createServer((request, response) => {
    pass(request, response).catch(() => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  });
  await listen(server, port, address);
  return {
    pip: here(pip),
    npm: here(npm),
    close: () => close(server),
  };
}
