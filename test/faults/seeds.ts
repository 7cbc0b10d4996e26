// Known bugs, and what is to catch each: the measure of the harness itself. `from` must be in the file exactly once,
// after Node has taken the types out (which leaves everything else where it was).

import type { Fault, WorkloadName } from './plans.ts';

interface Replacement {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export interface Seed {
  readonly replacements: readonly Replacement[];
  /** Absent for what is no bug but a matter of test time. */
  readonly shows?: { readonly workload: WorkloadName | 'http'; readonly fault: Fault };
}

const NONE: Fault = { kind: 'none' };
/** So that what a write answers is not overtaken by news of its consequences, however slow the machine. */
const LATE_DEPLOYMENTS: Fault = { kind: 'watch-delay', resource: 'deployments', ms: 400 };

function bug(file: string, from: string, to: string, workload: WorkloadName | 'http', fault: Fault = NONE): Seed {
  return { replacements: [{ file, from, to }], shows: { workload, fault } };
}

export const SEEDS: Readonly<Record<string, Seed>> = {
  SHORT_IDLE: { replacements: [{ file: 'src/runtime/reflector.ts', from: 'idleMs = 90_000', to: 'idleMs = 1_500' }] },
  SMALL_PAGES: { replacements: [{ file: 'src/runtime/reflector.ts', from: 'pageSize = 500', to: 'pageSize = 2' }] },
  SHORT_GRACE: { replacements: [{ file: 'src/decide/orphans.ts', from: 'GRACE_MS = 60_000', to: 'GRACE_MS = 2_500' }] },
  'delete without uid': bug('src/kube/http-client.ts', 'preconditions: { uid, ', 'preconditions: { ', 'delete'),
  'ready before the rollout is over': bug(
    'src/decide/health.ts',
    'if (updatedReplicas === wanted && replicas === wanted && availableReplicas === wanted)',
    'if (true)',
    'image',
  ),
  'stale observedGeneration of a child believed': bug(
    'src/decide/health.ts',
    'if ((status.observedGeneration ?? 0) < (workload.metadata.generation ?? 1))',
    'if (false)',
    'image',
    LATE_DEPLOYMENTS,
  ),
  'digest of the moment': bug(
    'src/controller/apply.ts',
    "createHash('sha256').update(canonical(object))",
    "createHash('sha256').update(String(Date.now()))",
    'create',
  ),
  'password made anew': {
    replacements: [
      {
        file: 'src/controller/apply.ts',
        from: 'if (there && isOurs(there, observed)) return undefined;',
        to: '',
      },
      { file: 'src/controller/apply.ts', from: 'if (there) return nameConflict(secret);', to: '' },
      {
        file: 'src/controller/apply.ts',
        from: 'made = await shell.client.create(resource, object, { fieldManager: FIELD_MANAGER });',
        to: 'made = await shell.client.apply(resource, object, { fieldManager: FIELD_MANAGER, force: true });',
      },
    ],
    shows: { workload: 'create', fault: NONE },
  },
  'no finalizer': bug(
    'src/controller/app-deployment-reconciler.ts',
    'hasFinalizer(observed.record) ? observed.record : await addFinalizer(observed.record, shell)',
    'observed.record',
    'delete',
  ),
  'finalizer taken off first': bug(
    'src/controller/finalize.ts',
    'observed.namespaceTerminating ? undefined : nextStep(observed)',
    'undefined',
    'delete',
  ),
  'sweep does not ask whose it is': bug(
    'src/decide/plan.ts',
    '!isOurs(child, observed) || child.metadata.deletionTimestamp) continue;',
    'child.metadata.deletionTimestamp) continue;',
    'create',
  ),
  'everything is ours': bug(
    'src/decide/observed.ts',
    'return child.metadata.labels?.[DEPLOYMENT_UID_LABEL] === observed.record.metadata.uid;',
    'return true;',
    'delete',
  ),
  'foreign object overwritten': bug(
    'src/controller/apply.ts',
    'if (!wasMadeFor(record, there, wanted)) return undefined;\n    return { ...wanted',
    'return { ...wanted',
    'taken',
  ),
  'latch lost': bug(
    'src/decide/revision-status.ts',
    "if (revision.status?.state === 'DEPLOYED') return 'DEPLOYED';",
    '',
    'drift',
    LATE_DEPLOYMENTS,
  ),
  'children wake nobody': bug(
    'src/controller/watches.ts',
    '...[...caches.children.values()].map((cache) => cache.onChange(wakeOwner)),',
    '',
    'drift',
  ),
  'done is remembered': bug(
    'src/controller/app-deployment-reconciler.ts',
    'if (!found) return {};',
    "if (!found) return {}; const done = (globalThis.done ??= new Set()); if (found.status?.state === 'READY' && !found.metadata.deletionTimestamp) { if (done.has(found.metadata.generation)) return {}; done.add(found.metadata.generation); }",
    'drift',
  ),
  'a failure is not tried again': bug(
    'src/runtime/controller.ts',
    'const waitMs = Math.round(queue.addBackingOff(key, asked));',
    'const waitMs = 0;',
    'drift',
    { kind: 'outage', phase: 'drift', status: 500 },
  ),
  'no pause after a failure': bug(
    'src/runtime/work-queue.ts',
    'const backoff = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(failures, 30));',
    'const backoff = 0;',
    'create',
    { kind: 'outage', phase: 'create', status: 500 },
  ),
  'a lost race is final': bug(
    'src/runtime/controller.ts',
    "log.debug({ err: error, waitMs: queue.addBackingOff(key) }, 'Reconcile lost a race, will retry');",
    '',
    'create',
    { kind: 'refused', at: 'create/patch appdeployments shop#1', status: 409 },
  ),
  'writes without a lease': {
    replacements: [
      {
        file: 'src/controller/while-leading.ts',
        from: 'if (!holds()) throw',
        to: 'if (!holds()) return options; if (false) throw',
      },
      {
        file: 'src/controller/run.ts',
        from: 'onStopped: () => controller?.abort(),',
        to: 'onStopped: () => undefined,',
      },
      {
        file: 'src/controller/run.ts',
        from: "leading.addEventListener('abort', sleepAgain, { once: true });",
        to: '',
      },
    ],
    shows: { workload: 'recreate', fault: { kind: 'leases-blocked', phase: 'create', ms: 8000 } },
  },
  'a refused event ends the process': bug(
    'src/runtime/events.ts',
    "log.warn({ err, reason: event.reason, name, namespace }, 'Event not sent');",
    'throw err;',
    'create',
    { kind: 'events-refused' },
  ),
  'compacted history not listed again': bug(
    'src/runtime/reflector.ts',
    'if (error instanceof Gone) {\n      position = undefined;',
    'if (error instanceof Gone) {',
    'delete',
    { kind: 'watch-gap', resource: 'deployments', event: 2 },
  ),
  'half-open watch never noticed': bug(
    'src/kube/http-client.ts',
    'const idle = setTimeout(() => silence.abort(), idleMs);',
    'const idle = setTimeout(() => undefined, idleMs);',
    'delete',
    { kind: 'watch-half-open', resource: 'deployments', event: 2 },
  ),
  'revision by chance': bug(
    'src/record/revision-id.ts',
    'return revisionId(recordUid, `g${generation}`);',
    'return crypto.randomUUID();',
    'create',
    { kind: 'lost-blind', at: 'create/create apprevisions shop--REV#1' },
  ),
  'a newer generation is said to be seen': bug(
    'src/controller/app-deployment-reconciler.ts',
    'if (record.metadata.generation !== found.metadata.generation) return {};',
    '',
    'hasty',
    { kind: 'slow', ms: 150 },
  ),
  'teardown back to front': bug(
    'src/decide/teardown.ts',
    'for (const [waitsFor, objects] of stepsOf(observed)) {',
    'for (const [waitsFor, objects] of stepsOf(observed).toReversed()) {',
    'delete',
  ),
  'status written whether new or not': bug(
    'src/controller/report.ts',
    'if (isDeepStrictEqual(object.status, status)) return false;',
    'status = { ...status, conditions: status.conditions?.map((one) => ({ ...one, message: `${one.message}${Date.now()}` })) };',
    'create',
  ),
  'what nobody names is not collected': bug(
    'src/controller/secret-collector.ts',
    "if (live.is === 'orphan')",
    'if (false)',
    'http',
    { kind: 'crash-lost', at: 'post/facade create secrets shop--vars-X#1' },
  ),
  'values before their Secret': bug(
    'src/http/deployments/variables.ts',
    'return caller.kube.create(SECRETS, secret, { fieldManager: FACADE_FIELD_MANAGER });',
    'caller.kube.create(SECRETS, secret, { fieldManager: FACADE_FIELD_MANAGER }).catch(() => undefined); return Promise.resolve(secret);',
    'http',
    { kind: 'refused', at: 'patch/facade create secrets shop--vars-X#1', status: 500 },
  ),
};
