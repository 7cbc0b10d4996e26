// Reads and writes deployments. Records come from the watch cache. Writes, and reads of Secrets, go to the API server with the
// caller's token.

import type { FairLimiter } from '../../lib/controller/fair-limiter.ts';
import { AlreadyExists, Conflict, Invalid, NotFound, Unavailable } from '../../lib/errors.ts';
import { fromSnake } from '../../lib/http/casing.ts';
import type { FreshList } from '../../lib/http/coalesced-list.ts';
import { deploymentNotFound, type FieldError, HttpError } from '../../lib/http/http-error.ts';
import { changedMeanwhile, retryOnConflict } from '../../lib/http/merge-patch.ts';
import { etagOf, type Precondition } from '../../lib/http/preconditions.ts';
import type { KubeObject } from '../../lib/kube/client.ts';
import type { Logger } from '../../lib/logger.ts';
import type { RequestContext } from '../../organization/facade/auth.ts';
import type { Caller, Tenant } from '../../organization/facade/authorization.ts';
import { type FacadeCaches, synced } from '../../organization/facade/caches.ts';
import { undefinedIfHidden } from '../../organization/facade/undefined-if-hidden.ts';
import {
  APP_DEPLOYMENTS,
  type AppDeployment,
  type AppDeploymentSpec,
  deploymentTypeMeant,
  SourceConfig,
  SourceRevisionConfig,
} from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import type { AppTemplate } from '../../schema/app-template.ts';
import { conditionOf } from '../../schema/conditions.ts';
import { API_VERSION, DEPLOYMENT_LABEL, FACADE_FIELD_MANAGER, FINALIZER, HOSTS_ANNOTATION } from '../../schema/meta.ts';
import { ResourceSpec } from '../../schema/resource-spec.ts';
import type { Settings } from '../../schema/settings.ts';
import { apiStatus, isLookedAt } from '../record/api-view.ts';
import { buildsAnew } from '../record/code-host.ts';
import { runsHere } from '../record/listener-assignment.ts';
import { names } from '../record/names.ts';
import { followsUnseen, needsRevision } from '../record/needs-revision.ts';
import { effectiveNumbers, resolve } from '../record/resolve.ts';
import { askingForRevision } from '../record/revision-request.ts';
import { awaitsSource } from '../record/wanted-revision.ts';
import { type Changes, makeChanges } from './changes.ts';
import { codeHostFindings } from './code-host-rules.ts';
import { hostFindings } from './hostname-rules.ts';
import { makeListing } from './list-index.ts';
import { listenerFindings, needListener } from './listener-rules.ts';
import { applyPatch, type Patch, patchFindings, withoutEmpty } from './patch.ts';
import type { CreateDeployment, ListDeployments, WantedState } from './payloads.ts';
import { resourceSpecInForce, shownRevisionConfig, urlOf } from './presenter.ts';
import { type ImageRegistry, registryFindings } from './registry-rules.ts';
import { isMadeBy, type RequestMark } from './repeated-create.ts';
import { presentRevisions } from './revisions/presenter.ts';
import { mergedRuntime } from './runtime.ts';
import { createValuesSecret, readSecretValues, removeVariables, shownSecretValues } from './secret-values.ts';
import { catalogueFindings } from './template-rules.ts';
import { type Changed, changeRecord, type Decide, needUnchanged, reread } from './update.ts';
import { makeWaiting } from './waiting.ts';

export interface DeploymentsOptions extends Omit<FacadeCaches, 'providers'> {
  /** Adds a written object to the caches before the watch reports it. */
  readonly remember: (object: KubeObject) => void;
  /** Removes a deleted object from the caches before the watch reports it. */
  readonly forget: (uid: string) => void;
  readonly freshList: FreshList;
  readonly settings: Settings;
  readonly registry: ImageRegistry | undefined;
  readonly randomSuffix: () => string;
  /** Limits concurrent writes. It gets all writes of a request as one. */
  readonly gate: Pick<FairLimiter, 'run'>;
  readonly log: Logger;
}

export interface Deployments {
  /** The page that the query selects. Matches beyond it are not counted. */
  list(tenant: Tenant, query: ListDeployments): AppDeployment[];
  /** Throws the same HttpError 404 for a missing deployment and another tenant's. */
  find(admitted: RequestContext, id: string): Promise<AppDeployment>;
  /**
   * `mark` is set on the record. If a record with it exists, that record is the result, and `isNew` is false.
   */
  create(
    admitted: RequestContext,
    payload: CreateDeployment,
    mark?: RequestMark,
  ): Promise<{ readonly record: AppDeployment; readonly isNew: boolean }>;
  /** `revision: 'always'` requests a new revision even if nothing changes. */
  patch(
    admitted: RequestContext,
    id: string,
    payload: Patch,
    revision: 'if needed' | 'always',
    precondition?: Precondition,
  ): Promise<Changed>;
  /** Any other change. `decide` computes it from the current record. */
  change(admitted: RequestContext, id: string, decide: Decide, precondition?: Precondition): Promise<Changed>;
  /** Starts the deletion, which continues after the answer. */
  remove(admitted: RequestContext, id: string, withTracingProject: boolean, precondition?: Precondition): Promise<void>;
  /** Resolves when the deployment has the state `wanted`, is gone, or `signal` aborts. Throws 404 as `find` does. */
  wait(admitted: RequestContext, id: string, wanted: WantedState, signal: AbortSignal): Promise<void>;
  /** The record in the cache; undefined where it is not there, or another tenant's. */
  inCache(tenant: Tenant, id: string): AppDeployment | undefined;
  readonly changes: Changes;
  /** Ends all waits. */
  close(): void;
  revisionsOf(record: AppDeployment): readonly AppRevision[];
  /** The catalogue of internal_template. */
  templates(): readonly AppTemplate[];
  /** The values of its `secrets` by name that the caller may read, for an answer. */
  valuesOf(caller: Caller, record: AppDeployment): Promise<ReadonlyMap<string, string>>;
}

export function makeDeployments({
  records,
  revisions,
  templates,
  tenants,
  listeners,
  integrations,
  remember,
  forget,
  freshList,
  settings,
  registry,
  randomSuffix,
  gate,
  log,
}: DeploymentsOptions): Deployments {
  const revisionsOf = (record: AppDeployment): readonly AppRevision[] =>
    revisions.byLabel(record.metadata.namespace ?? '', DEPLOYMENT_LABEL, record.metadata.name);
  const listing = makeListing({ records, revisions, revisionsOf });

  const catalogue = (): readonly AppTemplate[] => synced(templates, 'templates').list();

  function codeHostFindingsOf(record: AppDeployment): FieldError[] {
    if (record.spec.source !== 'codehost') return [];
    return codeHostFindings(record, synced(integrations, 'integrations').list(settings.organizationNamespace));
  }

  function needCaches(): void {
    synced(records, 'deployments');
    synced(revisions, 'revisions');
  }

  /** Checks the host only if it changed. */
  function hostFindingsOf({ metadata, spec }: AppDeployment, before?: string): FieldError[] {
    const { namespace = '', name } = metadata;
    const { customUrl } = spec.sourceConfig;
    if (customUrl === before) return [];
    const allowed = tenants.get({ name: namespace })?.metadata.annotations?.[HOSTS_ANNOTATION];
    return hostFindings({ name, namespace }, customUrl, allowed, settings.address);
  }

  function inCache({ namespace }: Tenant, id: string): AppDeployment | undefined {
    const record = records.byUid(id.toLowerCase());
    return record?.metadata.namespace === namespace ? record : undefined;
  }

  async function find({ caller, tenant }: RequestContext, id: string): Promise<AppDeployment> {
    needCaches();
    const known = inCache(tenant, id);
    if (known !== undefined) return known;
    const uid = id.toLowerCase();
    // Another replica of the facade may have just created it.
    const found = await undefinedIfHidden(async () => {
      const { namespace } = tenant;
      const all = await freshList(`${caller.hash} ${namespace}`, () =>
        caller.kube.listAll(APP_DEPLOYMENTS, { namespace, metadataOnly: true }),
      );
      const name = all.items.find(({ metadata }) => metadata.uid === uid)?.metadata.name;
      return name === undefined ? undefined : caller.kube.get<AppDeployment>(APP_DEPLOYMENTS, { namespace, name });
    });
    if (found?.metadata.uid !== uid) throw notFound(id);
    remember(found);
    return found;
  }

  function inTurn<T>({ tenant }: RequestContext, write: () => Promise<T>): Promise<T> {
    return gate.run(tenant.namespace, write);
  }

  async function change(
    admitted: RequestContext,
    id: string,
    decide: Decide,
    precondition?: Precondition,
  ): Promise<Changed> {
    const options = { remember, forget, randomSuffix, log, precondition };
    const cached = await find(admitted, id);
    return inTurn(admitted, () => changeRecord(admitted.caller, cached, decide, options));
  }

  const changes = makeChanges(records, revisions);
  const waiting = makeWaiting(changes);
  const isSo: Readonly<Record<WantedState, (record: AppDeployment) => boolean>> = {
    READY: (record) => apiStatus(record) === 'READY',
    DEPLOYED: (record) => {
      const [latest] = presentRevisions(record, revisionsOf(record));
      // The controller writes the revision's status before the record's, and the answer shows both. A change that makes no revision
      // is followed too: the number of pods.
      const isSettled = isLookedAt(record) && conditionOf(record.status?.conditions, 'Reconciling')?.status !== 'True';
      return latest?.status === 'DEPLOYED' && record.status?.activeRevisionId === latest.id && isSettled;
    },
    GONE: () => false,
  };

  return {
    find,
    change,
    inCache,
    changes,
    close: waiting.close,
    revisionsOf,
    templates: catalogue,
    valuesOf: shownSecretValues,

    async wait(admitted, id, wanted, signal) {
      const found = await find(admitted, id);
      const isOver = (): boolean => {
        const record = records.byUid(found.metadata.uid ?? '');
        return record === undefined || isSo[wanted](record);
      };
      await waiting.until(found, isOver, signal);
    },

    list(tenant, query) {
      needCaches();
      return listing.page(tenant.namespace, query);
    },

    async create(admitted, payload, mark) {
      const { caller, tenant } = admitted;
      const { namespace } = tenant;
      const isRepeated = (record: AppDeployment): boolean => mark !== undefined && isMadeBy(record, mark);
      const earlier = mark && synced(records, 'deployments').list(namespace).find(isRepeated);
      if (earlier !== undefined) return { record: earlier, isNew: false };
      const secretName = names(payload.name).variables(randomSuffix());
      const wanted = toResource(payload, namespace, secretName);
      needListener(wanted.spec, settings.hosting);
      const record = mark ? { ...wanted, metadata: { ...wanted.metadata, annotations: mark } } : wanted;
      const findings = [
        ...hostFindingsOf(record),
        ...listenerFindings(record.spec.sourceConfig, synced(listeners, 'listeners').list(namespace)),
        ...codeHostFindingsOf(record),
        ...(await registryFindings(record, tenant.id, { builds: settings.builds, registry })),
      ];
      if (findings.length > 0) throw new HttpError(422, findings);
      const values = new Map(payload.secrets.map(({ name, value }) => [name, value]));
      const write = async (dryRun: boolean): Promise<AppDeployment> => {
        try {
          const writing = { fieldManager: FACADE_FIELD_MANAGER, ...(dryRun && { dryRun }) };
          return await caller.kube.create(APP_DEPLOYMENTS, record, writing);
        } catch (error) {
          throw await explained(error, caller, record);
        }
      };
      const make = async (): Promise<AppDeployment> => {
        let kept: KubeObject | undefined;
        if (values.size > 0) {
          // A rejected record must leave no Secret behind. Without a Secret the creation itself needs no dry run.
          await write(true);
          kept = await createValuesSecret(caller, { namespace, name: secretName }, payload.name, values);
        }
        try {
          const made = await write(false);
          remember(made);
          return made;
        } catch (error) {
          // Without an answer the record may have been created, and then needs its Secret.
          if (kept !== undefined && !(error instanceof Unavailable)) await removeVariables(caller, kept, log);
          throw error;
        }
      };
      try {
        return { record: await inTurn(admitted, make), isNew: true };
      } catch (error) {
        // The cache may not contain yet what a concurrent request, or another replica, has created.
        if (mark === undefined || !(error instanceof HttpError) || error.status !== 409) throw error;
        const taken = await undefinedIfHidden(() =>
          caller.kube.get<AppDeployment>(APP_DEPLOYMENTS, { namespace, name: payload.name }),
        );
        if (taken === undefined || !isRepeated(taken)) throw error;
        remember(taken);
        return { record: taken, isNew: false };
      }
    },

    async remove(admitted, id, withTracingProject, precondition) {
      const { caller } = admitted;
      const cached = await find(admitted, id);
      // The version that this request itself wrote.
      let ours: string | undefined;
      const removeOne = async (record: AppDeployment): Promise<void> => {
        const { namespace = '', name, uid = id, resourceVersion = '' } = record.metadata;
        if (precondition !== undefined && etagOf(record) !== ours) needUnchanged(record, cached, precondition);
        // Without If-Match any version is deleted.
        let seen = precondition && { resourceVersion };
        if (withTracingProject && record.spec.tracingProjectDeletionPolicy !== 'Delete') {
          const patch = { metadata: { uid, ...seen }, spec: { tracingProjectDeletionPolicy: 'Delete' } };
          const written = await caller.kube.mergePatch<AppDeployment>(APP_DEPLOYMENTS, { namespace, name }, patch, {
            fieldManager: FACADE_FIELD_MANAGER,
          });
          remember(written);
          ours = etagOf(written);
          seen &&= { resourceVersion: written.metadata.resourceVersion ?? '' };
        }
        const left = await caller.kube.remove(APP_DEPLOYMENTS, { namespace, name }, { uid, ...seen });
        if (left === undefined) forget(uid);
        else remember(left);
      };
      return inTurn(admitted, async () => {
        try {
          if (precondition === undefined) await removeOne(cached);
          else await retryOnConflict(cached, removeOne, () => reread(caller, cached, remember));
        } catch (error) {
          if (error instanceof Conflict && precondition !== undefined)
            throw changedMeanwhile(`Deployment "${cached.metadata.name}"`);
          if (!isAnother(error)) throw error;
          forget(cached.metadata.uid ?? id);
          throw notFound(id);
        }
      });
    },

    patch(admitted, id, payload, revision, precondition) {
      // Values are read only if a sent value must be compared.
      const { variable, secrets = [] } = payload;
      const compares =
        typeof variable?.value === 'string' || (secrets ?? []).some(({ value }) => value !== '' && value !== null);
      const decide: Decide = async (record, secretName) => {
        const made = revisionsOf(record);
        const inForce = {
          resourceSpec: resourceSpecInForce(record, made, settings),
          sourceRevisionConfig: shownRevisionConfig(record, made),
          url: urlOf(record),
          numbersOf: (spec: AppDeploymentSpec) => effectiveNumbers(resolve(spec, settings)),
          values: compares ? await readSecretValues(admitted.caller, record) : new Map<string, string>(),
        };
        const changed = applyPatch(record, payload, inForce, secretName);
        const { spec } = changed;
        const findings = [
          ...patchFindings(record, payload, changed, { settings, known: inForce.values }),
          ...catalogueFindings(record.spec, spec, catalogue),
          ...hostFindingsOf({ ...record, spec }, record.spec.sourceConfig.customUrl),
          ...(buildsAnew(record.spec.sourceRevisionConfig, spec.sourceRevisionConfig)
            ? codeHostFindingsOf({ ...record, spec })
            : []),
          ...(await registryFindings(
            { ...record, spec },
            admitted.tenant.id,
            { builds: settings.builds, registry },
            record.spec,
          )),
        ];
        if (findings.length > 0) throw new HttpError(422, findings);
        if (revision === 'always' && awaitsSource(spec)) throw nothingToDeploy();
        const asks = revision === 'always' || needsRevision(record.spec, spec);
        const isPending = revision !== 'always' && followsUnseen(record.spec, spec, made);
        return { ...changed, spec: asks ? askingForRevision(record.spec, spec, isPending) : spec };
      };
      return change(admitted, id, decide, precondition);
    },
  };
}

function nothingToDeploy(): HttpError {
  return new HttpError(
    409,
    'The deployment has no image or source yet, so there is nothing to deploy. Push an image or upload a source first.',
  );
}

function notFound(id: string): HttpError {
  return new HttpError(404, deploymentNotFound(id));
}

/** The object is gone, or another object has its name. */
function isAnother(error: unknown): boolean {
  if (error instanceof Invalid) return error.causes.some(({ field }) => field === 'metadata.uid');
  return error instanceof NotFound || error instanceof Conflict;
}

/** Replaces the API server's message for a taken name. Returns other errors unchanged. */
async function explained(error: unknown, caller: Caller, { metadata }: AppDeployment): Promise<unknown> {
  if (!(error instanceof AlreadyExists)) return error;
  const { namespace = '', name } = metadata;
  const taken = await undefinedIfHidden(() =>
    caller.kube.get(APP_DEPLOYMENTS, { namespace, name }, { metadataOnly: true }),
  ).catch(() => undefined);
  const leaving =
    taken?.metadata.deletionTimestamp === undefined
      ? ''
      : ' It is being deleted, and its name is free again when it is gone.';
  return new HttpError(409, `A deployment named "${name}" already exists.${leaving}`);
}

/** The record of a request. `secretName`: the Secret of its values. */
export function toResource(payload: CreateDeployment, namespace: string, secretName: string): AppDeployment {
  const {
    listenerConfig: _listener,
    resourceSpec: _spec,
    runtime: _runtime,
    ...sent
  } = fromSnake(SourceConfig.shape, payload.source_config);
  // An empty command means none, as in a PATCH.
  const config = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== '')) as typeof sent;
  const resourceSpec = withoutEmpty(fromSnake(ResourceSpec.shape, payload.source_config.resource_spec ?? {}));
  const runtime = mergedRuntime(undefined, payload.source_config.runtime);
  const listenerConfig = fromSnake(
    SourceConfig.shape.listenerConfig.unwrap().shape,
    payload.source_config.listener_config ?? {},
  );
  const references = payload.secret_references ?? [];
  const spec: Partial<AppDeploymentSpec> = {
    source: payload.source,
    sourceConfig: {
      ...config,
      ...(config.deploymentType && { deploymentType: deploymentTypeMeant(config.deploymentType) }),
      ...(Object.keys(listenerConfig).length > 0 && { listenerConfig }),
      ...(Object.keys(resourceSpec).length > 0 && { resourceSpec }),
      ...(runtime && { runtime }),
    },
    sourceRevisionConfig: fromSnake(SourceRevisionConfig.shape, payload.source_revision_config),
    secrets: payload.secrets.map(({ name }) => ({ name, secretName, secretKey: name })),
    ...(references.length > 0 && {
      secretReferences: references.map(({ name, secret_name, secret_key }) => ({
        name,
        secretName: secret_name,
        secretKey: secret_key,
      })),
    }),
  };
  // Without an image there is no revision yet. The first serial comes with the image.
  const revisionSerial = awaitsSource(spec as AppDeploymentSpec) ? 0 : 1;
  // With the controller's finalizer from the start: it saves a write, and no deletion can skip the teardown.
  const isLookedAfterHere = runsHere({ spec: spec as AppDeploymentSpec });
  // The API server adds defaults.
  return {
    apiVersion: API_VERSION,
    kind: 'AppDeployment',
    metadata: { name: payload.name, namespace, ...(isLookedAfterHere && { finalizers: [FINALIZER] }) },
    spec: { ...spec, revisionSerial } as AppDeploymentSpec,
  };
}
