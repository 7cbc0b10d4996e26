// The HTTP server around the routes: reads bodies with a limit, writes JSON, never lets an error end the process.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { errorText, type Log } from './log.ts';
import type { Answer, Request } from './routes.ts';

const maxBodyBytes = 1 << 20;

export function makeServer(route: (request: Request) => Promise<Answer>, log: Log): Server {
  return createServer(async (request, response) => {
    const answer = await answerTo(request, route, log);
    if (response.destroyed) return;
    const body = `${JSON.stringify(answer.body)}\n`;
    response.writeHead(answer.status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...answer.headers,
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  });
}

async function answerTo(
  message: IncomingMessage,
  route: (request: Request) => Promise<Answer>,
  log: Log,
): Promise<Answer> {
  const method = message.method ?? 'GET';
  const path = (message.url ?? '/').replace(/\?.*$/s, '');
  try {
    const body = await readBody(message);
    if (body === undefined) {
      // The rest of the body is not read: what follows on this connection would be taken for a request.
      return {
        status: 413,
        body: { error: `the body is longer than ${maxBodyBytes} bytes` },
        headers: { connection: 'close' },
      };
    }
    const answer = await route({ method, path, body });
    // Probes come every few seconds and say nothing.
    if (path !== '/ok') log('info', 'Request', { method, path, status: answer.status });
    return answer;
  } catch (error) {
    log('error', 'Request failed', { method, path, error: errorText(error) });
    return { status: 500, body: { error: 'internal error' } };
  }
}

async function readBody(message: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
