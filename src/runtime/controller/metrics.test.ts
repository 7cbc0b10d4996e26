import { expect, it } from 'vitest';
import { makeMetrics } from './metrics.ts';

async function values(metrics: ReturnType<typeof makeMetrics>, name: RegExp): Promise<string[]> {
  const text = await metrics.registry.metrics();
  return text.split('\n').filter((line) => name.test(line) && !line.startsWith('#'));
}

it('a process without a certificate has no expiration, which would lie in the past', async () => {
  const metrics = makeMetrics();
  expect(await values(metrics, /certificate/)).toEqual([]);
  metrics.servesUntil(new Date('2027-01-01T00:00:00Z'));
  expect(await values(metrics, /certificate/)).toEqual(['davit_certificate_expiration_timestamp_seconds 1798761600']);
});
