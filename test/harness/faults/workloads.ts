// What a person does to a record, phase by phase. Every workload begins with `create`.

import type { BuildWorkload } from './build-workloads.ts';
import type { WorkloadName } from './fault.ts';
import type { Seen } from './object-history.ts';
import { type Acts, makeActs } from './workloads/acts.ts';
import { backups, STORE_CREDENTIALS, VERIFIED } from './workloads/backups.ts';
import { claims } from './workloads/claims.ts';
import { deleted, doomed, held, pair, recreate, taken, undone } from './workloads/lives.ts';
import { MOVABLE, moves, movesDeleted, movesKept, stopped } from './workloads/moves.ts';
import { CLEAN, tasks, workers } from './workloads/parts.ts';
import {
  autoscaled,
  drift,
  hasty,
  image,
  migrated,
  overtaken,
  reformed,
  scale,
  unmounted,
  upgraded,
} from './workloads/rollouts.ts';
import { hasCondition, IMAGES, MERGE, RECORD, recordIn, SECOND, type Stage, until } from './workloads/stage.ts';
import { external, impossible, OUTSIDE, resize } from './workloads/stores.ts';
import { OWN_SECRET, referenced, referencesTo, rotate, SHARED, secretOfValues, unfixed } from './workloads/values.ts';

type Phase = (acts: Acts) => Promise<void>;
type OfRecords = Exclude<WorkloadName, BuildWorkload | 'create'>;

/** These do not wait until their record is Ready, and say themselves when they are at their end. */
const UNREADY = { taken, hasty, doomed } satisfies Partial<Record<OfRecords, Phase>>;
/** Their record is gone at the end. */
const LAST = { held, delete: deleted, 'moves-deleted': movesDeleted, claims } satisfies Partial<
  Record<OfRecords, Phase>
>;
/** Their record is Ready before and after. */
const READY: Readonly<Record<Exclude<OfRecords, keyof typeof UNREADY | keyof typeof LAST>, Phase>> = {
  image,
  scale,
  resize,
  impossible,
  autoscaled,
  rotate,
  referenced,
  unfixed,
  external,
  pair,
  drift,
  recreate,
  undone,
  reformed,
  upgraded,
  overtaken,
  unmounted,
  migrated,
  workers,
  tasks,
  backups,
  moves,
  'moves-kept': movesKept,
};

/** Secrets that the records of some workloads name from the beginning. */
const SECRETS: Readonly<Partial<Record<WorkloadName, object>>> = {
  rotate: secretOfValues(1),
  pair: secretOfValues(1, SHARED, SECOND),
  referenced: OWN_SECRET,
  external: OUTSIDE,
  backups: STORE_CREDENTIALS,
  moves: STORE_CREDENTIALS,
  'moves-kept': STORE_CREDENTIALS,
  'moves-deleted': STORE_CREDENTIALS,
};

/** What the records of some workloads have from the beginning. */
const SPECS: Readonly<Partial<Record<WorkloadName, object>>> = {
  rotate: { secrets: referencesTo(1), revisionSerial: 1 },
  pair: { secrets: referencesTo(1, SHARED) },
  referenced: { secretReferences: [{ name: 'TOKEN', secretName: 'mine', secretKey: 'token' }] },
  autoscaled: { sourceConfig: { resourceSpec: { minScale: 1, maxScale: 3 } } },
  workers: {
    sourceConfig: {
      runtime: { workers: { mailer: { command: ['mail'] }, scheduler: { command: ['tick'], singleton: true } } },
    },
  },
  tasks: { sourceConfig: { tasks: [CLEAN] } },
  backups: { sourceConfig: { database: VERIFIED } },
  moves: MOVABLE,
  'moves-kept': MOVABLE,
  'moves-deleted': MOVABLE,
  migrated: {
    sourceConfig: {
      runtime: {
        migrate: { command: ['up'] },
        envNames: { DB_NAME: 'postgres_database', DB_PASSWORD: 'postgres_password' },
      },
    },
  },
};

export async function perform(workload: WorkloadName, stage: Stage): Promise<void> {
  const acts = makeActs(stage, { spec: SPECS[workload], secret: SECRETS[workload] });
  const { api, paths } = acts;
  // Somebody else's, under the record's own label: neither a sweep nor a teardown may take them.
  await api.call('POST', paths.services, decoy('Service', { ports: [{ port: 1 }] }));
  await api.call('POST', paths.secrets, decoy('Secret', undefined));
  if (workload === 'taken') await api.call('POST', paths.services, foreignService());
  await stage.prepare();
  if (stage.performBuilds) return stage.performBuilds();
  stage.enter('create');
  await acts.create();
  const unready = phaseIn(UNREADY, workload);
  if (unready) return unready(acts);
  await acts.untilReady('create');
  if (workload === 'create') return;
  await stage.interlude?.();
  if (workload === 'moves-deleted') {
    // \`moves\` is disturbed there.
    stage.enter('stopping');
    await stopped(acts);
  }
  stage.enter(workload);
  const last = phaseIn(LAST, workload);
  if (last) return last(acts);
  await phaseIn(READY, workload)?.(acts);
  await acts.untilReady(workload);
}

function phaseIn(phases: Readonly<Record<string, Phase>>, workload: string): Phase | undefined {
  return phases[workload];
}

/** A change of the record, seen through; as the fault `etcd-restored` undoes it. */
export async function changeAndWait(stage: Stage): Promise<void> {
  const { api, namespace } = stage;
  const path = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments/${RECORD}`;
  const spec = { sourceRevisionConfig: { imageUri: IMAGES[2] }, sourceConfig: { resourceSpec: { queueMinScale: 1 } } };
  const { metadata } = await api.call<Seen>('PATCH', path, { spec }, MERGE);
  await until(stage, 'the change that will be undone: Ready', () => {
    const observed = recordIn(stage)?.status?.observedGeneration as number | undefined;
    return observed === metadata.generation && hasCondition(stage, 'Ready', 'Serving');
  });
}

export const DECOY = 'somebody-elses';

function decoy(kind: string, spec: object | undefined): object {
  const labels = {
    'davit.dev/deployment': RECORD,
    'davit.dev/deployment-uid': '00000000-0000-4000-8000-000000000000',
    'davit.dev/component': 'server',
  };
  return { apiVersion: 'v1', kind, metadata: { name: DECOY, labels }, ...(spec && { spec }) };
}

function foreignService(): object {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: RECORD }, spec: { ports: [{ port: 1234 }] } };
}
