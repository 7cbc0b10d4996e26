// Fields of davit.yaml that flags set, such as `--set resource_spec.cpu=0.5`.

import { parse } from 'yaml';
import { Misuse } from '../line/command.ts';

const FORM = /^([a-z_]+(?:\.[A-Za-z0-9_-]+)*)=(.*)$/s;

export interface SetByFlag {
  readonly flag: string;
  readonly field: string;
  readonly value: unknown;
}

/** `set` is `FIELD=VALUE`: names with dots between them, and a value as YAML. Throws Misuse for another form. */
export function fieldSet(set: string): SetByFlag {
  const [, field, text = ''] = FORM.exec(set) ?? [];
  if (field === undefined)
    throw new Misuse(`--set takes a field of davit.yaml and its value, such as resource_spec.cpu=0.5, not ${set}.`);
  try {
    // What is left empty is an empty text; null is written.
    return { flag: '--set', field, value: text === '' ? '' : (parse(text) as unknown) };
  } catch (error) {
    throw new Misuse(`--set ${set}: the value is not valid YAML. ${(error as Error).message.split('\n', 1)[0]}`);
  }
}
