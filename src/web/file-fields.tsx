// Fields for what a davit.yaml is asked for most. A field shows what stands in the text, and changes it there. Part of create.js.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { asList, fieldsOf, lineOf, type Path, valueAt, withValue, wordOf, wordsOf } from './file-text.ts';
import { Word } from './parts.tsx';

type Kind = 'word' | 'number' | 'command';

interface FieldOfFile {
  readonly label: string;
  readonly path: Path;
  readonly kind?: Kind;
  readonly placeholder?: string | undefined;
}

export interface FileFieldsProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  /** The field that names what runs, if there is one. */
  readonly content?: 'image_uri' | 'repo_ref' | undefined;
  /** What is in force where the text has nothing, by field of resource_spec. */
  readonly inForce?: Readonly<Record<string, number | null | undefined>>;
}

const CONTENT = { image_uri: 'Image', repo_ref: 'Branch, tag or commit' } as const;
const SIZES = {
  cpu: 'CPU',
  memory_mb: 'Memory, MB',
  min_scale: 'Minimum pods',
  max_scale: 'Maximum pods',
} as const;

export function FileFields({ text, onText, content, inForce = {} }: FileFieldsProps): VNode {
  const fields = fieldsOf(text);
  if (fields === undefined) return <p class="help">The text cannot be read as fields. Check says where.</p>;
  const shown = (field: FieldOfFile): VNode => (
    <Field
      key={field.path.join('.')}
      {...field}
      value={valueAt(fields, field.path)}
      onValue={(value) => onText(withValue(text, field.path, value))}
    />
  );
  const sizes = (path: Path, of: typeof inForce): FieldOfFile[] =>
    Object.entries(SIZES).map(([size, label]) => ({
      label,
      path: [...path, size],
      kind: 'number',
      placeholder: of[size]?.toString(),
    }));
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
      <Group title="Server">
        {content && shown({ label: CONTENT[content], path: [content] })}
        {shown({ label: 'Port', path: ['runtime', 'port'], kind: 'number' })}
        {shown({ label: 'Health path', path: ['runtime', 'health_path'], placeholder: '/ok' })}
        {shown({
          label: 'Command',
          path: ['runtime', 'server', 'command'],
          kind: 'command',
          placeholder: "the image's",
        })}
        {sizes(['resource_spec'], inForce).map(shown)}
      </Group>
      {names.map((name) => (
        <Group key={name} title={`Worker ${name}`} end={remove(`worker ${name}`, ['runtime', 'workers', name])}>
          {shown({ label: 'Command', path: ['runtime', 'workers', name, 'command'], kind: 'command' })}
          {sizes(['runtime', 'workers', name], { min_scale: 1, max_scale: 1 }).map(shown)}
        </Group>
      ))}
      <Adding
        label="New worker"
        onAdd={(name) => names.includes(name) || onText(withValue(text, ['runtime', 'workers', name], {}))}
      />
      {tasks.map((task, at) => {
        const name = wordOf(valueAt(task, ['name'])) || `${at + 1}`;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a task is at its place in the text
          <Group key={at} title={`Task ${name}`} end={remove(`task ${name}`, ['tasks', at])}>
            {shown({ label: 'Schedule', path: ['tasks', at, 'schedule'], placeholder: '0 3 * * *' })}
            {shown({ label: 'Command', path: ['tasks', at, 'command'], kind: 'command' })}
          </Group>
        );
      })}
      <Adding label="New task" onAdd={(name) => onText(withValue(text, ['tasks', tasks.length], { name }))} />
    </>
  );
}

interface GroupProps {
  readonly title: string;
  readonly end?: VNode;
  readonly children: VNode | (VNode | VNode[] | undefined)[];
}

function Group({ title, end, children }: GroupProps): VNode {
  return (
    <fieldset class="of-file">
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
  if (kind === 'command') return wordsOf(text);
  const word = text.trim();
  if (word === '') return undefined;
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
    <div class="adding">
      <label for={id}>{label}</label>
      <Word
        id={id}
        value={name}
        placeholder="its name"
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
