// A record of source internal_template is brought up as soon as, and only if, the catalogue offers what it asks for.

import { expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import { APP_TEMPLATES, type AppTemplate } from '../../../src/kinds/app-template.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { DEPLOYMENTS } from '../../../src/runtime/kube/api-resources.ts';
import { aController, KEY } from '../../kit/memory/controller.ts';
import { aServer, edit, putRecord } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge } from './harness.ts';

function offer(kube: FakeKube, tag: number, namespace = 'davit-org'): void {
  kube.seed<AppTemplate>(APP_TEMPLATES, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppTemplate',
    metadata: { name: `chat-${tag}`, namespace },
    spec: { imageUri: `templates/chat:${tag}` },
  });
}
function policy(kube: FakeKube): { status: string; reason: string; message: string } | undefined {
  const [record] = kube.objects<AppDeployment>(APP_DEPLOYMENTS);
  return record?.status?.conditions?.find(({ type }) => type === 'PolicyAccepted');
}
const chat = (tag: number): Partial<AppDeployment['spec']> => ({
  source: 'internal_template',
  sourceRevisionConfig: { imageUri: `templates/chat:${tag}` },
});

it('a template that is not there is named, wakes the record when it comes, and is not missed when it goes', async () => {
  const kube = aServer();
  // One in a tenant's namespace offers nothing.
  offer(kube, 1, 'team');
  putRecord(kube, chat(1));
  const controller = await aController(kube, { ...defaultSettings(), hosting: 'cloud' });
  await converge(controller);
  expect(policy(kube)).toMatchObject({
    status: 'False',
    reason: 'TemplateNotFound',
    message: expect.stringContaining('No template offers imageUri templates/chat:1') as string,
  });
  expect([...kube.objects(DEPLOYMENTS), ...kube.objects(APP_REVISIONS)]).toEqual([]);

  const woken = controller.wake();
  await woken.take();
  offer(kube, 1);
  expect(await woken.take()).toEqual([KEY]);
  woken.stop();
  await converge(controller);
  expect(policy(kube)).toMatchObject({ status: 'True' });
  expect(kube.objects(DEPLOYMENTS)).toHaveLength(1);

  kube.erase(APP_TEMPLATES, { namespace: 'davit-org', name: 'chat-1' });
  await edit(kube, { spec: { sourceConfig: { resourceSpec: { cpu: 2 } } } });
  await converge(controller);
  expect(policy(kube)).toMatchObject({ status: 'True' });
  expect(kube.objects(APP_REVISIONS)).toHaveLength(2);

  await edit(kube, { spec: chat(2) });
  await converge(controller);
  expect(policy(kube)).toMatchObject({ reason: 'TemplateNotFound' });
  expect(JSON.stringify(kube.objects(DEPLOYMENTS))).toContain('templates/chat:1');
});
