import { pino } from 'pino';
import { expect, it } from 'vitest';
import { Forbidden } from '../../runtime/errors.ts';
import type { KubeClient } from '../../runtime/kube/client.ts';
import { makeKeys } from './keys.ts';

it("a right to the keys that the facade's own account lacks is not answered as the caller's", async () => {
  const kube = { get: () => Promise.reject(new Forbidden('get')) } as unknown as KubeClient;
  const keys = makeKeys({ kube, namespace: 'davit', now: () => new Date(0), log: pino({ level: 'silent' }) });
  await expect(keys()).rejects.toThrow('rights from the chart are missing');
});
