// Fastify and nothing else: answers each path with the bytes that it was given for it. What the facade is held against.
//
//   node bare-server.ts FILE      FILE is JSON, path → body; prints where it listens

import { readFile } from 'node:fs/promises';
import Fastify from 'fastify';

const bodies = new Map(Object.entries(JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')) as object));
const app = Fastify();
app.get('/*', async (request, reply) => {
  void reply.type('application/json; charset=utf-8');
  return bodies.get(request.url) as string | undefined;
});
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`);
