// What a tenant's webhook is told of a deployment: each end of a transition, in its order, to nobody else, and once it is stored no more.

import { pause } from '../../../cluster/api-client.ts';
import type { Seen } from '../object-history.ts';
import { childIn, MERGE, NotConverged, RECORD, until } from '../workloads/stage.ts';
import { referencesTo, secretOfValues } from '../workloads/values.ts';
import { type BuildActs, latestOf } from './acts.ts';

const NOTIFIER = 'hook';
/** An event would have been sent again by then. */
const AT_REST_MS = 1000;

export async function notices(acts: BuildActs, first: string): Promise<void> {
  const { stage, world, records } = acts;
  const { api, namespace } = stage;
  const { taken } = world.webhooks;
  const expected: string[] = [];
  /** Events by type and revision, each as often as it has another id. */
  const heard = (): string[] => [...new Map(taken.map((one) => [one.id, `${one.type} ${one.revision}`])).values()];
  const hears = async (type: string): Promise<void> => {
    const revision = latestOf(stage, RECORD)?.spec.id as string;
    expected.push(`${type} ${revision}`);
    await until(stage, `notices: ${type} arrives`, () => heard().length >= expected.length);
    if (heard().join() !== expected.join())
      throw new NotConverged(`notices: ${heard().join(', ')} arrived, not ${expected.join(', ')}`);
    const stored = `${type === 'deployment.ready' ? 'ready' : 'failed'} ${revision}`;
    await until(stage, `notices: ${type} is stored`, () => storedIn(acts).startsWith(stored));
  };
  const change = (spec: object): Promise<Seen> => api.call<Seen>('PATCH', `${records}/${RECORD}`, { spec }, MERGE);

  for (const tenant of [namespace, world.neighbour ?? '']) await notify(acts, tenant);
  await hears('deployment.ready');
  world.push(RECORD, 'step fails');
  await acts.fails('notices: a step that fails', 'StepFailed', first);
  await hears('build.failed');
  const served = await acts.served('notices: corrected');
  await hears('deployment.ready');
  const asked = await change({ secrets: referencesTo(1) });
  await until(stage, 'notices: the Secret is missing', () => isStalled(acts, asked));
  await hears('deployment.failed');
  await api.call('POST', `/api/v1/namespaces/${namespace}/secrets`, secretOfValues(1));
  await acts.untilServes('notices: the Secret is there', asked, served);
  await hears('deployment.ready');
  // Another controller knows only what is stored.
  const count = taken.length;
  await stage.upgrade?.();
  await pause(AT_REST_MS);
  if (taken.length > count) throw new NotConverged(`notices: told again after a restart: ${taken.at(-1)?.type}`);
}

async function notify({ stage: { api }, world }: BuildActs, tenant: string): Promise<void> {
  await api.call('POST', `/api/v1/namespaces/${tenant}/secrets`, {
    metadata: { name: NOTIFIER },
    stringData: { secret: world.webhooks.secretOf(tenant) },
  });
  await api.call('POST', `/apis/davit.dev/v1alpha1/namespaces/${tenant}/notifiers`, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Notifier',
    metadata: { name: NOTIFIER },
    spec: { webhook: { url: world.hookUrl(tenant), secretRef: { name: NOTIFIER } } },
  });
}

function storedIn({ stage }: BuildActs): string {
  return childIn(stage, 'Notifier', NOTIFIER)?.status?.told?.[RECORD]?.state ?? '';
}

function isStalled({ stage }: BuildActs, { metadata }: Seen): boolean {
  const { status } = childIn(stage, 'AppDeployment', RECORD) ?? {};
  const conditions = (status?.conditions ?? []) as { type: string; status: string }[];
  return (
    status?.observedGeneration === metadata.generation &&
    conditions.some(({ type, status: is }) => type === 'Stalled' && is === 'True')
  );
}
