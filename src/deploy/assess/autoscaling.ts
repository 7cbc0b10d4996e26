// What is reported of the number of pods, and of fields that are not taken as they stand. None of it makes a record less
// Ready: an autoscaler that knows nothing leaves the pods as many as they are.

import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import type { AppRevision } from '../../kinds/app-revision.ts';
import {
  EXTERNAL_POSTGRES_VARIABLE,
  EXTERNAL_REDIS_VARIABLE,
  STORE_FIELDS,
  STORE_PARTS,
  type StorePart,
} from '../../kinds/meta.ts';
import { numberField } from '../../kinds/resource-spec.ts';
import { doesWithout } from '../../kinds/runtime.ts';
import { listed, quoted } from '../../kinds/text.ts';
import type { Read } from '../../runtime/kube/client.ts';
import { imageOf } from '../record/revision-image.ts';
import { autoscaledParts, followsDepth, raisedMinimums } from '../record/scale.ts';
import { unfinishedResize } from './database-volume.ts';
import { type Entry, fail, pass } from './entry.ts';
import { childOf, type Observed, type ObservedCondition } from './observed.ts';

type Autoscaler = Read<IHorizontalPodAutoscaler>;

/** Does every autoscaler know what it has to know? */
export function checkAutoscaling(observed: Observed, revision: AppRevision): Entry {
  const { resolved } = revision.spec;
  const byDepth = followsDepth(revision.spec, observed.keda);
  const roles = imageOf(revision) === undefined ? [] : autoscaledParts(resolved, byDepth);
  if (roles.length === 0) return pass('FixedScale', 'The number of pods is fixed.');
  const asksForDepth = revision.spec.requested.runtime?.queueDepth !== undefined;
  for (const role of roles) {
    // Queue workers that follow their queue need KEDA instead of metrics, which is reported first.
    if (asksForDepth && role === 'queue') continue;
    const name = observed.names.part(role);
    const autoscaler = childOf(observed, 'HorizontalPodAutoscaler', name) as Autoscaler | undefined;
    const active = autoscaler?.status?.conditions?.find(({ type }) => type === 'ScalingActive');
    if (!active) return fail('NotObserved', `The autoscaler of the ${role} has not reported yet.`);
    // Not its own words: they change from one look to the next.
    if (active.status !== 'True')
      return fail(
        'MetricsMissing',
        `The autoscaler of the ${role} has no metrics (${quoted(active.reason ?? active.status, 128)}), so the number of pods does not change. Install metrics-server, or run kubectl describe hpa ${name}.`,
      );
  }
  if (asksForDepth && roles.includes('queue')) return checkDepth(observed, byDepth);
  return pass('Autoscaled', `Autoscalers set the number of pods of ${roles.join(', ')}.`);
}

/** Says which of the two the queue workers follow, for a record that asks for the depth of the queue. */
function checkDepth(observed: Observed, byDepth: boolean): Entry {
  if (!byDepth)
    return fail(
      'KedaMissing',
      'This platform has no KEDA, so the number of queue workers follows CPU and memory (if the cluster has metrics) instead of queue_depth. Ask the platform team to install KEDA; settings.keda.enabled must not be false.',
    );
  const name = observed.names.queue;
  const object = childOf(observed, 'ScaledObject', name) as Autoscaler | undefined;
  const conditionWith = (wanted: string): ObservedCondition | undefined =>
    object?.status?.conditions?.find(({ type }) => type === wanted);
  const ready = conditionWith('Ready');
  if (!ready) return fail('NotObserved', 'KEDA has not reported on the queue workers yet.');
  if (ready.status !== 'True')
    return fail(
      'QueueDepthUnknown',
      `KEDA cannot query the queue depth (${quoted(ready.reason ?? ready.status, 128)}), so the number of queue workers does not change. Check queue_depth.query, and run kubectl describe scaledobject ${name}.`,
    );
  // KEDA starts the first pod and ends the last one; what is between is up to its autoscaler. KEDA before 2.21 does not tell.
  const active = conditionWith('HPAActive');
  if (active?.status === 'False')
    return fail(
      'QueueDepthUnknown',
      `KEDA's autoscaler of the queue workers does not receive the queue depth (${quoted(active.reason ?? active.status, 128)}), so it starts only the first worker. Check that KEDA's metrics server runs, and run kubectl describe hpa keda-hpa-${name}.`,
    );
  return pass('FollowsQueue', 'KEDA sets the number of queue workers from the queue depth.');
}

/** Is every field of resource_spec taken as it stands? */
export function checkHonored(observed: Observed, { spec }: AppRevision): Entry {
  const { requested, resolved } = spec;
  const { record } = observed;
  const resize = resolved.postgres && unfinishedResize(observed);
  if (resize) return fail(resize.failed ? 'VolumeResizeFailed' : 'VolumeResizing', resize.message);
  const raised = raisedMinimums(resolved, followsDepth(spec, observed.keda));
  if (raised.length > 0)
    return fail(
      'MinimumIsOne',
      `A minimum of 0 pods is treated as 1 (${raised.join(', ')}), because nothing would start a pod on demand. To run no pods, set max_scale to 0.`,
    );
  const fields = Object.keys(requested.resourceSpec ?? {});
  const sizesOf = (parts: readonly StorePart[]): string[] =>
    parts.flatMap((part) => fields.filter((field) => numberField(field)?.part === part));
  const none = STORE_PARTS.filter((part) => doesWithout(part, requested.runtime));
  const external = STORE_PARTS.filter((part) => resolved[part] === undefined && !none.includes(part));
  const ignored = sizesOf(external);
  if (ignored.length > 0)
    return fail(
      'StoreIsExternal',
      `${record.metadata.name} uses an external database or Redis (${EXTERNAL_POSTGRES_VARIABLE}, ${EXTERNAL_REDIS_VARIABLE}), so these fields have no effect: ${ignored.join(', ')}.`,
    );
  const unneeded = sizesOf(none);
  if (unneeded.length > 0)
    return fail(
      'StoreNotNeeded',
      `runtime of ${record.metadata.name} has ${listed(none.map((part) => `${STORE_FIELDS[part]}: none`))}, so these fields have no effect: ${unneeded.join(', ')}.`,
    );
  return pass('AsAsked', 'Every field of resource_spec takes effect as written.');
}
