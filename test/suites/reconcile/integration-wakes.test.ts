// Which records a change of a code host integration wakes. Its status is written at each push, by whoever may push.

import { expect, it } from 'vitest';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../../../src/kinds/code-host-integration.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { aController } from '../../kit/memory/controller.ts';
import { aServer, putRecord } from '../../kit/memory/record.ts';

const SETTINGS = Settings.parse({ hosting: 'cloud' });
const ONE = { namespace: SETTINGS.organizationNamespace, name: 'one' };

it('a push wakes none, and a change of an integration those that name it', async () => {
  const kube = aServer();
  for (const name of ['one', 'two']) {
    kube.seed<CodeHostIntegration>(CODE_HOST_INTEGRATIONS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'CodeHostIntegration',
      metadata: { name, namespace: ONE.namespace, generation: 1 },
      spec: { kind: 'gitea', apiUrl: 'https://git.example', credentialsRef: { name }, tenants: ['team'] },
    } as CodeHostIntegration);
    const { uid } = kube
      .objects<CodeHostIntegration>(CODE_HOST_INTEGRATIONS)
      .find(({ metadata }) => metadata.name === name)?.metadata ?? { uid: undefined };
    putRecord(
      kube,
      {
        source: 'codehost',
        // People write it as they like.
        sourceConfig: { integrationId: `${uid}`.toUpperCase(), repoUrl: `https://git.example/team/${name}` },
        sourceRevisionConfig: { repoRef: 'main' },
      },
      { name },
    );
  }
  const { wake } = await aController(kube, SETTINGS);
  const woken = wake();
  expect(await woken.take()).toEqual(['team/one', 'team/two']);

  const pushes = [{ repository: 'team/one', at: '2026-02-02T02:02:02Z' }];
  await kube.mergePatch(
    CODE_HOST_INTEGRATIONS,
    ONE,
    { status: { pushes } },
    { fieldManager: 'davit-webhook', subresource: 'status' },
  );
  expect(await woken.take()).toEqual([]);
  await kube.mergePatch(CODE_HOST_INTEGRATIONS, ONE, { spec: { tenants: [] } }, { fieldManager: 'person' });
  expect(await woken.take()).toEqual(['team/one']);
  const { uid = '' } =
    kube.objects(CODE_HOST_INTEGRATIONS).find(({ metadata }) => metadata.name === 'one')?.metadata ?? {};
  await kube.remove(CODE_HOST_INTEGRATIONS, ONE, { uid });
  expect(await woken.take()).toEqual(['team/one']);
});
