// Fields for what a davit.yaml is asked for most. A field shows what stands in the text, and changes it there. Part of create.js.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { asList, defaultsOf, fieldsOf, lineOf, type Path, valueAt, withValue, wordOf } from './file-text.ts';
import { CONTENT, contentOf, type DeploymentPart, numbersOf, partsOf } from './health.ts';
import { Word } from './parts.tsx';
import { wordsOf } from './text.ts';

type Kind = 'word' | 'number' | 'command';

interface FieldOfFile {
  readonly label: string;
  readonly path: Path;
  readonly kind?: Kind;
  readonly placeholder?: string | undefined;
}

interface FileFieldsProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Absent for a new one. */
  readonly deployment?: Deployment;
  /** Whose defaults hold where the text has nothing. */
  readonly platform: Platform | undefined;
}

const SIZES = {
  cpu: 'CPU',
  cpu_limit: 'CPU limit',
  memory_mb: 'Memory, MB',
  memory_limit_mb: 'Memory limit, MB',
  storage_gi: 'Volume, GiB',
  min_scale: 'Minimum pods',
  max_scale: 'Maximum pods',
} as const;
const { storage_gi: _, ...OF_PODS } = SIZES;

export function FileFields({ text, onText, deployment, platform }: FileFieldsProps): VNode {
  const fields = fieldsOf(text);
  if (fields === undefined) return <p class="help">The text cannot be read as fields. To see where, click Check.</p>;
  const shown = (field: FieldOfFile): VNode => (
    <Field
      key={field.path.join('.')}
      {...field}
      value={valueAt(fields, field.path)}
      onValue={(value) => onText(withValue(text, field.path, value))}
    />
  );
  const content = deployment && contentOf(deployment);
  const sizes = (path: Path, prefix: string, of: ReturnType<typeof defaultsOf>, all: object = OF_PODS): VNode[] =>
    Object.entries(all).map(([size, label]) =>
      shown({ label, path: [...path, `${prefix}${size}`], kind: 'number', placeholder: of[size]?.toString() }),
    );
  const workers = valueAt(fields, ['runtime', 'workers']);
  const names = typeof workers === 'object' && workers !== null ? Object.keys(workers) : [];
  const tasks = asList(valueAt(fields, ['tasks']));
  const remove = (label: string, path: Path): VNode => (
    <button type="button" aria-label={`Remove ${label}`} onClick={() => onText(withValue(text, path, undefined))}>
      Remove
    </button>
  );
  return (
    <>
      {group('Server', [
        ...(content ? [shown({ label: CONTENT[content], path: [content] })] : []),
        shown({
          label: 'Port',
          path: ['runtime', 'port'],
          kind: 'number',
          placeholder: platform?.pods.port.toString(),
        }),
        shown({ label: 'Health path', path: ['runtime', 'health_path'], placeholder: platform?.pods.health_path }),
        shown({
          label: 'Command',
          path: ['runtime', 'server', 'command'],
          kind: 'command',
          placeholder: "the image's",
        }),
        ...sizes(['resource_spec'], '', defaultsOf(platform, fields, 'server')),
      ])}
      {deployment &&
        otherParts(deployment).map(({ name, prefix, component, own }) =>
          group(name, sizes(['resource_spec'], prefix, defaultsOf(platform, fields, component), own)),
        )}
      {names.map((name) => {
        const path = ['runtime', 'workers', name];
        return group(
          `Worker ${name}`,
          [
            shown({ label: 'Command', path: [...path, 'command'], kind: 'command' }),
            ...sizes(path, '', { ...defaultsOf(platform, fields, name), min_scale: 1, max_scale: 1 }),
          ],
          remove(`worker ${name}`, path),
        );
      })}
      <Adding
        label="New worker"
        onAdd={(name) => names.includes(name) || onText(withValue(text, ['runtime', 'workers', name], {}))}
      />
      {tasks.map((task, at) => {
        const name = wordOf(valueAt(task, ['name'])) || `${at + 1}`;
        return group(
          `Task ${name}`,
          [
            shown({ label: 'Schedule', path: ['tasks', at, 'schedule'], placeholder: '0 3 * * *' }),
            shown({ label: 'Command', path: ['tasks', at, 'command'], kind: 'command' }),
          ],
          remove(`task ${name}`, ['tasks', at]),
        );
      })}
      <Adding label="New task" onAdd={(name) => onText(withValue(text, ['tasks', tasks.length], { name }))} />
    </>
  );
}

/** Parts with their sizes. The server is above them, and workers are what the text says. */
function otherParts(deployment: Deployment): (DeploymentPart & { readonly own: object })[] {
  const numbers = numbersOf(deployment);
  return partsOf(deployment)
    .filter(({ prefix }) => prefix.endsWith('_'))
    .map((part) => {
      const own = Object.entries(SIZES).filter(([size]) => `${part.prefix}${size}` in numbers);
      return { ...part, own: Object.fromEntries(own) };
    });
}

function group(title: string, children: VNode[], end?: VNode): VNode {
  return (
    <fieldset key={title}>
      <legend>{title}</legend>
      <div class="fields">{children}</div>
      {end}
    </fieldset>
  );
}

interface FieldProps extends FieldOfFile {
  readonly value: unknown;
  /** Undefined takes it out of the text. */
  readonly onValue: (value: unknown) => void;
}

/** While it is typed into, what was typed stays, though the text has what it means: 0.5 begins with 0. */
function Field({ label, path, kind = 'word', placeholder, value, onValue }: FieldProps): VNode {
  const [typed, setTyped] = useState<string>();
  const id = `file-${path.join('-')}`;
  const shown = kind === 'command' ? lineOf(value) : wordOf(value);
  return (
    <>
      <label for={id}>{label}</label>
      <Word
        id={id}
        inputMode={kind === 'number' ? 'decimal' : 'text'}
        value={typed ?? shown}
        placeholder={placeholder}
        onInput={({ currentTarget: { value: text } }) => {
          setTyped(text);
          onValue(meant(text, kind));
        }}
        onBlur={() => setTyped(undefined)}
      />
    </>
  );
}

/** What is no number stays as it is: the API says what is wrong with it. */
function meant(text: string, kind: Kind): unknown {
  const word = text.trim();
  if (word === '') return undefined;
  if (kind === 'command') return wordsOf(word);
  return kind === 'number' && Number.isFinite(Number(word)) ? Number(word) : word;
}

/** A name, and a button that adds what is called so. */
function Adding({ label, onAdd }: { readonly label: string; readonly onAdd: (name: string) => void }): VNode {
  const [name, setName] = useState('');
  const id = label.toLowerCase().replace(' ', '-');
  function add(): void {
    if (name.trim() !== '') onAdd(name.trim());
    setName('');
  }
  return (
    <div class="row">
      <label for={id}>{label}</label>
      <Word
        id={id}
        class="wide"
        value={name}
        placeholder="name"
        onInput={({ currentTarget }) => setName(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          // It may stand in a form.
          event.preventDefault();
          add();
        }}
      />
      <button type="button" aria-label={`Add ${label.toLowerCase()}`} onClick={add}>
        Add
      </button>
    </div>
  );
}
