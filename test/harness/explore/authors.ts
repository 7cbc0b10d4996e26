// Who asked for a change or the end of a build, in the explorer: people who claim it, and others who do not. The names that Davit then shows
// are compared with the real ones.

import { needsRevision, withRequest } from '../../../src/deploy/record/needs-revision.ts';
import { claimOfChange, claimOfInterrupt } from '../../../src/deploy/record/requester.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { INTERRUPT_ANNOTATION } from '../../../src/kinds/meta.ts';
import { patchTo } from '../../../src/runtime/http/merge-patch.ts';
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

/** Whether Davit has deployed all that was asked for before, or has begun to, or has seen that no revision is needed for it. */
function isTaken(scene: Scene, record: AppDeployment): boolean {
  const { metadata, status } = record;
  const { namespace = '', name, generation = 0 } = metadata;
  const isReady = conditionOf(status?.conditions, 'Ready')?.status === 'True';
  const [newest] = revisionsOf(scene, record);
  const taken = [newest?.spec.deploymentGeneration, isReady ? status?.observedGeneration : undefined];
  if (taken.includes(generation)) return true;
  if (newest === undefined || status?.observedGeneration !== generation) return false;
  return between(newest.spec.deploymentGeneration, generation + 1).every(
    (of) => writeOf(scene, namespace, name, of)?.needs === false,
  );
}

/** The generations after the one and before the other. */
function between(after: number, before: number): readonly number[] {
  return Array.from({ length: Math.max(before - after - 1, 0) }, (_none, index) => after + 1 + index);
}

interface Written {
  readonly author: string;
  /** Whether nothing of others was still to be taken. */
  readonly isAlone: boolean;
  /** Whether a new revision is needed for it. */
  readonly needs: boolean;
}

function noteWrite(
  scene: Scene,
  { namespace = '', name }: AppDeployment['metadata'],
  generation: number,
  { author, isAlone, needs }: Written,
): void {
  const words = [author, isAlone ? 'alone' : 'beside', needs ? 'needs' : 'needless'];
  scene.setMark(namespace, authorMark(name, generation), words.join(' '));
}

/** Undefined for the creation. */
function writeOf(scene: Scene, namespace: string, name: string, generation: number): Written | undefined {
  const [author, beside, needs] = scene.mark(namespace, authorMark(name, generation))?.split(' ') ?? [];
  return author === undefined ? undefined : { author, isAlone: beside === 'alone', needs: needs === 'needs' };
}

async function patch(
  scene: Scene,
  { metadata: { namespace = '', name } }: AppDeployment,
  fields: object,
): Promise<void> {
  await scene.kube.mergePatch(APP_DEPLOYMENTS, { namespace, name }, fields, { fieldManager: 'person' });
}

/** `patchOf`: what is changed; undefined where that changes nothing. A patch of nothing asks for a new revision. */
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
      const needs = isAlways || needsRevision(record.spec, after);
      noteWrite(scene, record.metadata, generation, {
        author: author ?? NOBODY,
        isAlone: isTaken(scene, record),
        needs,
      });
    },
  };
}

export const deletes: Event = {
  name: 'the record % is deleted',
  by: 'people',
  subjects: (scene, namespace) => alive(scene, namespace).map(({ metadata }) => metadata.name),
  async happen(scene, namespace, name) {
    const record = named(scene, namespace, name);
    if (!record) return;
    const { uid = '', generation = 0 } = record.metadata;
    await scene.kube.remove(APP_DEPLOYMENTS, { namespace, name }, { uid });
    noteWrite(scene, record.metadata, generation + 1, { author: NOBODY, isAlone: true, needs: false });
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
  const shown = (author: string | undefined): string | undefined => (author === NOBODY ? undefined : author);
  const author = writeOf(scene, namespace, name, generation)?.author;
  const { changedBy, observedGeneration } = record.status ?? {};
  // A deletion that Davit has not seen yet.
  if (deletionTimestamp !== undefined && observedGeneration !== generation) return undefined;
  if (author !== undefined && changedBy !== shown(author))
    return `status.changedBy is ${changedBy}, and it was ${author}.`;
  for (const [index, { spec, status }] of revisionsOf(scene, record).entries()) {
    const write = writeOf(scene, namespace, name, spec.deploymentGeneration);
    const of = write?.author;
    if (spec.requestedBy !== undefined && spec.requestedBy !== of)
      return `Revision ${spec.id} was requested by ${spec.requestedBy}, and it was ${of}.`;
    const before = revisionsOf(scene, record)[index + 1]?.spec.deploymentGeneration ?? 0;
    const others = between(before, spec.deploymentGeneration).filter((one) => {
      const other = writeOf(scene, namespace, name, one);
      return other === undefined || (other.needs && other.author !== spec.requestedBy);
    });
    if (spec.requestedBy !== undefined && others.length > 0)
      return `Revision ${spec.id} was requested by ${spec.requestedBy}, and by others: generation ${others.join(', ')}.`;
    if (spec.requestedBy === undefined && write?.isAlone === true && shown(of) !== undefined)
      return `Revision ${spec.id} was requested by ${of}, and does not say so.`;
    const { phase, interruptedBy } = status?.build ?? {};
    const interrupter = scene.mark(namespace, interruptMark(spec.id));
    if (phase === 'Interrupted' && interrupter !== undefined && interruptedBy !== shown(interrupter))
      return `The build of ${spec.id} was interrupted by ${interrupter}, and it says ${interruptedBy}.`;
  }
  return undefined;
}
