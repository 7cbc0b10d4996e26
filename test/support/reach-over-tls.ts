// A process with the environment of one of Davit's: says whether it reaches a code host and a registry at HOST:PORT over TLS, and
// how many characters of authorities it would hand to builds.

import { loadConfig } from '../../src/main/config.ts';
import { makeGuardedFetch } from '../../src/runtime/outbound/guarded-fetch.ts';
import { makeRegistryTransport } from '../../src/runtime/outbound/registry-transport.ts';

const [, , host = ''] = process.argv;
const signal = AbortSignal.timeout(30_000);
const why = ({ why: reason }: { why?: string }): string => String(reason);

const codeHosts = makeGuardedFetch({ hosts: [{ host, addresses: ['127.0.0.1', '::1'] }] });
const codeHost = await codeHosts.fetch(`https://${host}/`, { signal }).then(({ status }) => String(status), why);
const transport = makeRegistryTransport({ origin: `https://${host}` });
const registry = await transport
  .request(new URL(`https://${host}/v2/`), { signal })
  .then(async ({ statusCode, body }) => {
    await body.dump();
    return String(statusCode);
  }, why);
await Promise.all([codeHosts.close(), transport.close()]);
process.stdout.write(`code host ${codeHost}, registry ${registry}, builds ${loadConfig().authorities?.length ?? 0}\n`);
