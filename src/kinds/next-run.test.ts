// When schedules run next, against what robfig/cron v3.0.1, the library of Kubernetes, answers.

import { describe, expect, it } from 'vitest';
import { nextRunAt } from './next-run.ts';

/** Schedule, time zone, now, and the next run as the library computes it: a sample of 20,000 of which all others agreed, too. */
const OF_THE_LIBRARY: readonly [string, string, string, string | undefined][] = [
  ['0 3 * * *', 'America/Sao_Paulo', '2026-03-08T05:56:57Z', '2026-03-08T06:00:00Z'],
  ['0 3 * * *', 'Asia/Kolkata', '2026-10-30T07:20:05Z', '2026-10-30T21:30:00Z'],
  ['30 2 * * *', 'America/Sao_Paulo', '2028-05-16T01:52:30Z', '2028-05-16T05:30:00Z'],
  ['30 2 * * *', 'America/Havana', '2027-08-11T01:58:12Z', '2027-08-11T06:30:00Z'],
  ['0 2 29 2 *', 'Asia/Kolkata', '2026-10-24T12:18:14Z', '2028-02-28T20:30:00Z'],
  ['0 2 29 2 *', 'Asia/Kolkata', '2027-04-22T03:02:00Z', '2028-02-28T20:30:00Z'],
  ['0 0 31 * *', 'America/New_York', '2027-01-06T17:39:32Z', '2027-01-31T05:00:00Z'],
  ['0 0 31 * *', 'America/Sao_Paulo', '2026-11-01T13:55:29Z', '2026-12-31T03:00:00Z'],
  ['0 0 * * MON', 'America/New_York', '2026-10-02T22:56:32Z', '2026-10-05T04:00:00Z'],
  ['0 0 * * MON', 'Europe/Berlin', '2026-12-04T17:06:22Z', '2026-12-06T23:00:00Z'],
  ['0 0 13 * FRI', 'Asia/Kathmandu', '2027-10-10T04:18:52Z', '2027-10-12T18:15:00Z'],
  ['0 0 13 * FRI', 'Asia/Kathmandu', '2026-03-08T18:34:47Z', '2026-03-12T18:15:00Z'],
  ['*/15 9-17 * jan-mar MON-FRI', 'America/Sao_Paulo', '2027-12-12T13:29:04Z', '2028-01-03T12:00:00Z'],
  ['*/15 9-17 * jan-mar MON-FRI', 'America/New_York', '2026-10-30T13:18:02Z', '2027-01-01T14:00:00Z'],
  ['@yearly', 'Asia/Kathmandu', '2026-10-04T00:41:38Z', '2026-12-31T18:15:00Z'],
  ['@yearly', 'Asia/Kathmandu', '2027-10-15T20:43:46Z', '2027-12-31T18:15:00Z'],
  ['@weekly', 'Asia/Kolkata', '2027-04-11T07:45:03Z', '2027-04-17T18:30:00Z'],
  ['@weekly', 'America/Havana', '2026-03-08T04:56:26Z', '2026-03-15T04:00:00Z'],
  ['@monthly', 'Asia/Kathmandu', '2026-10-14T09:35:29Z', '2026-10-31T18:15:00Z'],
  ['@monthly', 'America/New_York', '2026-10-25T18:44:16Z', '2026-11-01T04:00:00Z'],
  ['@hourly', 'UTC', '2026-04-04T14:18:10Z', '2026-04-04T15:00:00Z'],
  ['@hourly', 'Asia/Kathmandu', '2026-11-01T07:57:42Z', '2026-11-01T08:15:00Z'],
  ['59 23 31 12 *', 'UTC', '2026-03-07T12:12:01Z', '2026-12-31T23:59:00Z'],
  ['59 23 31 12 *', 'Pacific/Apia', '2028-02-07T04:03:13Z', '2028-12-31T10:59:00Z'],
  ['30 1 * * *', 'Europe/Berlin', '2027-11-05T03:28:25Z', '2027-11-06T00:30:00Z'],
  ['30 1 * * *', 'Asia/Kolkata', '2027-03-31T09:24:41Z', '2027-03-31T20:00:00Z'],
  ['*/15,13 15-21 * * 1/6', 'America/Havana', '2026-03-29T00:35:13Z', '2026-03-30T19:00:00Z'],
  ['30 2 * * *', 'America/Havana', '2026-10-25T10:08:32Z', '2026-10-26T06:30:00Z'],
  ['0 0 * * MON', 'America/Havana', '2026-10-25T00:50:36Z', '2026-10-26T04:00:00Z'],
  ['30 1 * * *', 'Europe/Berlin', '2026-03-29T02:09:37Z', '2026-03-29T23:30:00Z'],
  ['* * 22/2 ? 6-6', 'America/New_York', '2026-10-25T01:50:57Z', '2026-10-25T01:51:00Z'],
  ['@midnight', 'Europe/Berlin', '2026-03-08T05:25:40Z', '2026-03-08T23:00:00Z'],
  ['@midnight', 'America/New_York', '2026-03-29T20:50:36Z', '2026-03-30T04:00:00Z'],
  ['* 9-23/4 * ? *', 'Europe/Berlin', '2026-03-29T10:10:06Z', '2026-03-29T11:00:00Z'],
  ['* 0-4/5 * 3 4-4', 'Europe/Berlin', '2026-03-08T09:23:21Z', '2026-03-11T23:00:00Z'],
  ['? 7 3-4/4 * 1', 'Europe/Berlin', '2026-10-24T17:15:34Z', '2026-10-26T06:00:00Z'],
  ['@midnight', 'America/New_York', '2026-03-29T00:30:25Z', '2026-03-29T04:00:00Z'],
  ['37-45/5,*/7 */7 * * 2', 'America/New_York', '2026-03-08T01:42:34Z', '2026-03-10T04:00:00Z'],
  ['? * 15,*/8 * 1/8', 'Europe/Berlin', '2026-11-01T19:03:48Z', '2026-11-01T19:04:00Z'],
  ['@monthly', 'America/Havana', '2026-10-24T07:41:58Z', '2026-11-01T04:00:00Z'],
  ['15 0 * * *', 'America/New_York', '2026-03-08T21:52:04Z', '2026-03-09T04:15:00Z'],
  ['*/9 * 26-28/1 * ?', 'America/Havana', '2026-10-24T00:50:15Z', '2026-10-26T04:00:00Z'],
  ['* */9,15-21 10-13 7 0-2/3', 'America/Sao_Paulo', '2026-04-24T19:28:22Z', '2026-07-05T03:00:00Z'],
  ['3,1 19 26-26/1 11-12/4 4-5/1', 'America/Havana', '2026-10-04T10:53:09Z', '2026-11-06T00:01:00Z'],
  ['* 11-16 * ? 1,2', 'Asia/Kolkata', '2026-05-13T09:37:34Z', '2026-05-18T05:30:00Z'],
  ['10-31 13-23/2 * 7/6 *', 'Asia/Kathmandu', '2027-03-17T17:22:19Z', '2027-07-01T07:25:00Z'],
  ['24 22 17/6 4 6,6', 'Asia/Kathmandu', '2026-04-24T05:44:27Z', '2026-04-25T16:39:00Z'],
  ['* 16/9 14 8-10 *', 'America/New_York', '2026-03-28T13:23:45Z', '2026-08-14T20:00:00Z'],
  ['*/18,*/20 */12,17 ? ? 5/7', 'America/Sao_Paulo', '2026-06-25T06:56:47Z', '2026-06-26T03:00:00Z'],
  ['* 4/6 * 6/6 2,0', 'Asia/Kolkata', '2026-10-24T20:33:44Z', '2026-11-30T22:30:00Z'],
  ['39-45 13 * 11,8-8 3-5/3', 'America/New_York', '2028-05-28T17:50:47Z', '2028-08-02T17:39:00Z'],
  ['? 15 27/9,11 * 5/4', 'America/New_York', '2026-11-05T22:45:35Z', '2026-11-06T20:00:00Z'],
  ['15/3 * ? * ?', 'Europe/Berlin', '2026-10-30T15:47:26Z', '2026-10-30T15:48:00Z'],
  ['40 ? 30-31/3,27/4 9 *', 'Pacific/Apia', '2026-11-01T04:59:04Z', '2027-09-26T11:40:00Z'],
  ['*/15 9-17 * jan-mar MON-FRI', 'UTC', '2026-10-25T21:03:07Z', '2027-01-01T09:00:00Z'],
  ['4 10-10,12 12-12/3 */19 0-5,2-3/2', 'America/New_York', '2026-03-08T04:35:50Z', '2027-01-01T15:04:00Z'],
  ['17 */17 31-31 2 *', 'Asia/Beirut', '2026-04-24T15:37:35Z', undefined],
  ['*/11 * 31-31 4 ?', 'America/New_York', '2028-03-11T16:27:01Z', undefined],
];

const next = (schedule: string, timeZone: string | undefined, after: string): string | undefined => {
  const at = nextRunAt(schedule, timeZone, Date.parse(after));
  return at === undefined ? undefined : new Date(at).toISOString().replace('.000', '');
};

describe('the next run', () => {
  it.each(OF_THE_LIBRARY)('of %s in %s after %s is %s', (schedule, timeZone, after, expected) => {
    expect(next(schedule, timeZone, after)).toBe(expected);
  });

  it.each<[string, string, string | undefined, string, string | undefined]>([
    ['is after now, never now', '0 3 * * *', undefined, '2026-07-01T03:00:00Z', '2026-07-02T03:00:00Z'],
    ['without a zone is that of UTC', '0 3 * * *', undefined, '2026-07-01T00:00:00Z', '2026-07-01T03:00:00Z'],
    [
      'is at no time that the clocks skip',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00:00Z',
      '2026-03-30T00:30:00Z',
    ],
    [
      'comes twice where the clocks go back',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-25T00:30:00Z',
      '2026-10-25T01:30:00Z',
    ],
    ['is a day that either field names', '0 0 13 * FRI', undefined, '2026-07-01T00:00:00Z', '2026-07-03T00:00:00Z'],
    [
      'is a day that both name where one is any',
      '0 0 * * FRI',
      undefined,
      '2026-07-04T00:00:00Z',
      '2026-07-10T00:00:00Z',
    ],
    ['of @every counts from a run that is not known', '@every 2h', undefined, '2026-07-01T00:00:00Z', undefined],
    ['of a zone that is not known', '0 3 * * *', 'Mars/Phobos', '2026-07-01T00:00:00Z', undefined],
    ['of a range that runs backwards', '0 5-1 * * *', undefined, '2026-07-01T00:00:00Z', undefined],
    ['of a day that no month has', '0 0 30 2 *', undefined, '2026-07-01T00:00:00Z', undefined],
    ['of no schedule', 'tomorrow', undefined, '2026-07-01T00:00:00Z', undefined],
  ])('%s', (_what, schedule, timeZone, after, expected) => {
    expect(next(schedule, timeZone, after)).toBe(expected);
  });
});
