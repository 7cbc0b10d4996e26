// The text of a davit.yaml as fields show and change it: what a field does not touch stays as it was written. Pure.

import { Document, isMap, isScalar, isSeq, type Node, parseDocument, visit } from 'yaml';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { yamlText } from '../kinds/text.ts';

/** From the top of the file, such as `['runtime', 'port']`. */
export type Path = readonly (string | number)[];

export function textOf(content: object): string {
  if (Object.keys(content).length === 0) return '';
  return yamlText(content, (value, { aliasDuplicateObjects, ...options }) => {
    const document = new Document(value, { aliasDuplicateObjects });
    flow(document);
    return document.toString({ ...options, flowCollectionPadding: false });
  });
}

/** Lists of texts, which commands are, stand on one line, as people write them. */
function flow(node: Document | Node): void {
  visit(node, {
    Seq(_key, list) {
      list.flow = list.items.length > 0 && list.items.every((one) => isScalar(one) && typeof one.value === 'string');
    },
  });
}

/** Undefined for text that is no map in YAML: the API says where. */
function read(text: string): Document.Parsed | undefined {
  const document = parseDocument(text, { stringKeys: true, logLevel: 'silent' });
  const isFile = document.errors.length === 0 && (document.contents === null || isMap(document.contents));
  return isFile ? document : undefined;
}

/** The fields of the file; undefined for text that is no map in YAML. */
export function fieldsOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return (read(text)?.toJS() as Record<string, unknown> | null | undefined) ?? (text.trim() === '' ? {} : undefined);
  } catch {
    // An alias that stands for too much.
    return undefined;
  }
}

export function valueAt(fields: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, step)
        ? (value as Readonly<Record<string | number, unknown>>)[step]
        : undefined,
    fields,
  );
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The sizes that a part has where the file leaves them out, by their names without a prefix. */
export function defaultsOf(
  platform: Platform | undefined,
  fields: Readonly<Record<string, unknown>>,
  component: string,
): Readonly<Record<string, number>> {
  const preset = platform?.sizes[wordOf(valueAt(fields, ['deployment_type'])) || platform.default_type];
  if (component === 'postgres' || component === 'redis') return preset?.[component] ?? {};
  // Queue workers and named workers have the server's sizes by default.
  const isOwn = ['server', 'orchestrator', 'executor'].includes(component);
  return {
    ...preset?.server,
    ...(!isOwn && (valueAt(fields, ['resource_spec']) as Record<string, number> | undefined)),
  };
}

/** A text or a number as it is typed; empty for what is neither. */
export function wordOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? `${value}` : '';
}

/** The text with the value at a place, or without that place and what would be empty then. The text itself if it is no YAML. */
export function withValue(text: string, path: Path, value: unknown): string {
  const document = read(text);
  if (document === undefined || fieldsOf(text) === undefined) return text;
  if (value === undefined) remove(document, path);
  else {
    const node = document.createNode(value);
    flow(node);
    document.setIn(path, node);
  }
  const isEmpty = isMap(document.contents) && document.contents.items.length === 0 && !document.contents.comment;
  return isEmpty ? '' : document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function remove(document: Document.Parsed, path: Path): void {
  if (!document.hasIn(path)) return;
  document.deleteIn(path);
  const above = path.slice(0, -1);
  // A worker without a field is one all the same, and so is a task.
  if (above.length === 0 || above.length > 2 || typeof above.at(-1) === 'number') return;
  const rest = document.getIn(above);
  if ((isMap(rest) || isSeq(rest)) && rest.items.length === 0) remove(document, above);
}

/** The words of a command line as people read it: a word with a space or a quote stands in quotes. */
export function lineOf(command: unknown): string {
  const quoted = (word: string): string =>
    `"${word.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}"`;
  return asList(command)
    .map((word) => (/^[^\s"'\\]+$/.test(String(word)) ? String(word) : quoted(String(word))))
    .join(' ');
}
