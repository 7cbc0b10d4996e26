// Fields of the form for a new deployment, each with its label, its help and what is wrong with it.

import type { ComponentChildren, VNode } from 'preact';
import { DEFAULT_CONFIGURATION } from '../kinds/source-files.ts';
import { type Failures, FIELDS, type FieldId } from './create-request.ts';
import { Failure, Word } from './parts.tsx';

interface ConfigFieldProps {
  readonly failures: Failures;
  /** The path, where no other may be given. */
  readonly fixed?: string | null;
  readonly suggested?: string;
  readonly onPath?: (path: string) => void;
}

export function ConfigField({
  failures,
  fixed = null,
  suggested = DEFAULT_CONFIGURATION,
  onPath,
}: ConfigFieldProps): VNode {
  return (
    <Asked id="new-config" failures={failures}>
      {(more) => (
        <Word
          {...more}
          required
          readOnly={fixed !== null}
          defaultValue={fixed ?? suggested}
          onChange={({ currentTarget }) => onPath?.(currentTarget.value.trim())}
        />
      )}
    </Asked>
  );
}

interface Attributes {
  readonly id: FieldId;
  readonly name: FieldId;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string;
}

interface AskedProps {
  readonly id: FieldId;
  readonly failures: Failures;
  readonly children: (attributes: Attributes) => ComponentChildren;
}

export function Asked({ id, failures, children }: AskedProps): VNode {
  const { label, help } = FIELDS[id];
  const failure = failures[id];
  return (
    <>
      <label for={id}>{label}</label>
      {children({
        id,
        name: id,
        'aria-invalid': failure !== undefined,
        'aria-describedby': `${id}-help ${id}-failure`,
      })}
      <p id={`${id}-help`} class="help">
        {help}
      </p>
      <Failure id={`${id}-failure`} sentence={failure} />
    </>
  );
}

/** A choice of yes or no; no unless it is set. */
export function Checked({ id, failures }: Pick<AskedProps, 'id' | 'failures'>): VNode {
  const { label, help } = FIELDS[id];
  return (
    <>
      <label for={id} class="checked">
        <input id={id} name={id} type="checkbox" aria-describedby={`${id}-help ${id}-failure`} /> {label}
      </label>
      <p id={`${id}-help`} class="help">
        {help}
      </p>
      <Failure id={`${id}-failure`} sentence={failures[id]} />
    </>
  );
}
