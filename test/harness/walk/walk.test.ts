// A walk through the states of a record over the in-memory API server: after each of thousands of changes the children
// are those of a record that was made so in the first place, addresses among them. What a real API server adds to it:
// test/suites/integration/walk.test.ts.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment, AppDeploymentSpec } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { NAMESPACES, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, putRecord } from '../../kit/memory/record.ts';
import { converge } from '../../suites/reconcile/harness.ts';
import { aSpec } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aChange, type Change, changed, FIELDS, NAMED } from './changes.ts';
import { differencesOf, picture } from './picture.ts';

const STEPS = 50;
/** More for a night: DAVIT_WALKS=100 DAVIT_WALK_SEED=7. */
const WALKS = Number(process.env['DAVIT_WALKS'] ?? 6);
/** A step takes 20 ms of a quiet processor, and many times that of a busy one. */
const LONGEST_MS = 60_000 + STEPS * 6000;

/** All of them give tokens to pods. */
const FOR_AGENTS = { oauth: { hosts: [{ host: 'idp.example' }] }, http: { podUrl: 'https://davit-api.svc' } };
/** All of them have a store of backups. */
const FOR_BACKUPS = {
  backups: {
    default: { enabled: false },
    store: { endpoint: 'https://s3.example', bucket: 'backups' },
    image: 'registry.example/davit:1',
  },
};
const ALL = { ...FOR_AGENTS, ...FOR_BACKUPS };
/** Platforms that the walks go through in turn. */
const PLATFORMS: readonly Settings[] = [
  Settings.parse({ ...ALL, address: { kind: 'ingress', baseDomain: 'apps.example' } }),
  Settings.parse({
    ...ALL,
    address: { kind: 'gateway', gateway: { name: 'public', namespace: 'gateways' }, baseDomain: 'apps.example' },
  }),
  // Only records that ask for an address have one.
  Settings.parse({ ...ALL, address: { kind: 'ingress' } }),
];

function aPlace(): FakeKube {
  const kube = aServer();
  kube.seed(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'team', labels: { 'davit.dev/tenant': 'true' }, annotations: { 'davit.dev/hosts': NAMED.hosts } },
  });
  for (const [name, keys] of Object.entries({ ...NAMED.secrets, 'davit-backup-store': ['accessKeyId'] })) {
    kube.seed(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: 'team' },
      data: Object.fromEntries(keys.map((key) => [key, 'eA=='])),
    } as KubeObject);
  }
  return kube;
}

async function put(controller: MemoryController, spec: AppDeployment['spec']): Promise<void> {
  const { kube } = controller;
  const before = kube.objects<AppDeployment>(APP_DEPLOYMENTS)[0];
  if (before) await kube.replace(APP_DEPLOYMENTS, { ...before, spec }, { fieldManager: 'person' });
  else putRecord(kube, spec, { uid: '11111111-1111-4111-8111-111111111111' });
  await converge(controller);
}

/** What a controller makes of a record that never was another. */
interface Fresh {
  readonly children: ReadonlyMap<string, unknown>;
  /** Whether its revision is the active one, which its tasks follow. A record with a past may have an earlier one. */
  readonly isActive: boolean;
}

const known = new Map<string, Fresh>();
async function freshPicture(spec: AppDeployment['spec'], platform: Settings): Promise<Fresh> {
  const { revisionSerial: _serial, ...said } = spec;
  const text = JSON.stringify([platform.address, said]);
  const seen = known.get(text);
  if (seen) return seen;
  const controller = await aController(aPlace(), platform);
  try {
    await put(controller, spec);
    const fresh = { children: picture(childrenIn(controller)), isActive: isActive(controller) };
    known.set(text, fresh);
    return fresh;
  } finally {
    controller.stop();
  }
}

/** Whether the newest revision is the active one: another is, where it has not migrated, or has not run, at a scale of zero. */
function isActive({ kube }: MemoryController): boolean {
  const [newest] = kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted((a, b) => b.spec.deploymentGeneration - a.spec.deploymentGeneration);
  return newest?.status?.state === 'DEPLOYED';
}

function childrenIn({ kube, caches }: MemoryController): KubeObject[] {
  return [...caches.children.values()].flatMap((cache) => kube.objects(cache.resource));
}

it('the walk changes every field of a spec but those that it says it leaves alone', () => {
  expect(FIELDS.length).toBeGreaterThan(40);
});

const SEED = Number(process.env['DAVIT_WALK_SEED'] ?? 20_260_235);
const CHANGES = fc.sample(aChange(), { numRuns: WALKS * STEPS, seed: SEED });

// Each walk is a test of its own: what it has started is let go at its end.
it.each(Array.from({ length: WALKS }, (_, walk) => walk))(
  'after every change the children are those of a fresh record: walk %i',
  async (walk) => {
    const changes = CHANGES.slice(walk * STEPS, (walk + 1) * STEPS);
    // Not all of the same platform.
    await walkAlong(changes, platformOf(walk), walk % 4 === 3, `seed ${SEED}, walk ${walk}`);
  },
  LONGEST_MS,
);

it('the walks went everywhere', () => {
  for (const kind of [
    'Deployment',
    'HorizontalPodAutoscaler',
    'ScaledObject',
    'Ingress',
    'HTTPRoute',
    'PodDisruptionBudget',
    'CronJob',
  ])
    expect([...kinds], 'a walk that never makes such a thing shows nothing of it').toContain(kind);
  expect(walked).toBe(WALKS * STEPS);
  expect(restores, 'no record with a backup to begin with was changed').toBeGreaterThan(10);
  expect(awakened, 'nothing was scaled to no pods and back').toBeGreaterThan(0);
  process.stdout.write(`  walk: seed ${SEED}, ${walked} steps, ${known.size} states, 0 differences\n`);
});

function platformOf(walk: number): Settings {
  const platform = PLATFORMS[walk % PLATFORMS.length];
  if (!platform) throw new Error('There is no platform to walk on.');
  return platform;
}

let walked = 0;
/** Steps of records that began with a backup, and still name it. */
let restores = 0;
/** How often a record without pods got an autoscaler, or pods of a fixed number. */
let awakened = 0;
const isAsleep = (spec: AppDeployment['spec']): boolean => spec.sourceConfig.resourceSpec?.maxScale === 0;
/** Every kind of child that was compared. */
const kinds = new Set<string>();

async function walkAlong(
  changes: readonly Change[],
  platform: Settings,
  beginsWithBackup: boolean,
  where: string,
): Promise<void> {
  const controller = await aController(aPlace(), platform);
  try {
    let spec = beginsWithBackup ? aSpec({ sourceConfig: { database: { restore: { from: 'old' } } } }) : aSpec();
    for (const [step, change] of changes.entries()) {
      const said = `${where}, step ${step}: ${JSON.stringify(change)}`;
      const wasAsleep = isAsleep(spec);
      spec = changed(spec, change);
      if (wasAsleep && !isAsleep(spec)) awakened += 1;
      expect(AppDeploymentSpec.safeParse(spec).error, said).toBeUndefined();
      await put(controller, spec).catch((error: Error) => {
        throw new Error(`${said}: ${error.message}`, { cause: error });
      });
      const fresh = await freshPicture(spec, platform);
      for (const name of fresh.children.keys()) kinds.add(name.split(' ')[0] ?? '');
      const hasItsTasks = fresh.isActive && isActive(controller);
      const compared = (children: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> =>
        new Map([...children].filter(([name]) => hasItsTasks || !name.startsWith('CronJob ')));
      expect(differencesOf(compared(picture(childrenIn(controller))), compared(fresh.children)), said).toEqual([]);
      walked += 1;
      if (spec.sourceConfig.database?.restore) restores += 1;
    }
  } finally {
    controller.stop();
  }
}
