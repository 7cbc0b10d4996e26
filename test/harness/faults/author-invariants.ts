// I6 of authors: the user whom Davit names for a revision or a change has asked for it, and where one write alone asked and names its user,
// Davit names that user. A deletion names nobody.

import type { Seen, Sighting } from './object-history.ts';

/** What the test knows of each write of a spec: a username, or `nobody` for one without a claim. */
export const REALLY_BY = 'example.com/really-by';
/** Beside it: `true` where the write changes the scale alone, which needs no revision. */
export const REALLY_SCALES = 'example.com/really-scales';

const NOBODY = 'nobody';

/** The first thing that is wrong, or nothing. `history` is in the order of the writes. */
export function misattributed(history: readonly Sighting[]): string | undefined {
  /** By uid and generation. */
  const writers = new Map<string, string>();
  const scales = new Set<string>();
  /** Generation of the newest revision, by uid of the record. */
  const made = new Map<string, number>();
  /**
   * Of which generations Davit has made a revision, or has said that the record serves, or has seen that nothing but the scale has changed
   * since the newest revision, by uid.
   */
  const taken = new Map<string, Set<number>>();
  const judged = new Set<string>();
  for (const { kind, object, gone } of history) {
    const { uid = '' } = object.metadata;
    if (kind === 'AppDeployment' && !gone) {
      noteWriter(object, writers, scales);
      const wrong = wrongStatus(object, writers);
      if (wrong !== undefined) return wrong;
      const { observedGeneration, conditions = [] } = object.status ?? {};
      const isReady = (conditions as readonly { readonly type: string; readonly status: string }[]).some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      );
      if (isReady || scaledSince(made.get(uid), observedGeneration, uid, scales))
        noteTaken(taken, uid, observedGeneration);
    }
    if (kind !== 'AppRevision' || gone || judged.has(uid)) continue;
    judged.add(uid);
    const wrong = wrongRevision(object, writers, taken);
    if (wrong !== undefined) return wrong;
    const { deploymentUid: of, deploymentGeneration: generation } = object.spec;
    noteTaken(taken, of, generation);
    made.set(of, Math.max(made.get(of) ?? 0, generation));
  }
  return undefined;
}

function noteTaken(taken: Map<string, Set<number>>, uid: string, generation: number): void {
  taken.set(uid, (taken.get(uid) ?? new Set()).add(generation));
}

/** Whether every generation after `made`, up to this one, has changed the scale alone. */
function scaledSince(
  made: number | undefined,
  generation: number | undefined,
  uid: string,
  scales: ReadonlySet<string>,
): boolean {
  if (made === undefined || generation === undefined || generation <= made) return false;
  const since = Array.from({ length: generation - made }, (_none, index) => made + 1 + index);
  return since.every((one) => scales.has(`${uid}/${one}`));
}

function noteWriter({ metadata }: Seen, writers: Map<string, string>, scales: Set<string>): void {
  const { uid, generation = 0, annotations = {}, deletionTimestamp } = metadata;
  const key = `${uid}/${generation}`;
  if (writers.has(key)) return;
  const writer = deletionTimestamp === undefined ? annotations[REALLY_BY] : undefined;
  writers.set(key, writer ?? NOBODY);
  if (annotations[REALLY_SCALES] === 'true') scales.add(key);
}

function wrongStatus({ metadata, status }: Seen, writers: ReadonlyMap<string, string>): string | undefined {
  const { uid, name } = metadata;
  const { observedGeneration, changedBy } = status ?? {};
  if (observedGeneration === undefined) return undefined;
  const writer = writers.get(`${uid}/${observedGeneration}`) ?? NOBODY;
  return (changedBy ?? NOBODY) === writer
    ? undefined
    : `${name}: generation ${observedGeneration} is said to be changed by ${changedBy}, and was by ${writer}`;
}

function wrongRevision(
  { metadata: { name }, spec }: Seen,
  writers: ReadonlyMap<string, string>,
  taken: ReadonlyMap<string, ReadonlySet<number>>,
): string | undefined {
  const { deploymentUid: uid, deploymentGeneration: generation, requestedBy = NOBODY } = spec;
  const writer = writers.get(`${uid}/${generation}`) ?? NOBODY;
  const isAlone = generation === 1 || taken.get(uid)?.has(generation - 1) === true;
  const expected = isAlone ? writer : NOBODY;
  return requestedBy === expected
    ? undefined
    : `${name}: requested by ${requestedBy}, and generation ${generation} was by ${writer}${isAlone ? '' : ', after changes of others'}`;
}
