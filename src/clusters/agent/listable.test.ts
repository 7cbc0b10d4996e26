import { expect, it } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { makeFakeKube } from '../../../test/support/fake-kube/fake-kube.ts';
import { Forbidden, Unavailable } from '../../runtime/errors.ts';
import { withListable } from './listable.ts';

it('works with the namespaces that can be listed, and begins again only when others can', async () => {
  const local = makeFakeKube();
  const clock = makeFakeClock();
  const stopping = new AbortController();
  const began: string[] = [];
  let running = 0;
  const fail = (error: (namespace: string | undefined) => Error | undefined): void =>
    local.failOn(({ ref }) => error(ref.namespace));
  fail((namespace) => (namespace === 'tools' ? new Forbidden('no Role') : undefined));
  const options = { local, served: ['shops', 'tools'], clock, signal: stopping.signal };
  const done = withListable(options, async (listable, signal) => {
    began.push(listable.join());
    running += 1;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    running -= 1;
  });
  await clock.advance(600_000);
  expect(began).toEqual(['shops']);
  // No word on the namespaces.
  fail(() => new Unavailable('down'));
  await clock.advance(600_000);
  expect(began).toEqual(['shops']);
  fail(() => undefined);
  await clock.advance(60_000);
  expect(began).toEqual(['shops', 'shops,tools']);
  fail((namespace) => (namespace === 'shops' ? new Forbidden('no Role') : undefined));
  await clock.advance(60_000);
  // If none can be listed, the caches report why.
  fail(() => new Forbidden('no Role'));
  await clock.advance(60_000);
  expect([began.slice(2), running]).toEqual([['tools', 'shops,tools'], 1]);
  stopping.abort();
  await done;
  expect([running, clock.pending]).toEqual([0, 0]);
});
