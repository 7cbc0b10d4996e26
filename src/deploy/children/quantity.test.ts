import { expect, it } from 'vitest';
import { cpuQuantity, memoryQuantity, storageQuantity } from './quantity.ts';

it.each([
  { made: cpuQuantity(1), want: '1' },
  { made: cpuQuantity(0.25), want: '250m' },
  { made: cpuQuantity(1.5), want: '1500m' },
  { made: cpuQuantity(0.1 + 0.2), want: '300m' },
  { made: memoryQuantity(512), want: '512Mi' },
  { made: memoryQuantity(1536), want: '1536Mi' },
  { made: memoryQuantity(2048), want: '2Gi' },
  { made: memoryQuantity(1024 * 1024), want: '1Ti' },
  { made: storageQuantity(10), want: '10Gi' },
  { made: storageQuantity(2048), want: '2Ti' },
])('writes $want as the API server does', ({ made, want }) => {
  expect(made).toBe(want);
});
