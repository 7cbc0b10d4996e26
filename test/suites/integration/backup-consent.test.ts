// A backup of another namespace, at each door of a real API server: without the consent of the deployment whose backup it is, nothing is loaded
// and nothing stops, and nobody learns whether there is such a deployment.

import { beforeAll, expect, inject, it } from 'vitest';
import { aManifest, aPayload } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
const BACKUP = '20260701T010000Z-7f9a2a3e';
let lends: Tenant;
let borrows: Tenant;
beforeAll(async () => {
  [lends, borrows] = await Promise.all([davit.tenant('lends'), davit.tenant('borrows')]);
  await davit.kubectl(['apply', '-f', '-'], aManifest({ name: 'shop', namespace: lends.namespace }));
});

const asking = (from: string): object => ({ database: { restore: { from, namespace: lends.namespace } } });

async function says(name: string): Promise<readonly [string, string]> {
  interface Conditions {
    readonly status?: { readonly conditions?: readonly { type: string; reason: string; message: string }[] };
  }
  const { status } = await davit.kubectlJson<Conditions>(['get', 'appd', name, '-n', borrows.namespace]);
  const { reason = '', message = '' } = status?.conditions?.find(({ type }) => type === 'DatabaseRestored') ?? {};
  return [reason, message];
}

const refused = (from: string): string =>
  `A backup of ${from} in namespace ${lends.namespace} cannot be loaded into namespace ${borrows.namespace}: that deployment does not exist, or does not allow it. A person who may get the volumes of namespace ${lends.namespace} can allow it: kubectl annotate appd ${from} -n ${lends.namespace} davit.dev/backups-for=${borrows.namespace}/${borrows.id}`;

function consent(to: string): Promise<string> {
  return davit.kubectl([
    'annotate',
    'appd',
    'shop',
    '-n',
    lends.namespace,
    '--overwrite',
    `davit.dev/backups-for${to}`,
  ]);
}

it('is not loaded into a new deployment, with kubectl and over HTTP, in the same words where there is none', async () => {
  for (const from of ['shop', 'nobody']) {
    const manifest = aManifest(
      { name: `kubectl-${from}`, namespace: borrows.namespace },
      { sourceConfig: asking(from) },
    );
    await davit.kubectl(['apply', '-f', '-'], manifest);
    const made = await davit.call(borrows, 'POST', '/v2/deployments', {
      ...aPayload(`http-${from}`),
      source_config: asking(from),
    });
    expect([made.status, JSON.stringify(made.body)]).toEqual([201, expect.stringContaining('"namespace":"lends"')]);
    for (const door of ['kubectl', 'http'])
      await eventually(async () =>
        expect(await says(`${door}-${from}`)).toEqual(['RestoreNotPossible', refused(from)]),
      );
  }
});

it('is loaded as soon as the deployment consents to this very namespace, and not after it has taken that back', async () => {
  await consent(`=${borrows.namespace}/${lends.id}`);
  await davit.kubectl(
    ['apply', '-f', '-'],
    aManifest({ name: 'later', namespace: borrows.namespace }, { sourceConfig: asking('shop') }),
  );
  await eventually(async () => expect(await says('later')).toEqual(['RestoreNotPossible', refused('shop')]));
  await consent(`=${borrows.namespace}/${borrows.id}`);
  // What it says next is what this platform lacks.
  for (const name of ['later', 'kubectl-shop', 'http-shop'])
    await eventually(async () => expect((await says(name))[0]).toBe('BackupStoreMissing'));
  expect(await says('kubectl-nobody')).toEqual(['RestoreNotPossible', refused('nobody')]);
  await consent('-');
  await eventually(async () => expect(await says('later')).toEqual(['RestoreNotPossible', refused('shop')]));
});

it('is not restored into a deployment, which goes on, with kubectl', async () => {
  const manifest = aManifest({ name: 'runs', namespace: borrows.namespace });
  await davit.kubectl(['apply', '-f', '-'], manifest);
  const operation = {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'DatastoreOperation',
    metadata: { name: 'runs-1', namespace: borrows.namespace },
    spec: {
      deployment: 'runs',
      action: 'Restore',
      restore: { backup: BACKUP, from: 'shop', namespace: lends.namespace },
    },
  };
  await davit.kubectl(['create', '-f', '-'], JSON.stringify(operation));
  await eventually(async () => {
    const { status } = await davit.kubectlJson<{
      readonly status?: { readonly phase?: string; readonly conditions?: readonly { message: string }[] };
    }>(['get', 'dsop', 'runs-1', '-n', borrows.namespace]);
    expect([status?.phase, status?.conditions?.[0]?.message]).toEqual(['Failed', refused('shop')]);
  });
  const withoutFrom = { ...operation, metadata: { ...operation.metadata, name: 'runs-2' } };
  const restore = { backup: BACKUP, namespace: lends.namespace };
  await expect(
    davit.kubectl(['create', '-f', '-'], JSON.stringify({ ...withoutFrom, spec: { ...operation.spec, restore } })),
  ).rejects.toThrow('namespace needs from');
});
