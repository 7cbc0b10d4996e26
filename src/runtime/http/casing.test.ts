import { expect, test } from 'vitest';
import { z } from 'zod';
import { apiSchemas } from './api-schemas.ts';
import { asInPods, fromSnake, isMergedAt, merged, requestPath, sentText, toSnake, whole } from './casing.ts';

const Part = z.object({ maxScale: z.number().optional(), hook: asInPods(z.object({ runAs: z.number() })).optional() });
const Kind = z.object({
  part: Part.describe('One.').optional(),
  parts: z.record(z.string(), Part).optional(),
  envNames: z.record(z.string(), z.string()).optional(),
  lastRuns: z.array(z.object({ jobName: z.string(), exitCode: z.number().optional() })).optional(),
  loadFrom: whole(z.object({ otherName: z.string(), atTime: z.string().optional() })).optional(),
});
const RECORD = {
  part: { maxScale: 1, hook: { runAs: 2 } },
  parts: { aB: { maxScale: 3 } },
  envNames: { fooBar: 'x' },
  lastRuns: [{ jobName: 'j' }],
  loadFrom: { otherName: 'o', atTime: 't' },
};
const ANSWER = {
  part: { max_scale: 1, hook: { runAs: 2 } },
  parts: { aB: { max_scale: 3, hook: null } },
  env_names: { fooBar: 'x' },
  last_runs: [{ job_name: 'j', exit_code: null }],
  load_from: { other_name: 'o', at_time: 't' },
};

test('an answer has every field at every depth, and keys of maps and names of pod parts as they are', () => {
  expect(toSnake(Kind, RECORD)).toEqual(ANSWER);
  expect(fromSnake(Kind, ANSWER)).toEqual(RECORD);
  expect(apiSchemas(new Map(), new Map()).response(Kind).parse(ANSWER)).toEqual(ANSWER);
});

test('a request may leave out what a PATCH merges, and nothing that an element of a list or a whole object requires', () => {
  const { payload } = apiSchemas(new Map(), new Map());
  const wrong = { part: { hook: {} }, last_runs: [{}], load_from: { at_time: null }, parts: { aB: null } };
  const found = payload(Kind)
    .safeParse(wrong)
    .error?.issues.map(({ path }) => path.join('.'));
  expect(found).toEqual(['part.hook.runAs', 'last_runs.0.job_name', 'load_from.other_name']);
});

test.each([
  ['a field of an object', { part: { max_scale: 5 } }, { ...RECORD, part: { maxScale: 5, hook: { runAs: 2 } } }],
  ['null takes a field back', { part: { max_scale: null } }, { ...RECORD, part: { hook: { runAs: 2 } } }],
  ['null removes an entry', { parts: { aB: null, c: {} } }, { ...RECORD, parts: { c: {} } }],
  [
    'a pod part is replaced',
    { part: { hook: { runAs: 3 } } },
    { ...RECORD, part: { maxScale: 1, hook: { runAs: 3 } } },
  ],
  ['a whole object is replaced', { load_from: { other_name: 'p' } }, { ...RECORD, loadFrom: { otherName: 'p' } }],
  [
    'an empty list or map removes',
    { last_runs: [], env_names: {} },
    { ...RECORD, lastRuns: undefined, envNames: undefined },
  ],
])('merged: %s', (_what, sent, after) => {
  expect(merged(Kind, RECORD, sent)).toEqual(after);
});

test('merged: nothing is left, or an empty object that asks for something', () => {
  expect(merged(Kind, {}, { part: {} })).toBeUndefined();
  expect(merged(Kind, {}, { part: {} }, new Set(['part']))).toEqual({ part: {} });
  expect(merged(Kind, { part: {} }, { part: null }, new Set(['part']))).toBeUndefined();
});

test.each([
  ['part', true],
  ['parts', true],
  ['parts.aB', true],
  ['parts.aB.hook', false],
  ['env_names', false],
  ['last_runs.0', false],
  ['load_from', false],
  ['other', false],
])('null has a meaning in %s: %s', (at, is) => {
  expect(isMergedAt(Kind, at.split('.'))).toBe(is);
});

test.each([
  ['spec.part.maxScale', ['part', 'max_scale']],
  ['spec.parts.aB.maxScale', ['parts', 'aB', 'max_scale']],
  ['spec.part.hook.runAs', ['part', 'hook', 'runAs']],
  ['spec.envNames.fooBar', ['env_names', 'fooBar']],
  ['spec.lastRuns[1].exitCode', ['last_runs', 1, 'exit_code']],
  ['spec.clientId', ['client_id']],
])('the API server names %s', (field, loc) => {
  expect(requestPath(Kind, field)).toEqual(loc);
});

test('the name of an element in a path stays', () => {
  expect(sentText(Kind, 'lastRuns[aB].exitCode')).toBe('last_runs[aB].exit_code');
});
