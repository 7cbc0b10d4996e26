// The phase of a deployment over HTTP: the state of its latest revision, in single answers and in lists.

import { expect, it } from 'vitest';
import { aBody, makeFacade } from './facade.ts';

it('is the state of the latest revision, CREATING before the controller made it, and null without an image', async () => {
  const facade = await makeFacade({ hosting: 'both' });
  const { body } = await facade.call('POST', '/v2/deployments', aBody());
  const path = `/v2/deployments/${body.id}`;
  const phases = async (): Promise<unknown[]> => {
    const [one, list] = await Promise.all([facade.call('GET', path), facade.call('GET', '/v2/deployments')]);
    return [one.body.phase, ...list.body.resources.map(({ phase }: { phase: unknown }) => phase)];
  };
  expect(body.phase).toBe('CREATING');
  expect(await phases()).toEqual(['CREATING', 'CREATING']);
  facade.snapshot({ state: 'DEPLOYED' });
  expect(await phases()).toEqual(['DEPLOYED', 'DEPLOYED']);
  const patched = await facade.call('PATCH', path, { source_revision_config: { image_uri: 'registry.example/app:2' } });
  expect(patched.body.phase).toBe('CREATING');
  facade.snapshot({ state: 'DEPLOYING' });
  expect(await phases()).toEqual(['DEPLOYING', 'DEPLOYING']);
  const empty = aBody({ name: 'empty', source: 'internal_source', source_revision_config: {} });
  expect((await facade.call('POST', '/v2/deployments', empty)).body.phase).toBeNull();
});
