// How the HTTP API's refusals and a broken connection are told.

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../../test/cluster/certificates.ts';
import { startConnectProxy } from '../../../test/support/connect-proxy.ts';
import { close, listen } from '../../../test/support/http-servers.ts';
import { type Connection, makeHttpApi } from './http-api.ts';
import { Failure } from './kubectl.ts';

let server: Server;
let origin: string;
let answer: (request: IncomingMessage, response: ServerResponse) => unknown;
beforeAll(async () => {
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const api = (more: object = {}): ReturnType<typeof makeHttpApi> =>
  makeHttpApi({ server: `${origin}/base`, token: 'secret', ...more }, { patienceMs: 50, everyMs: 1, clock: aClock() });

/** On which only waiting takes time. */
function aClock(): { now(): number; sleep(ms: number): Promise<void> } {
  let ms = 0;
  return {
    now: () => ms,
    async sleep(more) {
      ms += more;
    },
  };
}

function answers(status: number, body: unknown, headers: Record<string, string> = {}): void {
  answer = (_request, response) =>
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
}

it('sends token, tenant and body, and takes the answer', async () => {
  let seen: unknown;
  answer = async (request, response) => {
    const { method, url, headers } = request;
    seen = [method, url, headers['x-api-key'], headers['x-tenant-id'], headers['content-type'], await text(request)];
    response.end('{"id": 1}');
  };
  expect(await api({ namespace: 'team' }).call('POST', '/v2/x', { a: 'ä' })).toEqual({ id: 1 });
  expect(seen).toEqual([
    'POST',
    '/base/v2/x?fieldValidation=Strict',
    'secret',
    'team',
    'application/json',
    '{"a":"ä"}',
  ]);
});

describe('a connection that is of no more use', () => {
  const tokens: unknown[] = [];
  const connection = (token: string, next?: () => Promise<Connection>, isOver = false): Connection => ({
    server: origin,
    token,
    ...(next && { again: { isOver: () => isOver, connect: next } }),
  });
  beforeEach(() => {
    tokens.length = 0;
    answer = ({ headers }, response) => {
      tokens.push(headers['x-api-key']);
      response.writeHead(headers['x-api-key'] === 'new' ? 200 : 401).end('{"detail": "The token has expired."}');
    };
  });

  it('is made again once where the token is refused, for this request and the next ones', async () => {
    const renewing = makeHttpApi(connection('old', async () => connection('new')));
    await renewing.call('POST', '/x', {});
    await renewing.call('GET', '/y');
    expect(tokens).toEqual(['old', 'new', 'new']);
    const refused = makeHttpApi(connection('old', async () => connection('older', () => Promise.reject(new Error()))));
    await expect(refused.call('GET', '/')).rejects.toThrow('The token has expired.');
    expect(tokens.slice(3)).toEqual(['old', 'older']);
  });

  it('is made again before a request where its port has ended, also after an outage', async () => {
    let failures = 2;
    const next = async (): Promise<Connection> => {
      failures -= 1;
      if (failures >= 0) throw new Failure('no pod is ready');
      return connection('new');
    };
    const options = { patienceMs: 50, everyMs: 1, clock: aClock() };
    await makeHttpApi(connection('old', next, true), options).patiently('GET', '/');
    expect(tokens).toEqual(['new']);
  });
});

describe('a refusal', () => {
  it.each<[string, number, unknown, string]>([
    ['its own words', 409, { detail: 'It is taken.' }, 'It is taken.'],
    [
      'its findings, one a line',
      422,
      {
        detail: [
          { loc: ['body', 'source_revision_config', 'workflow_config_path'], msg: 'is too long' },
          { loc: ['body'], msg: 'must be an object' },
        ],
      },
      'source_revision_config.workflow_config_path is too long\nThe request must be an object',
    ],
    [
      'where a token comes from',
      401,
      { detail: 'Send a token as "X-Api-Key: <token>".' },
      'Send a token as "X-Api-Key: <token>". kubectl davit takes it from --token, DAVIT_TOKEN or the kubeconfig.',
    ],
    [
      'where a namespace comes from',
      403,
      { detail: 'Send the header X-Tenant-Id.' },
      'Send the header X-Tenant-Id. kubectl davit takes it from --namespace or the kubeconfig.',
    ],
  ])('is told with %s', async (_name, status, body, message) => {
    answers(status, body);
    await expect(api().call('GET', '/')).rejects.toThrow(expect.objectContaining({ message, status }));
  });

  it.each<[string, number, string]>([
    ['a page', 404, '<html>'],
    ['nothing', 500, ''],
    ['a redirect', 301, ''],
    ['another JSON', 503, '{"error": "x"}'],
  ])('that is %s is no answer of Davit', async (_name, status, body) => {
    answers(status, body);
    await expect(api().call('GET', '/')).rejects.toThrow(
      `${origin}/base answered ${status}, which does not come from Davit's HTTP API. Set its address with --server or DAVIT_SERVER.`,
    );
  });

  it('that is no refusal, but no JSON either', async () => {
    answers(200, '<html>');
    await expect(api().call('GET', '/')).rejects.toThrow("Is it the address of Davit's HTTP API?");
  });
});

describe('a server that', () => {
  it('is not there', async () => {
    const gone = makeHttpApi({ server: 'http://127.0.0.1:1', token: 'x' });
    await expect(gone.call('GET', '/')).rejects.toThrow(/^http:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/);
  });

  it('has no name', async () => {
    const gone = makeHttpApi({ server: 'http://nope.invalid', token: 'x' });
    await expect(gone.call('GET', '/')).rejects.toThrow(/^http:\/\/nope\.invalid cannot be reached: /);
  });

  it('breaks the connection before it answers', async () => {
    answer = (request) => request.socket.destroy();
    await expect(api().call('GET', '/')).rejects.toThrow(`${origin} broke the connection. Try again.`);
    await expect(api().call('POST', '/', {})).rejects.toThrow(
      `${origin} broke the connection. The request may or may not have been carried out.`,
    );
  });

  it('breaks the connection in an answer', async () => {
    answer = (request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{', () => request.socket.destroy());
    };
    await expect(api().call('GET', '/')).rejects.toThrow(`${origin} broke the connection. Try again.`);
  });

  it('speaks no HTTP', async () => {
    const tcp = createTcpServer((socket) => socket.end('SSH-2.0-x\r\n'));
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
    const other = makeHttpApi({ server: `http://127.0.0.1:${(tcp.address() as AddressInfo).port}`, token: 'x' });
    await expect(other.call('GET', '/')).rejects.toThrow(/cannot be reached: /);
    tcp.close();
  });
});

describe('patiently', () => {
  it.each([429, 502, 503, 504])('a %i is waited for', async (status) => {
    let requests = 0;
    answer = (_request, response) =>
      requests++ < 3 ? response.writeHead(status, { 'retry-after': '0' }).end('{"detail":"x"}') : response.end('{}');
    expect(await api().patiently('GET', '/')).toEqual({});
    expect(requests).toBe(4);
  });

  it('is not for ever', async () => {
    let requests = 0;
    answer = (_request, response) => {
      requests += 1;
      response.writeHead(503).end('{"detail":"Later."}');
    };
    await expect(api().patiently('GET', '/')).rejects.toThrow('Later.');
    // One at once, then one a millisecond until the patience is over.
    expect(requests).toBe(51);
  });

  it('a refusal is final', async () => {
    let requests = 0;
    answer = (_request, response) => {
      requests += 1;
      response.writeHead(403).end('{"detail":"No."}');
    };
    await expect(api().patiently('GET', '/')).rejects.toThrow('No.');
    expect(requests).toBe(1);
  });
});

describe('an upload', () => {
  async function upload(bytes: number, url = `${origin}/upload?signature=x`): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'davit-upload-'));
    await writeFile(join(folder, 'file'), Buffer.alloc(bytes, 'x'));
    try {
      const file = { path: join(folder, 'file'), size: bytes };
      await api().upload(url, { 'Content-Type': 'application/gzip' }, file);
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  it('has its length, and not the token', async () => {
    let seen: unknown;
    answer = async ({ method, url, headers }, response) => {
      const { 'content-length': length, 'content-type': type, 'x-api-key': token } = headers;
      seen = [method, url, length, type, token];
      response.writeHead(201).end();
    };
    await upload(100_000);
    expect(seen).toEqual(['PUT', '/upload?signature=x', '100000', 'application/gzip', undefined]);
  });

  it('goes to the scheme of the server, whose proxy may not tell Davit', async () => {
    answers(201, '');
    await upload(1, `${origin.replace('http:', 'https:')}/upload`);
  });

  it.each([
    ['at once', 10],
    ['while it is sent', 30 << 20],
  ])('that is refused %s is told', async (_name, bytes) => {
    answers(413, { detail: 'The upload is larger than 1 MiB.' });
    await expect(upload(bytes)).rejects.toThrow('The upload failed. The upload is larger than 1 MiB.');
  });

  it('that is cut off is told', async () => {
    answer = (request) => request.once('data', () => request.socket.destroy());
    await expect(upload(5 << 20)).rejects.toThrow(`${origin} broke the connection. Try again.`);
  });
});

it('goes through a proxy where Node.js is told to use the variables of the environment', async () => {
  const proxy = await startConnectProxy();
  const authority = makeAuthority('company');
  const { certificate, key } = authority.serving('davit.example', ['davit.example']);
  const secure = createTlsServer({ cert: certificate, key }, (request, response) =>
    response.end(JSON.stringify(request.headers['x-api-key'])),
  );
  await listen(secure, 0, '127.0.0.1');
  const { port } = secure.address() as AddressInfo;
  const folder = await mkdtemp(join(tmpdir(), 'davit-proxy-'));
  await writeFile(join(folder, 'ca.crt'), authority.certificate);
  const program = [
    `import { makeHttpApi } from ${JSON.stringify(join(import.meta.dirname, 'http-api.ts'))};`,
    `const api = makeHttpApi({ server: 'https://davit.example:${port}', token: 'secret' });`,
    "console.log(await api.call('GET', '/v2/platform'));",
  ];
  const env = { HTTPS_PROXY: proxy.url, NODE_USE_ENV_PROXY: '1', NODE_EXTRA_CA_CERTS: join(folder, 'ca.crt') };
  const child = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program.join('\n')], { env });
  expect((await child).stdout).toBe('secret\n');
  expect(proxy.seen).toEqual([`CONNECT davit.example:${port}`]);
  expect(JSON.stringify(proxy.headers)).not.toContain('secret');
  await Promise.all([proxy.close(), close(secure), rm(folder, { recursive: true })]);
});
