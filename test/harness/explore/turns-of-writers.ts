// Whether something is changed to and fro on the way to rest, where nobody asks for anything: two writers of one field.

import { VALUES } from './cluster-events.ts';
import type { Broken } from './pass-seen.ts';
import { type Registry, type State, sortedText } from './world.ts';

export const NO_TURNS = 'no two writers of one field take turns';

/** What is changed to and fro among the objects in these namespaces, over the states of one way. */
export type TurnsOfWriters = (way: readonly State[], namespaces: readonly string[]) => readonly Broken[];

export function makeTurnsOfWriters(registry: Registry): TurnsOfWriters {
  const contents = new Map<number, string>();
  /** What its writers ask for: neither what became of it nor who wrote it when. */
  function contentOf(number: number): string {
    const found = contents.get(number);
    if (found !== undefined) return found;
    const entry = registry.entry(number);
    if (!('object' in entry)) return '';
    const { status: _status, metadata, ...rest } = entry.object as typeof entry.object & { readonly status?: unknown };
    const { uid, labels, finalizers, ownerReferences } = metadata;
    const { [VALUES]: _values, ...annotations } = metadata.annotations ?? {};
    const content = sortedText({ ...rest, uid, labels, annotations, finalizers, ownerReferences });
    contents.set(number, content);
    return content;
  }
  return (way, namespaces) => {
    const had = new Map<string, string[]>();
    const broken: Broken[] = [];
    const isOperated = (namespace: string): boolean =>
      registry
        .columnsIn(namespace)
        .filter(({ resource }) => resource.kind === 'DatastoreOperation')
        .some((column) => way.some((state) => registry.group(registry.read(state, column)).size > 0));
    for (const [index, state] of way.entries())
      for (const namespace of namespaces) {
        // An operation stops the deployment and starts it again, and the next one may take back what it did.
        if (isOperated(namespace)) continue;
        for (const column of registry.columnsIn(namespace)) {
          const number = registry.read(state, column);
          const before = way[index - 1];
          if (column.resource.kind === 'Mark' || (before && number === registry.read(before, column))) continue;
          for (const [id, entry] of registry.group(number)) {
            const content = contentOf(entry);
            const earlier = had.get(id) ?? [];
            if (content === '' || earlier.at(-1) === content) continue;
            if (earlier.includes(content))
              broken.push({
                property: NO_TURNS,
                message: `${id} is changed to what it was before, on one way to rest.`,
              });
            had.set(id, [...earlier, content]);
          }
        }
      }
    return broken;
  };
}
