// Two records on a shared PostgreSQL server, which is real: made at once, with a password that is lost, a database that is lost, and a
// deletion while the server is away.

import { pause } from '../../../cluster/api-client.ts';
import { FORGOTTEN } from '../database-invariants.ts';
import { Meddled } from '../interference.ts';
import type { Seen } from '../object-history.ts';
import type { SharedRun } from '../shared-world.ts';
import type { Acts } from './acts.ts';
import {
  childIn,
  hasCondition,
  IMAGES,
  NotConverged,
  RECORD,
  record,
  recordIn,
  SECOND,
  type Stage,
  until,
} from './stage.ts';

/** How long a record is left with its complaint: longer than the time between two looks at the server. */
const COMPLAINING_MS = 2500;

export async function shared(acts: Acts): Promise<void> {
  const { stage, api, namespace, paths, change, untilReady } = acts;
  const { server } = stage;
  if (!server) throw new Error('no shared server was started');
  const two = record(namespace, { sourceConfig: { resourceSpec: { dbMaxConnections: 11 } } }, SECOND);
  await Promise.all([
    change({ sourceConfig: { resourceSpec: { dbMaxConnections: 12 } } }),
    api.call('POST', paths.records, two),
  ]);
  await untilReady('shared: other connections');
  await until(stage, 'shared: the second is Ready', () => hasCondition(stage, 'Ready', 'Serving', 'True', SECOND));
  const [own, other] = [databaseOf(stage, RECORD), databaseOf(stage, SECOND)];
  await untilLimit(stage, server, own, '12');
  await server.sql('create table orders as select 42 as id', own);
  const before = await dataIn(server, own);
  await losePassword(acts);
  await loseDatabase(stage, server, own);
  await deleteWhileAway(acts, server, other);
  await change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
  await untilReady('shared: another image');
  const after = await dataIn(server, own);
  if (after !== before) throw new Meddled('I11 data', `database ${own} was ${before}, and is ${after}`);
  const wanted = [`database ${own}`, `role ${own}`];
  const left = await server.left();
  if (left.join() !== wanted.join()) throw new Meddled('I4 no leak', `on the shared server are ${left.join(', ')}`);
}

function databaseOf(stage: Stage, name: string): string {
  const found = recordIn(stage, name)?.status?.sharedDatabase?.name as string | undefined;
  if (found === undefined) throw new NotConverged(`shared: ${name} is Ready, and says no database`);
  return found;
}

/** That no status says it is no reason to ask the server without pause. */
async function untilLimit({ patienceMs }: Stage, { sql }: SharedRun, name: string, limit: string): Promise<void> {
  const end = performance.now() + patienceMs;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one question after the other
    const [found] = await sql(`select rolconnlimit from pg_roles where rolname = '${name}'`);
    if (found === limit) return;
    if (performance.now() > end) throw new NotConverged(`shared: the limit of ${name} is ${found}, not ${limit}`);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await pause(200);
  }
}

/** The very database, what is in it, who may enter it, and the verifier of its password. */
async function dataIn({ sql }: SharedRun, name: string): Promise<string> {
  const [oid] = await sql(
    `select oid || ' ' || pg_get_userbyid(datdba) || ' ' || datallowconn || ' ' || has_database_privilege('public', oid, 'CONNECT')
     from pg_database where datname = '${name}'`,
  );
  const [verifier] = await sql(`select md5(rolpassword) from pg_authid where rolname = '${name}'`);
  const [rows] = await sql('select count(*) from orders', name);
  return `${oid}, ${rows} rows, password ${verifier}`;
}

/** It is complained of, and nobody makes another, until a person brings it back. */
async function losePassword({ stage, api, paths }: Acts): Promise<void> {
  const name = `${RECORD}--postgres`;
  const secret = await api.call<Seen>('GET', `${paths.secrets}/${name}`);
  const annotations = { [FORGOTTEN]: 'yes' };
  await api.call('PATCH', `${paths.secrets}/${name}`, { metadata: { annotations } }, 'application/merge-patch+json');
  await api.call('DELETE', `${paths.secrets}/${name}`);
  await until(stage, 'shared: PasswordMissing', () => says(stage, 'PasswordMissing'));
  await pause(COMPLAINING_MS);
  if (childIn(stage, 'Secret', name)) throw new Meddled('I11 data', `Secret ${name} was made again, and opens nothing`);
  const { labels } = secret.metadata;
  const again = { metadata: { name, labels, annotations }, type: secret.type, data: secret.data, immutable: true };
  await api.call('POST', paths.secrets, again);
  await until(stage, 'shared: with its password', () => hasCondition(stage, 'DatabaseReady', 'Answering'));
}

/** As an administrator may. No empty one may take its place. */
async function loseDatabase(stage: Stage, { sql }: SharedRun, name: string): Promise<void> {
  await sql(`alter database "${name}" rename to "lost_${name}"`);
  await until(stage, 'shared: VolumeMissing', () => says(stage, 'VolumeMissing'));
  await pause(COMPLAINING_MS);
  if ((await sql(`select 1 from pg_database where datname = '${name}'`)).length > 0)
    throw new Meddled('I11 data', `database ${name} was replaced by an empty one`);
  await sql(`alter database "lost_${name}" rename to "${name}"`);
  await until(stage, 'shared: with its database', () => hasCondition(stage, 'DatabaseReady', 'Answering'));
}

async function deleteWhileAway({ stage, api, paths }: Acts, server: SharedRun, name: string): Promise<void> {
  server.turn('down');
  await api.call('DELETE', `${paths.records}/${SECOND}`);
  await until(stage, 'shared: the deletion waits for the server', () =>
    JSON.stringify(recordIn(stage, SECOND)?.status?.conditions ?? []).includes('does not answer'),
  );
  if (!hasCondition(stage, 'Ready', 'Serving') && recordIn(stage)?.status?.state !== 'READY')
    throw new Meddled('I6 honest', 'what serves is not READY while the shared server is away');
  server.turn('well');
  await until(stage, 'shared: the second is gone', () => recordIn(stage, SECOND) === undefined);
  const left = (await server.left()).filter((one) => one.endsWith(name));
  if (left.length > 0) throw new Meddled('I4 no leak', `${left.join(', ')} was left by the deletion`);
}

/** Whatever condition says it. */
function says(stage: Stage, reason: string): boolean {
  const conditions = (recordIn(stage)?.status?.conditions ?? []) as readonly { readonly reason: string }[];
  return conditions.some((one) => one.reason === reason);
}
