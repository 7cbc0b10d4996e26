// Reads the stored log of a build. In some registries its tenant can push what has the log's tag, so every line, and every byte that
// is none, has a price, and only what the builder writes is taken.

import { createGunzip } from 'node:zlib';
import type { Descriptor, Manifest } from '../build/registry/client/manifests.ts';
import { LOG_ARTIFACT_TYPE, LOG_LAYER_TYPE } from '../deploy/record/registry-names.ts';
import { RegistryFailed } from '../runtime/errors.ts';
import { turns } from '../runtime/http/turns.ts';
import { LONGEST_LINE } from './budget.ts';
import type { LineSink } from './lines.ts';
import type { Reading } from './pods.ts';

/** Containers of a build's pod. */
export const BUILD_WRITERS = ['fetch', 'plan', 'build'] as const;

/** Maximum number of bytes of a stored log, uncompressed. */
const MOST_BYTES_OF_LOG = 64 * 1024 * 1024;
/** Overhead of a line in addition to its bytes. */
const BYTES_OF_LINE = 128;
/** Bytes between two pauses for other work. */
const PIECE = 64 * 1024;
/** Characters of a time in RFC 3339. */
const LONGEST_TIME = 40;
const SHORTEST_LINE = '{"t":"2026-01-01T00:00:00Z"}'.length;
const NEWLINE = 0x0a;

/** The layer with the log, if the manifest is that of a stored log. */
export function logLayer({ artifactType, layers }: Manifest): Descriptor | undefined {
  const [layer, ...others] = layers;
  const isLog = artifactType === LOG_ARTIFACT_TYPE && layer?.mediaType === LOG_LAYER_TYPE && others.length === 0;
  return isLog ? layer : undefined;
}

/** Reads the log into the page. Resolves to whether a limit truncated it. Ends when `stop` aborts. */
export async function readKeptLog(
  packed: AsyncIterable<Uint8Array>,
  { page, budget, signal }: Pick<Reading, 'page' | 'budget' | 'signal'>,
  stop: AbortSignal,
): Promise<boolean> {
  const sinks = new Map<string, LineSink>();
  const split = makeSplitter();
  let left = MOST_BYTES_OF_LOG;
  let unpaced = 0;

  function take(line: Buffer): void {
    const { t, c = '', m = '' } = parsed(line);
    if (t === undefined || t.length > LONGEST_TIME || !BUILD_WRITERS.some((writer) => writer === c)) return;
    const sink = sinks.get(c) ?? page.sink(c);
    sinks.set(c, sink);
    sink.push(Buffer.from(`${t.replaceAll('\n', ' ')} ${m.replaceAll('\n', ' ')}\n`));
  }
  const spend = (bytes: number): void => {
    left -= bytes;
    unpaced += bytes;
  };

  for await (const piece of unpacked(packed)) {
    spend(piece.length);
    for (const line of split(piece)) {
      spend(BYTES_OF_LINE);
      if (line.length >= SHORTEST_LINE) take(line);
      if (left <= 0 || stop.aborted) return true;
      const over = turns.over();
      if (over !== undefined) await over;
    }
    if (left <= 0 || stop.aborted) return true;
    if (unpaced < PIECE) continue;
    await budget.pace(unpaced, signal);
    unpaced = 0;
  }
  const last = split.rest();
  if (last !== undefined) take(last);
  return false;
}

async function* unpacked(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const sending = (async () => {
    for await (const piece of packed) {
      if (gunzip.destroyed) return;
      if (!gunzip.write(piece)) await new Promise((resolve) => gunzip.once('drain', resolve).once('close', resolve));
    }
    gunzip.end();
  })().catch((error: unknown) => void gunzip.destroy(error as Error));
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) yield piece;
  } catch (error) {
    if (error instanceof RegistryFailed || !(error instanceof Error) || !('code' in error)) throw error;
    throw new RegistryFailed('malformed', 'The stored log of this build cannot be read.', { cause: error });
  } finally {
    gunzip.destroy();
    await sending;
  }
}

interface Splitter {
  /** Whole lines, without those that are too long. */
  (piece: Buffer): Generator<Buffer>;
  /** The last line, if it has no end. */
  rest(): Buffer | undefined;
}

function makeSplitter(): Splitter {
  const longest = 2 * LONGEST_LINE;
  let begun: Buffer[] = [];
  let bytes = 0;

  function keep(part: Buffer): void {
    bytes += part.length;
    if (bytes <= longest && part.length > 0) begun.push(part);
  }
  function finish(): Buffer | undefined {
    const [first = Buffer.alloc(0), ...rest] = begun;
    const line = bytes > longest ? undefined : rest.length === 0 ? first : Buffer.concat(begun);
    begun = [];
    bytes = 0;
    return line;
  }
  function* split(piece: Buffer): Generator<Buffer> {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      keep(piece.subarray(start, end));
      start = end + 1;
      const line = finish();
      if (line !== undefined) yield line;
    }
    keep(piece.subarray(start));
  }
  return Object.assign(split, { rest: () => (bytes > 0 ? finish() : undefined) });
}

interface KeptLine {
  readonly t?: string;
  readonly c?: string;
  readonly m?: string;
}

function parsed(line: Buffer): KeptLine {
  try {
    const { t, c, m } = JSON.parse(line.toString('utf8')) as Record<keyof KeptLine, unknown>;
    return {
      ...(typeof t === 'string' && { t }),
      ...(typeof c === 'string' && { c }),
      ...(typeof m === 'string' && { m }),
    };
  } catch {
    return {};
  }
}
