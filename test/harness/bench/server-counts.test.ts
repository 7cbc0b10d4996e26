import { expect, it } from 'vitest';
import { requestsIn, since, total } from './server-counts.ts';

function sample(verb: string, resource: string, count: number, more: Readonly<Record<string, string>> = {}): string {
  const labels = {
    code: '200',
    component: 'apiserver',
    dry_run: '',
    group: '',
    resource,
    subresource: '',
    verb,
    ...more,
  };
  const text = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return `apiserver_request_total{${text.join(',')}} ${count}\n`;
}

const before = sample('POST', 'secrets', 2);
const after = [
  '# TYPE apiserver_request_total counter\n',
  sample('POST', 'secrets', 5, { code: '201' }),
  sample('APPLY', 'services', 1.2e3),
  sample('APPLY', 'appdeployments', 7, { subresource: 'status' }),
  sample('POST', 'pods', 3, { dry_run: 'All' }),
  sample('POST', 'pods', 1, { code: '429' }),
  sample('GET', 'services', 4),
  sample('WATCH', 'services', 9),
  sample('PUT', 'leases', 99),
].join('');

it('tells writes from reads and from what was only tried, leases aside', () => {
  const { writes, dryRuns, reads, throttled } = since(requestsIn(before), requestsIn(after));
  expect(Object.fromEntries(writes)).toEqual({
    'POST secrets': 3,
    'APPLY services': 1200,
    'APPLY appdeployments/status': 7,
    'POST pods': 1,
  });
  expect(Object.fromEntries(dryRuns)).toEqual({ 'POST pods': 3 });
  expect(Object.fromEntries(reads)).toEqual({ 'GET services': 4 });
  expect(throttled).toBe(1);
  expect(total(writes)).toBe(1211);
});
