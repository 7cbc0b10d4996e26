// What a pod uses and may use, summed over its containers.

import { expect, it } from 'vitest';
import { limitsOf, type PodMetrics, usageOf, usageWords } from './pod-usage.ts';

const metrics = (...usages: object[]): PodMetrics =>
  ({ metadata: { name: 'p' }, containers: usages.map((usage) => ({ usage })) }) as unknown as PodMetrics;

it.each([
  ['nanos and Ki, as the metrics server has them', [{ cpu: '12345678n', memory: '50332Ki' }], 0.012, 49],
  [
    'several containers',
    [
      { cpu: '250m', memory: '64Mi' },
      { cpu: '1', memory: '1Gi' },
    ],
    1.25,
    1088,
  ],
  ['no container', [], null, null],
  ['a container without numbers', [{ cpu: '1', memory: '1Mi' }, {}], null, null],
  ['what is no quantity', [{ cpu: 'much', memory: '0' }], null, 0],
] as const)('the usage of %s', (_what, usages, cpu, memoryMb) => {
  expect(usageOf(metrics(...usages))).toEqual({ cpu, memoryMb });
});

it('the limits of a pod count sidecars, and no init container that ends', () => {
  const limited = (cpu: string, memory: string): object => ({ resources: { limits: { cpu, memory } } });
  expect(
    limitsOf({
      containers: [limited('500m', '512Mi')],
      initContainers: [limited('4', '8Gi'), { ...limited('100m', '64Mi'), restartPolicy: 'Always' }],
    }),
  ).toEqual({ cpu: 0.6, memoryMb: 576 });
  expect(
    limitsOf({ containers: [limited('1', '1Gi'), { resources: { limits: { memory: '1Gi' } } }] as object[] }),
  ).toEqual({ cpu: null, memoryMb: 2048 });
  expect(limitsOf(undefined)).toEqual({ cpu: null, memoryMb: null });
});

it('words have what is known', () => {
  const none = { cpu: null, memoryMb: null };
  expect(usageWords({ cpu: 0.012, memoryMb: 48 }, { cpu: 0.5, memoryMb: 512 })).toBe('0.012 of 0.5 CPU, 48 of 512 MB');
  expect(usageWords({ cpu: 0, memoryMb: 48 }, none)).toBe('0 CPU, 48 MB');
  expect(usageWords(none, { cpu: 1, memoryMb: 1 })).toBe('');
});
