// What the cluster has of a work, asked of its API server where the caches do not suffice: they have only copies with the Listener's label.

import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import { LISTENER_COPY_LABEL } from '../../kinds/meta.ts';
import { Forbidden, Invalid, NotFound, undefinedIfNotFound } from '../../runtime/errors.ts';
import { NAMESPACES, SECRETS } from '../../runtime/kube/api-resources.ts';
import type { KubeClient } from '../../runtime/kube/client.ts';
import { type AgentSeen, type AgentStep, agentStep, isCopyOf, refusal } from './step.ts';

/** The step, by what the cluster has under the name before anything is written: the cache has only copies with the label. */
export async function checkedStep(
  cached: AgentSeen,
  local: KubeClient,
  lookAt: (copy: AppDeployment) => AgentSeen,
): Promise<{ readonly seen: AgentSeen; readonly step: AgentStep }> {
  const step = agentStep(cached);
  if ((step.do !== 'bring' && step.do !== 'gone') || cached.copy !== undefined) return { seen: cached, step };
  const { namespace, name } = cached.work.spec;
  try {
    const copy = await local.get<AppDeployment>(APP_DEPLOYMENTS, { namespace, name }).catch(undefinedIfNotFound);
    if (copy === undefined) return { seen: cached, step };
    const seen = lookAt(copy);
    return { seen, step: agentStep(seen) };
  } catch (error) {
    if (step.do === 'gone' && error instanceof Forbidden) return { seen: cached, step };
    // The namespace is not listed, and nobody tells when it can be.
    if (error instanceof Forbidden) return { seen: { ...cached }, step: { do: 'reject', rejection: refusal(error) } };
    // No name of an object.
    if (error instanceof Invalid) return { seen: cached, step: { do: 'reject', rejection: refusal(error) } };
    throw error;
  }
}

/** Whether the cluster surely has no copy: one whose label somebody took off is not in the cache. */
export async function isAbsent(
  { work, namespace, copy }: AgentSeen,
  { served }: { readonly served: readonly string[] },
  local: KubeClient,
): Promise<boolean> {
  const { namespace: place, name } = work.spec;
  if (copy !== undefined || !served.includes(place)) return copy !== undefined && !isCopyOf(work, copy);
  if (namespace === undefined) return true;
  try {
    return !isCopyOf(work, await local.get<AppDeployment>(APP_DEPLOYMENTS, { namespace: place, name }));
  } catch (error) {
    if (error instanceof Forbidden) return false;
    if (error instanceof NotFound || error instanceof Invalid) return true;
    throw error;
  }
}

export async function isGoneForSure({ work, namespace }: AgentSeen, local: KubeClient): Promise<boolean> {
  const { metadata, spec } = work;
  // With the namespace goes the Role of the agent.
  const place =
    namespace ??
    (await local.get(NAMESPACES, { name: spec.namespace }, { metadataOnly: true }).catch(undefinedIfNotFound));
  if (place === undefined) return true;
  const copy = await local
    .get<AppDeployment>(APP_DEPLOYMENTS, { namespace: spec.namespace, name: spec.name })
    .catch(undefinedIfNotFound);
  if (isCopyOf(work, copy)) return false;
  const labelSelector = `${LISTENER_COPY_LABEL}=${metadata.name}`;
  const secrets = await local.listAll(SECRETS, { namespace: spec.namespace, labelSelector, metadataOnly: true });
  return secrets.items.length === 0;
}
