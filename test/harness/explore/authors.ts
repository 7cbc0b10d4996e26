// Who asked for a change, a deletion or the end of a build, in the explorer: people who say so, and others who do not. What Davit then says of
// whom is compared with who it was.

import { withRequest } from '../../../src/deployments/record/needs-revision.ts';
import { claimOfChange, claimOfDeletion, claimOfInterrupt } from '../../../src/deployments/record/requester.ts';
import { patchTo } from '../../../src/lib/http/merge-patch.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/schema/app-deployment.ts';
import { conditionOf } from '../../../src/schema/conditions.ts';
import { DELETED_BY_ANNOTATION, INTERRUPT_ANNOTATION } from '../../../src/schema/meta.ts';
import { isNotInterrupted } from './build-events.ts';
import type { Event } from './event.ts';
import { records, revisionsOf } from './people-events.ts';
import { merged, type Scene } from './scene.ts';

type Spec = AppDeployment['spec'];
/** Undefined: kubectl alone, which claims nothing. */
type Author = 'anna' | 'bert' | undefined;

const NOBODY = 'nobody';
const authorMark = (name: string, generation: number): string => `author of ${name} ${generation}`;
const interruptMark = (id: string): string => `interrupted ${id.toLowerCase()}`;

const alive = (scene: Scene, namespace: string): readonly AppDeployment[] =>
  records(scene, namespace).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const named = (scene: Scene, namespace: string, name: string): AppDeployment | undefined =>
  scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, name);

/** Whether Davit has deployed all that was asked for before, or has begun to. */
function isTaken(scene: Scene, record: AppDeployment): boolean {
  const { metadata, status } = record;
  const isReady = conditionOf(status?.conditions, 'Ready')?.status === 'True';
  const [newest] = revisionsOf(scene, record);
  const taken = [newest?.spec.deploymentGeneration, isReady ? status?.observedGeneration : undefined];
  return taken.includes(metadata.generation);
}

async function patch(
  scene: Scene,
  { metadata: { namespace = '', name } }: AppDeployment,
  fields: object,
): Promise<void> {
  await scene.kube.mergePatch(APP_DEPLOYMENTS, { namespace, name }, fields, { fieldManager: 'person' });
}

/** `patchOf`: what is changed; undefined where that changes nothing. None of a field asks for a new revision. */
export function changeBy(author: Author, words: string, patchOf: (spec: Spec) => object | undefined): Event {
  return {
    name: `${author ?? 'somebody who does not say so'} sets ${words} of %`,
    by: 'people',
    subjects: (scene, namespace) =>
      alive(scene, namespace)
        .filter(({ spec }) => patchOf(spec) !== undefined)
        .map(({ metadata }) => metadata.name),
    async happen(scene, namespace, name) {
      const record = named(scene, namespace, name);
      if (!record) return;
      const fields = patchOf(record.spec) ?? {};
      const after = merged(record.spec, fields) as Spec;
      const isAlways = Object.keys(fields).length === 0;
      const wanted =
        author === undefined ? after : withRequest(record.spec, after, revisionsOf(scene, record), isAlways);
      const annotations = author === undefined ? {} : claimOfChange(record, author);
      await patch(scene, record, { spec: patchTo(record, wanted).spec, metadata: { annotations } });
      const { generation = 0 } = named(scene, namespace, name)?.metadata ?? {};
      const value = `${author ?? NOBODY} ${isTaken(scene, record) ? 'alone' : 'beside'}`;
      scene.setMark(namespace, authorMark(name, generation), value);
    },
  };
}

/** The claim, and the deletion after it: the process that asks may end between the two. */
export const claimsDeletion: Event = {
  name: 'anna says that she deletes %',
  by: 'people',
  subjects: (scene, namespace) =>
    alive(scene, namespace)
      .filter((record) => !hasClaim(record))
      .map(({ metadata }) => metadata.name),
  async happen(scene, namespace, name) {
    const record = named(scene, namespace, name);
    if (record) await patch(scene, record, { metadata: { annotations: claimOfDeletion(record, 'anna') } });
  },
};
/** Of the deletion that comes next. The admission policy davit-deleted-by lets nobody else delete it then. */
function hasClaim({ metadata: { annotations, generation = 0 } }: AppDeployment): boolean {
  return annotations?.[DELETED_BY_ANNOTATION]?.split(' ')[1] === String(generation + 1);
}
export const deletes: Event = {
  name: 'the record % is deleted',
  by: 'people',
  subjects: (scene, namespace) => alive(scene, namespace).map(({ metadata }) => metadata.name),
  async happen(scene, namespace, name) {
    const record = named(scene, namespace, name);
    if (!record) return;
    const { uid = '', generation = 0 } = record.metadata;
    const value = `${hasClaim(record) ? 'anna' : NOBODY} alone`;
    await scene.kube.remove(APP_DEPLOYMENTS, { namespace, name }, { uid });
    scene.setMark(namespace, authorMark(name, generation + 1), value);
  },
};

export const interruptBy = (author: Author): Event => ({
  name: `${author ?? 'somebody who does not say so'} interrupts the build of %`,
  by: 'people',
  subjects: (scene, namespace) =>
    alive(scene, namespace)
      .filter(isNotInterrupted)
      .map(({ metadata }) => metadata.name),
  async happen(scene, namespace, name) {
    const record = named(scene, namespace, name);
    const id = record?.status?.latestRevisionId;
    if (!record || id === undefined) return;
    const claim = author === undefined ? {} : claimOfInterrupt(record, id, author);
    await patch(scene, record, { metadata: { annotations: { [INTERRUPT_ANNOTATION]: id, ...claim } } });
    scene.setMark(namespace, interruptMark(id), author ?? NOBODY);
  },
});

/** Who is said to have asked, where that is somebody else, or nobody says it any more. */
export function authorsAreWrong(scene: Scene, record: AppDeployment): string | undefined {
  const { namespace = '', name, generation = 0, deletionTimestamp } = record.metadata;
  const wroteOf = (of: number): readonly (string | undefined)[] =>
    scene.mark(namespace, authorMark(name, of))?.split(' ') ?? [];
  const shown = (author: string | undefined): string | undefined => (author === NOBODY ? undefined : author);
  const [author] = wroteOf(generation);
  const { changedBy, conditions } = record.status ?? {};
  const ready = conditionOf(conditions, 'Ready')?.message ?? '';
  if (deletionTimestamp !== undefined) {
    const by = / by ([a-z]+):/.exec(ready)?.[1];
    return author === undefined || by === shown(author) ? undefined : `${author} deletes it, and it says: ${ready}`;
  }
  if (author !== undefined && changedBy !== shown(author))
    return `status.changedBy is ${changedBy}, and it was ${author}.`;
  for (const { spec, status } of revisionsOf(scene, record)) {
    const [of, beside] = wroteOf(spec.deploymentGeneration);
    if (spec.requestedBy !== undefined && spec.requestedBy !== of)
      return `Revision ${spec.id} was requested by ${spec.requestedBy}, and it was ${of}.`;
    if (spec.requestedBy !== undefined && beside === 'beside')
      return `Revision ${spec.id} was requested by ${spec.requestedBy}, and by others.`;
    if (spec.requestedBy === undefined && beside === 'alone' && shown(of) !== undefined)
      return `Revision ${spec.id} was requested by ${of}, and does not say so.`;
    const { phase, interruptedBy } = status?.build ?? {};
    const interrupter = scene.mark(namespace, interruptMark(spec.id));
    if (phase === 'Interrupted' && interrupter !== undefined && interruptedBy !== shown(interrupter))
      return `The build of ${spec.id} was interrupted by ${interrupter}, and it says ${interruptedBy}.`;
  }
  return undefined;
}
