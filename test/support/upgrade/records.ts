// Records that run while Davit is upgraded, and what of them must be the same afterwards.

import { aManifest } from '../builders.ts';
import type { SampleImages } from '../sample-cluster.ts';

/** What all of them together need fits on two cores. Limits are left to the defaults of whoever makes the revision. */
const SMALL = {
  cpu: 0.1,
  memoryMb: 128,
  dbCpu: 0.1,
  dbMemoryMb: 128,
  dbStorageGi: 1,
  redisCpu: 0.1,
  redisMemoryMb: 64,
};
const SMALL_PARTS = { orchestratorCpu: 0.1, orchestratorMemoryMb: 128, executorMemoryMb: 128 };

/** `small`: with sizes for a machine that really runs them; else with the defaults. */
export function recordsToUpgrade(
  namespace: string,
  images: SampleImages,
  { small = false } = {},
): readonly (object & { readonly metadata: { readonly name: string } })[] {
  const sizes = small ? SMALL : {};
  const source = { sourceRevisionConfig: { imageUri: images.sample } };
  const plainUri = (name: string, store: string): object => ({
    name,
    secretName: `plain--${store}`,
    secretKey: 'uri',
  });
  return [
    aManifest({ namespace, name: 'plain' }, { ...source, sourceConfig: { resourceSpec: sizes } }),
    aManifest(
      { namespace, name: 'everything' },
      {
        ...source,
        sourceConfig: {
          resourceSpec: {
            ...sizes,
            ...(small && SMALL_PARTS),
            maxScale: 2,
            queueMaxScale: 1,
            orchestratorMaxScale: 1,
            executorCpu: 0.1,
            dbMaxConnections: 50,
            labels: { team: 'blue' },
            annotations: { 'example.org/note': 'hello' },
            volumes: [
              { name: 'scratch', emptyDir: {} },
              { name: 'settings', configMap: { name: 'settings', optional: true } },
            ],
            volumeMounts: [{ name: 'settings', mountPath: '/settings' }],
            initContainers: [
              {
                name: 'prepare',
                image: images.postgres,
                command: ['sh', '-c', 'echo ready > /scratch/prepared'],
                args: [],
                volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
                securityContext: { runAsUser: 999 },
              },
            ],
            sidecars: [
              {
                name: 'beside',
                image: images.postgres,
                command: ['sh', '-c', 'trap "exit 0" TERM; sleep infinity & wait'],
                securityContext: { runAsUser: 999 },
              },
            ],
          },
        },
        secretReferences: [{ name: 'GREETING', secretName: 'greeting', secretKey: 'text' }],
      },
    ),
    aManifest(
      { namespace, name: 'external' },
      {
        ...source,
        sourceConfig: { resourceSpec: sizes },
        // Of its own it has neither.
        secretReferences: [plainUri('POSTGRES_URI_CUSTOM', 'postgres'), plainUri('REDIS_URI_CUSTOM', 'redis')],
      },
    ),
  ];
}

/** What records name. */
export function namedByRecords(namespace: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name: 'greeting' },
    stringData: { text: 'hello' },
  };
}

type Ask = (args: readonly string[]) => Promise<string>;

interface Listed {
  readonly items: readonly {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly uid: string; readonly generation?: number };
    readonly spec?: object;
    readonly status?: {
      readonly containerStatuses?: readonly { readonly name: string; readonly restartCount: number }[];
    };
  }[];
}

/**
 * Every workload with its generation and pod template, every pod by its uid with the restart counts of its containers, every
 * revision and every volume. An upgrade of Davit must change none of them.
 */
export async function lasting(kubectl: Ask, namespace: string): Promise<readonly string[]> {
  const list = async (kinds: string): Promise<Listed['items']> =>
    (JSON.parse(await kubectl(['get', kinds, '-n', namespace, '-o', 'json'])) as Listed).items;
  const described = (await list('deployments,statefulsets')).map(
    ({ kind, metadata: { name, uid, generation }, spec }) =>
      `${kind} ${name} ${uid} generation ${generation} ${JSON.stringify(spec)}`,
  );
  const pods = (await list('pods')).map(({ metadata, status }) => {
    const restarts = (status?.containerStatuses ?? []).map(({ name, restartCount }) => `${name} ${restartCount}`);
    return `Pod ${metadata.name} ${metadata.uid} restarts: ${restarts.join(', ')}`;
  });
  const kept = (await list('apprevisions,replicasets,persistentvolumeclaims,secrets')).map(
    ({ kind, metadata: { name, uid } }) => `${kind} ${name} ${uid}`,
  );
  return [...described, ...pods, ...kept].toSorted();
}

type Kubectl = (args: readonly string[]) => Promise<string>;

/** State of every record, and whether it is Ready at its generation: `NAME STATE STATUS`, by name. */
export async function statesIn(namespace: string, kubectl: Kubectl): Promise<string[]> {
  const path =
    '{range .items[*]}{.metadata.name} {.status.state} {.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}';
  return (await kubectl(['get', 'appd', '-n', namespace, '-o', `jsonpath=${path}`])).trim().split('\n').toSorted();
}

/** What it gives once all of them serve. */
export function allReady(names: readonly string[]): string[] {
  return names.map((name) => `${name} READY True`).toSorted();
}
