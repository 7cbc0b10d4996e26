// Roles and databases on a real PostgreSQL: who reaches what, what a crash between any two statements leaves, and what people are told.

import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeSharedServer } from '../../../src/deployments/database-server/server.ts';
import { isOfServer, serverTroubleOf } from '../../../src/deployments/database-server/troubles.ts';
import { PostgresFailed } from '../../../src/lib/outbound/postgres.ts';
import {
  ADMIN,
  ADMIN_PASSWORD,
  bring,
  connect,
  drop,
  makeServerWorld,
  rows,
  type ServerWorld,
  SHORT,
  tenantOf,
  wantedOf,
} from './world.ts';

const found = await makeServerWorld(['max_connections=40', 'log_statement=all', 'logging_collector=off']);
const skipped = found ? '' : ' (skipped: PostgreSQL is not installed)';

describe.skipIf(!found)(`a shared server${skipped}`, () => {
  let world: ServerWorld;
  const [a, b] = [tenantOf(1), tenantOf(2)];
  beforeAll(async () => {
    if (!found) return;
    world = found;
    for (const tenant of [a, b]) expect(await bring(world.server, tenant)).toMatchObject({ next: { is: 'done' } });
  });
  afterAll(() => world?.stop());

  async function refusal(work: Promise<unknown>): Promise<string> {
    return work.then(
      () => 'allowed',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  }

  it('makes a role and a database with the password of the Secret, and then nothing', async () => {
    const client = await connect(world, a);
    expect(await rows(client, 'select current_database(), current_user')).toEqual([`${a.name} ${a.name}`]);
    await client.query('create table orders (id int); insert into orders values (4711)');
    await client.query('create extension pgcrypto').catch((error: unknown) => {
      // Not every installation has contrib.
      expect(String(error)).toMatch(/not available|could not open/);
    });
    await client.end();
    expect(await bring(world.server, a)).toMatchObject({ next: { is: 'done' }, steps: [] });
  });

  it('lets no role into the database of another one, nor into its data', async () => {
    expect(await refusal(connect(world, b, a.name))).toMatch(/permission denied for database/);
    const client = await connect(world, b);
    expect(await rows(client, "select tablename from pg_tables where tablename = 'orders'")).toEqual([]);
    expect(await refusal(client.query(`alter database ${a.name} rename to mine`))).toMatch(/must be owner/);
    expect(await refusal(client.query(`drop database ${a.name}`))).toMatch(/must be owner/);
    expect(await refusal(client.query(`alter role ${a.name} password 'mine'`))).toMatch(/permission denied|must have/);
    expect(await refusal(client.query(`set role ${a.name}`))).toMatch(/permission denied/);
    expect(await refusal(client.query(`set role ${ADMIN}`))).toMatch(/permission denied/);
    expect(await refusal(client.query(`grant ${a.name} to ${b.name}`))).toMatch(
      /must have admin option|permission denied/,
    );
    expect(await refusal(client.query('select rolpassword from pg_authid'))).toMatch(/permission denied/);
    expect(await refusal(client.query('create role sneaky'))).toMatch(/permission denied/);
    expect(await refusal(client.query('create database sneaky'))).toMatch(/permission denied/);
    expect(await refusal(client.query(`alter role ${b.name} connection limit 30`))).toMatch(
      /permission denied|must have/,
    );
    expect(await refusal(client.query("copy (select 1) to program 'id'"))).toMatch(
      /superuser|pg_execute_server_program/,
    );
    expect(await refusal(client.query("select pg_read_file('/etc/passwd')"))).toMatch(/permission denied/);
    await client.end();
  });

  it('shows a role nothing of what another one runs', async () => {
    const [one, other] = [await connect(world, a), await connect(world, b)];
    await one.query("select 'a very secret value'");
    const seen = await rows(
      other,
      `select coalesce(query, ''), coalesce(client_addr::text, '') from pg_stat_activity where usename = '${a.name}'`,
    );
    expect(seen.length).toBeGreaterThan(0);
    expect(new Set(seen)).toEqual(new Set(['<insufficient privilege> ']));
    const [pid] = await rows(one, 'select pg_backend_pid()');
    expect(await refusal(other.query(`select pg_terminate_backend(${pid})`))).toMatch(
      /permission denied|must be a member/,
    );
    expect(await refusal(other.query(`select pg_database_size('${a.name}')`))).toMatch(/permission denied/);
    await Promise.all([one.end(), other.end()]);
  });

  it('holds a role to its connections, and leaves the others theirs', async () => {
    const mine = await Promise.all(Array.from({ length: 5 }, () => connect(world, b)));
    expect(await refusal(connect(world, b))).toMatch(/too many connections for role/);
    const other = await connect(world, a);
    await Promise.all([...mine, other].map((client) => client.end()));
  });

  it('gives no more connections away than there are, also to many at once', async () => {
    const many = Array.from({ length: 12 }, (_, index) => tenantOf(100 + index));
    const outcomes = await Promise.all(many.map((tenant) => bring(world.server, tenant)));
    // 40, without 3 of superusers and 10 of the first two.
    expect(outcomes.filter(({ next }) => next.is === 'done')).toHaveLength(5);
    const [full] = outcomes.flatMap(({ next }) => (next.is === 'refused' ? [next.trouble] : []));
    expect(full).toMatchObject({
      reason: 'SharedServerFull',
      message: expect.stringMatching(/2 of 37 are left/) as string,
    });
    const [total] = world.sql(`select sum(rolconnlimit) from pg_roles where rolname like 'davit\\_0%'`);
    expect(Number(total)).toBeLessThanOrEqual(37);
    for (const tenant of many) expect(await drop(world.server, tenant)).toMatchObject({ next: { is: 'done' } });
  });

  it('changes the limit of a role, and only as far as there is room', async () => {
    expect(await bring(world.server, a, wantedOf(a, 20))).toMatchObject({ next: { is: 'done' }, steps: ['limit'] });
    expect(await bring(world.server, a, wantedOf(a, 40))).toMatchObject({
      next: { is: 'kept', connections: 20 },
      steps: [],
    });
    expect(await bring(world.server, a)).toMatchObject({ next: { is: 'done' }, steps: ['limit'] });
  });

  it('goes on wherever it was cut, in making and in dropping', async () => {
    for (let cut = 0; cut <= 5; cut++) {
      const tenant = tenantOf(200 + cut);
      const after = (most: number) => {
        let steps = 0;
        return () => steps++ < most;
      };
      const first = await bring(world.server, tenant, wantedOf(tenant), after(cut));
      expect(first.steps).toHaveLength(Math.min(cut, 4));
      // Nobody else gets in meanwhile.
      expect(await refusal(connect(world, b, tenant.name))).toMatch(
        /permission denied|not currently accepting|does not exist/,
      );
      expect(await bring(world.server, tenant)).toMatchObject({ next: { is: 'done' } });
      const client = await connect(world, tenant);
      await drop(world.server, tenant, after(cut));
      expect(await drop(world.server, tenant)).toMatchObject({ next: { is: 'done' } });
      await client.end().catch(() => undefined);
      expect(world.sql(`select rolname from pg_roles where rolname = '${tenant.name}'`)).toEqual([]);
      expect(world.sql(`select datname from pg_database where datname = '${tenant.name}'`)).toEqual([]);
    }
  });

  it('sets the password of a Secret that was made again before the database was', async () => {
    const tenant = tenantOf(300);
    let steps = 0;
    await bring(world.server, tenant, wantedOf(tenant), () => steps++ < 1);
    const again = { ...tenant, password: 'another one' };
    expect(await bring(world.server, again)).toMatchObject({ next: { is: 'done' } });
    await (await connect(world, again)).end();
    await drop(world.server, tenant);
  });

  it('mends a role and a database that somebody has opened', async () => {
    world.sql(`alter role ${a.name} createrole createdb; grant connect on database ${a.name} to public`);
    expect(await bring(world.server, a)).toMatchObject({
      next: { is: 'done' },
      steps: ['restrict role', 'close to others'],
    });
    expect(await refusal(connect(world, b, a.name))).toMatch(/permission denied/);
  });

  it('takes over nothing that it has not made, and drops nothing of it', async () => {
    const [foreign, unmarked] = [tenantOf(400), tenantOf(401)];
    world.sql(`create role ${foreign.name} login`);
    world.sql(`create database ${unmarked.name}`);
    for (const tenant of [foreign, unmarked]) {
      expect(await bring(world.server, tenant)).toMatchObject({
        next: { is: 'refused', trouble: { reason: 'NameConflict' } },
        steps: [],
      });
      expect(await drop(world.server, tenant)).toMatchObject({ next: { is: 'done' }, steps: [] });
    }
    expect(world.sql(`select rolname from pg_roles where rolname = '${foreign.name}'`)).toHaveLength(1);
    expect(world.sql(`select datname from pg_database where datname = '${unmarked.name}'`)).toHaveLength(1);
  });

  it('drops a role that owns something in the database of the administrator', async () => {
    const tenant = tenantOf(500);
    await bring(world.server, tenant);
    world.sql('grant create on schema public to public');
    const client = await connect(world, tenant, 'postgres');
    await client.query('create table left_behind (id int)');
    await client.end();
    expect(await drop(world.server, tenant)).toMatchObject({ next: { is: 'done' } });
    world.sql('revoke create on schema public from public');
  });

  it('surveys all names of its installation in one question', async () => {
    const { facts, found: names } = await world.server.survey('davit_0000');
    expect(facts).toMatchObject({ isReadOnly: false, mayManage: true, connections: 37 });
    expect(facts.given).toBe(10);
    expect([...names.keys()]).toEqual(expect.arrayContaining([a.name, b.name]));
    expect(names.has(ADMIN)).toBe(false);
  });

  it('works with a superuser as well', async () => {
    world.sql(`create role root_of_all superuser login password 'root-password'`);
    const server = makeSharedServer({ ...world.address, user: 'root_of_all', password: 'root-password' }, SHORT);
    const tenant = tenantOf(600);
    world.sql('select 1');
    expect(await bring(server, tenant)).toMatchObject({ next: { is: 'done' } });
    world.sql(`alter role ${tenant.name} superuser`);
    expect(await bring(server, tenant)).toMatchObject({ next: { is: 'done' }, steps: ['restrict role'] });
    expect(await drop(server, tenant)).toMatchObject({ next: { is: 'done' } });
    await server.close();
  });

  it('says what is wrong, without a password: rotated credentials, no rights, a server that is down, slow, or full', async () => {
    const messages: string[] = [];
    const troubled = async (change: Partial<ServerWorld['address']>, limits = SHORT): Promise<string | undefined> => {
      const server = makeSharedServer({ ...world.address, ...change }, limits);
      const failure: unknown = await bring(server, tenantOf(700)).catch((error: unknown) => error);
      await server.close();
      if (!(failure instanceof PostgresFailed)) return JSON.stringify(failure);
      const trouble = serverTroubleOf(failure);
      messages.push(trouble.message);
      return `${trouble.reason} ${isOfServer(failure.code) ? 'server' : 'record'}`;
    };
    expect(await troubled({ password: 'rotated-away' })).toBe('SharedServerUnusable server');
    expect(await troubled({ user: 'nobody_of_all' })).toBe('SharedServerUnusable server');
    expect(await troubled({ database: 'nowhere' })).toBe('SharedServerUnusable server');
    expect(await troubled({ port: 1 })).toBe('SharedServerUnreachable server');
    expect(await troubled({ host: 'no-such-host.invalid' })).toBe('SharedServerUnreachable server');
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    expect(await troubled({ port }, { ...SHORT, connectMs: 300 })).toBe('SharedServerUnreachable server');
    silent.close();
    world.sql(`alter role ${ADMIN} connection limit 0`);
    expect(await troubled({})).toBe('SharedServerFull server');
    world.sql(`alter role ${ADMIN} connection limit -1 nocreatedb`);
    const tenant = tenantOf(701);
    expect((await bring(world.server, tenant)).next).toMatchObject({
      is: 'refused',
      trouble: { reason: 'SharedServerUnusable' },
    });
    world.sql(`alter role ${ADMIN} createdb`);
    for (const secret of [ADMIN_PASSWORD, 'rotated-away', ADMIN]) expect(messages.join('\n')).not.toContain(secret);
  });

  it('waits for nobody for ever: a lock that somebody holds ends a step', async () => {
    const server = makeSharedServer(world.address, { ...SHORT, statementMs: 500 });
    const holder = world.local.shell;
    const tenant = tenantOf(800);
    await bring(world.server, tenant);
    // Somebody is about to change the same role.
    const client = await connect(world, a);
    await client.end();
    const { default: pg } = await import('pg');
    const locking = new pg.Client({
      host: world.local.env['PGHOST'],
      port: world.address.port,
      user: 'postgres',
      database: 'postgres',
    });
    await locking.connect();
    await locking.query(`begin; alter role ${tenant.name} connection limit 3`);
    const failure: unknown = await bring(server, tenant, wantedOf(tenant, 4)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(PostgresFailed);
    expect(serverTroubleOf(failure as PostgresFailed).reason).toBe('SharedServerUnreachable');
    await locking.query('rollback');
    await locking.end();
    expect(await bring(server, tenant, wantedOf(tenant, 4))).toMatchObject({ next: { is: 'done' } });
    await drop(server, tenant);
    await server.close();
    expect(holder('echo still here')).toBe('still here\n');
  });
});
