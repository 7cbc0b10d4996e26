// Seeded bugs, each with the workload and fault that must catch it: they measure the harness itself. `from` must be in the file
// exactly once, after Node has stripped the types.

import type { Fault, WorkloadName } from './fault.ts';
import type { ListenerPlan } from './listener-plans.ts';

export interface Replacement {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export interface Seed {
  readonly replacements: readonly Replacement[];
  /** The run that must catch the bug. Absent for a replacement that only shortens a time. */
  readonly shows?:
    | { readonly workload: WorkloadName | 'http' | 'oauth'; readonly fault: Fault }
    | Omit<ListenerPlan, 'seed'>;
  /** The invariant that the bug must violate, where the fault violates another one without it. */
  readonly violates?: string;
}

const NONE: Fault = { kind: 'none' };
/** Delays the watch, so that on a slow machine too the answer of a write arrives before events of its consequences. */
const LATE_DEPLOYMENTS: Fault = { kind: 'watch-delay', resource: 'deployments', ms: 400 };

function bug(
  file: string,
  from: string,
  to: string,
  workload: WorkloadName | 'http' | 'oauth',
  fault: Fault = NONE,
): Seed {
  return { replacements: [{ file, from, to }], shows: { workload, fault } };
}

function listenerBug(file: string, from: string, to: string, shows: Omit<ListenerPlan, 'seed'>): Seed {
  return { replacements: [{ file, from, to }], shows };
}

const LIFE: Omit<ListenerPlan, 'seed'> = { workload: 'listener-life', side: 'link', fault: NONE };

export const SEEDS: Readonly<Record<string, Seed>> = {
  SHORT_IDLE: {
    replacements: [{ file: 'src/runtime/controller/reflector.ts', from: 'idleMs = 90_000', to: 'idleMs = 1_500' }],
  },
  SMALL_PAGES: {
    replacements: [{ file: 'src/runtime/controller/reflector.ts', from: 'pageSize = 500', to: 'pageSize = 2' }],
  },
  SHORT_SILENCE: {
    replacements: [
      {
        file: 'src/kinds/settings.ts',
        from: 'silentAfterSeconds: integer(15,',
        to: 'silentAfterSeconds: integer(1,',
      },
      {
        file: 'src/clusters/agent/hub-lease.ts',
        from: 'const RENEW_MS = 10_000;',
        to: 'const RENEW_MS = 1_000;',
      },
    ],
  },
  SHORT_GRACE: {
    replacements: [{ file: 'src/deploy/plan/secret-garbage.ts', from: 'GRACE_MS = 60_000', to: 'GRACE_MS = 2_500' }],
  },
  SHORT_CLAIM: {
    replacements: [{ file: 'src/tokens/oauth/token.ts', from: 'CLAIM_MS = 30_000', to: 'CLAIM_MS = 5_000' }],
  },
  SHORT_BUILD_RETRY: {
    replacements: [
      { file: 'src/build/build-reports.ts', from: 'const RETRY_MS = 15_000;', to: 'const RETRY_MS = 1_000;' },
    ],
  },
  SHORT_FILE_RETRY: {
    replacements: [
      { file: 'src/build/code-files.ts', from: 'const RETRY_MS = 15_000;', to: 'const RETRY_MS = 1_000;' },
    ],
  },
  SHORT_NOTICE_RETRY: {
    replacements: [
      {
        file: 'src/main/notices/reconciler.ts',
        from: 'const FIRST_RETRY_MS = 10_000;',
        to: 'const FIRST_RETRY_MS = 200;',
      },
    ],
  },
  SHORT_BUILD_TIME: {
    replacements: [
      {
        file: 'src/kinds/settings.ts',
        from: 'timeoutSeconds: integer(60, 86_400)',
        to: 'timeoutSeconds: integer(1, 86_400)',
      },
    ],
  },
  'deletes have no uid precondition': bug(
    'src/runtime/kube/writes.ts',
    'preconditions: { uid, ',
    'preconditions: { ',
    'delete',
  ),
  'a record that was deleted while its finalizer was added is reconciled': bug(
    'src/deploy/reconcile.ts',
    ': await addFinalizer(observed.record, home);',
    ': ((await addFinalizer(observed.record, home)) ?? observed.record);',
    'undone',
    { kind: 'watch-delay', resource: 'appdeployments', ms: 300 },
  ),
  'a workload is ready before its rollout has finished': bug(
    'src/deploy/assess/rolled-parts.ts',
    'if (updatedReplicas === wanted && replicas === wanted && availableReplicas === wanted)',
    'if (true)',
    'image',
  ),
  "a child's outdated observedGeneration is accepted": bug(
    'src/deploy/assess/rolled-parts.ts',
    'return workload !== undefined && (workload.status?.observedGeneration ?? 0) >= (workload.metadata.generation ?? 1);',
    'return true;',
    'image',
    LATE_DEPLOYMENTS,
  ),
  'the applied digest depends on the time': bug(
    'src/deploy/cluster/apply.ts',
    "createHash('sha256').update(JSON.stringify(object))",
    "createHash('sha256').update(String(Date.now()))",
    'create',
  ),
  'an existing password is regenerated': {
    replacements: [
      {
        file: 'src/deploy/passwords.ts',
        from: "if (state === 'there') return undefined;",
        to: '',
      },
      {
        file: 'src/deploy/cluster/apply.ts',
        from: 'made = await cluster.client.create(resource, object, { fieldManager: FIELD_MANAGER });',
        to: "made = await (object.kind === 'Secret' ? cluster.client.apply(resource, object, { fieldManager: FIELD_MANAGER, force: true }) : cluster.client.create(resource, object, { fieldManager: FIELD_MANAGER }));",
      },
    ],
    shows: { workload: 'create', fault: NONE },
  },
  'a lost password is regenerated': bug(
    'src/deploy/passwords.ts',
    "if (state === 'lost') return",
    'if (false) return',
    'create',
    { kind: 'edit', child: 'Secret shop--postgres', edit: 'delete' },
  ),
  'a lost volume is replaced by an empty one': bug(
    'src/deploy/adopt-database.ts',
    'if (!isVolumeMissing(observed)) return [];',
    'return [];',
    'create',
    { kind: 'edit', child: 'PersistentVolumeClaim shop--postgres', edit: 'delete' },
  ),
  'a volume that is being deleted passes its check': bug(
    'src/deploy/assess/database-volume.ts',
    'if (deletionTimestamp !== undefined)',
    'if (false)',
    'create',
    { kind: 'edit', child: 'PersistentVolumeClaim shop--postgres', edit: 'delete' },
  ),
  'a rollout before the migration': bug(
    'src/deploy/plan-children.ts',
    'mayRoll: isComplete && isBuilt && isBegun && isMigrated(observed, latest) && !hasFailed,',
    'mayRoll: isComplete && isBuilt && !hasFailed,',
    'migrated',
  ),
  'a migration that failed is ignored': bug(
    'src/deploy/assess/migration.ts',
    "return end === 'failed' ? migrationFailure(observed, revision, job) : { is: 'running' };",
    "return { is: end === 'failed' ? 'done' : 'running' };",
    'migrated',
  ),
  'a migration twice': {
    replacements: [
      {
        file: 'src/deploy/assess/migration.ts',
        from: "if (latched?.phase === 'Failed') return",
        to: 'if (false) return',
      },
      {
        file: 'src/deploy/assess/migration.ts',
        from: "return { is: latched ? 'lost' : 'due' };",
        to: "return { is: 'due' };",
      },
    ],
    shows: { workload: 'migrated', fault: NONE },
  },
  'a migration is not let finish': bug(
    'src/deploy/assess/migration.ts',
    'return observed.revisions.find(({ spec }) => spec.id !== latest.spec.id && running.has(spec.id));',
    'return running.size < 0 ? latest : undefined;',
    'migrated',
  ),
  'tasks follow the newest revision': bug(
    'src/deploy/apply-cron-jobs.ts',
    'const active = activeRevision(observed.revisions);',
    'const active = observed.revisions[0];',
    'tasks',
  ),
  'the policies of stores follow the newest revision': bug(
    'src/deploy/children/network.ts',
    'const components = [...REACHING,',
    'const components = [...REACHING.filter((one) => one !== TASK || revision.spec.requested.tasks),',
    'tasks',
  ),
  'what was verified is forgotten with its pod': bug(
    'src/deploy/assess/verification.ts',
    '    ...before,\n    ...lastReports(observed, before),',
    '    ...lastReports(observed, before),',
    'backups',
  ),
  'a verification asks for no backup that is known': bug(
    'src/deploy/children/database/verification.ts',
    '...(known === undefined ? [] : [`--known=${known}`]),',
    '',
    'backups',
  ),
  'pods of verifications reach the database': bug(
    'src/kinds/meta.ts',
    'export const DATABASE_JOBS = [BACKUP, RESTORE]',
    'export const DATABASE_JOBS = [BACKUP, RESTORE, VERIFY]',
    'backups',
  ),
  'pods do not wait for the backup that their database begins with': bug(
    'src/deploy/plan-children.ts',
    'const isBegun = isRestored(observed, latest);',
    'const isBegun = true;',
    'backups',
  ),
  'a move deletes the volume that it moves from': bug(
    'src/deploy/plan/plan.ts',
    "'NetworkPolicy',",
    "'NetworkPolicy', 'PersistentVolumeClaim',",
    'moves',
  ),
  'a move deletes the password that it moves from': bug(
    'src/deploy/plan/plan.ts',
    'if (!prunes.has(kind) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;',
    "if ((!prunes.has(kind) && kind !== 'Secret') || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;",
    'moves',
  ),
  'a database is moved while pods use it': bug(
    'src/databases/move-step.ts',
    'if (!isSeen(observed) || running !== undefined) {',
    'if (!isSeen(observed)) {',
    'moves',
  ),
  'a retained database that was never loaded is adopted': bug(
    'src/deploy/plan/teardown.ts',
    'const mark = usedLastOf(observed);',
    'const mark = undefined;',
    'moves-kept',
  ),
  'a change without a claim is by whoever claimed before': bug(
    'src/deploy/record/requester.ts',
    "const isOfThisWrite = of === String(generation) && (subject === uid || (subject === NEW && of === '1'));",
    'const isOfThisWrite = subject === uid;',
    'claims',
  ),
  'the last of several changes is the whole revision': bug(
    'src/deploy/record/requester.ts',
    'return metadata.generation === deployed + 1 ? requesterOf(record) : undefined;',
    'return requesterOf(record);',
    'claims',
  ),
  'what was said of a run is forgotten with its pod': bug(
    'src/deploy/assess/task-runs.ts',
    "if (before !== undefined && before.state !== 'Running') return before;",
    '',
    'tasks',
  ),
  'a password in the clear': {
    replacements: [
      {
        file: 'src/deploy/passwords.ts',
        from: "randomBytes(24).toString('base64url')",
        to: "(globalThis.seeded = randomBytes(24).toString('base64url'))",
      },
      {
        file: 'src/deploy/children/env.ts',
        from: 'postgres_database: (inputs) => accessIn(inputs).database',
        to: 'postgres_database: (inputs) => globalThis.seeded ?? accessIn(inputs).database',
      },
    ],
    shows: { workload: 'migrated', fault: NONE },
  },
  'a stuck pod is not deleted': bug(
    'src/deploy/plan/stuck-pods.ts',
    'return isReadyPod(pod) || container?.state?.running !== undefined;',
    'return true;',
    'impossible',
  ),
  'no finalizer is added': bug(
    'src/deploy/reconcile.ts',
    'hasFinalizer(observed.record) ? observed.record : await addFinalizer(observed.record, home)',
    'observed.record',
    'delete',
  ),
  'the finalizer is removed before the teardown': {
    replacements: [
      {
        file: 'src/deploy/finalize.ts',
        from: 'const step = nextTeardownStep(cached, now);',
        to: 'const step = undefined;',
      },
      {
        file: 'src/deploy/finalize.ts',
        from: 'const step = nextTeardownStep(live, now);',
        to: 'const step = undefined;',
      },
    ],
    shows: { workload: 'delete', fault: NONE },
  },
  'a teardown ends without a live list': bug(
    'src/deploy/finalize.ts',
    'const step = nextTeardownStep(live, now);',
    'const step = undefined;',
    'delete',
    {
      kind: 'blind-takeover',
      at: 'delete/apply appdeployments/status shop#1',
      resources: ['persistentvolumeclaims', 'secrets'],
      ms: 10_000,
    },
  ),
  'data is deleted without a resourceVersion precondition': bug(
    'src/deploy/cluster/delete.ts',
    "new Set(['Secret', 'PersistentVolumeClaim', 'Cluster'])",
    'new Set()',
    'delete',
  ),
  'a failed action prevents the status report': bug(
    'src/deploy/reconcile.ts',
    'if (wasLost(signal) || conflicts.isUnreported(key, causes)) throw',
    'if (causes.length > 0) throw',
    'create',
    { kind: 'denied', resource: 'services', status: 500, ms: 4000 },
  ),
  'status messages have no maximum length': {
    replacements: [
      { file: 'src/kinds/text.ts', from: 'const LONGEST_QUOTE = 1024;', to: 'const LONGEST_QUOTE = 100_000;' },
      {
        file: 'src/kinds/conditions.ts',
        from: 'message: shortened(condition.message),',
        to: 'message: condition.message,',
      },
    ],
    shows: { workload: 'create', fault: { kind: 'denied', resource: 'services', status: 500, ms: 4000 } },
  },
  'pruning deletes foreign objects': bug(
    'src/deploy/plan/plan.ts',
    '!isOurs(child, observed) || child.metadata.deletionTimestamp) continue;',
    'child.metadata.deletionTimestamp) continue;',
    'create',
  ),
  'every child counts as owned by the record': bug(
    'src/deploy/assess/observed.ts',
    'return child.metadata.labels?.[DEPLOYMENT_UID_LABEL] === observed.record.metadata.uid;',
    'return true;',
    'delete',
  ),
  'a foreign object is overwritten': bug(
    'src/deploy/cluster/apply.ts',
    'if (!wasMadeFor(record, there, wanted)) return undefined;\n',
    '',
    'taken',
  ),
  'DEPLOYED is not latched': bug(
    'src/deploy/revision-status.ts',
    "if (revision.status?.state === 'DEPLOYED') return 'DEPLOYED';",
    '',
    'drift',
    LATE_DEPLOYMENTS,
  ),
  'changes of children enqueue no key': bug(
    'src/deploy/watches.ts',
    '...[...caches.children.values()].map((cache) => cache.onChange(wakeOwner)),',
    '',
    'drift',
  ),
  'a ready generation is not reconciled again': bug(
    'src/deploy/reconcile.ts',
    'const observed = await observeWithSecrets(found, options, contents, signal);',
    "const observed = await observeWithSecrets(found, options, contents, signal); const done = (globalThis.done ??= new Set()); if (found.status?.state === 'READY' && !found.metadata.deletionTimestamp) { if (done.has(found.metadata.generation)) return {}; done.add(found.metadata.generation); }",
    'drift',
  ),
  'a failed reconcile is not requeued': bug(
    'src/runtime/controller/controller.ts',
    'const waitMs = Math.round(queue.addBackingOff(key, asked));',
    'const waitMs = 0;',
    'drift',
    // Until the surplus pods have come, however long that takes: each of them wakes the record once more.
    { kind: 'outage', phase: 'drift', status: 500, ms: 4000, quietMs: 2000 },
  ),
  'DEPLOYED does not require a running database': bug(
    'src/deploy/assess/rollout.ts',
    "...(isOwn('postgres', revision) ? [database] : []),",
    '',
    'impossible',
  ),
  'a revision whose rollout finished unobserved is SKIPPED': bug(
    'src/deploy/assess/rollout.ts',
    'runningRevision(before)?.spec.id === revision.spec.id',
    'false',
    'overtaken',
  ),
  'a teardown waits for pods without a controller': bug(
    'src/deploy/plan/teardown.ts',
    ' && isControlled(pod)',
    '',
    'held',
  ),
  "a teardown's message names no pods": bug(
    'src/deploy/plan/teardown.ts',
    '${waitsFor}${namesOf(pods)}',
    '${waitsFor}',
    'held',
  ),
  'a teardown deletes values that another record names': bug(
    'src/deploy/plan/teardown.ts',
    'observed.namedByOthers?.has(child.metadata.name) !== true',
    'true',
    'pair',
  ),
  'events are listed in every reconcile': bug(
    'src/deploy/pod-events.ts',
    'if (before && now().getTime() - before.at < ASK_EVERY_MS) return before.words;',
    '',
    'unmounted',
  ),
  'a failed list of events prevents the status report': {
    replacements: [
      {
        file: 'src/deploy/pod-events.ts',
        from: 'if (before && now().getTime() - before.at < ASK_EVERY_MS) return before.words;',
        to: '',
      },
      {
        file: 'src/deploy/pod-events.ts',
        from: "log.debug({ err, pod: metadata.name }, 'Could not list the events of a pod');",
        to: 'throw err;',
      },
    ],
    shows: { workload: 'unmounted', fault: { kind: 'events-refused' } },
  },
  'a rollback restores the old volume size': bug(
    'src/deploy/record/resolved-values.ts',
    '? (data.storageGi ?? 0) : smallestSize(',
    '? 0 : smallestSize(',
    'resize',
  ),
  'a pod that is being resized is replaced': bug(
    'src/deploy/plan/pod-resize.ts',
    'return changes || !isDone(set, pod);',
    'return changes;',
    'resize',
  ),
  'the template that a resized pod has is not named on it': bug(
    'src/deploy/plan/pod-resize.ts',
    "return [{ do: 'note', ",
    "return [] ?? [{ do: 'note', ",
    'resize',
  ),
  'failed reconciles have no backoff': {
    replacements: [
      {
        file: 'src/runtime/controller/work-queue.ts',
        from: 'const backoff = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(times, 30));',
        to: 'const backoff = 0;',
      },
      // The pacing of a key that keeps arriving would stand in for the pause.
      {
        file: 'src/runtime/controller/definition.ts',
        from: 'intervalMs: 200, burst: 3',
        to: 'intervalMs: 0, burst: 3',
      },
    ],
    shows: { workload: 'create', fault: { kind: 'outage', phase: 'create', status: 500, ms: 6000 } },
  },
  'a conflict is not requeued': bug(
    'src/runtime/controller/controller.ts',
    "log.debug({ err: error, waitMs: queue.addBackingOff(key) }, 'Reconcile met a conflicting write, will retry');",
    '',
    'create',
    { kind: 'refused', at: 'create/patch appdeployments shop#1', status: 409 },
  ),
  'a controller writes without the lease': {
    replacements: [
      {
        file: 'src/runtime/controller/clients/leader-only.ts',
        from: 'if (!holds()) throw',
        to: 'if (!holds()) return send(); if (false) throw',
      },
      {
        file: 'src/runtime/controller/leading.ts',
        from: 'onStopped: () => led?.abort(),',
        to: 'onStopped: () => undefined,',
      },
      {
        file: 'src/main/controller.ts',
        from: "leading.addEventListener('abort', end, { once: true });",
        to: '',
      },
    ],
    shows: { workload: 'recreate', fault: { kind: 'leases-blocked', phase: 'create', ms: 8000 } },
  },
  'a rejected event ends the process': bug(
    'src/runtime/controller/events.ts',
    "log.warn({ err, reason: event.reason, name, namespace }, 'Could not send an event');",
    'throw err;',
    'create',
    { kind: 'events-refused' },
  ),
  '410 Gone does not start a new list': bug(
    'src/runtime/controller/reflector.ts',
    'if (error instanceof Gone) {\n      position = undefined;',
    'if (error instanceof Gone) {',
    'delete',
    { kind: 'watch-gap', resource: 'deployments', event: 2 },
  ),
  'a half-open watch has no idle timeout': bug(
    'src/runtime/kube/watches.ts',
    'const idle = setTimeout(() => silence.abort(), idleMs);',
    'const idle = setTimeout(() => undefined, idleMs);',
    'delete',
    { kind: 'watch-half-open', resource: 'deployments', event: 2 },
  ),
  'revision ids are random': bug(
    'src/deploy/record/revision-id.ts',
    'return revisionId(recordUid, `g${generation}`);',
    'return crypto.randomUUID();',
    'create',
    { kind: 'lost-blind', at: 'create/create apprevisions shop--REV#1' },
  ),
  'observedGeneration is newer than the reconciled record': bug(
    'src/deploy/reconcile.ts',
    'if (record.metadata.generation !== found.metadata.generation) return {};',
    '',
    'hasty',
    { kind: 'slow', ms: 150 },
  ),
  'the teardown runs in reverse order': bug(
    'src/deploy/plan/teardown.ts',
    'for (const [waitsFor, objects, rest] of stepsOf(observed)) {',
    'for (const [waitsFor, objects, rest] of stepsOf(observed).toReversed()) {',
    'delete',
  ),
  'an unchanged status is written': bug(
    'src/runtime/controller/report-status.ts',
    'if (isDeepStrictEqual(without(object.status, foreign), status)) return false;',
    'status = { ...status, conditions: status.conditions?.map((one) => ({ ...one, message: `${one.message}${Date.now()}` })) };',
    'create',
  ),
  'orphaned Secrets are not collected': bug(
    'src/deploy/secret-collector.ts',
    "found.filter((one) => judge(one, named).is === 'orphan')",
    '[]',
    'http',
    { kind: 'crash-lost', at: 'post/facade create secrets shop--vars-X#1' },
  ),
  'a record is written although its Secret was not created': bug(
    'src/deploy/http/secret-values.ts',
    'return caller.kube.create(SECRETS, secret, { fieldManager: FACADE_FIELD_MANAGER });',
    'caller.kube.create(SECRETS, secret, { fieldManager: FACADE_FIELD_MANAGER }).catch(() => undefined); return Promise.resolve(secret);',
    'http',
    { kind: 'refused', at: 'patch/facade create secrets shop--vars-X#1', status: 500 },
  ),
  'a run is begun again for each attempt': bug(
    'src/deploy/http/task-runs/start.ts',
    'name: names(name).run(key === undefined ? suffix : keyDigits(key, KEY_DIGITS)),',
    'name: names(name).run(suffix),',
    'http',
    { kind: 'lost', at: 'run/facade create jobs shop--run-X#1' },
  ),
  'a refresh is not claimed': bug(
    'src/tokens/oauth/refresh.ts',
    'return await store.replace({ ...entry, about: { ...entry.about, claim: own } });',
    'return entry;',
    'oauth',
  ),
  'a refresh whose answer was lost is sent again': bug(
    'src/tokens/oauth/token.ts',
    "? 'wait' : 'expired'",
    "? 'wait' : 'refresh'",
    'oauth',
    { kind: 'crash-before', at: 'refresh/facade update secrets token-ID#2' },
  ),
  "a claim whose answer was lost is nobody's": bug(
    'src/tokens/oauth/refresh.ts',
    'if (present?.about.claim?.holder !== own.holder) throw error;',
    'throw error;',
    'oauth',
    { kind: 'lost', at: 'refresh/facade update secrets token-ID#1' },
  ),
  'an answer of the provider counts twice': {
    replacements: [
      {
        file: 'src/tokens/oauth/flow.ts',
        from: 'if (!entry || !(await vault.take(entry)) || isOver(entry.about)) return undefined;',
        to: 'if (!entry || isOver(entry.about)) return undefined;',
      },
      // The link has ended with the first answer: that alone stops the second one, if it comes later.
      {
        file: 'src/tokens/http/oauth-tokens/pages.ts',
        from: 'if (!(await oauth.flows.isOpen(taken.flow))) return GONE;',
        to: '',
      },
    ],
    shows: { workload: 'oauth', fault: NONE },
  },
  'the browser at the end is not compared': bug(
    'src/tokens/oauth/flow.ts',
    'return cookie !== undefined && isSame(digestOf(cookie), browser);',
    'return true;',
    'oauth',
  ),
  'a token is not bound to its token endpoint': bug(
    'src/tokens/oauth/sealing.ts',
    "    authUrl,\n    tokenUrl,\n    revocationUrl ?? '',",
    "    authUrl,\n    revocationUrl ?? '',",
    'oauth',
  ),
  "an agent gets a person's token without a connection": bug(
    'src/tokens/oauth/broker.ts',
    'return asking.agentId === undefined ? ownToken(asking, subject) : agentToken(asking, subject);',
    'return ownToken(asking, subject);',
    'oauth',
  ),
  'a deleted token is not revoked': bug(
    'src/tokens/oauth/tokens.ts',
    "if (opened && opened.values.accessToken !== '')",
    'if (false)',
    'oauth',
  ),
  'a code is in the log': bug(
    'src/tokens/http/oauth-tokens/ending.ts',
    'return told(returned.taken, log, () => finished(oauth, returned));',
    "log.info({ code: returned.parameters.get('code') }, 'seeded'); return told(returned.taken, log, () => finished(oauth, returned));",
    'oauth',
  ),
  'whoever is confirmed gives the token': bug(
    'src/tokens/http/oauth-tokens/confirm.ts',
    'if (user !== found.subject.user) {',
    'if (false) {',
    'oauth',
  ),
  'the browser that was confirmed is not compared': bug(
    'src/tokens/http/oauth-tokens/pages.ts',
    "const taken = await oauth.flows.findConfirmation(name, 'confirmed');\n    if (!taken || !(await oauth.flows.takeConfirmation(taken))) return end(reply, GONE);\n    if (!isBrowser(cookieOf(request), taken)) return end(reply, OTHER_BROWSER);",
    "const taken = await oauth.flows.findConfirmation(name, 'confirmed');\n    if (!taken || !(await oauth.flows.takeConfirmation(taken))) return end(reply, GONE);",
    'oauth',
  ),
  'the status is written before the children': bug(
    'src/deploy/reconcile.ts',
    'const pass = await applyRecord(before, preconditions, within)',
    'if (before.revisions[0]) await reportPass({ before, after: before, preconditions, pass: { latest: before.revisions[0], refusals: [] } }, within); const pass = await applyRecord(before, preconditions, within)',
    'image',
  ),
  'names of revisions are random': bug(
    'src/deploy/children/app-revision.ts',
    'names(record.metadata.name).revision(spec.id)',
    '`${record.metadata.name}--${crypto.randomUUID().slice(0, 8)}`',
    'create',
    { kind: 'lost-blind', at: 'create/create apprevisions shop--REV#1' },
  ),
  'finalizers are written without a resourceVersion precondition': bug(
    'src/deploy/cluster/finalizers.ts',
    '{ metadata: { uid, resourceVersion, finalizers } }',
    '{ metadata: { uid, finalizers } }',
    'create',
    { kind: 'raced', at: 'create/patch appdeployments shop#1' },
  ),
  'a field of another field manager is applied': bug(
    'src/deploy/cluster/apply.ts',
    '...object.metadata.annotations, [APPLIED_ANNOTATION]: digest',
    "...object.metadata.annotations, 'example.com/theirs': '', [APPLIED_ANNOTATION]: digest",
    'create',
    { kind: 'second-manager', does: 'adds' },
  ),
  'values of the active revision are collected': {
    replacements: [
      {
        file: 'src/deploy/plan/secret-garbage.ts',
        from: '...revisions.flatMap(({ spec }) => spec.requested.secrets.map(({ secretName }) => secretName)),',
        to: '',
      },
      { file: 'src/deploy/plan/secret-garbage.ts', from: 'const GRACE_MS = 60_000;', to: 'const GRACE_MS = 500;' },
    ],
    shows: { workload: 'rotate', fault: NONE },
  },
  'Secrets are collected by an outdated cache': {
    replacements: [
      {
        file: 'src/deploy/plan/secret-garbage.ts',
        from: 'const GRACE_MS = 60_000;',
        to: 'const GRACE_MS = 200;',
      },
      {
        file: 'src/deploy/secret-collector.ts',
        from: 'return valuesNamed(records.items, revisions.items);',
        to: 'return valuesNamed(caches.records.list(namespace), caches.revisions.list(namespace));',
      },
    ],
    shows: { workload: 'rotate', fault: { kind: 'watch-delay', resource: 'appdeployments', ms: 800 } },
  },
  'pod templates contain the time': bug(
    'src/deploy/children/pod-template.ts',
    'const annotations = { ...spec.annotations,',
    "const annotations = { ...spec.annotations, 'example.com/made': new Date().toISOString(),",
    'create',
  ),
  'a rejected action is not retried': bug(
    'src/deploy/assess/retry.ts',
    'if (!refusals.some(({ reason }) => MENDED_ELSEWHERE.has(reason))) return undefined;',
    'return undefined;',
    'create',
    { kind: 'denied', resource: 'services', status: 422 },
  ),
  'a rejected action is retried without backoff': {
    replacements: [
      { file: 'src/deploy/assess/retry.ts', from: 'const SHORTEST_MS = 1_000;', to: 'const SHORTEST_MS = 20;' },
      { file: 'src/deploy/assess/retry.ts', from: 'const LONGEST_MS = 60_000;', to: 'const LONGEST_MS = 20;' },
    ],
    shows: { workload: 'create', fault: { kind: 'denied', resource: 'services', status: 403, ms: 6000 } },
  },
  'a child without labels counts as foreign': bug(
    'src/deploy/cluster/apply.ts',
    'labels?.[DEPLOYMENT_UID_LABEL] === uid ||',
    'labels?.[DEPLOYMENT_UID_LABEL] === uid; (',
    'create',
    { kind: 'edit', child: 'Service shop', edit: 'labels' },
  ),
  'a database is created on a foreign volume': bug(
    'src/deploy/apply-children.ts',
    'executePlan(withoutUnsafe(rest, before), record, home)',
    'executePlan(rest, record, home)',
    'create',
    { kind: 'foreign', child: 'PersistentVolumeClaim shop--postgres' },
  ),
  'a password is logged': bug(
    'src/deploy/passwords.ts',
    "if (state === 'foreign') return nameConflict(secret);",
    "process.stdout.write(`${JSON.stringify(secret)}\\n`); if (state === 'foreign') return nameConflict(secret);",
    'create',
  ),
  'an incomplete list is accepted': bug(
    'src/runtime/controller/reflector.ts',
    'if (cache.missingFrom(items, version) > 0) {',
    'if (false) {',
    'create',
    { kind: 'relist-empty', resource: 'deployments', event: 2 },
  ),
  'replicas are applied although an autoscaler owns them': bug(
    'src/deploy/children/workload.ts',
    '...(!isAutoscaled && { replicas:',
    '...(true && { replicas:',
    'autoscaled',
  ),
  'a worker of the other kind is not deleted first': bug(
    'src/deploy/plan/plan.ts',
    'autoscalerBefore(wanted, observed) : otherKindBefore(wanted, observed);',
    'autoscalerBefore(wanted, observed) : undefined;',
    'workers',
  ),
  'a worker that is gone keeps its workload': bug(
    'src/deploy/plan/plan.ts',
    'if (!prunes.has(kind) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;',
    'if (!prunes.has(kind) || isOfPart(child) || !isOurs(child, observed) || child.metadata.deletionTimestamp) continue;',
    'workers',
  ),
  'an existing wait script is changed': bug(
    'src/deploy/children/wait-scripts.ts',
    'sleep 2 &',
    'sleep 3 &',
    'upgraded',
  ),
  "a revision's pod contract version is ignored": {
    replacements: [
      {
        file: 'src/deploy/children/contracts.ts',
        from: '[3, CONTRACT_V3]',
        to: "[3, CONTRACT_V3], [4, { ...CONTRACT_V3, workload: (...args) => JSON.parse(JSON.stringify(CONTRACT_V3.workload(...args)).replaceAll('PGCONNECT_TIMEOUT=5', 'PGCONNECT_TIMEOUT=6')) }]",
      },
      {
        file: 'src/deploy/children/desired.ts',
        from: 'contracts.get(version)',
        to: 'contracts.get(Math.max(...contracts.keys()))',
      },
    ],
    shows: { workload: 'upgraded', fault: NONE },
  },
  'another notation of the same spec counts as a change': bug(
    'src/deploy/record/canonical.ts',
    'return value.length > 0 ?',
    'return true ?',
    'reformed',
  ),
  'pods get values from a Secret that is not immutable': bug(
    'src/deploy/assess/references.ts',
    'return unfixed === undefined ? undefined : stalled(',
    'return true ? undefined : stalled(',
    'unfixed',
  ),
  'each write to a referenced Secret restarts the pods': {
    replacements: [{ file: 'src/deploy/plan/rotation.ts', from: 'const QUIET_MS = 2000;', to: 'const QUIET_MS = 0;' }],
    shows: { workload: 'referenced', fault: NONE },
  },
  'an existing Job is recreated': bug(
    'src/build/start.ts',
    'if (!(error instanceof AlreadyExists)) throw error;',
    "if (!(error instanceof AlreadyExists)) throw error; const ref = { namespace: inputs.settings.namespace, name: buildName(inputs.revisionId) }; const there = await client.get(JOBS, ref); await client.remove(JOBS, ref, { uid: there.metadata.uid, propagationPolicy: 'Background' }); await new Promise((resolve) => setTimeout(resolve, 500)); return client.create(JOBS, makeBuildJob(inputs));",
    'builds',
    { kind: 'crash-after', at: 'builds/create jobs build-ID#1' },
  ),
  "a build's Secrets have no owner reference": bug(
    'src/build/job/job.ts',
    "ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: buildName(revisionId), uid: jobUid }],",
    '',
    'builds-delete',
  ),
  'credentials are kept after the build': bug(
    'src/build/step.ts',
    "return { act: 'forgetCredentials', requeueAfterMs: left };",
    'return { requeueAfterMs: left };',
    'builds',
  ),
  'the end of a build does not enqueue queued builds': bug(
    'src/build/watches.ts',
    'turnsNow({ caches, builds, settings }).forEach(wake)',
    'undefined',
    'builds-turns',
  ),
  'a failed build keeps its turn': bug(
    'src/kinds/build.ts',
    'return build !== undefined && !FINAL_PHASES.has(build.phase);',
    "return build !== undefined && build.phase !== 'Built' && build.phase !== 'Skipped';",
    'builds-turns',
  ),
  'running builds do not count towards the concurrency limit': bug(
    'src/build/turns.ts',
    'for (const revision of withTurn(builds, contenderOf)) begin(revision);',
    ';',
    'builds-turns',
  ),
  'builds have no deadline': bug(
    'src/build/job/job.ts',
    'activeDeadlineSeconds: settings.timeoutSeconds,',
    '',
    'builds-overdue',
  ),
  'an interrupted build starts again': bug(
    'src/build/step.ts',
    'if (build && FINAL_PHASES.has(build.phase)) return',
    "if (build && build.phase !== 'Interrupted' && FINAL_PHASES.has(build.phase)) return",
    'builds-interrupt',
  ),
  'the pod of another build is observed': bug(
    'src/build/observe.ts',
    '.byLabel(settings.builds.namespace, BUILD_LABEL, id)',
    '.list()',
    'builds',
  ),
  'the Job of a finished build is deleted immediately': bug(
    'src/build/step.ts',
    "if (phase === 'Interrupted' || phase === 'Skipped' || !(left > 0)) return { act: 'removeJob' };",
    "return { act: 'removeJob' };",
    'builds',
  ),
  'a code host outage fails the build': bug(
    'src/build/build-reports.ts',
    'if (!retry || isOver || !before) {',
    'if (true) {',
    'builds',
    { kind: 'code-host', phase: 'builds', says: 'down', ms: 2500 },
  ),
  "a push credential covers all of the tenant's repositories": bug(
    'src/build/start.ts',
    'const repository = repositoryOf(registry, tenant, record.metadata.name);',
    "const repository = repositoryOf(registry, tenant, record.metadata.name).replace(/[^/]*$/, '*');",
    'builds',
  ),
  "the code host's token is logged": bug(
    'src/build/start.ts',
    'if (isHindrance(credential)) return credential;',
    'process.stdout.write(`${JSON.stringify(credential)}\\n`); if (isHindrance(credential)) return credential;',
    'builds',
  ),
  'Jobs of deleted builds are not collected': bug(
    'src/build/reconciler.ts',
    'await removeJob(seen.orphan, { client, builds, caches });',
    'return {};',
    'builds-delete',
  ),
  'a built image is deployed by tag': bug(
    'src/build/step.ts',
    'image: `${repository}@${digest}`',
    'image: `${repository}:latest`',
    'builds',
  ),
  "a queued build uses the branch's current commit": bug(
    'src/build/start.ts',
    'ref: commitOf(revision) ?? repoRef',
    'ref: repoRef',
    'builds-turns',
  ),
  'a deleted Job is recreated': bug(
    'src/build/step.ts',
    "if (job?.metadata.deletionTimestamp !== undefined || (job === undefined && build.phase === 'Building'))",
    'if (false)',
    'builds-fail',
  ),
  'the file of a revision is that of the branch when it is read': bug(
    'src/build/codehost/source.ts',
    'const answer = await session.ask(`${where}?ref=${encodeURIComponent(commit)}`, { headers });',
    'await new Promise((resolve) => setTimeout(resolve, 3000)); const now = await session.ask(`${apiUrl}/repos/${owner}/${name}/commits?sha=main&limit=1`, { headers }); const answer = await session.ask(`${where}?ref=${JSON.parse(now.body)[0].sha}`, { headers });',
    'builds-file',
  ),
  'a file that the code host does not give fails the revision': bug(
    'src/build/code-files.ts',
    'if (isHindrance(found) && found.retry && !isLate) {',
    'if (false) {',
    'builds-file',
  ),
  'a file that is missing counts as empty': bug(
    'src/build/codehost/source.ts',
    'if (answer.status === 404) return { problem: `is missing at commit ${commit.slice(0, 12)}` };',
    "if (answer.status === 404) return { text: '' };",
    'builds-file',
  ),
  'the file of an earlier commit is kept for the next': bug(
    'src/build/code-files.ts',
    'const key = JSON.stringify([record.metadata.uid, integrationId, repoUrl, commit.commit, path]);',
    'const key = JSON.stringify([record.metadata.uid, integrationId, repoUrl, path]);',
    'builds-file',
  ),
  'an event is stored as sent before it is sent': bug(
    'src/main/notices/reconciler.ts',
    'const failure = await send(notice, { notifier, record }, options, signal);',
    'const failure = undefined; setTimeout(() => void send(notice, { notifier, record }, options, signal), 300);',
    'builds-notices',
    { kind: 'crash-after', at: 'builds-notices/apply notifiers/status hook#1' },
  ),
  'an event that its webhook refuses counts as sent': bug(
    'src/main/notices/reconciler.ts',
    'if (failure) failures.set(to, failure);',
    'if (failure) { failures.set(to, failure); remembers[notice.subject] = notice.value; }',
    'builds-notices',
  ),
  'what a Notifier has told is known in memory alone': {
    replacements: [
      {
        file: 'src/main/notices/reconciler.ts',
        from: 'const had = notifier.status?.told?.[name] ?? {};',
        to: 'const had = (globalThis.told ??= {})[`${namespace}/${name}`] ?? {};',
      },
      {
        file: 'src/main/notices/reconciler.ts',
        from: 'if (Object.keys(remembers).length > 0) told[name] = remembers;',
        to: 'if (Object.keys(remembers).length > 0) told[name] = globalThis.told[`${namespace}/${name}`] = remembers;',
      },
    ],
    shows: { workload: 'builds-notices', fault: NONE },
  },
  'a Notifier tells of the deployments of every tenant': bug(
    'src/main/notices/reconciler.ts',
    'home.caches.records.list(namespace)',
    'home.caches.records.list()',
    'builds-notices',
  ),
  // The reflector believes an empty list only when a second one agrees: two are empty.
  'a work that is absent on the hub deletes its copy': {
    ...listenerBug(
      'src/clusters/agent/works.ts',
      'if (work === undefined) return {};',
      'if (work === undefined) { for (const copy of caches.copies.list()) if (copy.metadata.annotations?.[ORIGIN_ID_ANNOTATION] === key) await removeCopy(copy, local); return {}; }',
      {
        workload: 'listener-life',
        side: 'link',
        fault: { kind: 'relist-empty', resource: 'listenerworks', event: 2, times: 2 },
      },
    ),
    violates: 'I4 no theft',
  },
  'the copy of another record of the same name is taken over': listenerBug(
    'src/clusters/agent/step.ts',
    "if (copy !== undefined && !isOurs) return { do: 'reject', rejection: occupied(seen, copy) };",
    '',
    { workload: 'listener-taken', side: 'link', fault: NONE },
  ),
  'unused Secrets of a copy are not removed': listenerBug(
    'src/clusters/agent/works.ts',
    'await removeSecrets(step.stale, local);',
    '',
    LIFE,
  ),
  'the agent reports on every reconcile': listenerBug(
    'src/clusters/agent/works.ts',
    'if (saysTheSame(work.status, status)) return;',
    'if (saysTheSame(work.status, status)) setTimeout(() => report(work, status, { hub, caches, namespace }), 500);',
    LIFE,
  ),
  'a copy is deleted without its uid': listenerBug(
    'src/runtime/kube/writes.ts',
    'preconditions: { uid, ',
    'preconditions: { ',
    LIFE,
  ),
  'an older generation of a restored hub is applied': listenerBug(
    'src/clusters/agent/step.ts',
    'if (generation <= spec.generation) return undefined;',
    'return undefined;',
    { workload: 'listener-restored', side: 'link', fault: NONE },
  ),
  'a clone of the cluster does the works of the original': listenerBug(
    'src/clusters/agent/step.ts',
    'if (spec.clusterId !== clusterId || (status?.epoch ?? 0) > epoch)',
    'if (false)',
    { workload: 'listener-clone', side: 'link', fault: NONE },
  ),
  'a clone of the cluster is accepted': listenerBug(
    'src/clusters/hub/contact.ts',
    'if (seen !== clusterId)',
    'if (false)',
    { workload: 'listener-clone', side: 'link', fault: NONE },
  ),
  'the Secrets of a deleted copy stay': listenerBug(
    'src/clusters/agent/step.ts',
    "return left !== undefined || secrets.length > 0 ? { do: 'remove', copy: left, secrets } : { do: 'gone' };",
    "return left !== undefined ? { do: 'remove', copy: left, secrets } : { do: 'gone' };",
    LIFE,
  ),
  'silence is judged by the time in the Lease': listenerBug(
    'src/clusters/hub/contact.ts',
    'const silentInMs = silentAfterMs - (renewedMsAgo ?? watchedForMs);',
    "const silentInMs = silentAfterMs - (Date.now() - Date.parse(lease?.spec?.renewTime ?? ''));",
    { workload: 'listener-life', side: 'link', fault: { kind: 'clock-skew', ms: -600_000 } },
  ),
  'the last status is kept when the cluster is silent': listenerBug(
    'src/clusters/hub/mirror.ts',
    "return conditionOf(status?.conditions, 'Connected')?.status !== 'True';",
    'return false;',
    { workload: 'listener-cut', side: 'link', fault: NONE },
  ),
  'a record is released before its copy is deleted': listenerBug(
    'src/clusters/hub/finalize.ts',
    'if (isGone(work)) {',
    'if (true) {',
    LIFE,
  ),
  'Secrets of the same name as referenced ones are copied': listenerBug(
    'src/clusters/hub/objects.ts',
    'return [...new Set(spec.secrets.map(({ secretName }) => secretName))].toSorted();',
    'return [...new Set([...spec.secrets, ...(spec.secretReferences ?? [])].map(({ secretName }) => secretName))].toSorted();',
    LIFE,
  ),
  'a record that is given up leaves no tombstone': listenerBug(
    'src/clusters/hub/finalize.ts',
    'if (isGivenUp) {',
    'if (isGivenUp) { await releaseWork({ ...work, metadata: { ...work.metadata, resourceVersion: undefined } }, home);',
    { workload: 'listener-away', side: 'link', fault: NONE },
  ),
  'a report of an earlier generation counts for the current one': listenerBug(
    'src/clusters/hub/mirror.ts',
    'if (latest === undefined || latest.generation < (record.metadata.generation ?? 0))',
    'if (latest === undefined)',
    LIFE,
  ),
};
