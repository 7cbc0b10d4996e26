// What one record becomes: the file that ../../README.md describes, with its placeholders filled.

import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { KubernetesObject } from '@kubernetes/client-node';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime: string;
}

export interface Status {
  readonly observedGeneration?: number;
  readonly state?: string;
  readonly stateChangedAt?: string;
  readonly conditions?: readonly Condition[];
}

/** An object, with what this operator looks at in it. */
export interface Thing extends KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec?: unknown;
  readonly status?: Status;
}

export interface Template {
  readonly kind: string;
  readonly text: string;
}

export interface Rendering {
  readonly fieldManager: string;
  readonly tracingProject: Template;
  readonly revision: Template;
  readonly secrets: readonly Template[];
  readonly children: readonly Template[];
  readonly statuses: readonly Template[];
}

interface RenderingFile {
  readonly format: number;
  readonly fieldManager: string;
  readonly tracingProject: Thing;
  readonly revision: Thing;
  readonly secrets: readonly Thing[];
  readonly children: readonly Thing[];
  readonly statuses: readonly Thing[];
}

export type Values = Readonly<Record<string, string>>;

export function readRendering(path: string): Rendering {
  const file = JSON.parse(readFileSync(path, 'utf8')) as RenderingFile;
  if (file.format !== 1) throw new Error(`${path} has format ${file.format}; this operator knows 1`);
  return {
    fieldManager: file.fieldManager,
    tracingProject: templateOf(file.tracingProject),
    revision: templateOf(file.revision),
    secrets: file.secrets.map(templateOf),
    children: file.children.map(templateOf),
    statuses: file.statuses.map(templateOf),
  };
}

function templateOf(thing: Thing): Template {
  return { kind: thing.kind, text: JSON.stringify(thing) };
}

/** None of the values has a character that JSON escapes. */
export function filled({ text }: Template, values: Values): Thing {
  return JSON.parse(put(text, { ...values, password: randomBytes(24).toString('base64url') })) as Thing;
}

/** With the digest by which a later look knows that exactly this was applied. */
export function stamped({ text }: Template, values: Values): Thing {
  const made = put(text, values);
  const digest = createHash('sha256').update(made).digest('hex').slice(0, 16);
  return JSON.parse(put(made, { digest })) as Thing;
}

function put(text: string, values: Values): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (whole, place: string) => values[place] ?? whole);
}

/** Whether some field of `wanted` is missing in `actual` or other there. Fields that it leaves out are others'. */
export function differs(wanted: unknown, actual: unknown): boolean {
  if (isZero(wanted) && isZero(actual)) return false;
  if (Array.isArray(wanted) && Array.isArray(actual))
    return wanted.length !== actual.length || wanted.some((item, index) => differs(item, actual[index]));
  if (isMap(wanted) && isMap(actual)) return Object.entries(wanted).some(([key, value]) => differs(value, actual[key]));
  return wanted !== actual;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isZero(value: unknown): boolean {
  return !value || (typeof value === 'object' && Object.keys(value).length === 0);
}
