// Scale and sizes of each part: dialogs that send the numbers that differ.

import type { VNode } from 'preact';
import type { Deployment } from '../deploy/http/payloads.ts';
import { numbersOf, partsOf, patchOf } from './health.ts';
import { type ActionProps, Dialog, fieldOf } from './parts.tsx';

interface NumberField {
  readonly name: string;
  readonly label: string;
}

/** The numbers that differ from those in force; an empty field goes back to its default. Throws if none differs. */
function changedNumbers(
  deployment: Deployment,
  fields: readonly NumberField[],
  form: FormData,
): Record<string, number | null> {
  const numbers = numbersOf(deployment);
  const changed = fields.flatMap(({ name }): [string, number | null][] => {
    const text = fieldOf(form, name);
    const value = text === '' ? null : Number(text);
    return value === (numbers[name] ?? null) ? [] : [[name, value]];
  });
  if (changed.length === 0) throw new Error('Nothing is changed. Change a number, or cancel.');
  return Object.fromEntries(changed);
}

/** An empty field is the default, which is never too small. */
function isAbove(least: string, most: string): boolean {
  return most !== '' && Number(least) > Number(most);
}

/** Inputs of one part, with the values in force. */
function Numbers({
  deployment,
  fields,
  title,
  step,
}: {
  readonly deployment: Deployment;
  readonly fields: readonly NumberField[];
  readonly title: string;
  readonly step: number | 'any';
}): VNode {
  const numbers = numbersOf(deployment);
  return (
    <fieldset>
      <legend>{title}</legend>
      <div class="fields">
        {fields.map(({ name, label }) => [
          <label key={`${name} label`} for={name}>
            {label}
          </label>,
          <input
            key={name}
            id={name}
            name={name}
            type="number"
            min={0}
            step={step}
            defaultValue={String(numbers[name] ?? '')}
          />,
        ])}
      </div>
    </fieldset>
  );
}

export function Scale({ api, deployment, onDone, onClose }: ActionProps): VNode {
  const parts = partsOf(deployment)
    .filter(({ prefix }) => `${prefix}max_scale` in numbersOf(deployment))
    .map(({ name, prefix }) => ({
      name,
      fields: [
        { name: `${prefix}min_scale`, label: prefix === '' ? 'Minimum pods' : `Minimum ${name} pods` },
        { name: `${prefix}max_scale`, label: prefix === '' ? 'Maximum pods' : `Maximum ${name} pods` },
      ],
    }));
  const fields = parts.flatMap((part) => part.fields);
  return (
    <Dialog
      title={`Scale ${deployment.name}`}
      action="Scale"
      onDone={onDone}
      onClose={onClose}
      onConfirm={async (form) => {
        // Only what differs is sent, and the API takes a minimum alone for both.
        for (const {
          fields: [least, most],
        } of parts)
          if (least && most && isAbove(fieldOf(form, least.name), fieldOf(form, most.name)))
            throw new Error(`${least.label} must not be more than ${most.label.toLowerCase()}.`);
        await api.patch(deployment.id, {
          source_config: patchOf(changedNumbers(deployment, fields, form)),
        });
        return `${deployment.name} is to run on ${fieldOf(form, 'min_scale')} to ${fieldOf(form, 'max_scale')} pods.`;
      }}
    >
      <p>No running pod is replaced, and no revision is made. A maximum of 0 stops every pod and keeps the data.</p>
      {parts.map((part) => (
        <Numbers key={part.name} deployment={deployment} title={part.name} fields={part.fields} step={1} />
      ))}
    </Dialog>
  );
}

const MEASURES = {
  cpu: 'CPU',
  cpu_limit: 'CPU limit',
  memory_mb: 'Memory, MB',
  memory_limit_mb: 'Memory limit, MB',
  storage_gi: 'Volume, GiB',
} as const;

export function Sizes({ api, deployment, onDone, onClose }: ActionProps): VNode {
  const parts = partsOf(deployment).map(({ name, prefix }) => ({
    name,
    fields: Object.entries(MEASURES)
      .map(([measure, label]) => ({ name: `${prefix}${measure}`, label }))
      .filter((field) => field.name in numbersOf(deployment)),
  }));
  return (
    <Dialog
      title={`Sizes of ${deployment.name}`}
      action="Change sizes"
      onDone={onDone}
      onClose={onClose}
      onConfirm={async (form) => {
        const all = parts.flatMap(({ fields }) => fields);
        await api.patch(deployment.id, { source_config: patchOf(changedNumbers(deployment, all, form)) });
        return `The sizes of ${deployment.name} are changed.`;
      }}
    >
      <p>A change creates a revision. An empty field goes back to its default. A volume can grow but not shrink.</p>
      {parts.map((part) => (
        <Numbers key={part.name} deployment={deployment} title={part.name} fields={part.fields} step="any" />
      ))}
    </Dialog>
  );
}
