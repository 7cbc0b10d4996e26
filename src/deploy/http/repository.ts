// Reads and writes deployments. Records come from the watch cache. Writes, and reads of Secrets, go to the API server with the
// caller's token. Each verb has a file of its own.

import type { RequestContext } from '../../api/auth.ts';
import type { Caller, Tenant } from '../../api/authorization.ts';
import type { FacadeContext } from '../../api/collection.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import type { TaskRun } from '../../kinds/tasks.ts';
import type { Precondition } from '../../runtime/http/preconditions.ts';
import { apiStatus, isLookedAt } from '../record/api-view.ts';
import type { CloneRequest } from '../record/clone.ts';
import { type Cloned, cloneRecord, createRecord, type NewDeployment } from './create.ts';
import { decidePatch } from './decide-patch.ts';
import { makeListing } from './list-index.ts';
import type { Patch } from './patch.ts';
import type { ListDeployments, WantedState } from './payloads.ts';
import { cachedRevisions, findRecord, needCaches } from './reading.ts';
import type { ImageRegistry } from './registry-rules.ts';
import { removeRecord } from './remove.ts';
import { presentRevisions } from './revisions/presenter.ts';
import { shownSecretValues } from './secret-values.ts';
import { type Asked, startRun } from './task-runs/start.ts';
import { type Changed, changeRecord, type Decide } from './update.ts';
import { makeUsageSources, type UsageSources } from './usage/sources.ts';
import { makeWaiting } from './waiting.ts';

export interface DeploymentsOptions
  extends Pick<
    FacadeContext,
    'caches' | 'remember' | 'forget' | 'freshList' | 'settings' | 'randomSuffix' | 'gate' | 'log'
  > {
  readonly registry: ImageRegistry | undefined;
}

export interface Deployments {
  /** The page that the query selects. Matches beyond it are not counted. */
  list(tenant: Tenant, query: ListDeployments): AppDeployment[];
  /** The deployment of this name; undefined if the cache has none. */
  named(tenant: Tenant, name: string): AppDeployment | undefined;
  /** Throws the same HttpError 404 for a missing deployment and another tenant's. */
  find(admitted: RequestContext, id: string): Promise<AppDeployment>;
  /** Throws HttpError 409 for a name that is taken. */
  create(admitted: RequestContext, payload: NewDeployment, isDryRun?: boolean): Promise<AppDeployment>;
  /** The same for one that is what the record of `id` is. `notes`: what people should know of it. */
  clone(admitted: RequestContext, id: string, request: CloneRequest): Promise<Cloned>;
  /** `revision: 'always'` requests a new revision even if nothing changes. A function is called again after a conflict. */
  patch(
    admitted: RequestContext,
    id: string,
    payload: Patch | ((record: AppDeployment) => Patch),
    revision: 'if needed' | 'always',
    precondition?: Precondition,
    isDryRun?: boolean,
  ): Promise<Changed>;
  /** Any other change. `decide` computes it from the current record. */
  change(admitted: RequestContext, id: string, decide: Decide, precondition?: Precondition): Promise<Changed>;
  /** Starts the deletion, which continues after the answer. */
  remove(admitted: RequestContext, id: string, withTracingProject: boolean, precondition?: Precondition): Promise<void>;
  /** Runs a command, or a task of the active revision. `key`: digest of the request's Idempotency-Key. Throws as `startRun` does. */
  run(admitted: RequestContext, record: AppDeployment, asked: Asked, key: string | undefined): Promise<TaskRun>;
  /** Resolves when the deployment has the state `wanted`, is gone, or `signal` aborts. Throws 404 as `find` does. */
  wait(admitted: RequestContext, id: string, wanted: WantedState, signal: AbortSignal): Promise<void>;
  /** Ends all waits, and connections to Prometheus. */
  close(): void;
  readonly usage: UsageSources;
  revisionsOf(record: AppDeployment): readonly AppRevision[];
  /** The values of its `secrets` by name that the caller may read, for an answer. */
  valuesOf(caller: Caller, record: AppDeployment): Promise<ReadonlyMap<string, string>>;
}

export function makeDeployments(options: DeploymentsOptions): Deployments {
  const { caches, gate, remember, forget } = options;
  const { records, revisions } = caches;
  const revisionsOfRecord = (record: AppDeployment): readonly AppRevision[] => cachedRevisions(options, record);
  const listing = makeListing({ records, revisions, revisionsOf: revisionsOfRecord });
  const waiting = makeWaiting(records, revisions);
  const usage = makeUsageSources(options.settings);

  async function change(
    admitted: RequestContext,
    id: string,
    decide: Decide,
    precondition?: Precondition,
    isDryRun = false,
  ): Promise<Changed> {
    const { caller, tenant } = admitted;
    const cached = await findRecord(options, admitted, id);
    const changing = { ...options, precondition, isDryRun };
    return gate.run(tenant.namespace, () => changeRecord(caller, cached, decide, changing));
  }

  return {
    find: (admitted, id) => findRecord(options, admitted, id),
    change,
    usage,
    close() {
      waiting.close();
      void usage.prometheus.close();
    },
    revisionsOf: revisionsOfRecord,
    valuesOf: shownSecretValues,

    async wait(admitted, id, wanted, signal) {
      const found = await findRecord(options, admitted, id);
      const isOver = (): boolean => {
        const record = records.byUid(found.metadata.uid ?? '');
        return record === undefined || hasReached(wanted, record, revisionsOfRecord(record));
      };
      await waiting.until(found, isOver, signal);
    },

    list(tenant, query) {
      needCaches(options);
      return listing.page(tenant.namespace, query);
    },

    named({ namespace }, name) {
      needCaches(options);
      return records.get({ namespace, name });
    },

    create: (admitted, payload, isDryRun) => createRecord(options, admitted, payload, isDryRun),

    clone: (admitted, id, request) => cloneRecord(options, admitted, id, request),

    async remove(admitted, id, withTracingProject, precondition) {
      const cached = await findRecord(options, admitted, id);
      const removing = { remember, forget, withTracingProject, precondition };
      return gate.run(admitted.tenant.namespace, () => removeRecord(admitted.caller, cached, id, removing));
    },

    run({ caller, tenant }, record, asked, key) {
      const start = { record, revisions: revisionsOfRecord(record), asked, key, suffix: options.randomSuffix() };
      return gate.run(tenant.namespace, () => startRun(caller.kube, start));
    },

    patch: (admitted, id, payload, revision, precondition, isDryRun) =>
      change(admitted, id, decidePatch(options, admitted, payload, revision), precondition, isDryRun),
  };
}

/** `made`: the revisions of the record. */
function hasReached(wanted: WantedState, record: AppDeployment, made: readonly AppRevision[]): boolean {
  if (wanted === 'GONE') return false;
  if (wanted === 'READY') return apiStatus(record) === 'READY';
  const [latest] = presentRevisions(record, made);
  // The controller writes the revision's status before the record's, and the answer shows both. A change that makes no revision
  // is followed too: the number of pods.
  const isSettled = isLookedAt(record) && conditionOf(record.status?.conditions, 'Reconciling')?.status !== 'True';
  return latest?.status === 'DEPLOYED' && record.status?.activeRevisionId === latest.id && isSettled;
}
