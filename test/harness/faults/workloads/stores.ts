// The record's PostgreSQL and Redis: other sizes, sizes that fit nowhere, and servers of others.

import type { Seen } from '../object-history.ts';
import type { Acts } from './acts.ts';
import { childIn, hasCondition, isRolledOut, RECORD, revisionsIn, until } from './stage.ts';
import { CANARY } from './values.ts';

/** The stand-in's node has 4,000 GiB. Three lanes fit beside each other, none of them beside this database. */
const LARGE_REDIS_MB = 1_126_400;

const LARGE_DATABASE_MB = 3_584_000;

/** No server is behind these: the stand-in lets every pod find what it waits for. */
export const OUTSIDE = {
  metadata: { name: 'outside' },
  stringData: { postgres: `postgres://shop:${CANARY}@db.example/shop`, redis: `redis://:${CANARY}@redis.example` },
};

const TO_OUTSIDE = [
  { name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'postgres' },
  { name: 'REDIS_URI_CUSTOM', secretName: 'outside', secretKey: 'redis' },
];

export async function resize(acts: Acts): Promise<void> {
  const { stage, change, untilReady, asked } = acts;
  await change({ sourceConfig: { resourceSpec: { dbStorageGi: 20, dbMaxConnections: 321, dbMemoryMb: 512 } } });
  await untilReady('resize');
  // Smaller again is refused in words, larger is not.
  await change({ sourceConfig: { resourceSpec: { dbStorageGi: 15 } } });
  await until(
    stage,
    'resize: StorageCannotShrink',
    () => hasCondition(stage, 'Stalled', 'StorageCannotShrink') && isRolledOut(stage, asked()),
  );
  await change({ sourceConfig: { resourceSpec: { dbStorageGi: 30 } } });
  await untilReady('resize: larger');
  await resizeInPlace(acts);
  // Back to where the volume was smaller: it stays as large as it is.
  await change({
    sourceConfig: { resourceSpec: null },
    rollbackTo: revisionsIn(stage)[0]?.spec.id,
    revisionSerial: 1,
  });
}

export async function impossible({ stage, change, untilReady, asked }: Acts): Promise<void> {
  // Other connections take another pod, which finds no room: sizes alone are given to the pod that runs.
  const resize = (dbMemoryMb: number, redisMemoryMb: number): Promise<void> =>
    change({
      sourceConfig: {
        resourceSpec: { dbMemoryMb, dbMaxConnections: dbMemoryMb === LARGE_DATABASE_MB ? 101 : 100, redisMemoryMb },
      },
    });
  // The node is large enough for each of the two, and not for both.
  await resize(256, LARGE_REDIS_MB);
  await untilReady('impossible: a large Redis');
  await resize(LARGE_DATABASE_MB, LARGE_REDIS_MB);
  // The service is rolled out, and the revision is not for that: its database has no pod.
  await until(
    stage,
    'impossible: Unschedulable',
    () => hasCondition(stage, 'DatabaseReady', 'Unschedulable', 'False') && isRolledOut(stage, asked()),
  );
  await resize(256, LARGE_REDIS_MB);
  await untilReady('impossible: corrected');
  await change({ sourceConfig: { resourceSpec: null } });
}

export async function external({ stage, change, untilReady }: Acts): Promise<void> {
  await change({ secretReferences: TO_OUTSIDE });
  await untilReady('external');
  await until(stage, 'external: the own ones are gone', () => {
    const own = [`${RECORD}--postgres`, `${RECORD}--redis`];
    // All of them: whoever is killed between two deletions has to come back for the rest before it is wanted again.
    return ['StatefulSet', 'Service', 'NetworkPolicy'].every((kind) =>
      own.every((name) => childIn(stage, kind, name) === undefined),
    );
  });
  await change({ secretReferences: null });
}

/** Other sizes alone, for the database pod that runs. */
async function resizeInPlace({ stage, change, untilReady }: Acts): Promise<void> {
  const pod = (): string | undefined => childIn(stage, 'Pod', `${RECORD}--postgres-0`)?.metadata.uid;
  const before = pod();
  await change({ sourceConfig: { resourceSpec: { dbCpu: 0.3, dbMemoryMb: 640 } } });
  await untilReady('resize: the pod that runs');
  const set = (): Seen | undefined => childIn(stage, 'StatefulSet', `${RECORD}--postgres`);
  await until(
    stage,
    'resize: the same pod, which its StatefulSet would replace again',
    () => pod() === before && set()?.spec.updateStrategy.type === 'RollingUpdate',
  );
}
