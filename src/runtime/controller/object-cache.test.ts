import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../kube/client.ts';
import { makeObjectCache } from './object-cache.ts';
import type { Change } from './store.ts';

function anObject(name: string, uid: string, version: number, labels?: Record<string, string>): KubeObject {
  const metadata = { namespace: 't1', name, uid, resourceVersion: String(version), ...(labels && { labels }) };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata };
}

function aCache(indexedLabels: string[] = []) {
  const told: string[] = [];
  const onChange = ({ type, object, previous }: Change): void => {
    const { name, uid, resourceVersion } = object.metadata;
    told.push(`${type} ${name}/${uid}@${resourceVersion}`);
    if (previous !== undefined) expect(previous.metadata.uid).toBe(uid);
  };
  return { told, cache: makeObjectCache({ indexedLabels, onChange }) };
}

const a1 = (version: number): KubeObject => anObject('a', 'u1', version);

describe('object cache', () => {
  it.each([
    { name: 'older news', reason: 'a replayed event', do: [a1(5), a1(4)], want: ['added a/u1@5'] },
    { name: 'the same news twice', reason: 'an overlay and its event', do: [a1(5), a1(5)], want: ['added a/u1@5'] },
    { name: 'newer news', reason: '', do: [a1(5), a1(10)], want: ['added a/u1@5', 'modified a/u1@10'] },
    {
      name: 'versions of unequal length',
      reason: 'they are numbers, not strings',
      do: [a1(9), a1(10), a1(9)],
      want: ['added a/u1@9', 'modified a/u1@10'],
    },
    {
      name: 'a name recreated',
      reason: 'the deletion was not seen',
      do: [a1(5), anObject('a', 'u2', 8)],
      want: ['added a/u1@5', 'deleted a/u1@5', 'added a/u2@8'],
    },
  ])('$name', ({ do: objects, want }) => {
    const { cache, told } = aCache();
    for (const object of objects) cache.put(object);
    expect(told).toEqual(want);
  });

  it('finds by ref, uid, namespace and indexed label, also after a label changed', () => {
    const { cache } = aCache(['app']);
    cache.put(anObject('a', 'u1', 1, { app: 'x' }));
    cache.put(anObject('b', 'u2', 2, { app: 'x' }));
    cache.put(anObject('a', 'u1', 3, { app: 'y' }));
    const names = (objects: readonly KubeObject[]) => objects.map((object) => object.metadata.name);
    expect(cache.get({ namespace: 't1', name: 'a' })?.metadata.resourceVersion).toBe('3');
    expect(cache.byUid('u2')?.metadata.name).toBe('b');
    expect(names(cache.list('t1')).sort()).toEqual(['a', 'b']);
    expect(cache.list('t2')).toEqual([]);
    expect(names(cache.byLabel('t1', 'app', 'x'))).toEqual(['b']);
    expect(names(cache.byLabel('t1', 'app', 'y'))).toEqual(['a']);
    expect(() => cache.byLabel('t1', 'other', 'x')).toThrow('no such index');
    cache.drop(anObject('a', 'u1', 4));
    expect(cache.byLabel('t1', 'app', 'y')).toEqual([]);
    expect(cache.byUid('u1')).toBeUndefined();
  });

  it('tells only what a list changed', () => {
    const { cache, told } = aCache();
    cache.replace([a1(5), anObject('b', 'u2', 6), anObject('c', 'u3', 7)], '7');
    told.length = 0;
    cache.replace([a1(5), anObject('b', 'u4', 9)], '10');
    expect(told.sort()).toEqual(['added b/u4@9', 'deleted b/u2@6', 'deleted c/u3@7']);
    expect(cache.observed).toBe(10n);
  });

  describe('overlays', () => {
    it('shows a write at once and takes its event quietly', () => {
      const { cache, told } = aCache();
      cache.advance('10');
      cache.overlay(a1(12));
      expect(cache.get({ namespace: 't1', name: 'a' })).toBeDefined();
      expect(cache.observed).toBe(10n);
      cache.put(a1(11));
      cache.put(a1(12));
      expect(told).toEqual(['added a/u1@12']);
    });

    it('survives a list that was taken before the write', () => {
      const { cache } = aCache();
      cache.overlay(a1(12));
      cache.replace([], '11');
      expect(cache.list()).toHaveLength(1);
      cache.replace([], '13');
      expect(cache.list()).toHaveLength(0);
    });

    it('does not bring back what was deleted since', () => {
      const { cache } = aCache();
      cache.put(a1(5));
      cache.drop(a1(7));
      cache.overlay(a1(6));
      expect(cache.list()).toEqual([]);
    });

    it('hides a deletion of ours until the watch tells it', () => {
      const { cache, told } = aCache();
      cache.put(a1(5));
      cache.overlayDeleted('u1', '5');
      expect(cache.list()).toEqual([]);
      cache.replace([a1(5)], '6');
      expect(cache.list()).toEqual([]);
      cache.drop(a1(7));
      cache.put(anObject('a', 'u2', 9));
      expect(told).toEqual(['added a/u1@5', 'deleted a/u1@5', 'added a/u2@9']);
    });

    it('does not hide what has changed after all', () => {
      const { cache } = aCache();
      cache.put(a1(8));
      cache.overlayDeleted('u1', '5');
      expect(cache.list()).toHaveLength(1);
    });
  });

  it.each([
    { name: 'nothing seen', arrange: [], want: false },
    { name: 'an older state', arrange: ['put 9'], want: false },
    { name: 'the write itself', arrange: ['put 12'], want: true },
    { name: 'the overlay of the write', arrange: ['overlay 12'], want: true },
    { name: 'a later state', arrange: ['put 20'], want: true },
    { name: 'its deletion', arrange: ['put 12', 'drop 13'], want: true },
    { name: 'a bookmark after it', arrange: ['advance 15'], want: true },
  ])('caught up with a write at 12 after $name: $want', ({ arrange, want }) => {
    const { cache } = aCache();
    for (const step of arrange) {
      const [verb, version] = step.split(' ') as ['put' | 'overlay' | 'drop' | 'advance', string];
      if (verb === 'advance') cache.advance(version);
      else cache[verb](a1(Number(version)));
    }
    expect(cache.isAtLeast({ namespace: 't1', name: 'a' }, '12')).toBe(want);
  });

  it('ends as the server is, and never goes back, whatever relists and overlays come between', () => {
    // A history of one server; the watch tells it in order, lists and answers of our writes come early or late.
    const step = fc.record({ name: fc.constantFrom('a', 'b', 'c'), what: fc.constantFrom('write', 'delete') });
    const interruption = fc.record({
      after: fc.nat(30),
      kind: fc.constantFrom('list', 'overlay', 'overlayDeleted', 'resume'),
      at: fc.nat(30),
    });
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 30 }),
        fc.array(interruption, { maxLength: 15 }),
        (steps, noise) => {
          const live = new Map<string, KubeObject>();
          const history: { event: 'put' | 'drop'; object: KubeObject; state: KubeObject[] }[] = [];
          steps.forEach(({ name, what }, index) => {
            const version = index + 1;
            const before = live.get(name);
            if (what === 'delete' && before === undefined) {
              history.push({ event: 'put', object: anObject('z', 'uz', version), state: [] });
              live.set('z', anObject('z', 'uz', version));
            } else if (what === 'delete' && before !== undefined) {
              live.delete(name);
              history.push({ event: 'drop', object: anObject(name, String(before.metadata.uid), version), state: [] });
            } else {
              const object = anObject(name, before?.metadata.uid ?? `u${version}`, version);
              live.set(name, object);
              history.push({ event: 'put', object, state: [] });
            }
            const last = history.at(-1);
            if (last !== undefined) last.state = [...live.values()];
          });

          const shown = new Map<string, number>();
          const present = new Map<string, string>();
          const cache = makeObjectCache({
            onChange({ type, object }) {
              const { uid = '', name, resourceVersion } = object.metadata;
              if (type === 'deleted') {
                expect(present.get(name)).toBe(uid);
                present.delete(name);
                return;
              }
              expect(present.get(name)).toBe(type === 'added' ? undefined : uid);
              present.set(name, uid);
              expect(Number(resourceVersion)).toBeGreaterThanOrEqual(shown.get(uid) ?? 0);
              shown.set(uid, Number(resourceVersion));
            },
          });
          let next = 0;
          for (let round = 0; round < 30 || next < history.length; round++) {
            for (const { kind, at } of noise.filter(({ after }) => after === round)) {
              const entry = history[at];
              if (entry === undefined) continue;
              // A list is consistent: never older than what was seen. The watch then goes on from it.
              if (kind === 'list' && BigInt(at + 1) >= cache.observed) {
                cache.replace(entry.state, String(at + 1));
                next = at + 1;
              }
              if (kind === 'overlay' && entry.event === 'put') cache.overlay(entry.object);
              if (kind === 'overlayDeleted' && entry.event === 'drop') {
                const last = history.slice(0, at).findLast((e) => e.object.metadata.uid === entry.object.metadata.uid);
                if (last !== undefined)
                  cache.overlayDeleted(String(entry.object.metadata.uid), String(last.object.metadata.resourceVersion));
              }
              // A watch opened again a little earlier tells some of it twice; only what a server still may.
              if (kind === 'resume') next = Math.min(next, Number(cache.observed));
            }
            const entry = history[next];
            if (entry !== undefined) {
              cache[entry.event](entry.object);
              next += 1;
            }
          }
          const sorted = (objects: readonly KubeObject[]) =>
            objects.map(({ metadata }) => `${metadata.name}/${metadata.uid}@${metadata.resourceVersion}`).sort();
          expect(sorted(cache.list())).toEqual(sorted([...live.values()]));
        },
      ),
      { numRuns: 500 },
    );
  });
});
