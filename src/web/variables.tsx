// The variables of a deployment, and one dialog that adds, changes and removes any of them in one request, which makes one revision.
// The page never reads the value of a secret. Part of create.js.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import { readEnvText } from '../kinds/env-file.ts';
import { uses } from '../kinds/source-rules.ts';
import type { Finding } from './api.ts';
import { isRefusal } from './create-request.ts';
import { Dialog } from './dialog.tsx';
import type { ConfigureProps } from './new.tsx';
import { Area, Failure, Select, Word } from './parts.tsx';
import { Card } from './rows.tsx';
import { SecretValue } from './secret-value.tsx';
import { plain } from './text.ts';
import { type Kind, patchOfRows, type Row, rowsOf, withPasted } from './variable-rows.ts';

/** Where the value of a variable is. */
const KINDS: Readonly<Record<Kind, string>> = {
  secret: 'Secret',
  plain: 'Plain text',
  reference: 'Key of a Secret',
};

export function Variables({
  api,
  deployment,
  say,
  isLocked,
  isDirty,
}: ConfigureProps & { readonly isDirty: boolean }): VNode {
  const [isOpen, setIsOpen] = useState(false);
  const rows = rowsOf(deployment);
  return (
    <Card title="Variables" sub="secret ones without their values">
      <ul class="variables">
        {rows.length === 0 && <li class="help">None.</li>}
        {rows.map((row) => (
          <li key={row.name}>
            <code>{plain(row.name)}</code> <span class="sub">{valueOf(row)}</span>
          </li>
        ))}
      </ul>
      {!isLocked && (
        <>
          <button type="button" disabled={isDirty} onClick={() => setIsOpen(true)}>
            Change variables…
          </button>
          {isDirty && <p class="help">Apply or discard your changes to the text first.</p>}
        </>
      )}
      {isOpen && <ChangeVariables api={api} deployment={deployment} onDone={say} onClose={() => setIsOpen(false)} />}
    </Card>
  );
}

function valueOf({ kind, value, secretName, secretKey }: Row): VNode | string {
  if (kind === 'secret') return 'secret';
  if (kind === 'reference') return plain(`Secret ${secretName}, key ${secretKey}`);
  return value === '' ? 'an empty text' : <code>{plain(value)}</code>;
}

interface ChangeProps extends Pick<ConfigureProps, 'api'> {
  readonly deployment: Deployment;
  readonly onDone: (sentence: string) => void;
  readonly onClose: () => void;
}

function ChangeVariables({ api, deployment, onDone, onClose }: ChangeProps): VNode {
  const [rows, setRows] = useState<readonly Row[]>(() => rowsOf(deployment));
  const change = (at: number, fields: Partial<Row>): void =>
    setRows(rows.map((row, place) => (place === at ? { ...row, ...fields } : row)));
  return (
    <Dialog
      title={`Variables of ${deployment.name}`}
      action="Apply"
      isWide
      onDone={onDone}
      onClose={onClose}
      says={[
        'All changes are applied together, as one revision. The value of a secret is stored in a Secret, and this page never shows it again. Everybody who can read the deployment sees plain text.',
      ]}
      send={async () => {
        const path = `v2/deployments/${deployment.id}?secrets=names`;
        // Somebody may have changed it since: it is refused if that happens now.
        const { value: now, etag } = await api.read<Deployment>(path);
        const sent = patchOfRows(rows, now);
        try {
          await api.ask('PATCH', path, sent, { 'if-match': etag });
        } catch (error) {
          if (!isRefusal(error) || error.findings.length === 0) throw error;
          throw new Error(error.findings.map((finding) => sentenceOf(finding, sent)).join(' '));
        }
      }}
      done={`The variables of ${deployment.name} are changed.`}
    >
      {rows.map((row, at) => (
        <RowFields
          // biome-ignore lint/suspicious/noArrayIndexKey: a row stays at its place
          key={at}
          row={row}
          at={at}
          kinds={uses(deployment.source, 'references') ? ['secret', 'plain', 'reference'] : ['secret', 'plain']}
          onChange={(fields) => change(at, fields)}
          onForget={() => setRows(rows.filter((_, place) => place !== at))}
        />
      ))}
      <button type="button" onClick={() => setRows([...rows, { name: '', kind: 'secret', value: '', state: 'new' }])}>
        Add a variable
      </button>
      <Paste onPaste={(given, kind) => setRows(withPasted(rows, given, kind))} />
    </Dialog>
  );
}

interface RowProps {
  readonly row: Row;
  readonly at: number;
  readonly kinds: readonly Kind[];
  readonly onChange: (fields: Partial<Row>) => void;
  readonly onForget: () => void;
}

function RowFields({ row, at, kinds, onChange, onForget }: RowProps): VNode {
  const { name, kind, value, state, secretName = '', secretKey = '' } = row;
  const called = name === '' ? `variable ${at + 1}` : name;
  const isRemoved = state === 'removed';
  const changed = state === 'new' ? {} : ({ state: 'changed' } as const);
  return (
    <fieldset class="variable">
      <legend class="hidden">{called}</legend>
      {isRemoved ? (
        <s class="wide">{plain(name)}</s>
      ) : (
        <>
          <Word
            class="wide"
            aria-label={`Name of ${called}`}
            placeholder="NAME"
            value={name}
            readOnly={state !== 'new'}
            onInput={({ currentTarget }) => onChange({ name: currentTarget.value })}
          />
          <Select
            aria-label={`Kind of ${called}`}
            value={kind}
            options={kinds.map((one) => [one, KINDS[one]])}
            onValue={(one) => onChange({ kind: one as Kind, ...changed })}
          />
        </>
      )}
      <button
        type="button"
        aria-label={`${isRemoved ? 'Keep' : 'Remove'} ${called}`}
        onClick={() => (state === 'new' ? onForget() : onChange({ state: isRemoved ? 'changed' : 'removed' }))}
      >
        {isRemoved ? 'Keep' : 'Remove'}
      </button>
      {!isRemoved && <label for={`value-${at}`}>{kind === 'reference' ? 'Secret, and its key' : 'Value'}</label>}
      {!isRemoved && kind === 'secret' && (
        <SecretValue
          id={`value-${at}`}
          label={`Value of ${called}`}
          value={value}
          placeholder={state === 'new' ? undefined : 'unchanged'}
          onValue={(text) => onChange({ value: text, ...changed })}
        />
      )}
      {!isRemoved && kind === 'plain' && (
        <Area
          id={`value-${at}`}
          aria-label={`Value of ${called}`}
          value={value}
          onInput={({ currentTarget }) => onChange({ value: currentTarget.value, ...changed })}
        />
      )}
      {!isRemoved && kind === 'reference' && (
        <div class="secret-value">
          <Word
            id={`value-${at}`}
            class="wide"
            aria-label={`Secret of ${called}`}
            placeholder="Secret"
            value={secretName}
            onInput={({ currentTarget }) => onChange({ secretName: currentTarget.value, ...changed })}
          />
          <Word
            class="wide"
            aria-label={`Key of ${called}`}
            placeholder="key"
            value={secretKey}
            onInput={({ currentTarget }) => onChange({ secretKey: currentTarget.value, ...changed })}
          />
        </div>
      )}
    </fieldset>
  );
}

interface PasteProps {
  readonly onPaste: (given: readonly { readonly name: string; readonly value: string }[], kind: Kind) => void;
}

/** A .env text becomes rows. */
function Paste({ onPaste }: PasteProps): VNode {
  const [text, setText] = useState('');
  const [failure, setFailure] = useState<string>();
  function paste(kind: Kind): void {
    const read = readEnvText(text, '.env');
    if ('errors' in read) {
      setFailure(read.errors.join('\n'));
      return;
    }
    onPaste(read.variables, kind);
    setFailure(undefined);
    setText('');
  }
  return (
    <details class="paste">
      <summary>Paste a .env file</summary>
      <Area
        rows={4}
        aria-label="Text of a .env file"
        value={text}
        placeholder="API_KEY=…"
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Failure sentence={failure} />
      <div class="actions">
        <button type="button" onClick={() => paste('secret')}>
          Add as secrets
        </button>
        <button type="button" onClick={() => paste('plain')}>
          Add as plain text
        </button>
      </div>
    </details>
  );
}

/** An error at its variable, whose name the request has at that place. */
function sentenceOf({ loc: [, ...loc], msg }: Finding, sent: ReturnType<typeof patchOfRows>): string {
  const at = loc.findIndex((step) => typeof step === 'number');
  const list =
    loc[0] === 'secrets' ? sent.secrets : loc[0] === 'secret_references' ? sent.secret_references : undefined;
  const name = (list ?? sent.source_config?.env)?.[Number(loc[at])]?.name;
  return plain(`${at < 0 || name === undefined ? loc.join('.') : name || 'A variable without a name'} ${msg}.`);
}
