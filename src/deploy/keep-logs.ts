// Keeps the last lines of what ended a revision or a run of a task, before its pods go, and deletes them when they are too old.

import { stripVTControlCharacters } from 'node:util';
import { APP_LOGS, type AppLog, MOST_BYTES_OF_CONTAINER } from '../kinds/app-log.ts';
import { API_VERSION, REVISION_LABEL, TASK_LABEL } from '../kinds/meta.ts';
import { printable } from '../kinds/text.ts';
import { placeOf } from '../runtime/controller/cluster.ts';
import { Invalid, NotFound } from '../runtime/errors.ts';
import type { KubeClient } from '../runtime/kube/client.ts';
import { logPath } from '../runtime/kube/log-path.ts';
import type { EndedContainer } from './assess/ended-containers.ts';
import { type EndedLog, keptLogs } from './assess/ended-logs.ts';
import type { Observed } from './assess/observed.ts';
import { ownedMeta } from './children/owner.ts';
import { makeOnce } from './cluster/apply.ts';
import type { Cluster } from './cluster/cluster.ts';
import { deleteObjects } from './cluster/delete.ts';
import { errorsOf } from './cluster/failures.ts';

const LINES_KEPT = 100;
/** Room for a time and the space after it, with some to spare. */
const ROOM_FOR_TIME = 64;
/** A node that does not answer holds no rollout up for longer. */
const READ_WITHIN_MS = 5000;

/** Returns failures. They are retried while the pods are there, and hold nothing up. */
export async function keepLogs(
  observed: Observed,
  { home, now }: { readonly home: Cluster; readonly now: () => Date },
): Promise<readonly unknown[]> {
  const { namespace } = observed.record.metadata;
  const { save, drop } = keptLogs(observed, home.caches.children.get(APP_LOGS.kind)?.list(namespace) ?? [], now());
  const saved = await Promise.all(
    save.map((log) =>
      readLog(log, observed, home.client)
        .then((made) => makeOnce(made, observed.record, home))
        .then((made) => ('reason' in made ? errorsOf([made]) : []))
        .catch((error: unknown) => [error]),
    ),
  );
  return [...saved.flat(), ...errorsOf(await deleteObjects(drop, home))];
}

async function readLog(
  { name, revisionId, task, containers }: EndedLog,
  { record }: Observed,
  client: KubeClient,
): Promise<AppLog> {
  const metadata = ownedMeta(record, name);
  const labels = {
    ...metadata.labels,
    ...(revisionId !== undefined && { [REVISION_LABEL]: revisionId }),
    ...(task !== undefined && { [TASK_LABEL]: task }),
  };
  return {
    apiVersion: API_VERSION,
    kind: 'AppLog',
    metadata: { ...metadata, labels },
    spec: {
      deploymentName: record.metadata.name,
      ...(revisionId !== undefined && { revisionId }),
      ...(task !== undefined && { task }),
      containers: await Promise.all(
        containers.map(async ({ previous, ...container }) => ({
          ...container,
          log: await lastLines(placeOf(record).namespace ?? '', { previous, ...container }, client),
        })),
      ),
    },
  };
}

async function lastLines(namespace: string, ended: EndedContainer, client: KubeClient): Promise<string> {
  const { finishedAt, ...log } = ended;
  // limitBytes would keep the first bytes of these lines.
  let kept = Buffer.alloc(0);
  let isCut = false;
  try {
    const path = logPath(namespace, log, { tailLines: String(LINES_KEPT) });
    for await (const piece of client.stream(path, { signal: AbortSignal.timeout(READ_WITHIN_MS) })) {
      const all = Buffer.concat([kept, piece]);
      kept = all.subarray(-MOST_BYTES_OF_CONTAINER);
      isCut ||= all.length > kept.length;
    }
  } catch (error) {
    // The container never started, or its log is gone.
    if (!(error instanceof NotFound) && !(error instanceof Invalid)) throw error;
  }
  const text = withoutControls(kept);
  // The kubelet has restarted the container since its status was read.
  if (!log.previous && (text === '' || (finishedAt !== undefined && seconds(text) > seconds(finishedAt))))
    return (await lastLines(namespace, { ...ended, previous: true }, client)) || text;
  if (!isCut) return text;
  const whole = text.slice(text.indexOf('\n') + 1);
  // The end of one line that is longer than all that is kept, whose time is cut off.
  return whole === '' ? `${finishedAt ?? new Date(0).toISOString()} ${text.slice(ROOM_FOR_TIME)}` : whole;
}

/** RFC 3339 to the second, which is how exactly the end of a container is known. */
function seconds(time: string): string {
  return time.slice(0, '2026-01-01T00:00:00'.length);
}

/** No more bytes than before: a control character takes six in JSON, and an escape sequence would reach a terminal. */
function withoutControls(bytes: Buffer): string {
  const text = printable(stripVTControlCharacters(bytes.toString('utf8')));
  return Buffer.from(text).subarray(-MOST_BYTES_OF_CONTAINER).toString('utf8');
}
