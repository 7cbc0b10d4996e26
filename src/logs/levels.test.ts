import { expect, it } from 'vitest';
import { levelOf } from './levels.ts';

it.each([
  ['plain', null],
  ['2026 WARN slow', 'WARNING'],
  ['FATAL: password', 'CRITICAL'],
  ['LOG:  ready', 'INFO'],
  ['an errand, and no error in it', null],
  ['3 errors were found', null],
  ['info about this server', null],
  ['error: no such file', 'ERROR'],
  ['Error: connect ECONNREFUSED', 'ERROR'],
  ['INFO:     10.0.0.1:4711 - "GET /ok HTTP/1.1" 200', 'INFO'],
  ['2026-11-27 19:00:00,123 warning slow', 'WARNING'],
  ['2026/11/27 19:00:00 [error] 31#31: *1 open() failed', 'ERROR'],
  ['2026-11-27T19:00:00.1Z [warning  ] slow', 'WARNING'],
  ['[info     ] retried after an ERROR', 'INFO'],
  ['time="2026-11-27T19:00:00Z" level=error msg="INFO is missing"', 'ERROR'],
  ['ts=1 severity="Warn" msg=slow', 'WARNING'],
  ['loglevel=error', null],
  ['{"level":"warn"}', 'WARNING'],
  ['{"severity":"Error"}', 'ERROR'],
  ['{"levelname":"CRITICAL"}', 'CRITICAL'],
  ['{"level":20}', 'DEBUG'],
  ['{"level":60}', 'CRITICAL'],
  ['{"level":{}} ERROR', 'ERROR'],
  ['{"level":"unheard of"}', null],
])('%s is %s', (message, level) => {
  expect(levelOf(message)).toBe(level);
});
