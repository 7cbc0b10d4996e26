import { afterEach, describe, expect, it } from 'vitest';
import { type HealthServer, startHealthServer } from './health.ts';
import { makeMetrics } from './metrics.ts';

let server: HealthServer | undefined;
afterEach(() => server?.close());

describe('health server', () => {
  it.each([
    { path: '/livez', want: 200 },
    { path: '/readyz', want: 503 },
    { path: '/metrics', want: 200 },
    { path: '/other', want: 404 },
  ])('$path answers $want', async ({ path, want }) => {
    const metrics = makeMetrics();
    server = await startHealthServer({
      host: '127.0.0.1',
      port: 0,
      ready: {
        cache: () => 'not synced',
        api: () => Promise.reject(new Error('down')),
        well: () => undefined,
        hangs: () => new Promise(() => {}),
      },
      metrics: () => metrics.registry.metrics(),
    });
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    const text = await response.text();
    expect(response.status).toBe(want);
    if (path === '/readyz') {
      expect(text).toBe('[-] cache: not synced\n[-] api: down\n[+] well\n[-] hangs: no answer in 900 ms\nfailed\n');
    }
  });
});
