// What a deployment is configured with.

import type { VNode } from 'preact';
import type { TabProps } from './actions.tsx';
import { plain } from './text.ts';
import type { Variable } from './variables.tsx';

export function Configure(props: TabProps): VNode {
  return <Variables {...props} />;
}

/** Plain variables, and the names of the secret ones: the page asks for no value of these. */
function Variables({ deployment, onAsk }: TabProps): VNode {
  const { secrets, secret_references: references, source_config: config } = deployment;
  return (
    <section class="card" aria-labelledby="variables">
      <h2 id="variables">
        Variables <span class="sub">secret ones without their values</span>
      </h2>
      <ul class="variables">
        {config.env?.map(({ name, value }) => (
          <VariableLine key={name} variable={{ name, kind: 'plain', value }} onAsk={onAsk}>
            <span class="sub">{value === '' ? 'an empty text' : <code>{plain(value)}</code>}</span>
          </VariableLine>
        ))}
        {secrets.map(({ name }) => (
          <VariableLine key={name} variable={{ name, kind: 'secret' }} onAsk={onAsk} />
        ))}
        {references?.map(({ name, secret_name: secretName, secret_key: secretKey }) => (
          <VariableLine key={name} variable={{ name, kind: 'reference', secretName, secretKey }} onAsk={onAsk}>
            <span class="sub">{plain(`Secret ${secretName}, key ${secretKey}`)}</span>
          </VariableLine>
        ))}
      </ul>
      {onAsk && (
        <button type="button" onClick={() => onAsk({ action: 'set' })}>
          Add a variable
        </button>
      )}
    </section>
  );
}

interface VariableLineProps extends Pick<TabProps, 'onAsk'> {
  readonly variable: Variable;
  readonly children?: VNode;
}

function VariableLine({ variable, onAsk, children }: VariableLineProps): VNode {
  const { name } = variable;
  return (
    <li>
      <code>{plain(name)}</code> {children}
      {onAsk && (
        <span class="actions">
          <button type="button" aria-label={`Change ${name}`} onClick={() => onAsk({ action: 'set', variable })}>
            Change
          </button>
          <button type="button" aria-label={`Remove ${name}`} onClick={() => onAsk({ action: 'unset', variable })}>
            Remove
          </button>
        </span>
      )}
    </li>
  );
}
