// The value of a secret, typed or made here. Part of create.js.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Area } from './parts.tsx';
import { copied } from './shell.tsx';

/** 32 random bytes, which fit into every variable. */
export function madeSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

interface SecretValueProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string | undefined;
  readonly onValue: (value: string) => void;
}

/** A browser has no clipboard for a page that came without TLS. */
export function SecretValue({ id, label, value, placeholder, onValue }: SecretValueProps): VNode {
  const [said, setSaid] = useState('');
  return (
    <div class="secret-value">
      <Area
        id={id}
        name={id}
        class="wide"
        aria-label={label}
        value={value}
        placeholder={placeholder}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
      <button
        type="button"
        aria-label={`Generate ${label}`}
        onClick={() => {
          onValue(madeSecret());
          setSaid('Generated in this browser. Copy it now: it is not shown again.');
        }}
      >
        Generate
      </button>
      {said !== '' && window.isSecureContext && (
        <button
          type="button"
          aria-label={`Copy ${label}`}
          onClick={async () =>
            setSaid((await copied(value)) ? 'Copied.' : 'The browser did not copy it. Copy it by hand.')
          }
        >
          Copy
        </button>
      )}
      <span class="help" role="status">
        {said}
      </span>
    </div>
  );
}

/** The same with a state of its own, for a form. */
export function Generated({ id, label }: { readonly id: string; readonly label: string }): VNode {
  const [value, setValue] = useState('');
  return (
    <>
      <h3>{label}</h3>
      <SecretValue id={id} label={label} value={value} onValue={setValue} />
    </>
  );
}
