// The page at `/docs`: the OpenAPI document for readers. A script of its own, bundled by src/tools/page.ts.

import { type ComponentChildren, render, type VNode } from 'preact';
import { useState } from 'preact/hooks';
import { curlOf, fieldsOf, type OpenApi, type Operation, type Part, schemaOf, wordsOf } from './openapi.ts';
import { Command } from './shell.tsx';

function Docs({ api }: DocumentProps): VNode {
  const [notice, say] = useState('');
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  return (
    <main class="docs">
      <h1>The HTTP API of Davit</h1>
      <p class="sub">
        An asterisk marks a required field. For tools, use <a href="openapi.json">the OpenAPI document</a>.
      </p>
      {api.info.description.split('\n\n').map((paragraph) => (
        <p key={paragraph}>
          <Marked text={paragraph} />
        </p>
      ))}
      <p>
        <Marked text={`In the commands, \`$API\` is \`${location.origin}\`. Set the other variables yourself.`} />
      </p>
      <p role="status" class="notice">
        {notice}
      </p>
      {api.tags.map(({ name, description }) => (
        <section key={name}>
          <h2>{name}</h2>
          <p>{description}</p>
          {operations
            .filter(({ operation }) => operation.tags.includes(name))
            .map(({ method, path, operation }) => (
              <Fold
                key={operation.operationId}
                id={operation.operationId}
                summary={<Marked text={`\`${method.toUpperCase()} ${path}\` ${operation.summary}`} />}
              >
                {() => (
                  <>
                    <Command text={curlOf(method, path, operation, api)} of={operation.summary} say={say} />
                    <Details operation={operation} api={api} />
                  </>
                )}
              </Fold>
            ))}
        </section>
      ))}
    </main>
  );
}

/** The descriptions of the document have code and bold text. */
function Marked({ text }: { readonly text: string }): VNode {
  const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`')) return <code>{part.slice(1, -1)}</code>;
    return part.startsWith('**') ? <strong>{part.slice(2, -2)}</strong> : part;
  });
  return <>{parts}</>;
}

interface FoldProps {
  readonly id?: string;
  readonly summary: ComponentChildren;
  /** Made when it is opened: a document with all its fields is large. */
  readonly children: () => ComponentChildren;
}

function Fold({ id, summary, children }: FoldProps): VNode {
  const [isOpen, setIsOpen] = useState(location.hash === `#${id}`);
  return (
    <details id={id} open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children()}
    </details>
  );
}

interface DocumentProps {
  readonly api: OpenApi;
}

function Details({ operation, api }: DocumentProps & { readonly operation: Operation }): VNode {
  const { operationId, description = '', parameters = [], requestBody, responses } = operation;
  const body = schemaOf(requestBody);
  const answers = Object.entries(responses).map(([name, answer]) => ({
    ...answer,
    name,
    schema: schemaOf(answer) ?? {},
  }));
  const lists: readonly (readonly [title: string, parts: readonly Part[]])[] = [
    ['Parameters', parameters],
    [requestBody?.required === false ? 'Body, optional' : 'Body', body ? fieldsOf(body, api) : []],
    ['Answers', answers],
  ];
  return (
    <>
      <p>
        <Marked text={description} /> <a href={`#${operationId}`}>Link to this operation</a>
      </p>
      {lists
        .filter(([, parts]) => parts.length > 0)
        .map(([title, parts]) => [
          <h3 key={title}>{title}</h3>,
          <Parts key={`${title} list`} parts={parts} api={api} />,
        ])}
    </>
  );
}

function Parts({ parts, api }: DocumentProps & { readonly parts: readonly Part[] }): VNode {
  return (
    <dl>
      {parts.map(({ name, in: where, required, description = '', schema = {} }) => {
        const inner = fieldsOf(schema, api);
        return (
          <div key={name}>
            <dt>
              <code>{name}</code>
              {required && ' *'}
            </dt>
            <dd>
              <Marked text={description} /> <span class="sub">{[where ?? [], wordsOf(schema)].flat().join(': ')}</span>
              {inner.length > 0 && <Fold summary={`Fields of ${name}`}>{() => <Parts parts={inner} api={api} />}</Fold>}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

const root = document.getElementById('page');
if (root !== null) {
  const answer = await fetch('openapi.json').catch(() => undefined);
  root.replaceChildren();
  if (answer?.ok === true) render(<Docs api={(await answer.json()) as OpenApi} />, root);
  else root.textContent = 'The OpenAPI document could not be loaded. Reload the page.';
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
}
