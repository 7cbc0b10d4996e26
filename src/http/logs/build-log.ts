// Reads the log of a build: from its pod while there is one, and from the registry, which stores it when the build has ended.

import { createGunzip } from 'node:zlib';
import type { AppDeployment } from '../../api/app-deployment.ts';
import { BUILD_LABEL } from '../../api/meta.ts';
import { RegistryFailed } from '../../errors.ts';
import type { KubeClient } from '../../kube/client.ts';
import { logTag } from '../../record/registry-names.ts';
import type { Tenant } from '../core/authorization.ts';
import { type BuildPlatform, placeOf } from '../registry/platform.ts';
import { LONGEST_LINE, LONGEST_MS } from './budget.ts';
import type { LineSink } from './lines.ts';
import { type PodsToRead, type Reading, readLogs } from './pods.ts';

/** Maximum number of bytes of a stored log, uncompressed. */
const MOST_BYTES_OF_LOG = 64 * 1024 * 1024;
/** Bytes between two pauses for other work. */
const PIECE = 64 * 1024;
const NEWLINE = 0x0a;

export interface BuildToRead {
  /** The facade's own credentials. */
  readonly kube: KubeClient;
  readonly platform: BuildPlatform;
  readonly record: AppDeployment;
  readonly tenant: Tenant;
  readonly revision: string;
  /** Whether the build has ended, or there was none. */
  readonly isOver: boolean;
}

/** Reads the log into the page. Resolves to whether a limit truncated it. May throw RegistryFailed. */
export async function readBuildLog(build: BuildToRead, reading: Reading): Promise<boolean> {
  const { kube, isOver, platform } = build;
  // A node may have truncated the log of the pod. The stored log of an ended build is more complete.
  const kept = isOver ? await readKept(build, reading) : undefined;
  if (kept !== undefined) return kept;
  // Where nothing is built, the chart grants no right to logs of builds.
  if (platform.registry === undefined && platform.settings.builds.images.builder === undefined) return false;
  return (await readLogs(kube, buildPods(build), reading)) ?? false;
}

export function buildPods({ platform, revision }: Pick<BuildToRead, 'platform' | 'revision'>): PodsToRead {
  return { namespace: platform.settings.builds.namespace, labelSelector: `${BUILD_LABEL}=${revision}` };
}

/** Undefined if no log is stored. */
async function readKept(
  { platform, record, tenant, revision }: BuildToRead,
  { page, budget, signal }: Reading,
): Promise<boolean | undefined> {
  if (platform.registry === undefined) return undefined;
  const { registry, repository } = placeOf(platform, record, tenant.id);
  const stop = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]);
  const manifest = await registry.client.manifest(repository, logTag(revision), stop);
  const layer = manifest?.layers[0];
  const packed = layer && (await registry.client.blob(repository, layer.digest, stop));
  if (packed === undefined) return undefined;
  const sinks = new Map<string, LineSink>();
  let left = MOST_BYTES_OF_LOG;
  let unpaced = 0;
  for await (const line of linesOf(unpacked(packed))) {
    left -= line.length;
    const { t, c = '', m = '' } = parsed(line);
    if (t !== undefined) {
      const sink = sinks.get(c) ?? page.sink(c);
      sinks.set(c, sink);
      sink.push(Buffer.from(`${t} ${m.replaceAll('\n', ' ')}\n`));
    }
    if (left <= 0 || stop.aborted) return true;
    unpaced += line.length;
    if (unpaced < PIECE) continue;
    await budget.pace(unpaced, signal);
    unpaced = 0;
  }
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

/** Splits text into whole lines, without those that are too long. */
async function* linesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun = Buffer.alloc(0);
  for await (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([begun, piece.subarray(start, end)]);
      begun = Buffer.alloc(0);
      start = end + 1;
      if (line.length <= 2 * LONGEST_LINE) yield line;
    }
    const rest = piece.subarray(start);
    begun = begun.length > 2 * LONGEST_LINE ? begun : Buffer.concat([begun, rest]);
  }
  if (begun.length > 0) yield begun;
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
