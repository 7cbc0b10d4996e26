// Passes of a controller one after the other: until it rests, until a record is gone, and into a crash.

import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { Resource } from '../../../src/runtime/kube/client.ts';
import { aController, KEY, type MemoryController, type Result } from '../../kit/memory/controller.ts';
import { aServer, putRecord } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { isUsual } from '../../support/usual.ts';

/** Reconciles until no record is left, at most this often. Returns the requested delays. */
export async function takeDown(
  { kube, reconcile }: MemoryController,
  passes = 15,
): Promise<Result['requeueAfterMs'][]> {
  const delays: Result['requeueAfterMs'][] = [];
  for (let pass = 0; pass < passes && kube.objects(APP_DEPLOYMENTS).length > 0; pass += 1) {
    delays.push((await reconcile()).requeueAfterMs);
    kube.collectGarbage();
  }
  return delays;
}

export interface Crash {
  /** The server is gone before a write is sent, or its answer is lost. */
  readonly when: 'failOn' | 'failAfter';
  /** The how-manieth write is the first that fails; none does before. */
  readonly at: number;
  /** What is reconciled, one after the other: the record, if not given. */
  readonly keys?: readonly string[];
  /** Before each write, or once it was done, as `when` says. */
  onWrite?(): void;
}

/** The writes at which a controller dies, from the first to the last: each of them, of which `npm test` takes every fifth. */
export function* crashPoints(last: number, first = 1, step = 1): Generator<number> {
  for (let at = first; at <= last; at += step * (isUsual ? 5 : 1)) yield at;
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'text']);

/** A pass in which the server goes away and the controller dies of it; the server is back then. Returns how many writes it tried. */
export async function crashed(dying: MemoryController, { when, at, keys = [KEY], onWrite }: Crash): Promise<number> {
  let writes = 0;
  dying.kube[when](({ verb }) => {
    if (READS.has(verb)) return undefined;
    writes += 1;
    onWrite?.();
    return writes >= at ? new Unavailable('gone') : undefined;
  });
  for (const key of keys) {
    await dying.reconcile(key).catch(() => undefined);
  }
  dying.stop();
  dying.kube[when](undefined);
  return writes;
}

/** Reconciles, with workloads becoming ready in between, until a pass writes nothing. */
export async function converge(controller: MemoryController): Promise<void> {
  let writes: string[] = [];
  for (let pass = 0; pass < 20; pass += 1) {
    await controller.reconcile();
    writes = controller.writes();
    await makeReady(controller.kube);
    controller.writes();
    if (writes.length === 0 && pass > 1) return;
  }
  throw new Error(`It does not come to rest: ${writes.join(', ')}`);
}

/** A controller that has brought a record to rest. */
export async function aConverged(
  spec: Partial<AppDeployment['spec']> = {},
  kube = aServer(),
  settings = defaultSettings(),
): Promise<MemoryController> {
  putRecord(kube, spec);
  const controller = await aController(kube, settings);
  await converge(controller);
  return controller;
}

/** Deleted by somebody, in namespace team. */
export async function gone(kube: FakeKube, resource: Resource, name: string): Promise<void> {
  const found = kube.objects(resource).find(({ metadata }) => metadata.name === name);
  await kube.remove(resource, { namespace: 'team', name }, { uid: found?.metadata.uid ?? '' });
}

/** The keys of the store of backups. */
export function putStoreCredentials(kube: FakeKube): void {
  kube.seed(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'davit-backup-store', namespace: 'team' },
  });
}
