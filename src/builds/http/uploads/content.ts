// Checks the content of an upload while it is forwarded to the registry.

import type { IncomingMessage } from 'node:http';
import { HttpError } from '../../../lib/http/http-error.ts';

/** RFC 1952: the magic bytes of gzip, and its only compression method. */
const GZIP = Buffer.from([0x1f, 0x8b, 0x08]);

/** The request's body. Throws 422 if it does not begin with a gzip header; the rest of the body then remains unread. */
export async function* gzipContent(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  let begun = Buffer.alloc(0);
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    if (begun.length >= GZIP.length) {
      yield piece;
      continue;
    }
    begun = Buffer.concat([begun, piece]);
    if (!begun.subarray(0, GZIP.length).equals(GZIP.subarray(0, begun.length))) throw notGzip();
    if (begun.length >= GZIP.length) yield begun;
  }
  if (begun.length < GZIP.length) throw notGzip();
}

function notGzip(): HttpError {
  const msg = 'must be a tar archive compressed with gzip';
  return new HttpError(422, [{ loc: ['body'], msg, type: 'value_error' }]);
}
