// What must hold at rest of a world that is driven by wakes, beside what holds of every bound.

import { APP_DEPLOYMENTS, type AppDeployment } from '../../../../src/kinds/app-deployment.ts';
import { conditionOf } from '../../../../src/kinds/conditions.ts';
import { DEPLOYMENT_LABEL, PAUSED_ANNOTATION, TENANT_LABEL } from '../../../../src/kinds/meta.ts';
import { HORIZONTAL_POD_AUTOSCALERS, NAMESPACES, SECRETS } from '../../../../src/runtime/kube/api-resources.ts';
import {
  awaitedBy,
  isCurrent,
  isReady,
  podsOf,
  secretsOf,
  valueNow,
  valuesOf,
  type WithTemplate,
  workloads,
} from '../cluster-events.ts';
import { recordOf, SHOPS, TEAM, thereOf } from '../listener-world.ts';
import type { Broken } from '../pass-seen.ts';
import type { Scene } from '../scene.ts';

interface Property {
  readonly name: string;
  readonly broken: (scene: Scene, record: AppDeployment, own: readonly WithTemplate[]) => string | undefined;
}

const is = ({ status }: AppDeployment, type: string): boolean =>
  conditionOf(status?.conditions, type)?.status === 'True';
const readyOf = (scene: Scene, one: WithTemplate) => podsOf(scene, one).filter(isReady);

const ROLLS_NOTHING: ReadonlySet<string> = new Set(['VolumeMissing', 'PasswordMissing']);
const REFUSALS: readonly string[] = ['webhook', 'quota', 'rights'];

const PROPERTIES: readonly Property[] = [
  {
    name: 'what serves has the password that its Redis runs with',
    broken(scene, record, own) {
      const redis = own.find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name.endsWith('--redis'));
      const [runs] = redis ? readyOf(scene, redis) : [];
      if (!redis || !runs || !is(record, 'Ready')) return undefined;
      const { namespace = '', name } = redis.metadata;
      if (valuesOf(runs)[name] !== valueNow(scene, namespace, name))
        return `Ready is True, and ${runs.metadata.name} runs with another password than Secret ${name} has.`;
      const wrong = own
        .flatMap((one) => readyOf(scene, one))
        .find((pod) => {
          const value = valuesOf(pod)[name];
          return value !== undefined && value !== valuesOf(runs)[name];
        });
      return wrong && `Ready is True, and pod ${wrong.metadata.name} has another password than ${runs.metadata.name}.`;
    },
  },
  {
    name: 'what exits again and again is Stalled',
    broken(scene, record, own) {
      if (is(record, 'Stalled')) return undefined;
      const crashes = own
        .filter((one) => awaitedBy(scene, one, one.spec.template) === undefined)
        .flatMap((one) => podsOf(scene, one).filter((pod) => isCurrent(pod, one) && !isReady(pod)))
        .find(({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 3);
      return crashes && `Pod ${crashes.metadata.name} has exited four times, and the record is not Stalled.`;
    },
  },
  {
    name: 'no autoscaler is left where the number of pods is fixed',
    broken(scene, { metadata: { namespace = '', name }, spec }) {
      const { minScale, maxScale } = spec.sourceConfig.resourceSpec ?? {};
      const left = scene.get(HORIZONTAL_POD_AUTOSCALERS, namespace, name);
      return left && minScale !== undefined && minScale === maxScale
        ? `The record has ${minScale} pods, and an autoscaler scales them.`
        : undefined;
    },
  },
  {
    name: 'a Secret that serving pods name, and that is gone, is told',
    broken(scene, record, own) {
      if (!is(record, 'ReferencesResolved')) return undefined;
      const { namespace = '' } = record.metadata;
      const names = own
        .filter((one) => readyOf(scene, one).length > 0)
        .flatMap((one) => secretsOf(one.spec.template.spec));
      const gone = names.find(
        (name) => !name.startsWith(`${record.metadata.name}--`) && !scene.get(SECRETS, namespace, name),
      );
      return gone && `ReferencesResolved is True, and there is no Secret ${gone}.`;
    },
  },
  {
    name: 'what serves has the values that its Secrets have',
    broken(scene, record, own) {
      const { namespace = '' } = record.metadata;
      // No pod starts while its database is lost, or while the API server refuses what would roll it.
      const isLost = ROLLS_NOTHING.has(conditionOf(record.status?.conditions, 'DatabaseReady')?.reason ?? '');
      const isRefused = REFUSALS.some((mark) => scene.mark(namespace, mark) !== undefined);
      if (!is(record, 'ReferencesResolved') || isLost || isRefused) return undefined;
      for (const one of own)
        for (const pod of readyOf(scene, one)) {
          const old = Object.entries(valuesOf(pod)).find(
            ([name, value]) => scene.get(SECRETS, namespace, name) && value !== valueNow(scene, namespace, name),
          );
          if (old && !old[0].startsWith(`${record.metadata.name}--`))
            return `Pod ${pod.metadata.name} serves with a value that Secret ${old[0]} had before.`;
        }
      return undefined;
    },
  },
];

function judgeHub(scene: Scene): Broken[] {
  const [record, copy] = [recordOf(scene), thereOf(scene)];
  if (!record || !copy || !is(record, 'Ready') || record.status?.observedGeneration !== record.metadata.generation)
    return [];
  const broken: Broken[] = [];
  const wanted = record.spec.sourceRevisionConfig.imageUri;
  const isPaused = (one: AppDeployment): boolean => one.metadata.annotations?.[PAUSED_ANNOTATION] !== undefined;
  const other = workloads(scene, SHOPS).find(
    ({ kind, spec }) => kind === 'Deployment' && spec.template.spec.containers[0]?.image !== wanted,
  );
  if (other && !isPaused(copy))
    broken.push({
      property: 'what is Ready on the hub runs in the cluster',
      message: `The record of ${wanted} is Ready, and ${other.metadata.name} runs ${other.spec.template.spec.containers[0]?.image}.`,
    });
  if (isPaused(record) && !isPaused(copy))
    broken.push({ property: 'a pause on the hub reaches the cluster', message: 'The copy is not paused.' });
  return broken;
}

export function judgeWakes(scene: Scene, namespace: string): Broken[] {
  const isTenant = scene.get(NAMESPACES, '', namespace)?.metadata.labels?.[TENANT_LABEL] === 'true';
  const records = scene
    .all<AppDeployment>(APP_DEPLOYMENTS, namespace)
    .filter(
      ({ metadata }) =>
        metadata.deletionTimestamp === undefined && metadata.annotations?.[PAUSED_ANNOTATION] === undefined,
    );
  const ofHub = namespace === TEAM && scene.get(NAMESPACES, '', SHOPS) !== undefined;
  if (ofHub) return judgeHub(scene);
  return (isTenant ? records : []).flatMap((record) => {
    const own = workloads(scene, namespace).filter(
      ({ metadata }) => metadata.labels?.[DEPLOYMENT_LABEL] === record.metadata.name,
    );
    return PROPERTIES.flatMap(({ name, broken }) => {
      const message = broken(scene, record, own);
      return message === undefined ? [] : [{ property: name, message }];
    });
  });
}
