// What the upkeep of the registry promises: what something needs stays, and what nothing needs goes.

import { keepTag, logTag } from '../../../src/deploy/record/registry-names.ts';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import type { Broken, PassSeen } from './pass-seen.ts';
import type { Scene } from './scene.ts';
import { namedIn, type Repository, repositoriesOf, repositoryOf, TEAM, trouble } from './upkeep-world.ts';

interface Property {
  readonly name: string;
  readonly broken: (scene: Scene) => string | undefined;
}
const has = (scene: Scene, name: string): boolean => scene.get(APP_DEPLOYMENTS, TEAM, name) !== undefined;
const shop = (scene: Scene): Repository =>
  repositoriesOf(scene)[repositoryOf(scene, 'shop')] ?? { tags: {}, manifests: [] };
/** Those of the record there is, and of none that is gone. */
const revisions = (scene: Scene): readonly AppRevision[] => {
  const uid = scene.get(APP_DEPLOYMENTS, TEAM, 'shop')?.metadata.uid;
  return scene.all<AppRevision>(APP_REVISIONS, TEAM).filter(({ spec }) => spec.deploymentUid === uid);
};
const logsNeeded = (scene: Scene): string[] =>
  revisions(scene).map(({ spec, status }) => logTag(status?.build?.builtBy ?? spec.id));

/** The reverse of `digestOf`. */
const nameOf = (digest: string): string =>
  Buffer.from(digest.slice('sha256:'.length).replace(/^(?:00)+/, ''), 'hex').toString();

/** Of every pass, and at rest. */
const ALWAYS: readonly Property[] = [
  {
    name: 'an image that something names is never collected',
    broken(scene) {
      for (const [repository, digests] of namedIn(scene)) {
        const lost = [...digests].find((one) => !repositoriesOf(scene)[repository]?.manifests.includes(one));
        if (lost !== undefined) return `${nameOf(lost)} is lost.`;
      }
      return undefined;
    },
  },
  {
    name: 'the log of a kept revision is never collected',
    broken(scene) {
      const lost = logsNeeded(scene).find((tag) => shop(scene).tags[tag] === undefined);
      return lost && `${lost} is lost.`;
    },
  },
];

/** At rest, where the registry answers. */
const AT_REST: readonly Property[] = [
  {
    name: 'what is named has a tag of its own',
    broken(scene) {
      if (trouble(scene, 'registry') === 'full') return undefined;
      for (const [repository, digests] of namedIn(scene)) {
        if (trouble(scene, 'broken') === repository) continue;
        const untagged = [...digests].find(
          (one) =>
            trouble(scene, 'refuses') !== one && repositoriesOf(scene)[repository]?.tags[keepTag(one)] === undefined,
        );
        if (untagged !== undefined) return `${repository} has an image without one.`;
      }
      return undefined;
    },
  },
  {
    name: 'what nothing needs goes',
    broken(scene) {
      const logs = new Set(logsNeeded(scene));
      for (const [repository, { tags, manifests }] of Object.entries(repositoriesOf(scene))) {
        if (trouble(scene, 'broken') === repository) continue;
        const named = namedIn(scene).get(repository) ?? new Set();
        const isRefused = named.has(trouble(scene, 'refuses') ?? '');
        const isFull = trouble(scene, 'registry') === 'full';
        const left = Object.keys(tags).find((tag) => {
          if (tag === 'v1') return !has(scene, 'other') && !isFull;
          if (tag.startsWith('log-')) return !logs.has(tag);
          if (tag.startsWith('upload-')) return true;
          if (tag.startsWith('keep-')) return ![...named].some((digest) => keepTag(digest) === tag);
          // Where an image has no tag of its own, another one may be all that keeps it.
          return !isRefused && !isFull && !revisions(scene).some(({ spec }) => tag.endsWith(spec.id));
        });
        if (left !== undefined) return `Tag ${left} stays.`;
        const tagged = new Set(Object.values(tags));
        // Nothing is collected where a full registry cannot keep an image that something names.
        if (isFull && [...named].some((digest) => !tagged.has(digest))) continue;
        if (manifests.some((one) => !tagged.has(one))) return 'A manifest without a tag stays.';
      }
      return undefined;
    },
  },
];

function judged(properties: readonly Property[], scene: Scene): Broken[] {
  return properties.flatMap(({ name, broken }) => {
    const message = broken(scene);
    return message === undefined ? [] : [{ property: name, message }];
  });
}
export const judgeUpkeepPass = ({ after }: PassSeen): Broken[] => judged(ALWAYS, after);
export function judgeUpkeepRest(scene: Scene): Broken[] {
  return [...judged(ALWAYS, scene), ...(trouble(scene, 'registry') === 'down' ? [] : judged(AT_REST, scene))];
}
