// The sample server's pure parts; that it works as a whole is shown by the pods of the end-to-end tests.
import { describe, expect, it } from 'vitest';
import { BadEnvironment, readConfig } from './config.ts';
import { fingerprint, showEnvironment } from './environment.ts';
import { BadRequest, makeRoutes, type Parts, parseExit, parseText, patternOf } from './routes.ts';
import { StoreUnavailable } from './store.ts';
import { work } from './worker.ts';

const env = { POSTGRES_URI: 'postgres://u:p@db/app', REDIS_URI: 'redis://cache' };

describe('readConfig', () => {
  it.each([
    {
      name: 'nothing said',
      reason: 'one pod alone does everything',
      given: {},
      want: { role: 'server', jobs: 10, port: 8000 },
    },
    {
      name: 'queue workers exist',
      reason: 'then the server leaves the queue alone',
      given: { N_JOBS_PER_WORKER: '0' },
      want: { role: 'server', jobs: 0 },
    },
    {
      name: 'queue worker',
      reason: 'it works the queue',
      given: { DAVIT_ROLE: 'queue', N_JOBS_PER_WORKER: '3' },
      want: { role: 'queue', jobs: 3 },
    },
    {
      name: 'executor',
      reason: 'only servers and queue workers work the queue',
      given: { DAVIT_ROLE: 'executor' },
      want: { jobs: 0 },
    },
    {
      name: 'the other name of the database',
      reason: 'both are given to pods',
      given: { POSTGRES_URI: '', DATABASE_URI: 'postgres://other' },
      want: { postgresUri: 'postgres://other' },
    },
  ])('$name: $reason', ({ given, want }) => {
    expect(readConfig({ ...env, ...given }, 'pod-1')).toMatchObject({ pod: 'pod-1', ...want });
  });

  it.each([
    { name: 'an unknown role', given: { DAVIT_ROLE: 'king' } },
    { name: 'a port that is none', given: { PORT: 'http' } },
    { name: 'a negative number of jobs', given: { N_JOBS_PER_WORKER: '-1' } },
    { name: 'no Redis', given: { REDIS_URI: '' } },
    { name: 'no database', given: { POSTGRES_URI: '' } },
  ])('refuses $name', ({ given }) => {
    expect(() => readConfig({ ...env, ...given }, 'pod-1')).toThrow(BadEnvironment);
  });
});

describe('showEnvironment', () => {
  it('shows names and values, and fingerprints in the place of secrets', () => {
    expect(
      showEnvironment({ PORT: '8000', POSTGRES_URI: 'postgres://u:p@db/app', api_key: 'k', MY_TOKEN: '' }),
    ).toEqual({
      MY_TOKEN: fingerprint(''),
      PORT: '8000',
      POSTGRES_URI: fingerprint('postgres://u:p@db/app'),
      api_key: fingerprint('k'),
    });
    expect(fingerprint('k')).toMatch(/^[0-9a-f]{12}$/);
  });
});

describe('bodies', () => {
  it.each(['', 'nonsense', '[]', 'null', '{}', '{"text":""}', '{"text":7}', '{"text":"a\\u0000b"}'])(
    'refuses the text in %j',
    (body) => {
      expect(() => parseText(body)).toThrow(BadRequest);
    },
  );

  it('takes a text', () => {
    expect(parseText('{"text":"grün"}')).toBe('grün');
  });

  it.each(['{"code":256}', '{"code":1.5}', '{"code":"1"}', '{"message":1}'])('refuses the exit %j', (body) => {
    expect(() => parseExit(body)).toThrow(BadRequest);
  });

  it('takes an exit, also without a body', () => {
    expect(parseExit('{"code":7,"message":"why"}')).toEqual({ code: 7, message: 'why' });
    expect(parseExit('')).toEqual({ code: 1, message: '' });
  });
});

describe('routes', () => {
  it('tells a collection from its member', () => {
    expect(patternOf('/items')).toEqual({ pattern: '/items', argument: '' });
    expect(patternOf('/items/7')).toEqual({ pattern: '/items/:', argument: '7' });
    expect(patternOf('/items/7/more')).toEqual({ pattern: '/items/7/more', argument: '' });
  });

  it.each([
    {
      name: 'not ready yet',
      reason: 'a probe must fail until both have answered',
      method: 'GET',
      path: '/ok',
      status: 503,
    },
    { name: 'unknown path', reason: 'not an error of ours', method: 'GET', path: '/toString', status: 404 },
    { name: 'wrong method', reason: 'the path exists', method: 'DELETE', path: '/items', status: 405 },
    { name: 'an inherited name', reason: 'not a method of ours', method: 'constructor', path: '/items', status: 405 },
    { name: 'an id that is none', reason: 'never asked of the database', method: 'GET', path: '/items/x', status: 404 },
    { name: 'bad body', reason: 'the caller must change it', method: 'POST', path: '/items', status: 400 },
    { name: 'database away', reason: 'the caller may try again', method: 'GET', path: '/items', status: 503 },
  ])('$name: $status, $reason', async ({ method, path, status }) => {
    const route = makeRoutes(partsWithoutDatabase());
    expect((await route({ method, path, body: '' })).status).toBe(status);
  });
});

describe('work', () => {
  it('turns a text around in capitals, character by character', () => {
    expect(work('ab😀c')).toBe('C😀BA');
  });
});

function partsWithoutDatabase(): Parts {
  const away = () => Promise.reject(new StoreUnavailable('the database does not answer'));
  return {
    config: readConfig(env, 'pod-1'),
    env,
    store: {
      prepare: away,
      addItem: away,
      listItems: away,
      getItem: away,
      countItems: away,
      addJob: away,
      getJob: away,
      finishJob: away,
      takeStaleJobs: away,
      close: away,
    },
    queue: { connect: away, push: away, pop: away, close: () => undefined },
    isReady: () => false,
    exit: () => undefined,
  };
}
