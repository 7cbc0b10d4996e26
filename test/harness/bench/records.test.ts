import { expect, it } from 'vitest';
import { AppDeploymentSpec } from '../../../src/kinds/app-deployment.ts';
import { recordsOf, tenantsOf } from './records.ts';

it('makes the same records each time, in order, whatever part of them is asked for', () => {
  expect(recordsOf(30).slice(20)).toEqual(recordsOf(10, 20));
});

it('spreads them over all tenants, each under its own name', () => {
  const records = recordsOf(1000);
  expect(new Set(records.map(({ metadata }) => metadata.namespace))).toEqual(new Set(tenantsOf(1000)));
  expect(new Set(records.map(({ metadata }) => metadata.name)).size).toBe(1000);
});

it('makes records that are valid', () => {
  expect(recordsOf(20).map(({ spec }) => AppDeploymentSpec.safeParse(spec).success)).not.toContain(false);
});
