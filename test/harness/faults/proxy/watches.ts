// Watches, line by line.

import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { refuse, statusObject } from './answers.ts';
import { type Lateness, makeLines, versionIn } from './lines.ts';
import type { Asked } from './requests.ts';
import type { Exchange, OpenWatch, ProxyState } from './state.ts';

export function makeWatches(state: ProxyState): (exchange: Exchange) => Promise<void> {
  const { trace, upstream, watches } = state;
  const { fault } = state.options;
  const lines = makeLines(state);

  return async ({ asked, request, response }) => {
    const { resource } = asked;
    if (fault.kind === 'connect-410' && fault.resource === resource && !trace.fired) {
      trace.fired = true;
      return refuse(response, 410, 'Expired');
    }
    if (lines.isCompacted(resource, asked.version)) return refuse(response, 410, 'Expired');
    const source = await upstream.open(request, Buffer.alloc(0));
    const watch = openWatch(asked, response);
    watches.add(watch);
    response.once('close', () => {
      watches.delete(watch);
      source.destroy();
    });
    response.writeHead(source.statusCode ?? 502, { 'content-type': source.headers['content-type'] ?? '' });
    response.flushHeaders();
    let rest = '';
    let silent = false;
    /** Lines that were late are written one after another, and the end after the last of them. */
    let written = Promise.resolve();
    source.setEncoding('utf8');
    for await (const chunk of source as AsyncIterable<string>) {
      const whole = (rest + chunk).split('\n');
      rest = whole.pop() ?? '';
      for (const line of whole) {
        if (silent || line === '') continue;
        watch.version = BigInt(versionIn(line));
        const deed = lines.deed(resource, line);
        if (deed === 'swallow') continue;
        if (deed === 'silence') silent = true;
        else if (deed === 'gone') return watch.expire();
        else if (deed === 'cut') {
          response.write(line.slice(0, line.length / 2));
          return watch.cut();
        } else written = writeLate(written, lines.lateness(resource, deed), () => watch.write(`${line}\n`));
      }
    }
    await written;
    if (!response.writableEnded) response.end();
  };
}

function openWatch({ resource, namespace, version }: Asked, response: ServerResponse): OpenWatch {
  return {
    resource,
    namespace,
    version,
    write(text) {
      if (!response.writableEnded) response.write(text);
    },
    expire() {
      const gone = { type: 'ERROR', object: statusObject(410, 'Expired') };
      if (!response.writableEnded) response.end(`${JSON.stringify(gone)}\n`);
    },
    cut: () => void response.destroy(),
  };
}

async function writeLate(before: Promise<void>, { ms, since }: Lateness, write: () => void): Promise<void> {
  await (since === 'before' || ms === 0 ? before : Promise.all([before, sleep(ms)]));
  if (since === 'before') await sleep(ms);
  write();
}
