// Whatever others write into the cluster, what is said of a record is a status that the API server takes.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  anObserved,
  aPod,
  aRecord,
  aRevision,
  aStore,
  assessed,
  aWorkload,
  ownLabels,
} from '../../../test/support/builders.ts';
import { AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import { AppRevisionStatus } from '../../kinds/app-revision.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { latestStatus } from '../revision-status.ts';
import { deletingStatus, statusOf } from '../status.ts';
import { type AddressOutcome, addressOf } from './address.ts';
import type { ActionFailure, Observed } from './observed.ts';

const NOW = new Date('2026-02-02T02:02:02Z');

/** Short and very long, of one character or many, halves of characters among them. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc
    .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }), fc.nat(20_000))
    .map(([part, times]) => part.repeat(times)),
  fc.nat(5000).map((length) => `${'x'.repeat(length)}\uD83D\uDE00\uD83D`),
);

/** One that every string of from outside goes into. */
const world = fc
  .record({
    words: text,
    image: text,
    reason: text,
    names: fc.array(text, { maxLength: 100 }),
    how: fc.constantFrom('waiting', 'terminated', 'pull', 'place', 'volume', 'mount', 'refused', 'refusal', 'route'),
    refusal: fc.constantFrom<ActionFailure['reason']>('ApplyRefused', 'PodsRefused', 'PasswordMissing'),
  })
  .map((given): { observed: Observed; refusals: ActionFailure[] } => {
    const { words, image, reason, names, how } = given;
    const record = aRecord({
      secrets: names.map((name) => ({ name: 'A', secretName: name, secretKey: 'k' })),
      sourceConfig: { customUrl: 'shop.example.com' },
    });
    const latest = aRevision(record);
    const state = {
      waiting: { waiting: { reason: 'CreateContainerConfigError', message: words } },
      pull: { waiting: { reason: 'ImagePullBackOff', message: words } },
      terminated: { terminated: { exitCode: 1, reason, message: words } },
    }[how as 'waiting'];
    const scheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
    const message = how === 'volume' ? `PersistentVolumeClaim ${words}` : words;
    const pod = aPod('server', latest, {
      main: [{ name: 'server', image, ...(state && { state }) }],
      conditions: how === 'place' || how === 'volume' ? [{ ...scheduled, message }] : [],
    });
    const failed = { type: 'ReplicaFailure', status: 'True', message: words };
    const workload = aWorkload('server', latest, { ready: 0, conditions: how === 'refused' ? [failed] : [] });
    const route = {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'shop', namespace: 'team', labels: ownLabels('server') },
      spec: { hostnames: ['shop.example.com'] },
      status: { parents: [{ conditions: [{ type: 'Accepted', status: 'False', reason, message: words }] }] },
    } as KubeObject;
    return {
      observed: anObserved(record, {
        revisions: [latest],
        children: [aStore('postgres'), aStore('redis'), workload, ...(how === 'route' ? [route] : [])],
        pods: [how === 'mount' ? { ...pod, failedMount: words } : pod],
        secretKeys: how === 'refusal' ? {} : Object.fromEntries(names.map((name) => [name, ['k']])),
      }),
      refusals:
        how === 'refusal' ? [{ reason: given.refusal, ref: { kind: 'Deployment', name: 'shop' }, message: words }] : [],
    };
  });

/** As the API server stores it. */
function stored<T>(status: T): T {
  return JSON.parse(Buffer.from(JSON.stringify(status)).toString()) as T;
}

it('every status passes its schema, and is stored as it was sent', () => {
  fc.assert(
    fc.property(world, ({ observed, refusals }) => {
      const latest = observed.revisions[0];
      if (!latest) throw new Error('no revision');
      const address: AddressOutcome = addressOf(observed)
        ? { is: 'held', host: 'shop.example.com' }
        : { is: 'unwanted' };
      const inputs = assessed(observed, latest, { address, refusals });
      const status = statusOf(inputs, NOW);
      const revision = latestStatus(latest, inputs.assessment.workloads, NOW);
      const deleting = deletingStatus(observed, 'it', NOW);
      expect(AppDeploymentStatus.safeParse(status).error).toBeUndefined();
      expect(AppRevisionStatus.safeParse(revision).error).toBeUndefined();
      expect(AppDeploymentStatus.safeParse(deleting).error).toBeUndefined();
      for (const one of [status, revision, deleting]) expect(stored(one)).toEqual(one);
    }),
    { numRuns: 300 },
  );
});

it('of a hundred missing keys the first are named, and how many more there are', () => {
  const secrets = Array.from({ length: 100 }, (_, index) => ({
    name: `V${index}`,
    secretName: 'settings',
    secretKey: `a-key-with-a-name-as-long-as-they-are-in-real-life-${index}`,
  }));
  const observed = anObserved(aRecord({ secrets }), { secretKeys: { settings: [] } });
  const status = statusOf(assessed(observed, aRevision(observed.record)), NOW);
  expect(conditionOf(status.conditions, 'ReferencesResolved')?.message).toMatch(
    /^Missing: key a-key.* in Secret settings, .* … and 80 more\. Create it/,
  );
});
