// Everything that leads a fetch to where it must not go, against a trap that counts who arrives: it stays at none.

import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type AllowedHost, type GuardedFetch, makeGuardedFetch } from '../../../src/runtime/outbound/guarded-fetch.ts';
import { isPublic } from '../../../src/runtime/outbound/public-addresses.ts';
import { type ConnectProxy, startConnectProxy } from '../../support/connect-proxy.ts';
import { type Host, startHost } from './host.ts';

let trap: Server;
let port: number;
let caught = 0;
let host: Host;
let guarded: GuardedFetch;
let looked: string[];
/** What the resolver says of each name, one answer after the other; the last one stays. */
let names: Record<string, string[][]>;

beforeAll(async () => {
  trap = createTcpServer((socket) => {
    caught += 1;
    socket.destroy();
  });
  // Every address of this machine, of either family.
  await new Promise<void>((resolve) => trap.listen(0, '::', resolve));
  ({ port } = trap.address() as AddressInfo);
});
afterAll(() => new Promise((resolve) => trap.close(resolve)));
beforeEach(async () => {
  caught = 0;
  looked = [];
  host = await startHost();
  names = { [host.name]: [['127.0.0.1']] };
  guarded = guardFor([]);
});
afterEach(async () => {
  expect(caught).toBe(0);
  await guarded.close();
  await host.close();
});

function guardFor(more: readonly AllowedHost[]): GuardedFetch {
  return makeGuardedFetch({
    hosts: [{ host: `${host.name}:${host.port}`, addresses: ['127.0.0.1'], ca: host.ca }, ...more],
    async lookup(hostname) {
      looked.push(hostname);
      const answers = names[hostname] ?? [];
      const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
  });
}
const outcome = (url: string, using = guarded): Promise<unknown> =>
  using.fetch(url, { signal: AbortSignal.timeout(5000), headers: { authorization: 'token canary' } }).then(
    ({ status }) => status,
    ({ why }: { why?: string }) => why,
  );
const base = (): string => `https://${host.name}:${host.port}`;

/** Of PORT: the trap's. */
const FORBIDDEN_URLS = [
  'https://127.0.0.1:PORT/',
  'https://localhost:PORT/',
  'https://LOCALHOST:PORT/',
  'https://localhost.:PORT/',
  'https://127.1:PORT/',
  'https://127.0.1:PORT/',
  'https://2130706433:PORT/',
  'https://0x7f000001:PORT/',
  'https://0x7f.1:PORT/',
  'https://0177.0.0.1:PORT/',
  'https://017700000001:PORT/',
  'https://0:PORT/',
  'https://0.0.0.0:PORT/',
  'https://[::1]:PORT/',
  'https://[::]:PORT/',
  'https://[0:0:0:0:0:0:0:1]:PORT/',
  'https://[::ffff:127.0.0.1]:PORT/',
  'https://[::ffff:7f00:1]:PORT/',
  'https://[64:ff9b::7f00:1]:PORT/',
  'https://①②⑦.⓪.⓪.①:PORT/',
  'https://127。0。0。1:PORT/',
  'https://%31%32%37.0.0.1:PORT/',
  'https://169.254.169.254/latest/meta-data/',
  'https://[fd00:ec2::254]/latest/meta-data/',
  'https://metadata.google.internal/',
  'https://kubernetes.default.svc/',
  'http://127.0.0.1:PORT/',
  'http://NAME:PORT/',
  'https://user:pw@NAME/',
  'https://user@NAME/',
  'https://NAME@127.0.0.1:PORT/',
  'https://NAME:PORT@127.0.0.1:PORT/',
  'https://127.0.0.1:PORT\\@NAME/',
  'https://NAME.:OWN/',
  'https://NAME:PORT/',
  'https://sub.NAME:OWN/',
  'https://NAME.evil.example:OWN/',
  'ftp://NAME/',
  'file:///etc/passwd',
  'data:application/json,[]',
  'gopher://127.0.0.1:PORT/_x',
  'javascript:1',
  '//127.0.0.1:PORT/',
  '',
  '\\\\127.0.0.1\\x',
] as const;
const filled = (url: string): string =>
  url.replaceAll('PORT', String(port)).replaceAll('OWN', String(host.port)).replaceAll('NAME', host.name);

describe('a URL', () => {
  it.each(FORBIDDEN_URLS)('%s is not asked for', async (url) => {
    expect(await outcome(filled(url))).toBe('forbidden');
    expect(looked).toEqual([]);
  });

  it.each(FORBIDDEN_URLS.filter((url) => url !== '' && !url.startsWith('\\')))(
    'nor is %s after a redirect',
    async (url) => {
      // Node does not send what is no header; a server may.
      const location = encodeURI(filled(url)).replaceAll('%25', '%').replaceAll('%5B', '[').replaceAll('%5D', ']');
      host.fault = (_request, response) => {
        response.writeHead(302, { location }).end();
        return true;
      };
      expect(await outcome(`${base()}/start`)).toBe('forbidden');
    },
  );
});

describe('a name', () => {
  it.each([
    '127.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.170',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fe80::1%lo',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::127.0.0.1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::1',
    '2002:7f00:1::1',
    '2001::1',
    '2001:db8::1',
  ])('at %s is not connected to, whatever else it is at', async (address) => {
    const open = guardFor([{ host: `inside.example:${port}`, addresses: [] }]);
    names['inside.example'] = [[address]];
    expect(await outcome(`https://inside.example:${port}/`, open)).toBe('forbidden');
    names['inside.example'] = [['93.184.215.14', address]];
    expect(await outcome(`https://inside.example:${port}/`, open)).toBe('forbidden');
    expect(isPublic(address)).toBe(false);
    await open.close();
  });

  it.each(['93.184.215.14', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '64:ff9b::5db8:d70e'])(
    'at %s is public',
    (address) => {
      expect(isPublic(address)).toBe(true);
    },
  );

  it('that is nowhere', async () => {
    const open = guardFor([{ host: 'nowhere.example', addresses: [] }]);
    expect(await outcome('https://nowhere.example/', open)).toBe('forbidden');
    await open.close();
  });

  it('that answers otherwise the second time is connected to where the first answer was, and refused then', async () => {
    names[host.name] = [['127.0.0.1'], ['127.0.0.2']];
    host.fault = (_request, response) => {
      response.writeHead(204, { connection: 'close' }).end();
      return true;
    };
    expect(await outcome(`${base()}/`)).toBe(204);
    // Asked once for one connection: there is no second answer to be taken.
    expect(looked).toEqual([host.name]);
    expect(await outcome(`${base()}/`)).toBe('forbidden');
    expect(host.seen.length).toBe(1);
  });

  it('is connected to at private addresses that are listed for it, and for it alone', async () => {
    const other = await startHost('other.example');
    names['other.example'] = [['127.0.0.1']];
    const open = guardFor([{ host: `other.example:${other.port}`, addresses: ['10.0.0.0/8'], ca: other.ca }]);
    expect(await outcome(`${base()}/`, open)).toBe(404);
    expect(await outcome(`https://other.example:${other.port}/`, open)).toBe('forbidden');
    expect(other.seen).toEqual([]);
    await Promise.all([open.close(), other.close()]);
  });
});

describe('an address that is listed as a host', () => {
  it('is connected to where it is listed as an address too', async () => {
    const literal = `127.0.0.1:${host.port}`;
    const [closed, open] = [
      guardFor([{ host: literal, addresses: [], ca: host.ca }]),
      guardFor([{ host: literal, addresses: ['127.0.0.0/8'], ca: host.ca }]),
    ];
    expect(await outcome(`https://${literal}/`, closed)).toBe('forbidden');
    expect(await outcome(`https://${literal}/`, open)).toBe(404);
    expect(await outcome(`https://2130706433:${host.port}/`, open)).toBe(404);
    await Promise.all([closed.close(), open.close()]);
  });
});

describe('a redirect', () => {
  it('within the host is followed with the credentials', async () => {
    host.fault = (request, response) => {
      if (request.url !== '/start') return false;
      response.writeHead(301, { location: '/next' }).end();
      return true;
    };
    expect(await outcome(`${base()}/start`)).toBe(404);
    expect(host.authorizations).toEqual(['token canary', 'token canary']);
  });

  it('to another host that is listed goes without them', async () => {
    const other = await startHost('other.example');
    names['other.example'] = [['127.0.0.1']];
    const open = guardFor([{ host: `other.example:${other.port}`, addresses: ['127.0.0.1'], ca: other.ca }]);
    host.fault = (_request, response) => {
      response.writeHead(307, { location: `https://other.example:${other.port}/next` }).end();
      return true;
    };
    expect(await outcome(`${base()}/start`, open)).toBe(404);
    expect([other.seen, other.authorizations]).toEqual([['GET /next'], [undefined]]);
    await Promise.all([open.close(), other.close()]);
  });

  it('to what is no address is not followed', async () => {
    host.fault = (_request, response) => {
      response.writeHead(302, { location: 'https://[::1' }).end();
      return true;
    };
    expect(await outcome(`${base()}/start`)).toBe('forbidden');
  });

  it('without end is given up after five', async () => {
    host.fault = (request, response) => {
      response.writeHead(302, { location: `${request.url}x` }).end();
      return true;
    };
    expect(await outcome(`${base()}/`)).toBe('malformed');
    expect(host.seen.length).toBe(6);
  });

  it('of what is not read is not followed', async () => {
    host.fault = (_request, response) => {
      response.writeHead(307, { location: '/next' }).end();
      return true;
    };
    const sent = { method: 'POST', body: '{}', signal: AbortSignal.timeout(5000) };
    await expect(guarded.fetch(`${base()}/start`, sent)).rejects.toMatchObject({ why: 'malformed' });
    expect(host.seen).toEqual(['POST /start']);
  });
});

describe('TLS', () => {
  it('is of an authority that is trusted, and of the name that is asked for', async () => {
    const untrusting = makeGuardedFetch({
      hosts: [{ host: `${host.name}:${host.port}`, addresses: ['127.0.0.1'] }],
      lookup: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    expect(await outcome(`${base()}/`, untrusting)).toBe('unreachable');
    await untrusting.close();
    const open = guardFor([{ host: `wrong.example:${host.port}`, addresses: ['127.0.0.1'], ca: host.ca }]);
    names['wrong.example'] = [['127.0.0.1']];
    expect(await outcome(`https://wrong.example:${host.port}/`, open)).toBe('unreachable');
    expect(host.seen).toEqual([]);
    await open.close();
  });
});

describe('through a proxy', () => {
  let proxy: ConnectProxy;
  beforeEach(async () => {
    proxy = await startConnectProxy();
  });
  afterEach(() => proxy.close());
  /** Davit resolves no name that the proxy resolves: in a company it may know no outside name. */
  const unresolved = (): Promise<never> => Promise.reject(new Error('Davit has resolved a name.'));
  function proxied(noProxy: readonly string[] = [], more: readonly AllowedHost[] = []): GuardedFetch {
    return makeGuardedFetch({
      hosts: [{ host: `${host.name}:${host.port}`, addresses: [], ca: host.ca }, ...more],
      proxies: { httpsProxy: proxy.url, noProxy },
      lookup: unresolved,
      connectTimeoutMs: 300,
      answerTimeoutMs: 300,
    });
  }
  const failure = async (using: GuardedFetch, url = `${base()}/`): Promise<unknown> => {
    const { why, message } = await using.fetch(url, { signal: AbortSignal.timeout(5000) }).then(
      ({ status }) => ({ why: status, message: '' }),
      (error: { why: string; message: string }) => error,
    );
    await using.close();
    return [why, message];
  };

  it('a host is reached, whose name the proxy resolves, and the proxy reads nothing', async () => {
    const via = proxied();
    expect([await outcome(`${base()}/a`, via), await outcome(`${base()}/b`, via)]).toEqual([404, 404]);
    expect(host.seen).toEqual(['GET /a', 'GET /b']);
    expect(host.authorizations).toEqual(['token canary', 'token canary']);
    expect([...new Set(proxy.seen)]).toEqual([`CONNECT ${host.name}:${host.port}`]);
    expect(JSON.stringify(proxy.headers)).not.toContain('canary');
    await via.close();
  });

  it.each(FORBIDDEN_URLS)('%s is not asked for', async (url) => {
    const via = proxied();
    expect(await outcome(filled(url), via)).toBe('forbidden');
    expect(proxy.seen).toEqual([]);
    await via.close();
  });

  it('a redirect is followed to listed hosts alone', async () => {
    host.fault = (_request, response) => {
      response.writeHead(302, { location: 'https://metadata.google.internal/' }).end();
      return true;
    };
    const via = proxied();
    expect(await outcome(`${base()}/start`, via)).toBe('forbidden');
    expect(proxy.seen).toHaveLength(1);
    await via.close();
  });

  it('a private address that is a listed host is asked for only where it is listed as an address too', async () => {
    const literal = `127.0.0.1:${host.port}`;
    expect(await failure(proxied([], [{ host: literal, addresses: [], ca: host.ca }]), `https://${literal}/`)).toEqual([
      'forbidden',
      `Address ${literal} is not public. To allow it, list it in its host's addresses in setting codeHosts.`,
    ]);
    expect(proxy.seen).toEqual([]);
  });

  it('a host of noProxy is not, and its address is checked', async () => {
    const direct = proxied([host.name]);
    expect(await outcome(`${base()}/`, direct)).toBe('unreachable');
    await direct.close();
    const checked = makeGuardedFetch({
      hosts: [{ host: `${host.name}:${host.port}`, addresses: [], ca: host.ca }],
      proxies: { httpsProxy: proxy.url, noProxy: [host.name] },
      lookup: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    expect(await outcome(`${base()}/`, checked)).toBe('forbidden');
    await checked.close();
    expect([proxy.seen, host.seen]).toEqual([[], []]);
  });

  it('only the certificate of the host is trusted, for its name', async () => {
    const other = { host: `wrong.example:${host.port}`, addresses: [], ca: host.ca };
    expect(await failure(proxied([], [other]), `https://wrong.example:${host.port}/`)).toMatchObject({
      0: 'unreachable',
    });
    const untrusted = { host: `localhost:${host.port}`, addresses: [] };
    expect(await failure(proxied([], [untrusted]), `https://localhost:${host.port}/`)).toMatchObject({
      0: 'unreachable',
    });
    expect([proxy.seen.length, host.seen]).toEqual([2, []]);
  });

  it('a proxy that refuses, is silent or is not there is named as the cause', async () => {
    proxy.fault = 403;
    expect(await failure(proxied())).toEqual([
      'unreachable',
      "The platform's proxy refused the connection: it answered 403.",
    ]);
    proxy.fault = 407;
    expect(await failure(proxied())).toEqual([
      'unreachable',
      "The platform's proxy refused the connection: it answered 407.",
    ]);
    proxy.fault = 'silent';
    expect(await failure(proxied())).toEqual(['timeout', 'The code host did not answer in time.']);
    await proxy.close();
    expect(await failure(proxied())).toEqual([
      'unreachable',
      "The code host cannot be reached through the platform's proxy.",
    ]);
  });

  it('is where the settings say, not where the environment does', async () => {
    const before = process.env['HTTPS_PROXY'];
    process.env['HTTPS_PROXY'] = proxy.url;
    try {
      expect(await outcome(`${base()}/`)).toBe(404);
    } finally {
      if (before === undefined) delete process.env['HTTPS_PROXY'];
      else process.env['HTTPS_PROXY'] = before;
    }
    expect(proxy.seen).toEqual([]);
  });
});

it.each(['a/b', 'user@host', 'host?x', 'ho st', ''])('"%s" is no host that can be listed', (name) => {
  expect(() => makeGuardedFetch({ hosts: [{ host: name, addresses: [] }] })).toThrow('setting codeHosts');
});
it.each(['10.0.0', 'localhost', '10.0.0.0/', '10.0.0.0/x', '10.0.0.0/33', ''])(
  '"%s" is no address that can be listed',
  (address) => {
    expect(() => makeGuardedFetch({ hosts: [{ host: 'a.example', addresses: [address] }] })).toThrow('it is not valid');
  },
);
