import { describe, expect, it } from 'vitest';
import { AlreadyExists, Conflict, Forbidden, Gone, Invalid, NotFound, Unauthorized, Unavailable } from '../errors.ts';
import { errorFromAnswer, errorFromStatus, retryAfterMs } from './errors.ts';

function status(code: number, reason: string, more: object = {}): { code: number; body: string } {
  return { code, body: JSON.stringify({ kind: 'Status', message: 'said the server', reason, code, ...more }) };
}

describe('errors of the API server', () => {
  it.each([
    { answer: status(401, 'Unauthorized'), want: Unauthorized },
    { answer: status(403, 'Forbidden'), want: Forbidden },
    { answer: status(404, 'NotFound'), want: NotFound },
    { answer: status(409, 'AlreadyExists'), want: AlreadyExists },
    { answer: status(409, 'Conflict'), want: Conflict },
    { answer: status(410, 'Expired'), want: Gone },
    { answer: status(410, 'Gone'), want: Gone },
    { answer: status(400, 'BadRequest'), want: Invalid },
    { answer: status(422, 'Invalid'), want: Invalid },
    { answer: status(413, 'RequestEntityTooLarge'), want: Invalid },
    { answer: status(429, 'TooManyRequests'), want: Unavailable },
    { answer: status(500, 'InternalError'), want: Unavailable },
    { answer: status(504, 'Timeout'), want: Unavailable },
  ])('$answer.code $want.name', ({ answer, want }) => {
    const error = errorFromAnswer('create appdeployments t1/x', answer);
    expect(error).toBeInstanceOf(want);
    expect(error.name).toBe(want.name);
    expect(error.message).toBe('create appdeployments t1/x: said the server');
    expect(error.serverMessage).toBe('said the server');
  });

  it('takes an apply that no schema fits for what it is, though the server calls it a failure of its own', () => {
    const message =
      'failed to create typed patch object (t1/x; apps/v1, Kind=Deployment): .spec.template.spec.volumes: duplicate entries for key [name="a"]';
    const error = errorFromAnswer('x', { code: 500, body: JSON.stringify({ kind: 'Status', message, code: 500 }) });
    expect(error).toBeInstanceOf(Invalid);
    expect(error.serverMessage).toBe(message);
  });

  it('keeps the causes of Invalid', () => {
    const causes = [{ reason: 'FieldValueInvalid', message: 'too big', field: 'spec.replicas' }];
    const error = errorFromAnswer('x', status(422, 'Invalid', { details: { causes } }));
    expect((error as Invalid).causes).toEqual(causes);
  });

  it("takes another incarnation's uid for the precondition that it is", () => {
    const causes = [{ reason: 'FieldValueInvalid', message: 'field is immutable', field: 'metadata.uid' }];
    expect(errorFromAnswer('x', status(422, 'Invalid', { details: { causes } }))).toBeInstanceOf(Conflict);
  });

  it.each([
    { name: 'the header first', retryAfter: '2', details: { retryAfterSeconds: 9 }, want: 2000 },
    { name: 'the details', retryAfter: undefined, details: { retryAfterSeconds: 9 }, want: 9000 },
    { name: 'nothing', retryAfter: undefined, details: {}, want: undefined },
  ])('takes Retry-After from $name', ({ retryAfter, details, want }) => {
    const error = errorFromAnswer('x', { ...status(429, 'TooManyRequests', { details }), retryAfter });
    expect((error as Unavailable).retryAfterMs).toBe(want);
  });

  it.each(['<html>Bad gateway</html>', '', '{"kind":"Other"}', '[1]', 'null'])('reads a foreign body %j', (body) => {
    expect(errorFromAnswer('x', { code: 502, body })).toBeInstanceOf(Unavailable);
  });

  it.each([{ value: undefined }, { value: 'nonsense' }, { value: {} }])(
    'reads a watch error of $value',
    ({ value }) => {
      expect(errorFromStatus('x', value)).toBeInstanceOf(Unavailable);
    },
  );

  it('reads a date', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    expect(retryAfterMs('Thu, 01 Jan 2026 00:00:03 GMT', now)).toBe(3000);
    expect(retryAfterMs('later', now)).toBeUndefined();
  });
});
