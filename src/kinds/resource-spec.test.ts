import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { NUMBER_FIELDS, numberField, ORDERED_PAIRS, ResourceSpec } from './resource-spec.ts';

function isNumber(field: z.ZodType): boolean {
  return [0, 10, 1000].some((number) => field.safeParse(number).success);
}

describe('what a number of a ResourceSpec means', () => {
  it('is known of every number, and of nothing else', () => {
    const numbers = Object.entries(ResourceSpec.shape).flatMap(([name, field]) => (isNumber(field) ? [name] : []));
    expect(NUMBER_FIELDS.map(({ field }) => field).toSorted()).toEqual(numbers.toSorted());
    expect(numberField('labels')).toBeUndefined();
  });

  it.each([
    { field: 'cpu', want: ['server', 'cpu', 'cpu'] },
    { field: 'queueCpu', want: ['queue', 'cpu', 'cpu'] },
    { field: 'orchestratorMaxScale', want: ['orchestrator', 'maxScale', 'scale'] },
    { field: 'executorMemoryLimitMb', want: ['executor', 'memoryLimitMb', 'memoryMb'] },
    { field: 'redisCpuLimit', want: ['redis', 'cpuLimit', 'cpu'] },
    { field: 'dbStorageGi', want: ['postgres', 'storageGi', 'storageGi'] },
    { field: 'dbMaxConnections', want: ['postgres', 'maxConnections', undefined] },
  ])('$field', ({ field, want }) => {
    const { part, measure, limitedBy } = numberField(field) ?? {};
    expect([part, measure, limitedBy]).toEqual(want);
  });

  it('pairs each request with its limit, and each minimum with its maximum', () => {
    expect(ORDERED_PAIRS).toHaveLength(15);
    expect(ORDERED_PAIRS).toContainEqual(['minScale', 'maxScale']);
    expect(ORDERED_PAIRS).toContainEqual(['dbMemoryMb', 'dbMemoryLimitMb']);
  });
});
