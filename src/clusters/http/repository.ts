// The only file of the listeners' collection that speaks Kubernetes. Listeners are read from the watch cache and written with
// the caller's token.

import type { RequestContext } from '../../api/auth.ts';
import type { Tenant } from '../../api/authorization.ts';
import { synced } from '../../api/caches.ts';
import { changeObject, removeObject } from '../../api/change-object.ts';
import type { FacadeContext } from '../../api/collection.ts';
import { undefinedIfHidden } from '../../api/undefined-if-hidden.ts';
import { namesListener } from '../../deploy/record/listener-assignment.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { LISTENERS, type Listener } from '../../kinds/listener.ts';
import { API_VERSION, FACADE_FIELD_MANAGER } from '../../kinds/meta.ts';
import { AlreadyExists } from '../../runtime/errors.ts';
import { type FieldError, HttpError } from '../../runtime/http/http-error.ts';
import { patchTo } from '../../runtime/http/merge-patch.ts';
import type { CreateListener, PatchListener } from './payloads.ts';

export interface Listeners {
  /** The Listeners of a tenant, newest first, then by id. */
  list(tenant: Tenant): readonly Listener[];
  /** 404 for a missing listener and for one of another tenant, with the same text. */
  find(admitted: RequestContext, id: string): Promise<Listener>;
  create(admitted: RequestContext, payload: CreateListener): Promise<Listener>;
  patch(admitted: RequestContext, id: string, payload: PatchListener): Promise<Listener>;
  /** 409 while deployments name it. */
  remove(admitted: RequestContext, id: string): Promise<void>;
}

const WRITING = { fieldManager: FACADE_FIELD_MANAGER };
/** Number of deployments that the message of a refused deletion names. */
const NAMED = 5;

type Needs = Pick<FacadeContext, 'caches' | 'remember' | 'forget' | 'freshList' | 'settings'>;

export function makeListeners(needs: Needs): Listeners {
  const { remember, freshList } = needs;
  const { listeners, records } = needs.caches;

  async function find({ caller, tenant: { namespace } }: RequestContext, id: string): Promise<Listener> {
    const uid = id.toLowerCase();
    const cached = synced(listeners, 'listeners').byUid(uid);
    if (cached?.metadata.namespace === namespace) return cached;
    // Another replica of the facade may have created it a moment ago.
    const found = await undefinedIfHidden(async () => {
      const all = await freshList(`${caller.hash} ${namespace} listeners`, () =>
        caller.kube.listAll<Listener>(LISTENERS, { namespace }),
      );
      return all.items.find(({ metadata }) => metadata.uid === uid);
    });
    if (found === undefined) throw notFound(id);
    remember(found);
    return found;
  }

  return {
    find,

    list({ namespace }) {
      return synced(listeners, 'listeners').list(namespace).toSorted(newestFirst);
    },

    create: (admitted, payload) => createListener(needs, admitted, payload),

    async patch(admitted, id, payload) {
      const { caller } = admitted;
      const first = await find(admitted, id);
      const { namespace = '', name } = first.metadata;
      const findings = [...immutable(first, payload)];
      if (findings.length > 0) throw new HttpError(422, findings);
      const attempt = async (current: Listener): Promise<Listener> => {
        const change = patchTo(current, patchedSpec(current.spec, payload));
        if (change.spec === undefined) return current;
        const written = await caller.kube.mergePatch<Listener>(LISTENERS, { namespace, name }, change, WRITING);
        remember(written);
        return written;
      };
      const concerning = { ...needs, missing: () => notFound(id) };
      return changeObject(caller, [LISTENERS, `Listener "${name}"`], first, attempt, concerning);
    },
    async remove(admitted, id) {
      const listener = await find(admitted, id);
      const { namespace = '', name } = listener.metadata;
      const using = synced(records, 'deployments').list(namespace).filter(namesListener(listener));
      if (using.length > 0) throw new HttpError(409, inUse(name, using));
      await removeObject(admitted.caller, LISTENERS, listener, { ...needs, missing: () => notFound(id) });
    },
  };
}

async function createListener(
  { caches, remember, settings }: Needs,
  { caller, tenant }: RequestContext,
  { compute_id: name, compute_config }: CreateListener,
): Promise<Listener> {
  const { perTenant } = settings.listeners;
  const namespaces = compute_config.k8s_namespaces ?? [];
  const there = synced(caches.listeners, 'listeners').list(tenant.namespace);
  if (there.length >= perTenant && !there.some(({ metadata }) => metadata.name === name))
    throw new HttpError(
      409,
      `This tenant has ${there.length} Listeners, and the limit of the platform is ${perTenant}. Delete an unneeded one.`,
    );
  const listener: Listener = {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name, namespace: tenant.namespace },
    spec: { ...(namespaces.length > 0 && { namespaces }) },
  };
  try {
    const made = await caller.kube.create(LISTENERS, listener, WRITING);
    remember(made);
    return made;
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error;
    throw new HttpError(
      409,
      `Listener for LangSmith workspace ID '${tenant.id}' and compute ID '${name}' already exists.`,
    );
  }
}

function newestFirst(a: Listener, b: Listener): number {
  const [first, second] = [a, b].map(({ metadata }) => metadata.creationTimestamp ?? '');
  if (first !== second) return (first ?? '') < (second ?? '') ? 1 : -1;
  return (a.metadata.uid ?? '') < (b.metadata.uid ?? '') ? -1 : 1;
}

function* immutable({ metadata }: Listener, payload: PatchListener): Generator<FieldError> {
  const { compute_id } = payload;
  if (compute_id !== undefined && compute_id !== null && compute_id !== metadata.name)
    yield { loc: ['body', 'compute_id'], msg: 'cannot be changed', type: 'value_error' };
}

function patchedSpec(spec: Listener['spec'], { compute_config }: PatchListener): Listener['spec'] {
  const namespaces = compute_config?.k8s_namespaces;
  if (namespaces === undefined || namespaces === null) return spec;
  const { namespaces: _before, ...rest } = spec;
  return { ...rest, ...(namespaces.length > 0 && { namespaces }) };
}

function inUse(name: string, using: readonly AppDeployment[]): string {
  const names = using.slice(0, NAMED).map(({ metadata }) => `"${metadata.name}"`);
  const more = using.length > NAMED ? ` and ${using.length - NAMED} more` : '';
  return `Listener "${name}" is used by ${using.length === 1 ? 'deployment' : 'deployments'} ${names.join(', ')}${more}. Delete them first.`;
}

function notFound(id: string): HttpError {
  return new HttpError(404, `Listener ID ${id} not found.`);
}
