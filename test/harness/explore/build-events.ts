// What a code host, builders and their cluster do.

import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { INTERRUPT_ANNOTATION } from '../../../src/kinds/meta.ts';
import { JOBS, PODS, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import type { Event } from './event.ts';
import { controlledBy } from './job-events.ts';
import { putSecret, records } from './people-events.ts';
import { NOW, type Scene } from './scene.ts';

export const BUILDS = 'davit-builds';
export const ORGANIZATION = 'davit-org';
/** So long that nobody waits for caches to follow. */
const AN_HOUR_AGO = new Date(NOW - 3_600_000).toISOString();

const REGISTRY_FULL = 'error: failed to push: unexpected status: 500: write /var/lib/registry: no space left on device';

interface BuildJob extends KubeObject {
  readonly spec: {
    readonly suspend?: boolean;
    readonly template: {
      readonly spec: {
        readonly initContainers: readonly { readonly env: readonly { name: string; value?: string }[] }[];
      };
    };
  };
  readonly status?: { readonly conditions?: unknown };
}
const running = (scene: Scene): BuildJob[] =>
  scene
    .all<BuildJob>(JOBS, BUILDS)
    .filter(
      ({ spec, status, metadata }) =>
        spec.suspend !== true && status?.conditions === undefined && metadata.deletionTimestamp === undefined,
    );
const commitOf = ({ spec }: BuildJob): string =>
  spec.template.spec.initContainers[0]?.env.find(({ name }) => name === 'REF')?.value ?? 'a'.repeat(40);

function end(scene: Scene, subject: string, exitCode: number, words = 'error: exit code: 7'): void {
  const job = running(scene).find(({ metadata }) => metadata.name === subject);
  if (!job) return;
  const commit = commitOf(job);
  const ended = (name: string, code: number, message: string): object => ({
    name,
    state: { terminated: { exitCode: code, message } },
  });
  scene.put(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${subject}-x`,
      namespace: BUILDS,
      labels: job.metadata.labels ?? {},
      ownerReferences: [controlledBy('Job', job)],
    },
    status: {
      phase: exitCode === 0 ? 'Succeeded' : 'Failed',
      initContainerStatuses: [ended('fetch', 0, commit), ended('plan', 0, '')],
      containerStatuses: [ended('build', exitCode, exitCode === 0 ? `sha256:${commit.slice(0, 32).repeat(2)}` : words)],
    },
  } as KubeObject);
  const type = exitCode === 0 ? 'Complete' : 'Failed';
  scene.change(JOBS, job, {
    status: { conditions: [{ type, status: 'True', lastTransitionTime: AN_HOUR_AGO }] },
  });
}
const subjects = (scene: Scene): string[] => running(scene).map(({ metadata }) => metadata.name);

export const BUILD_EVENTS: readonly Event[] = [
  {
    name: 'build Job % succeeds',
    by: 'builds',
    calm: true,
    subjects: (scene, at) => (at === BUILDS ? subjects(scene) : []),
    happen: (scene, _at, job) => end(scene, job, 0),
  },
  {
    name: 'build Job % fails',
    by: 'builds',
    subjects: (scene, at) => (at === BUILDS ? subjects(scene) : []),
    happen: (scene, _at, job) => end(scene, job, 1),
  },
  {
    name: 'build Job % finds the registry full',
    by: 'builds',
    subjects: (scene, at) => (at === BUILDS ? subjects(scene) : []),
    happen: (scene, _at, job) => end(scene, job, 1, REGISTRY_FULL),
  },
  {
    name: 'build Job % is evicted with its pod',
    by: 'builds',
    subjects: (scene, at) => (at === BUILDS ? subjects(scene) : []),
    happen(scene, _at, subject) {
      const job = running(scene).find(({ metadata }) => metadata.name === subject);
      if (job)
        scene.change(JOBS, job, {
          status: {
            conditions: [
              {
                type: 'Failed',
                status: 'True',
                reason: 'BackoffLimitExceeded',
                lastTransitionTime: AN_HOUR_AGO,
              },
            ],
          },
        });
    },
  },
  {
    name: 'the garbage collector removes what is left of build Jobs',
    by: 'builds',
    calm: true,
    subjects: (scene, at) => (at === BUILDS && orphans(scene).length > 0 ? [''] : []),
    happen(scene) {
      for (const pod of orphans(scene)) scene.erase(PODS, pod);
    },
  },
];
function orphans(scene: Scene): readonly KubeObject[] {
  const uids = new Set(scene.all(JOBS, BUILDS).map(({ metadata }) => metadata.uid));
  return scene.all(PODS, BUILDS).filter(({ metadata }) => !metadata.ownerReferences?.some(({ uid }) => uids.has(uid)));
}

/** A push makes the commit what every record asks for that builds pushes. */
export const push = (commit: string): Event => ({
  name: `somebody pushes commit ${commit}`,
  by: 'builds',
  subjects: (scene, namespace) =>
    (scene.mark('', 'head') ?? 'a') < commit && records(scene, namespace).length > 0 ? [''] : [],
  happen(scene, namespace) {
    scene.setMark('', 'head', commit);
    for (const { metadata, spec } of records(scene, namespace))
      if (spec.sourceConfig.buildOnPush === true) scene.setMark(namespace, `asked ${metadata.name}`, commit);
  },
});

/** Whether nobody has interrupted its newest revision. */
export const isNotInterrupted = ({ status, metadata }: AppDeployment): boolean =>
  status?.latestRevisionId !== undefined && metadata.annotations?.[INTERRUPT_ANNOTATION] !== status.latestRevisionId;

export const interrupt: Event = {
  name: 'somebody interrupts the build of %',
  by: 'people',
  subjects: (scene, namespace) =>
    records(scene, namespace)
      .filter(isNotInterrupted)
      .map(({ metadata }) => metadata.name),
  async happen(scene, namespace, name) {
    const record = scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, name);
    const annotations = { [INTERRUPT_ANNOTATION]: record?.status?.latestRevisionId };
    await scene.kube.mergePatch(
      APP_DEPLOYMENTS,
      { namespace, name },
      { metadata: { annotations } },
      { fieldManager: 'person' },
    );
  },
};

/** The Secret of the code host's credentials, in the organization's namespace. */
const credentials = (name: string, are: boolean): Event => ({
  name,
  by: 'people',
  subjects: (scene, at) =>
    at === BUILDS && (scene.get(SECRETS, ORGANIZATION, 'git') !== undefined) !== are ? [''] : [],
  happen(scene) {
    const secret = scene.get(SECRETS, ORGANIZATION, 'git');
    if (are) putSecret(scene, ORGANIZATION, 'git', 'token');
    else if (secret) scene.erase(SECRETS, secret);
  },
});
export const credentialsGone = credentials("somebody deletes the code host's credentials", false);
export const credentialsBack = credentials("somebody restores the code host's credentials", true);
