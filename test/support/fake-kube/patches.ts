// JSON Merge Patch (RFC 7386) and JSON Patch (RFC 6902), as the fake API server performs them.

import { Invalid } from '../../../src/runtime/errors.ts';
import { copyOf, isObject, type Json, type JsonObject, same } from './field-sets.ts';

export function mergePatched(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatched(result[name], value);
  }
  return result;
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: Json;
}

export function jsonPatched(target: Json, patch: readonly object[]): Json {
  const holder: JsonObject = { root: copyOf(target) };
  for (const operation of patch as readonly Operation[]) perform(holder, operation);
  return holder['root'] ?? null;
}

function perform(holder: JsonObject, operation: Operation): void {
  const { op, path } = operation;
  switch (op) {
    case 'test':
      if (!same(read(holder, path), operation.value)) throw refused(operation);
      return;
    case 'add':
      return insert(holder, path, copyOf(operation.value ?? null));
    case 'remove':
      return take(holder, operation, path);
    case 'replace':
      take(holder, operation, path);
      return insert(holder, path, copyOf(operation.value ?? null));
    case 'copy':
      return insert(holder, path, copyOf(read(holder, operation.from ?? '') ?? null));
    case 'move': {
      const value = read(holder, operation.from ?? '') ?? null;
      take(holder, operation, operation.from ?? '');
      return insert(holder, path, value);
    }
    default:
      throw refused(operation);
  }
}

function refused(operation: Operation): Invalid {
  const serverMessage = `the server rejected our request due to an error in our request: ${operation.op} ${operation.path}`;
  return new Invalid(`json patch: ${serverMessage}`, [], { serverMessage });
}

function stepsOf(pointer: string): string[] {
  return [
    'root',
    ...pointer
      .split('/')
      .slice(1)
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')),
  ];
}

function read(holder: JsonObject, pointer: string): Json | undefined {
  let here: Json | undefined = holder;
  for (const step of stepsOf(pointer)) {
    here = Array.isArray(here) ? here[Number(step)] : isObject(here) ? here[step] : undefined;
  }
  return here;
}

function parentOf(holder: JsonObject, pointer: string): { parent: Json | undefined; last: string } {
  const steps = stepsOf(pointer);
  const last = steps.pop() ?? '';
  let parent: Json | undefined = holder;
  for (const step of steps) {
    parent = Array.isArray(parent) ? parent[Number(step)] : isObject(parent) ? parent[step] : undefined;
  }
  return { parent, last };
}

function insert(holder: JsonObject, pointer: string, value: Json): void {
  const { parent, last } = parentOf(holder, pointer);
  if (Array.isArray(parent)) parent.splice(last === '-' ? parent.length : Number(last), 0, value);
  else if (isObject(parent)) parent[last] = value;
  else throw refused({ op: 'add', path: pointer });
}

function take(holder: JsonObject, operation: Operation, pointer: string): void {
  if (read(holder, pointer) === undefined) throw refused(operation);
  const { parent, last } = parentOf(holder, pointer);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (isObject(parent)) delete parent[last];
}
