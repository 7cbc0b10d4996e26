// Label and field selectors, as the fake API server reads them.

import type { KubeObject } from '../../../src/runtime/kube/client.ts';

export function selects(
  object: KubeObject,
  selection: { readonly namespace?: string; readonly labelSelector?: string; readonly fieldSelector?: string },
): boolean {
  const { namespace, labelSelector, fieldSelector } = selection;
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
  const labels = object.metadata.labels ?? {};
  return (
    termsOf(labelSelector).every((term) => matchesLabels(term, labels)) &&
    termsOf(fieldSelector).every((term) => matchesField(term, object))
  );
}

/** Split at commas that are not inside brackets. */
function termsOf(selector: string | undefined): string[] {
  return (selector ?? '').split(/,(?![^(]*\))/).filter((term) => term.trim() !== '');
}

function matchesLabels(term: string, labels: Readonly<Record<string, string>>): boolean {
  const among = /^\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*$/.exec(term);
  if (among !== null) {
    const [, name = '', operator, list = ''] = among;
    const value = labels[name];
    const isIn = value !== undefined && list.split(',').some((one) => one.trim() === value);
    return operator === 'in' ? isIn : !isIn;
  }
  const compared = /^\s*([^!=\s]+)\s*(==?|!=)\s*(\S*)\s*$/.exec(term);
  if (compared !== null) {
    const [, name = '', operator, value] = compared;
    return operator === '!=' ? labels[name] !== value : labels[name] === value;
  }
  const name = term.trim();
  return name.startsWith('!') ? !(name.slice(1) in labels) : name in labels;
}

function matchesField(term: string, object: KubeObject): boolean {
  const [, path = '', operator, value] = /^\s*([^!=]+)(==?|!=)(.*)$/.exec(term) ?? [];
  let here: unknown = object;
  for (const step of path.split('.')) here = (here as Record<string, unknown> | undefined)?.[step];
  const text = typeof here === 'string' ? here : JSON.stringify(here ?? '');
  const equal = text === value;
  return operator === '!=' ? !equal : equal;
}
