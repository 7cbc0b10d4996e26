// What the leader does for the registry while it does not answer.

import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { careForRegistry } from '../../../src/build/controller.ts';
import { KEY_RING_SECRET } from '../../../src/build/registry/keys.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import { aController } from '../../kit/memory/controller.ts';
import { aServer } from '../../kit/memory/record.ts';

it('creates the keys that the registry mounts within seconds, also when the first attempt fails and no registry answers', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const kube = aServer();
  const { home } = await aController(kube);
  kube.failOn(({ kind }) => (kind === 'Secret' ? new Unavailable('not yet') : undefined));
  const leading = new AbortController();
  // Nobody listens on port 9 of this host.
  const registry = { host: '127.0.0.1:9', insecure: true, tokens: true };
  const images = { builder: 'builder:1', davit: 'davit:1' };
  careForRegistry(
    {
      namespace: 'davit-system',
      settings: Settings.parse({ hosting: 'both', builds: { registry, images } }),
      log: pino({ level: 'silent' }),
      metrics: { showRegistry: () => () => undefined },
      now: () => new Date(),
      elapsed: () => 0,
    },
    home,
    leading.signal,
  );
  const named = (): string[] => kube.objects(SECRETS).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  await vi.advanceTimersByTimeAsync(1000);
  expect(named()).not.toContain(`davit-system/${KEY_RING_SECRET}`);
  kube.failOn(undefined);
  await vi.advanceTimersByTimeAsync(9000);
  expect(named()).toContain(`davit-system/${KEY_RING_SECRET}`);
  leading.abort();
});
