import { expect, it } from 'vitest';
import type { KubeObject } from '../kube/client.ts';
import { dropManagedFields, slimManagedFields } from './managed-fields.ts';

const field = {
  manager: 'kubectl',
  operation: 'Apply',
  subresource: 'status',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:data': {} },
};
const anObject = (): KubeObject =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', managedFields: [field] } }) as KubeObject;

it('are dropped', () => {
  expect(dropManagedFields(anObject()).metadata).toEqual({ name: 'a' });
});

it('or keep who wrote and when, without what', () => {
  const { fieldsType: _type, fieldsV1: _fields, ...slim } = field;
  expect(slimManagedFields(anObject()).metadata).toEqual({ name: 'a', managedFields: [slim] });
  const bare = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  expect(slimManagedFields(structuredClone(bare))).toEqual(bare);
});
