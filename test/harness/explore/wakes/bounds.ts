// The bounds of worlds that are driven by wakes: those of the explorer, and some in which more happens at once.

import { APP_DEPLOYMENTS } from '../../../../src/kinds/app-deployment.ts';
import type { Bound } from '../bound.ts';
import { ADMISSION, BOUNDS, begin, beginBuilds, CLEAN, PLAIN, refuse, WITH_BUILDS } from '../bounds.ts';
import { BUILD_EVENTS, credentialsBack, credentialsGone, interrupt, push } from '../build-events.ts';
import { CLUSTER_EVENTS } from '../cluster-events.ts';
import type { Event } from '../event.ts';
import * as happens from '../listener-events.ts';
import { SHOPS, TEAM } from '../listener-world.ts';
import * as people from '../people-events.ts';

const { DELETIONS } = people;
const COMMON = { people: 7, troubles: 7, refuse, admission: ADMISSION } as const;
const named = (name: string): Bound => BOUNDS.find((one) => one.name === name) as Bound;

const WHOLE: Bound = {
  name: 'whole',
  about:
    'One record with all parts: sidecars, workers, a singleton, autoscalers, tasks, values; refusals, crashes, pauses.',
  settings: PLAIN,
  namespaces: ['team'],
  begin(scene) {
    for (const name of ['external', 'values', 'proxy']) people.putSecret(scene, 'team', name, 'uri');
    begin({
      sourceConfig: {
        resourceSpec: {
          minScale: 3,
          maxScale: 5,
          queueMinScale: 1,
          queueMaxScale: 1,
          sidecars: [
            {
              name: 'proxy',
              image: 'registry.example/proxy:1',
              env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'proxy', key: 'uri' } } }],
            },
          ],
        } as never,
        runtime: { workers: { mailer: { command: ['mail'] }, clock: { command: ['tick'], singleton: true } } },
        tasks: [CLEAN],
      },
      secrets: [{ name: 'KEY', secretName: 'values', secretKey: 'uri' }],
    })(scene);
  },
  events: [
    ...CLUSTER_EVENTS,
    people.image('2'),
    people.image('bad'),
    people.image('crash'),
    people.rollback,
    people.newRevision,
    people.sizes('a scale of 2', { minScale: 2, maxScale: 2 }),
    people.sizes('a scale of 3 to 5', { minScale: 3, maxScale: 5 }),
    people.sizes('a scale of 0', { minScale: 0, maxScale: 0 }),
    people.sizes('no queue', { queueMinScale: 0, queueMaxScale: 0 }),
    people.sizes('more memory of Redis', { redisMemoryMb: 512 }),
    people.worker('two mailers', 'mailer', { minScale: 2, maxScale: 2 }),
    people.worker('no mailer', 'mailer', null),
    people.specChange('an on-demand task', ({ sourceConfig: { tasks } }) =>
      tasks?.[0]?.schedule === undefined
        ? undefined
        : { sourceConfig: { tasks: [{ name: 'clean', command: ['clean'] }] } },
    ),
    people.externalDatabase,
    people.ownDatabase,
    people.otherValue('values', 'uri'),
    people.otherValue('proxy', 'uri'),
    people.newSecret('values', 'uri'),
    people.newSecret('proxy', 'uri'),
    people.pause,
    people.resume,
    people.tenantLabel(undefined),
    people.tenantLabel('true'),
    people.scaleByHand,
    people.webhookRefuses,
    people.webhookRefusesEachTime,
    people.webhookGone,
    people.quotaFull,
    people.quotaFreed,
    people.rightTaken('write Services'),
    people.rightsBack,
    people.deleteRecord,
    DELETIONS.ownSecret,
    DELETIONS.password,
    DELETIONS.deployment,
    DELETIONS.statefulSet,
    DELETIONS.service,
    DELETIONS.autoscaler,
    DELETIONS.revision,
  ],
  ...COMMON,
};

const FROM_SOURCE: Bound = {
  name: 'source',
  about: 'Pushes and webhooks with pauses, failed builds and code hosts that are down; files of commits, pull Secrets.',
  settings: { ...WITH_BUILDS, builds: { ...WITH_BUILDS.builds, pollSeconds: 0 } },
  namespaces: ['team'],
  begin: beginBuilds({ resourceSpec: { minScale: 1, maxScale: 1 }, buildOnPush: true }),
  events: [
    ...CLUSTER_EVENTS,
    ...BUILD_EVENTS,
    push('b'),
    push('c'),
    interrupt,
    credentialsGone,
    credentialsBack,
    people.newRevision,
    people.rollback,
    people.sizes('more memory', { memoryMb: 1024 }),
    people.codeHostDown,
    people.codeHostUp,
    people.pause,
    people.resume,
    people.tenantLabel(undefined),
    people.tenantLabel('true'),
    DELETIONS.job,
    DELETIONS.deployment,
    DELETIONS.password,
    DELETIONS.ownSecret,
    DELETIONS.revision,
  ],
  ...COMMON,
};

const FILES: Bound = {
  ...FROM_SOURCE,
  name: 'source-files',
  about: 'The same with a davit.yaml of the repository.',
  begin: beginBuilds({ resourceSpec: { minScale: 1, maxScale: 1 }, buildOnPush: true }, ['team'], ['shop'], {
    davitFile: 'davit.yaml',
  }),
};

const on = (where: string, event: Event): Event => ({
  ...event,
  subjects: (scene, namespace) => (namespace === where ? event.subjects(scene, namespace) : []),
});
const EDGES = named('edges');
const HUB_BOUND: Bound = {
  ...EDGES,
  name: 'hub',
  about:
    'A hub that is paused and restored, whose values change, before a cluster whose Davit is the real one, whose images crash.',
  begin(scene) {
    EDGES.begin(scene);
    // Written by kubectl, without a serial.
    const [record] = people.records(scene, TEAM);
    if (record) scene.change(APP_DEPLOYMENTS, record, { spec: { revisionSerial: undefined } });
  },
  events: [
    ...EDGES.events,
    ...['2', '3', 'bad', 'crash'].map((tag) => on(TEAM, people.imageByHand(tag))),
    on(TEAM, people.pause),
    on(TEAM, people.resume),
    on(SHOPS, people.pause),
    on(SHOPS, people.resume),
    on(SHOPS, DELETIONS.deployment),
    happens.rotateValues,
    happens.otherValues,
    happens.backUp,
    happens.restoreHub,
    happens.agentRestarts,
    happens.hubRestarts,
    happens.giveUp,
    happens.deleteWork,
  ],
  people: 7,
  troubles: 7,
};

/** Those of a stand-in for a server that is asked, and of days that pass, have no wakes of their own. */
const OTHERS: ReadonlySet<string> = new Set(['upkeep', 'crashes', 'lag', 'pushes', 'files']);

export const WAKE_BOUNDS: readonly Bound[] = [
  WHOLE,
  FROM_SOURCE,
  FILES,
  HUB_BOUND,
  ...BOUNDS.filter(({ name }) => !OTHERS.has(name)),
];
