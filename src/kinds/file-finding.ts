// A finding about a davit.yaml as a line of text. Pure. Imports no zod at run time, because kubectl-davit bundles it.

import type { FieldError } from '../runtime/http/http-error.ts';

/** Type of a finding whose message is a whole sentence, about text that is no YAML. */
export const NO_YAML = 'no_yaml';

/** `path:line:column: resource_spec.cpu must be at least 0.01`, as editors open it. `loc`: within the file. */
export function fileLine(path: string, { loc, msg, type, line, column }: FieldError): string {
  if (line === undefined)
    return type === NO_YAML ? msg : `${path} ${loc.length === 0 ? msg : fieldSentence({ loc, msg, type })}`;
  return `${path}:${line}:${column}: ${type === NO_YAML ? msg : fieldSentence({ loc, msg, type })}`;
}

/** Values of fields that people write as an object. */
const LISTS: Readonly<Record<string, string>> = {
  env: '[{name: LOG_LEVEL, value: info}]',
  tasks: '[{name: clean, command: [python, clean.py]}]',
};

/** A finding about a file as a sentence that names its field. */
export function fieldSentence({ loc, msg, type }: Pick<FieldError, 'loc' | 'msg' | 'type'>): string {
  const field = loc.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('');
  // Some rules name their field themselves.
  const isNamed = msg.startsWith(`${String(loc.at(-1))} `);
  const path = (isNamed ? field.replace(/\.[^.]*$/, '.') : `${field} `).replace(/^\./, '');
  const list = type === 'list_type' ? LISTS[loc.join('.')] : undefined;
  return `${path.trim() === '' && !isNamed ? 'The file ' : path}${msg}${list === undefined ? '' : `, such as ${list}`}`;
}
