// A record of source codehost, made with kubectl: its integration must list the tenant, its repository be of that host.

import { expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../../../src/kinds/code-host-integration.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { aController, KEY } from '../../kit/memory/controller.ts';
import { aServer, putRecord } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge } from './harness.ts';

const UID = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';

function integrate(kube: FakeKube, tenants: string[], namespace = 'davit-org'): void {
  kube.seed<CodeHostIntegration>(CODE_HOST_INTEGRATIONS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata: { name: 'git', namespace, uid: UID },
    spec: { kind: 'gitea', apiUrl: 'https://git.example/api/v1', credentialsRef: { name: 'git' }, tenants },
  });
}
function repository(repoUrl: string, repoRef = 'main'): Partial<AppDeployment['spec']> {
  return {
    source: 'codehost',
    sourceConfig: { integrationId: UID, repoUrl },
    sourceRevisionConfig: { repoRef, workflowConfigPath: 'davit.json' },
  };
}
function said(kube: FakeKube): (string | undefined)[] {
  const [record] = kube.objects<AppDeployment>(APP_DEPLOYMENTS);
  const policy = record?.status?.conditions?.find(({ type }) => type === 'PolicyAccepted');
  return [record?.status?.state, policy?.reason];
}
const revisions = (kube: FakeKube): number => kube.objects(APP_REVISIONS).length;
const settings = { ...defaultSettings(), hosting: 'cloud' } as const;

it("is told of an integration that is not there or not the tenant's, is woken by it, and keeps what was made of it", async () => {
  const kube = aServer();
  // One in a tenant's namespace is none.
  integrate(kube, ['team'], 'team');
  putRecord(kube, repository('https://git.example/team/shop'));
  const controller = await aController(kube, settings);
  await converge(controller);
  expect([said(kube), revisions(kube)]).toEqual([['UNKNOWN', 'IntegrationNotFound'], 0]);
  kube.erase(CODE_HOST_INTEGRATIONS, { namespace: 'team', name: 'git' });
  integrate(kube, ['another-team']);
  await converge(controller);
  expect(said(kube)).toEqual(['UNKNOWN', 'IntegrationNotFound']);

  const woken = controller.wake();
  await woken.take();
  integrate(kube, ['team']);
  expect(await woken.take()).toEqual([KEY]);
  woken.stop();
  await converge(controller);
  expect([said(kube)[1], revisions(kube)]).toEqual(['Accepted', 1]);

  integrate(kube, []);
  await converge(controller);
  expect([said(kube)[1], revisions(kube)]).toEqual(['Accepted', 1]);
  const ref = { namespace: 'team', name: 'shop' };
  await kube.mergePatch(APP_DEPLOYMENTS, ref, { spec: repository('https://git.example/team/shop', 'next') });
  await converge(controller);
  expect([said(kube)[1], revisions(kube)]).toEqual(['IntegrationNotFound', 1]);
});

it('is told of a repository of another host', async () => {
  const kube = aServer();
  integrate(kube, ['team']);
  putRecord(kube, repository('https://evil.example/team/shop'));
  const controller = await aController(kube, settings);
  await converge(controller);
  expect([said(kube), revisions(kube)]).toEqual([['UNKNOWN', 'IntegrationNotFound'], 0]);
});
