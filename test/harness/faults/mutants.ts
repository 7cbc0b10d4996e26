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
  SHORT_GRACE: {
    replacements: [{ file: 'src/decide/secret-garbage.ts', from: 'GRACE_MS = 60_000', to: 'GRACE_MS = 2_500' }],
  },
  SHORT_BUILD_RETRY: {
    replacements: [
      { file: 'src/controller/build/reconciler.ts', from: 'const RETRY_MS = 15_000;', to: 'const RETRY_MS = 1_000;' },
    ],
  },
  SHORT_BUILD_TIME: {
    replacements: [
      {
        file: 'src/api/settings.ts',
        from: 'timeoutSeconds: z.int().min(60)',
        to: 'timeoutSeconds: z.int().min(1)',
      },
    ],
  },
  'delete without uid': bug('src/kube/http-client.ts', 'preconditions: { uid, ', 'preconditions: { ', 'delete'),
  'deployed though it has gone': bug(
    'src/controller/app-deployment/reconciler.ts',
    ': await addFinalizer(observed.record, home);',
    ': ((await addFinalizer(observed.record, home)) ?? observed.record);',
    'undone',
    { kind: 'watch-delay', resource: 'appdeployments', ms: 300 },
  ),
  'ready before the rollout is over': bug(
    'src/decide/assess/workloads.ts',
    'if (updatedReplicas === wanted && replicas === wanted && availableReplicas === wanted)',
    'if (true)',
    'image',
  ),
  'stale observedGeneration of a child believed': bug(
    'src/decide/assess/workloads.ts',
    'return workload !== undefined && (workload.status?.observedGeneration ?? 0) >= (workload.metadata.generation ?? 1);',
    'return true;',
    'image',
    LATE_DEPLOYMENTS,
  ),
  'digest of the moment': bug(
    'src/controller/shared/apply.ts',
    "createHash('sha256').update(JSON.stringify(object))",
    "createHash('sha256').update(String(Date.now()))",
    'create',
  ),
  'password regenerated': {
    replacements: [
      {
        file: 'src/controller/app-deployment/passwords.ts',
        from: "if (state === 'there') return undefined;",
        to: '',
      },
      {
        file: 'src/controller/shared/apply.ts',
        from: 'made = await cluster.client.create(resource, object, { fieldManager: FIELD_MANAGER });',
        to: "made = await (object.kind === 'Secret' ? cluster.client.apply(resource, object, { fieldManager: FIELD_MANAGER, force: true }) : cluster.client.create(resource, object, { fieldManager: FIELD_MANAGER }));",
      },
    ],
    shows: { workload: 'create', fault: NONE },
  },
  'a lost password is regenerated': bug(
    'src/controller/app-deployment/passwords.ts',
    "if (state === 'lost') return",
    'if (false) return',
    'create',
    { kind: 'edit', child: 'Secret shop--postgres', edit: 'delete' },
  ),
  'a lost volume is replaced by an empty one': bug(
    'src/controller/app-deployment/adopt-database.ts',
    'if (!isVolumeMissing(observed)) return [];',
    'return [];',
    'create',
    { kind: 'edit', child: 'PersistentVolumeClaim shop--postgres', edit: 'delete' },
  ),
  'a volume that is being deleted is in order': bug(
    'src/decide/assess/database-volume.ts',
    'if (deletionTimestamp !== undefined)',
    'if (false)',
    'create',
    { kind: 'edit', child: 'PersistentVolumeClaim shop--postgres', edit: 'delete' },
  ),
  'a rollout before the migration': bug(
    'src/controller/app-deployment/plan-children.ts',
    'const mayRoll = isComplete && !isWaiting && isMigrated(observed, latest);',
    'const mayRoll = isComplete && !isWaiting;',
    'migrated',
  ),
  'a migration that failed is ignored': bug(
    'src/decide/assess/migration.ts',
    "return hasEnded(job, 'Failed') ? failureOf(observed, revision, job) : { is: 'running' };",
    "return { is: hasEnded(job, 'Failed') ? 'done' : 'running' };",
    'migrated',
  ),
  'a migration twice': {
    replacements: [
      {
        file: 'src/decide/assess/migration.ts',
        from: "if (latched?.phase === 'Failed') return",
        to: 'if (false) return',
      },
      {
        file: 'src/decide/assess/migration.ts',
        from: "return { is: latched ? 'lost' : 'due' };",
        to: "return { is: 'due' };",
      },
    ],
    shows: { workload: 'migrated', fault: NONE },
  },
  'a migration is not let finish': bug(
    'src/decide/assess/migration.ts',
    'return observed.revisions.find(({ spec }) => spec.id !== latest.spec.id && running.has(spec.id));',
    'return running.size < 0 ? latest : undefined;',
    'migrated',
  ),
  'a password in the clear': {
    replacements: [
      {
        file: 'src/controller/app-deployment/passwords.ts',
        from: "randomBytes(24).toString('base64url')",
        to: "(globalThis.seeded = randomBytes(24).toString('base64url'))",
      },
      {
        file: 'src/resources/env.ts',
        from: 'postgres_database: () => POSTGRES_DATABASE',
        to: 'postgres_database: () => globalThis.seeded ?? POSTGRES_DATABASE',
      },
    ],
    shows: { workload: 'migrated', fault: NONE },
  },
  'a stuck pod is kept': bug(
    'src/decide/children/stuck-pods.ts',
    'return isReadyPod(pod) || containers.some(',
    'return true || containers.some(',
    'impossible',
  ),
  'a size that no node has is applied': bug(
    'src/decide/children/node-fit.ts',
    'if (fits) return [];',
    'return [];',
    'impossible',
  ),
  'no finalizer': bug(
    'src/controller/app-deployment/reconciler.ts',
    'hasFinalizer(observed.record) ? observed.record : await addFinalizer(observed.record, home)',
    'observed.record',
    'delete',
  ),
  'finalizer taken off first': {
    replacements: [
      {
        file: 'src/controller/app-deployment/finalize.ts',
        from: 'const step = nextStep(cached, now);',
        to: 'const step = undefined;',
      },
      {
        file: 'src/controller/app-deployment/finalize.ts',
        from: 'const step = nextStep(live, now);',
        to: 'const step = undefined;',
      },
    ],
    shows: { workload: 'delete', fault: NONE },
  },
  'the caches decide when a teardown is over': bug(
    'src/controller/app-deployment/finalize.ts',
    'const step = nextStep(live, now);',
    'const step = undefined;',
    'delete',
    {
      kind: 'blind-takeover',
      at: 'delete/apply appdeployments/status shop#1',
      resources: ['persistentvolumeclaims', 'secrets'],
      ms: 10_000,
    },
  ),
  'data deleted whatever has become of it': bug(
    'src/controller/shared/delete.ts',
    "new Set(['Secret', 'PersistentVolumeClaim'])",
    'new Set()',
    'delete',
  ),
  'a failure silences the record': bug(
    'src/controller/app-deployment/reconciler.ts',
    'if (wasLost(signal) || isUnsaid(key, causes)) throw',
    'if (causes.length > 0) throw',
    'create',
    { kind: 'denied', resource: 'services', status: 500, ms: 4000 },
  ),
  'words of any length go into a status': {
    replacements: [
      { file: 'src/api/text.ts', from: 'const LONGEST_QUOTE = 1024;', to: 'const LONGEST_QUOTE = 100_000;' },
      {
        file: 'src/api/conditions.ts',
        from: 'message: shortened(condition.message),',
        to: 'message: condition.message,',
      },
    ],
    shows: { workload: 'create', fault: { kind: 'denied', resource: 'services', status: 500, ms: 4000 } },
  },
  'sweep does not ask whose it is': bug(
    'src/decide/children/plan.ts',
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
    'src/controller/shared/apply.ts',
    'if (!wasMadeFor(record, there, wanted)) return undefined;\n',
    '',
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
    'src/controller/app-deployment/watches.ts',
    '...[...caches.children.values()].map((cache) => cache.onChange(wakeOwner)),',
    '',
    'drift',
  ),
  'done is remembered': bug(
    'src/controller/app-deployment/reconciler.ts',
    'const first = await observe(found, options, contents, signal);',
    "const first = await observe(found, options, contents, signal); const done = (globalThis.done ??= new Set()); if (found.status?.state === 'READY' && !found.metadata.deletionTimestamp) { if (done.has(found.metadata.generation)) return {}; done.add(found.metadata.generation); }",
    'drift',
  ),
  'a failure is not tried again': bug(
    'src/runtime/controller.ts',
    'const waitMs = Math.round(queue.addBackingOff(key, asked));',
    'const waitMs = 0;',
    'drift',
    // Until the surplus pods have come, however long that takes: each of them wakes the record once more.
    { kind: 'outage', phase: 'drift', status: 500, ms: 4000, quietMs: 2000 },
  ),
  'DEPLOYED does not ask for the database': bug(
    'src/decide/assess/rollout.ts',
    "isOwn('postgres', revision) ? database : undefined,",
    'undefined,',
    'impossible',
  ),
  'a revision that served unseen is SKIPPED': bug(
    'src/decide/assess/rollout.ts',
    'runningRevision(before)?.spec.id === revision.spec.id',
    'false',
    'overtaken',
  ),
  'a teardown waits for pods by their labels': bug(
    'src/decide/children/teardown.ts',
    ' && isControlled(pod)',
    '',
    'held',
  ),
  'a teardown does not say what it waits for': bug(
    'src/decide/children/teardown.ts',
    '${waitsFor}${namesOf(pods)}',
    '${waitsFor}',
    'held',
  ),
  'values that another record names go with the first': bug(
    'src/decide/children/teardown.ts',
    'observed.namedByOthers?.has(child.metadata.name) !== true',
    'true',
    'pair',
  ),
  'events are listed at every look': bug(
    'src/controller/app-deployment/mount-failures.ts',
    'if (before && now().getTime() - before.at < ASK_EVERY_MS) return before.words;',
    '',
    'unmounted',
  ),
  'events that cannot be listed silence the record': {
    replacements: [
      {
        file: 'src/controller/app-deployment/mount-failures.ts',
        from: 'if (before && now().getTime() - before.at < ASK_EVERY_MS) return before.words;',
        to: '',
      },
      {
        file: 'src/controller/app-deployment/mount-failures.ts',
        from: "log.debug({ err, pod: metadata.name }, 'Could not list the events of a pod');",
        to: 'throw err;',
      },
    ],
    shows: { workload: 'unmounted', fault: { kind: 'events-refused' } },
  },
  'a rollback asks for the size of then': bug(
    'src/record/wanted-revision.ts',
    '? (data.storageGi ?? 0) : smallestSize(',
    '? 0 : smallestSize(',
    'resize',
  ),
  'no pause after a failure': {
    replacements: [
      {
        file: 'src/runtime/work-queue.ts',
        from: 'const backoff = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(times, 30));',
        to: 'const backoff = 0;',
      },
      // The pacing of a key that keeps arriving would stand in for the pause.
      { file: 'src/process/controller.ts', from: 'intervalMs: 200, burst: 3', to: 'intervalMs: 0, burst: 3' },
    ],
    shows: { workload: 'create', fault: { kind: 'outage', phase: 'create', status: 500, ms: 6000 } },
  },
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
        file: 'src/runtime/clients/leader-only.ts',
        from: 'if (!holds()) throw',
        to: 'if (!holds()) return send(); if (false) throw',
      },
      {
        file: 'src/process/controller.ts',
        from: 'onStopped: () => controller?.abort(),',
        to: 'onStopped: () => undefined,',
      },
      {
        file: 'src/process/controller.ts',
        from: "leading.addEventListener('abort', sleepAgain, { once: true });",
        to: '',
      },
    ],
    shows: { workload: 'recreate', fault: { kind: 'leases-blocked', phase: 'create', ms: 8000 } },
  },
  'a refused event ends the process': bug(
    'src/runtime/events.ts',
    "log.warn({ err, reason: event.reason, name, namespace }, 'Could not send an event');",
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
    'src/controller/app-deployment/reconciler.ts',
    'if (record.metadata.generation !== found.metadata.generation) return {};',
    '',
    'hasty',
    { kind: 'slow', ms: 150 },
  ),
  'teardown back to front': bug(
    'src/decide/children/teardown.ts',
    'for (const [waitsFor, objects] of stepsOf(observed)) {',
    'for (const [waitsFor, objects] of stepsOf(observed).toReversed()) {',
    'delete',
  ),
  'status written whether new or not': bug(
    'src/controller/shared/report.ts',
    'if (isDeepStrictEqual(without(object.status, foreign), status)) return false;',
    'status = { ...status, conditions: status.conditions?.map((one) => ({ ...one, message: `${one.message}${Date.now()}` })) };',
    'create',
  ),
  'what nobody names is not collected': bug(
    'src/controller/garbage/secrets.ts',
    "found.filter((one) => judge(one, named).is === 'orphan')",
    '[]',
    'http',
    { kind: 'crash-lost', at: 'post/facade create secrets shop--vars-X#1' },
  ),
  'values before their Secret': bug(
    'src/http/deployments/secret-values.ts',
    'return caller.kube.create(SECRETS, secret, { fieldManager: FACADE_FIELD_MANAGER });',
    'caller.kube.create(SECRETS, secret, { fieldManager: FACADE_FIELD_MANAGER }).catch(() => undefined); return Promise.resolve(secret);',
    'http',
    { kind: 'refused', at: 'patch/facade create secrets shop--vars-X#1', status: 500 },
  ),
  'status before children': bug(
    'src/controller/app-deployment/reconciler.ts',
    'const pass = await attempt(first, assessed, within);',
    'if (first.revisions[0]) await report(first, first, assessed, { latest: first.revisions[0], refusals: [] }, within); const pass = await attempt(first, assessed, within);',
    'image',
  ),
  'name by chance': bug(
    'src/resources/app-revision.ts',
    'names(record.metadata.name).revision(spec.id)',
    '`${record.metadata.name}--${crypto.randomUUID().slice(0, 8)}`',
    'create',
    { kind: 'lost-blind', at: 'create/create apprevisions shop--REV#1' },
  ),
  'finalizers written unconditionally': bug(
    'src/controller/app-deployment/finalize.ts',
    '{ metadata: { uid, resourceVersion, finalizers } }',
    '{ metadata: { uid, finalizers } }',
    'create',
    { kind: 'raced', at: 'create/patch appdeployments shop#1' },
  ),
  "somebody else's field is taken": bug(
    'src/controller/shared/apply.ts',
    '...object.metadata.annotations, [APPLIED_ANNOTATION]: digest',
    "...object.metadata.annotations, 'example.com/theirs': '', [APPLIED_ANNOTATION]: digest",
    'create',
    { kind: 'second-manager', does: 'adds' },
  ),
  'values of the active revision collected': {
    replacements: [
      {
        file: 'src/decide/secret-garbage.ts',
        from: '...revisions.flatMap(({ spec }) => spec.requested.secrets.map(({ secretName }) => secretName)),',
        to: '',
      },
      { file: 'src/decide/secret-garbage.ts', from: 'const GRACE_MS = 60_000;', to: 'const GRACE_MS = 500;' },
    ],
    shows: { workload: 'rotate', fault: NONE },
  },
  'deleted on a stale list': {
    replacements: [
      {
        file: 'src/decide/secret-garbage.ts',
        from: 'const GRACE_MS = 60_000;',
        to: 'const GRACE_MS = 200;',
      },
      {
        file: 'src/controller/garbage/secrets.ts',
        from: 'return valuesNamed(records.items, revisions.items);',
        to: 'return valuesNamed(caches.records.list(namespace), caches.revisions.list(namespace));',
      },
    ],
    shows: { workload: 'rotate', fault: { kind: 'watch-delay', resource: 'appdeployments', ms: 800 } },
  },
  'the moment in a template': bug(
    'src/resources/pod-template.ts',
    'const annotations = { ...spec.annotations,',
    "const annotations = { ...spec.annotations, 'example.com/made': new Date().toISOString(),",
    'create',
  ),
  'a refusal is final': bug(
    'src/decide/retry.ts',
    'if (!refusals.some(({ reason }) => MENDED_ELSEWHERE.has(reason))) return undefined;',
    'return undefined;',
    'create',
    { kind: 'denied', resource: 'services', status: 422 },
  ),
  'a refusal is tried again at once': {
    replacements: [
      { file: 'src/decide/retry.ts', from: 'const SHORTEST_MS = 1_000;', to: 'const SHORTEST_MS = 20;' },
      { file: 'src/decide/retry.ts', from: 'const LONGEST_MS = 60_000;', to: 'const LONGEST_MS = 20;' },
    ],
    shows: { workload: 'create', fault: { kind: 'denied', resource: 'services', status: 403, ms: 6000 } },
  },
  'a stripped child counts as foreign': bug(
    'src/controller/shared/apply.ts',
    'labels?.[DEPLOYMENT_UID_LABEL] === uid ||',
    'labels?.[DEPLOYMENT_UID_LABEL] === uid; (',
    'create',
    { kind: 'edit', child: 'Service shop', edit: 'labels' },
  ),
  'a database on a foreign volume': bug(
    'src/controller/app-deployment/reconciler.ts',
    'executePlan(withoutUnsafe(rest, before), record, target)',
    'executePlan(rest, record, target)',
    'create',
    { kind: 'foreign', child: 'PersistentVolumeClaim shop--postgres' },
  ),
  'a password in the log': bug(
    'src/controller/app-deployment/passwords.ts',
    "if (state === 'foreign') return nameConflict(secret);",
    "process.stdout.write(`${JSON.stringify(secret)}\\n`); if (state === 'foreign') return nameConflict(secret);",
    'create',
  ),
  'a short list is believed': bug(
    'src/runtime/reflector.ts',
    'if (cache.missingFrom(items, version) > 0) {',
    'if (false) {',
    'create',
    { kind: 'relist-empty', resource: 'deployments', event: 2 },
  ),
  'the autoscaler is fought': bug(
    'src/resources/workload.ts',
    '...(!isAutoscaled && { replicas:',
    '...(true && { replicas:',
    'autoscaled',
  ),
  'a wait script changed in place': bug('src/resources/wait-scripts.ts', 'sleep 2 &', 'sleep 3 &', 'upgraded'),
  'the contract of a revision ignored': {
    replacements: [
      {
        file: 'src/resources/contracts.ts',
        from: 'new Map([[1, CONTRACT_V1]])',
        to: "new Map([[1, CONTRACT_V1], [2, { ...CONTRACT_V1, workload: (...args) => JSON.parse(JSON.stringify(CONTRACT_V1.workload(...args)).replaceAll('PGCONNECT_TIMEOUT=5', 'PGCONNECT_TIMEOUT=6')) }]])",
      },
      {
        file: 'src/resources/desired.ts',
        from: 'contracts.get(version)',
        to: 'contracts.get(Math.max(...contracts.keys()))',
      },
    ],
    shows: { workload: 'upgraded', fault: NONE },
  },
  'another form taken for another record': bug(
    'src/record/canonical.ts',
    'return value.length > 0 ?',
    'return true ?',
    'reformed',
  ),
  'values that anybody may fill reach pods': bug(
    'src/decide/assess/references.ts',
    'if (unfixed !== undefined)',
    'if (false)',
    'unfixed',
  ),
  'new values roll the pods for each write': {
    replacements: [
      { file: 'src/decide/children/rotation.ts', from: 'const QUIET_MS = 2000;', to: 'const QUIET_MS = 0;' },
    ],
    shows: { workload: 'referenced', fault: NONE },
  },
  'a Job that is there is made again': bug(
    'src/controller/build/start.ts',
    'if (!(error instanceof AlreadyExists)) throw error;',
    "if (!(error instanceof AlreadyExists)) throw error; const ref = { namespace: inputs.settings.namespace, name: buildName(inputs.revisionId) }; const there = await client.get(JOBS, ref); await client.remove(JOBS, ref, { uid: there.metadata.uid, propagationPolicy: 'Background' }); await new Promise((resolve) => setTimeout(resolve, 500)); return client.create(JOBS, makeBuildJob(inputs));",
    'builds',
    { kind: 'crash-after', at: 'builds/create jobs build-ID#1' },
  ),
  'the Secrets of a build belong to nobody': bug(
    'src/resources/build/job.ts',
    "ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: buildName(revisionId), uid: jobUid }],",
    '',
    'builds-delete',
  ),
  'credentials stay after the build': bug(
    'src/decide/build/step.ts',
    "return { act: 'forgetCredentials', requeueAfterMs: left };",
    'return { requeueAfterMs: left };',
    'builds',
  ),
  'a place that becomes free wakes nobody': bug(
    'src/controller/build/watches.ts',
    "if (isBegun(previous?.status?.build) && (type === 'deleted' || !isBegun(object.status?.build))) wakeQueued();",
    '',
    'builds-turns',
  ),
  'a build that failed keeps its turn': bug(
    'src/api/build.ts',
    "return build !== undefined && build.phase !== 'Queued' && !FINAL_PHASES.has(build.phase);",
    "return build !== undefined && build.phase !== 'Queued' && build.phase !== 'Built';",
    'builds-turns',
  ),
  'running builds take no turn': bug(
    'src/decide/build/turns.ts',
    'for (const revision of builds.filter(({ status }) => isBegun(status?.build))) begin(revision);',
    '',
    'builds-turns',
  ),
  'the time of a build is not limited': bug(
    'src/resources/build/job.ts',
    'activeDeadlineSeconds: settings.timeoutSeconds,',
    '',
    'builds-overdue',
  ),
  'an interrupted build begins again': bug(
    'src/decide/build/step.ts',
    'if (build && FINAL_PHASES.has(build.phase)) return',
    "if (build && build.phase !== 'Interrupted' && FINAL_PHASES.has(build.phase)) return",
    'builds-interrupt',
  ),
  'the pod of another build is believed': bug(
    'src/controller/build/observe.ts',
    '.byLabel(settings.builds.namespace, BUILD_LABEL, id)',
    '.list()',
    'builds',
  ),
  'the Job of a finished build goes at once': bug(
    'src/decide/build/step.ts',
    "if (phase === 'Interrupted' || phase === 'Skipped' || !(left > 0)) return { act: 'removeJob' };",
    "return { act: 'removeJob' };",
    'builds',
  ),
  'a code host that is down fails the build': bug(
    'src/controller/build/reconciler.ts',
    'if (!retry || !before) {',
    'if (true) {',
    'builds',
    { kind: 'code-host', phase: 'builds', says: 'down', ms: 2500 },
  ),
  'a push credential for all of a tenant': bug(
    'src/controller/build/start.ts',
    'const repository = repositoryOf(registry, tenant, record.metadata.name);',
    "const repository = repositoryOf(registry, tenant, record.metadata.name).replace(/[^/]*$/, '*');",
    'builds',
  ),
  'the token of the code host in the log': bug(
    'src/controller/build/start.ts',
    'if (isHindrance(credential)) return credential;',
    'process.stdout.write(`${JSON.stringify(credential)}\\n`); if (isHindrance(credential)) return credential;',
    'builds',
  ),
  'what belongs to no build any more stays': bug(
    'src/controller/build/reconciler.ts',
    'await removeJob(seen.orphan, client);',
    'return {};',
    'builds-delete',
  ),
  'a built image by its tag': bug(
    'src/decide/build/step.ts',
    'image: `${repository}@${digest}`',
    'image: `${repository}:latest`',
    'builds',
  ),
  'the branch of now is built': bug(
    'src/controller/build/start.ts',
    'ref: revision.status?.build?.commit ?? revision.spec.commit ?? repoRef',
    'ref: repoRef',
    'builds-turns',
  ),
  'a Job that somebody deletes is made again': bug(
    'src/decide/build/step.ts',
    "if (job?.metadata.deletionTimestamp !== undefined || (job === undefined && build.phase === 'Building'))",
    'if (false)',
    'builds-fail',
  ),
};
