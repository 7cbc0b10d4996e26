// Sets and removes a variable: a secret one, whose value the page never reads, a plain one, or a key of a Secret that exists.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { type ActionProps, Dialog, fieldOf, Word } from './parts.tsx';

/** Where the value of a variable is. */
const KINDS = {
  secret: ['A secret', 'The value is stored in a Secret, and this page never shows it.'],
  plain: ['Plain text', 'Everybody who reads the deployment sees the value.'],
  reference: ['A key of a Secret that exists', 'You need the right to read that Secret.'],
} as const;
type Kind = keyof typeof KINDS;

export interface Variable {
  readonly name: string;
  readonly kind: Kind;
  /** Of a plain one. */
  readonly value?: string;
  readonly secretName?: string;
  readonly secretKey?: string;
}

interface VariableProps extends ActionProps {
  readonly variable: Variable;
}

export function SetVariable({
  api,
  deployment,
  variable,
  onDone,
  onClose,
}: Omit<VariableProps, 'variable'> & { readonly variable: Variable | undefined }): VNode {
  const [kind, setKind] = useState<Kind>(variable?.kind ?? 'secret');
  return (
    <Dialog
      title={variable === undefined ? 'Add a variable' : `Change ${variable.name}`}
      action="Set"
      onDone={onDone}
      onClose={onClose}
      onConfirm={async (form) => {
        const name = variable?.name ?? fieldOf(form, 'variable');
        const given = form.get('value');
        const value = typeof given === 'string' ? given : '';
        const reference = { name, secret_name: fieldOf(form, 'secret'), secret_key: fieldOf(form, 'key') };
        if (kind === 'secret') await api.setSecret(deployment.id, name, value);
        else
          await api.patchFrom(deployment.id, ({ source_config: { env }, secret_references: references }) =>
            kind === 'plain'
              ? { source_config: { env: withOne(env, { name, value }) } }
              : { secret_references: withOne(references, reference) },
          );
        return `${name} of ${deployment.name} is set.`;
      }}
    >
      <p>{KINDS[kind][1]} A change creates a revision.</p>
      <div class="fields">
        {variable === undefined && [
          <label key="label" for="variable">
            Variable
          </label>,
          <Word key="field" id="variable" name="variable" required />,
          <label key="kind-label" for="kind">
            Kind
          </label>,
          <select key="kind" id="kind" value={kind} onChange={(event) => setKind(event.currentTarget.value as Kind)}>
            {Object.entries(KINDS).map(([one, [label]]) => (
              <option key={one} value={one}>
                {label}
              </option>
            ))}
          </select>,
        ]}
        {kind === 'reference' ? (
          <>
            <label for="secret">Secret</label>
            <Word id="secret" name="secret" required defaultValue={variable?.secretName ?? ''} />
            <label for="key">Key</label>
            <Word id="key" name="key" required defaultValue={variable?.secretKey ?? ''} />
          </>
        ) : (
          <>
            <label for="value">Value</label>
            <textarea
              id="value"
              name="value"
              rows={3}
              autocomplete="off"
              spellcheck={false}
              defaultValue={variable?.value ?? ''}
            />
          </>
        )}
      </div>
    </Dialog>
  );
}

export function RemoveVariable({ api, deployment, variable: { name, kind }, onDone, onClose }: VariableProps): VNode {
  return (
    <Dialog
      title={`Remove ${name}`}
      action={`Remove ${name}`}
      isDangerous
      onDone={onDone}
      onClose={onClose}
      onConfirm={async () => {
        if (kind === 'secret') await api.removeSecret(deployment.id, name);
        else
          await api.patchFrom(deployment.id, ({ source_config: { env }, secret_references: references }) =>
            kind === 'plain'
              ? { source_config: { env: without(env, name) } }
              : { secret_references: without(references, name) },
          );
        return `${name} of ${deployment.name} is removed.`;
      }}
    >
      <p>
        A new revision is created without this variable. The other variables stay
        {kind === 'reference' && ', and so does the Secret'}.
      </p>
    </Dialog>
  );
}

interface Named {
  readonly name: string;
}

/** In its place, or at the end. */
function withOne<T extends Named>(all: readonly T[] | null | undefined, one: T): T[] {
  const list = all ?? [];
  return list.some(({ name }) => name === one.name)
    ? list.map((each) => (each.name === one.name ? one : each))
    : [...list, one];
}

function without<T extends Named>(all: readonly T[] | null | undefined, gone: string): T[] {
  return (all ?? []).filter(({ name }) => name !== gone);
}
