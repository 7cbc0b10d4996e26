// Fields of the forms of create.js, each with its label, its help and what is wrong with it.

import type { InputHTMLAttributes, RefObject, TargetedSubmitEvent, VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type Failures, FIELDS, type FieldId, failuresOf, type SetFields } from './create-request.ts';
import { Failure, Select, useAsking, Word } from './parts.tsx';

type FieldProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'id' | 'value'> & {
  readonly id: FieldId;
  readonly failures: Failures;
  readonly value?: string | undefined;
  /** Values that can be chosen; without them a text is typed. */
  readonly options?: readonly (readonly [value: string, text: string])[];
  readonly onValue?: (value: string) => void;
};

export function Field({
  id,
  failures,
  options,
  onValue = () => undefined,
  value,
  disabled,
  ...more
}: FieldProps): VNode {
  const { label, help } = FIELDS[id];
  const isChecked = more.type === 'checkbox';
  const attributes = {
    id,
    name: id,
    disabled,
    'aria-invalid': failures[id] !== undefined,
    'aria-describedby': `${id}-help ${id}-failure`,
  };
  const typed = { ...attributes, ...more } as InputHTMLAttributes<HTMLInputElement>;
  const input = <Word {...typed} onChange={({ currentTarget }) => onValue(currentTarget.value.trim())} />;
  return (
    <>
      <label for={id} class={isChecked ? 'checked' : ''}>
        {isChecked && input} {label}
      </label>
      {options && <Select {...attributes} value={value} required={more.required} options={options} onValue={onValue} />}
      {!options && !isChecked && input}
      <p id={`${id}-help`} class="help">
        {help}
      </p>
      <Failure id={`${id}-failure`} sentence={failures[id]} />
    </>
  );
}

/** Goes to a page and to its heading, for the keyboard and a screen reader as well. */
export function arriveAt(link: string): void {
  location.hash = link;
  setTimeout(() => document.querySelector('h1')?.focus());
}

interface Form {
  readonly attributes: {
    readonly ref: RefObject<HTMLFormElement | null>;
    readonly onSubmit: (event: TargetedSubmitEvent<HTMLFormElement>) => void;
  };
  readonly isAsking: boolean;
  readonly error: unknown;
  readonly failures: Failures;
}

/** A form that sends what stands in its fields, and says of what was refused at which. `set`: the fields of a davit.yaml that were sent. */
export function useForm(send: (form: HTMLFormElement) => Promise<void>, set?: RefObject<SetFields>): Form {
  const form = useRef<HTMLFormElement>(null);
  const { isAsking, error, ask } = useAsking();
  const shown = (Object.keys(FIELDS) as FieldId[]).filter((id) => form.current?.querySelector(`#${id}`));
  const failures = useMemo(() => failuresOf(error, shown, set?.current ?? []), [error]);
  useEffect(() => {
    const first = shown.find((id) => failures[id] !== undefined);
    if (first) document.getElementById(first)?.focus();
  }, [failures]);
  function onSubmit(event: TargetedSubmitEvent<HTMLFormElement>): void {
    event.preventDefault();
    const { currentTarget } = event;
    void ask(() => send(currentTarget));
  }
  return { attributes: { ref: form, onSubmit }, isAsking, error, failures };
}
