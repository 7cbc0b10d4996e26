// What fills the platform's registry, what ends the need of it, and its troubles.

import { logTag, revisionTag } from '../../../src/deploy/record/registry-names.ts';
import { imageOf } from '../../../src/deploy/record/revision-image.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL } from '../../../src/kinds/meta.ts';
import { aRevision } from '../../support/builders.ts';
import { type Event, eventIn } from './event.ts';
import type { Scene } from './scene.ts';
import {
  aBuiltRecord,
  change,
  digestOf,
  imageUri,
  liveShortly,
  namedIn,
  push,
  repositoriesOf,
  repositoryOf,
  SYSTEM,
  TEAM,
  type Trouble,
  trouble,
} from './upkeep-world.ts';

const shop = (scene: Scene): AppDeployment | undefined => scene.get<AppDeployment>(APP_DEPLOYMENTS, TEAM, 'shop');
const revisions = (scene: Scene): readonly AppRevision[] =>
  scene
    .all<AppRevision>(APP_REVISIONS, TEAM)
    .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration);
const ofShop = (scene: Scene): readonly AppRevision[] =>
  revisions(scene).filter(({ spec }) => spec.deploymentUid === shop(scene)?.metadata.uid);
const idOf = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
const isUp = (scene: Scene): boolean => trouble(scene, 'registry') === undefined;

function putRevision(scene: Scene, n: number, image: string, builtBy?: string): void {
  const record = shop(scene);
  if (!record) return;
  const uid = record.metadata.uid ?? '';
  const made = aRevision(record, undefined, n);
  // What is built is named by the status.
  const { image: _image, ...resolved } = made.spec.resolved;
  scene.put(APP_REVISIONS, {
    ...made,
    metadata: {
      name: `shop--${n}`,
      namespace: TEAM,
      labels: { [DEPLOYMENT_LABEL]: 'shop', [DEPLOYMENT_UID_LABEL]: uid },
    },
    spec: { ...made.spec, id: idOf(n), deploymentUid: uid, resolved },
    status: {
      state: 'DEPLOYED',
      build: { phase: 'Built', image, ...(builtBy !== undefined && { builtBy }) },
    },
  } as AppRevision);
  scene.setMark(TEAM, 'builds', String(n));
}
const next = (scene: Scene): number => Number(scene.mark(TEAM, 'builds') ?? 0) + 1;

export const builds = eventIn(
  TEAM,
  'builds',
  'a build of shop succeeds',
  (scene) => shop(scene) !== undefined && isUp(scene),
  (scene) => {
    const n = next(scene);
    const digest = digestOf(`image ${n}`);
    const repository = repositoryOf(scene, 'shop');
    push(scene, repository, revisionTag(idOf(n)), digest);
    push(scene, repository, logTag(idOf(n)), digestOf(`log ${n}`));
    putRevision(scene, n, imageUri(scene, 'shop', digest));
  },
);
export const reuses = eventIn(
  TEAM,
  'builds',
  'the next revision of shop uses the image of the newest',
  (scene) => ofShop(scene).length > 0,
  (scene) => {
    const newest = ofShop(scene).at(-1) as AppRevision;
    putRevision(scene, next(scene), imageOf(newest) ?? '', newest.status?.build?.builtBy ?? newest.spec.id);
  },
);
export const prunes = eventIn(
  TEAM,
  'builds',
  'the oldest revision of shop is pruned',
  (scene) => ofShop(scene).length > 1,
  (scene) => scene.erase(APP_REVISIONS, ofShop(scene)[0] as AppRevision),
);
export const namesImage = eventIn(
  TEAM,
  'people',
  'somebody has record shop name the image of its oldest revision',
  (scene) => ofShop(scene).length > 0 && shop(scene)?.spec.sourceRevisionConfig.imageUri !== firstImage(scene),
  (scene) =>
    scene.kube.mergePatch(
      APP_DEPLOYMENTS,
      { namespace: TEAM, name: 'shop' },
      { spec: { sourceRevisionConfig: { imageUri: firstImage(scene) } } },
      { fieldManager: 'person' },
    ),
);
const firstImage = (scene: Scene): string | undefined => {
  const [oldest] = ofShop(scene);
  return oldest && imageOf(oldest);
};
export const otherNames = eventIn(
  TEAM,
  'people',
  'somebody makes record other, of the image of the oldest revision of shop',
  (scene) => ofShop(scene).length > 0 && scene.get(APP_DEPLOYMENTS, TEAM, 'other') === undefined,
  (scene) => scene.put(APP_DEPLOYMENTS, aBuiltRecord('other', firstImage(scene)), 'person'),
);
const gone = (name: string): Event =>
  eventIn(
    TEAM,
    'people',
    `record ${name} is deleted`,
    (scene) => scene.get(APP_DEPLOYMENTS, TEAM, name) !== undefined,
    (scene) => {
      const record = scene.get(APP_DEPLOYMENTS, TEAM, name);
      if (record) scene.erase(APP_DEPLOYMENTS, record);
    },
  );
export const shopGone = gone('shop');
export const otherGone = gone('other');
export const shopAgain = eventIn(
  TEAM,
  'people',
  'somebody makes record shop again',
  (scene) => shop(scene) === undefined,
  (scene) => scene.put(APP_DEPLOYMENTS, aBuiltRecord('shop'), 'person'),
);
const orphans = (scene: Scene): AppRevision[] =>
  revisions(scene).filter(({ spec }) => spec.deploymentUid !== shop(scene)?.metadata.uid);
export const revisionsGo: Event = {
  ...eventIn(
    TEAM,
    'cluster',
    'the garbage collector removes revisions of a deleted record',
    (scene) => orphans(scene).length > 0,
    (scene) => {
      for (const one of orphans(scene)) scene.erase(APP_REVISIONS, one);
    },
  ),
  calm: true,
};
export const uploads = eventIn(
  TEAM,
  'people',
  'somebody uploads sources of shop',
  (scene) => isUp(scene) && repositoriesOf(scene)[repositoryOf(scene, 'shop')]?.tags[UPLOAD] === undefined,
  (scene) => push(scene, repositoryOf(scene, 'shop'), UPLOAD, digestOf('upload')),
);
const UPLOAD = `upload-${'1'.repeat(32)}`;
export const pushesTag = eventIn(
  TEAM,
  'people',
  'somebody pushes tag v1 to other',
  (scene) => isUp(scene) && repositoriesOf(scene)[repositoryOf(scene, 'other')]?.tags['v1'] === undefined,
  (scene) => push(scene, repositoryOf(scene, 'other'), 'v1', digestOf('pushed')),
);
export const tagsLost = eventIn(
  TEAM,
  'people',
  'somebody deletes the tags by which Davit keeps images',
  (scene) =>
    isUp(scene) &&
    Object.keys(repositoriesOf(scene)[repositoryOf(scene, 'shop')]?.tags ?? {}).some(isKept) &&
    !isOnly(scene),
  (scene) =>
    change(scene, repositoryOf(scene, 'shop'), ({ tags, manifests }) => ({
      tags: Object.fromEntries(Object.entries(tags).filter(([tag]) => !isKept(tag))),
      manifests,
    })),
);
const isKept = (tag: string): boolean => tag.startsWith('keep-');
/** An image that loses its last tag is lost by whoever deletes that. */
function isOnly(scene: Scene): boolean {
  const repository = repositoryOf(scene, 'shop');
  const { tags = {} } = repositoriesOf(scene)[repository] ?? {};
  const others = new Set(Object.entries(tags).flatMap(([tag, digest]) => (isKept(tag) ? [] : [digest])));
  return [...(namedIn(scene).get(repository) ?? [])].some((digest) => !others.has(digest));
}

function troubled(name: string, which: Trouble, value: (scene: Scene) => string): Event {
  return eventIn(
    TEAM,
    'cluster',
    name,
    (scene) => trouble(scene, which) === undefined,
    (scene) => scene.setMark(SYSTEM, which, value(scene)),
  );
}
export const down = troubled('the registry is down', 'registry', () => 'down');
export const full = troubled('the registry is full', 'registry', () => 'full');
export const refusesOne = troubled('the registry refuses to tag image 1', 'refuses', () => digestOf('image 1'));
export const unlistable = troubled('the registry cannot list the repository of other', 'broken', (scene) =>
  repositoryOf(scene, 'other'),
);
export const wellAgain = eventIn(
  TEAM,
  'cluster',
  'the registry is well again',
  (scene) => TROUBLES.some((which) => trouble(scene, which) !== undefined),
  mendUpkeep,
);
const TROUBLES: readonly Trouble[] = ['registry', 'refuses', 'broken'];
export function mendUpkeep(scene: Scene): void {
  for (const which of TROUBLES) scene.setMark(SYSTEM, which, undefined);
}
export const crashes: readonly Event[] = [0, 1, 2].map((changes) =>
  eventIn(
    TEAM,
    'cluster',
    `Davit's upkeep begins, and crashes after ${changes} changes of the registry`,
    isUp,
    (scene) => liveShortly(scene, changes),
  ),
);
