// Memory of 20 small databases: on a server each, as driver pod has them, and on one. PSS is added up over all processes of a server, which
// counts a page that several of them share once.

import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { type LocalPostgres, startLocalPostgres } from '../../support/local-postgres.ts';
import { bring, connect, makeServerWorld, tenantOf, wantedOf } from './world.ts';

const DEPLOYMENTS = 20;
/** Of each deployment, open and idle after some work. */
const CONNECTIONS = 2;
/** Hours: only a program that hangs reaches it. */
const LONG = 7_200_000;
/** As Davit starts the pod of a small deployment. */
const OWN = ['max_connections=100'];
const WORK = `create table items (id serial primary key, body text);
insert into items (body) select repeat('x', 200) from generate_series(1, 2000); select count(*) from items where body like 'x%';`;

function processesOf(parent: number): number[] {
  const children = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(parent);
      } catch {
        return false;
      }
    })
    .map(Number);
  return [parent, ...children];
}

/** In MiB. */
function memoryOf({ pid }: LocalPostgres): { readonly pss: number; readonly processes: number } {
  const processes = processesOf(pid);
  const kilobytes = processes.map((one) => {
    const found = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, 'utf8'));
    return Number(found?.[1] ?? 0);
  });
  return { pss: kilobytes.reduce((sum, one) => sum + one, 0) / 1024, processes: processes.length };
}

const found = await makeServerWorld(['max_connections=100']);
const skipped = found ? '' : ' (skipped: PostgreSQL is not installed)';

describe.skipIf(!found)(`20 small databases${skipped}`, () => {
  it(
    'need less memory on a shared server',
    async () => {
      if (!found) return;
      const clients: pg.Client[] = [];
      for (let number = 1; number <= DEPLOYMENTS; number += 1) {
        const tenant = tenantOf(number);
        expect(await bring(found.server, tenant, wantedOf(tenant, 4))).toMatchObject({ next: { is: 'done' } });
        for (let one = 0; one < CONNECTIONS; one += 1) clients.push(await connect(found, tenant));
        await clients.at(-1)?.query(WORK);
      }
      const shared = memoryOf(found.local);
      await Promise.all(clients.map((client) => client.end()));
      await found.stop();

      const servers: LocalPostgres[] = [];
      const owners: pg.Client[] = [];
      const { default: postgres } = await import('pg');
      for (let number = 1; number <= DEPLOYMENTS; number += 1) {
        const server = await startLocalPostgres({ settings: OWN });
        if (!server) throw new Error('PostgreSQL is not installed');
        servers.push(server);
        for (let one = 0; one < CONNECTIONS; one += 1) {
          const client = new postgres.Client({ host: server.env['PGHOST'], user: 'postgres', database: 'postgres' });
          await client.connect();
          owners.push(client);
        }
        await owners.at(-1)?.query(WORK);
      }
      const each = servers.map(memoryOf);
      await Promise.all(owners.map((client) => client.end()));
      await Promise.all(servers.map((server) => server.stop()));
      const own = each.reduce((sum, { pss }) => sum + pss, 0);
      const processes = each.reduce((sum, one) => sum + one.processes, 0);
      process.stderr.write(
        `  ${DEPLOYMENTS} deployments with ${CONNECTIONS} connections each: shared ${Math.round(shared.pss)} MiB in ${shared.processes} processes, own ${Math.round(own)} MiB in ${processes} processes\n`,
      );
      expect(shared.processes).toBeGreaterThan(DEPLOYMENTS * CONNECTIONS);
      expect(shared.pss).toBeLessThan(own);
    },
    LONG,
  );
});
