// Fields of davit.yaml that flags set, such as `--set resource_spec.cpu=0.5`.

import { parse } from 'yaml';
import { type DeploymentFile, fileFindings } from '../../deployments/http/deployment-file.ts';
import { sentenceOf } from '../../deployments/http/deployment-file-text.ts';
import { InvalidFile, Misuse } from '../line/command.ts';

const FORM = /^([a-z_]+(?:\.[A-Za-z0-9_-]+)*)=(.*)$/s;
/** Names that every object has. */
const NO_FIELDS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * The file with these fields. Each of `sets` is `PATH=VALUE`: names with dots between them, and a value as YAML. Throws Misuse for another form, and
 * InvalidFile for what the file may not say.
 */
export function withFields(file: DeploymentFile | undefined, sets: readonly string[]): DeploymentFile | undefined {
  if (sets.length === 0) return file;
  const content = structuredClone(file ?? {}) as Record<string, unknown>;
  for (const set of sets) setField(content, set);
  const errors = fileFindings(content).map((finding) => `--set: ${sentenceOf(finding)}`);
  if (errors.length > 0) throw new InvalidFile([...new Set(errors)].join('\n'));
  return content as DeploymentFile;
}

function setField(content: Record<string, unknown>, set: string): void {
  const [, path = '', text = ''] = FORM.exec(set) ?? [];
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  if (last === '' || [...steps, last].some((step) => NO_FIELDS.has(step)))
    throw new Misuse(`--set takes a field of davit.yaml and its value, such as resource_spec.cpu=0.5, not ${set}.`);
  let inner = content;
  for (const step of steps) {
    const next = inner[step];
    const isMap = typeof next === 'object' && next !== null && !Array.isArray(next);
    inner = inner[step] = isMap ? { ...next } : {};
  }
  inner[last] = valueOf(text, set);
}

/** Throws Misuse. */
function valueOf(text: string, set: string): unknown {
  try {
    // What is left empty is an empty text; null is written.
    return text === '' ? '' : (parse(text) as unknown);
  } catch (error) {
    throw new Misuse(`--set ${set}: the value is not valid YAML. ${(error as Error).message.split('\n', 1)[0]}`);
  }
}
