// All deployments of the tenant: a page of them, filtered by name and status.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import { API_URL, type Api } from './api.ts';
import { useFollowed } from './follow.ts';
import { originOf, phaseOf, STATUSES, scaleOf, type Tone, toneOf } from './health.ts';
import { Address, Age, Asking, Breakable, Status, Titles } from './parts.tsx';
import { FIRST_PAGE, type ListState, linkOf, NEW } from './route.ts';
import { plain } from './text.ts';

const PAGE = 50;
const TYPING_MS = 250;

export interface ListProps {
  readonly api: Api;
  /** As it was typed. */
  readonly tenant: string;
  readonly state: ListState;
  /** `replacing`: the button Back does not lead to the state before. */
  readonly onState: (state: ListState, replacing?: boolean) => void;
  /** Id of the deployment whose row gets the focus. */
  readonly focusOn: string | undefined;
}

export function List({ api, tenant, state, onState, focusOn }: ListProps): VNode {
  // One more than is shown tells whether there is another page.
  const followed = useFollowed(JSON.stringify(state), api.list({ ...state, limit: PAGE + 1 }));
  const { value, isPending } = followed;
  const rows = value?.resources.slice(0, PAGE);
  const hasMore = (value?.resources.length ?? 0) > PAGE;
  const isFiltered = state.nameContains !== '' || state.status !== '';
  const heading = useRef<HTMLHeadingElement>(null);
  const isFocused = useRef(false);

  useEffect(() => {
    document.title = 'Deployments – Davit';
  }, []);
  useEffect(() => {
    if (isFocused.current || rows === undefined) return;
    isFocused.current = true;
    const row = focusOn === undefined ? null : document.getElementById(`link-${focusOn}`);
    (row ?? heading.current)?.focus();
  });

  return (
    <section aria-labelledby="deployments">
      <div class="head">
        <h1 id="deployments" ref={heading} tabIndex={-1}>
          Deployments
        </h1>
        <span class="actions">
          <a class="button main" href={NEW}>
            New deployment
          </a>
        </span>
      </div>
      <Filters state={state} onState={onState} />
      <Asking of={followed} what="The deployments" />
      {rows?.length === 0 &&
        (isFiltered || state.offset > 0 ? <NoMatch onState={onState} /> : <Empty tenant={tenant} />)}
      {rows !== undefined && rows.length > 0 && <Table rows={rows} isStale={isPending} />}
      <nav class="pages" aria-label="Pages">
        <span role="status">{rows !== undefined && !isPending && countOf(state.offset, rows.length, hasMore)}</span>
        {(state.offset > 0 || hasMore) && (
          <span class="actions">
            <button
              type="button"
              disabled={state.offset === 0}
              onClick={() => onState({ ...state, offset: Math.max(0, state.offset - PAGE) })}
            >
              Previous
            </button>
            <button
              type="button"
              disabled={!hasMore}
              onClick={() => onState({ ...state, offset: state.offset + PAGE })}
            >
              Next
            </button>
          </span>
        )}
      </nav>
    </section>
  );
}

function countOf(offset: number, count: number, hasMore: boolean): string {
  if (count === 0) return '';
  if (offset === 0 && !hasMore) return count === 1 ? '1 deployment' : `${count} deployments`;
  return `Deployments ${offset + 1} to ${offset + count}${hasMore ? ', and more' : ''}`;
}

function Filters({ state, onState }: Pick<ListProps, 'state' | 'onState'>): VNode {
  const [name, setName] = useState(state.nameContains);
  const sent = useRef(state.nameContains);
  // Only what others have set: the person has perhaps typed on since this field sent its text.
  useEffect(() => {
    if (state.nameContains === sent.current) return;
    sent.current = state.nameContains;
    setName(state.nameContains);
  }, [state.nameContains]);
  useEffect(() => {
    if (name === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = name;
      onState({ ...state, nameContains: name, offset: 0 }, true);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [name, state]);
  return (
    <search class="filters">
      <label for="name">Name</label>
      <input
        id="name"
        type="search"
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        placeholder="part of a name"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <label for="status">Status</label>
      <select
        id="status"
        value={state.status}
        onChange={(event) => onState({ ...state, status: event.currentTarget.value, offset: 0 })}
      >
        <option value="">All</option>
        {Object.entries(STATUSES).map(([status, word]) => (
          <option key={status} value={status}>
            {word}
          </option>
        ))}
      </select>
    </search>
  );
}

/** In the order in which the API lists them. */
const GROUPS: readonly { readonly title: string; readonly tones: readonly Tone[] }[] = [
  { title: 'Needs attention', tones: ['bad'] },
  { title: 'Running', tones: ['good', 'busy'] },
  { title: 'Unused', tones: ['off'] },
];

// The roles are those that the elements have; a narrow screen's layout would take them away.
function Table({ rows, isStale }: { readonly rows: readonly Deployment[]; readonly isStale: boolean }): VNode {
  return (
    <table class="list" role="table" aria-labelledby="deployments" aria-busy={isStale}>
      <Titles titles={['Name', 'Status', 'Details', 'Runs', 'Pods', 'Created, changed by', 'Address']} />
      {GROUPS.map(({ title, tones }) => ({ title, members: rows.filter((row) => tones.includes(toneOf(row))) }))
        .filter(({ members }) => members.length > 0)
        .map(({ title, members }) => (
          <tbody key={title} role="rowgroup">
            <tr role="row" class="group">
              <th role="rowheader" scope="rowgroup" colSpan={7}>
                {title}
              </th>
            </tr>
            {members.map((row) => (
              <Row key={row.id} row={row} />
            ))}
          </tbody>
        ))}
    </table>
  );
}

function Row({ row }: { readonly row: Deployment }): VNode {
  const tone = toneOf(row);
  return (
    <tr role="row" class={tone}>
      <th role="rowheader" scope="row" class="name">
        <a id={`link-${row.id}`} href={linkOf(row.id)}>
          {row.name}
        </a>
      </th>
      <td role="cell" class="status">
        <Status status={row.status} phase={phaseOf(row)} tone={tone} />
      </td>
      <td role="cell" class="message">
        <span class="clamped">{plain(row.status_message)}</span>
      </td>
      <td role="cell" class="image" data-title="Runs">
        <Breakable text={originOf(row)} />
      </td>
      <td role="cell" class="number" data-title="Pods">
        {scaleOf(row)}
      </td>
      <td role="cell" class="changed" data-title="Created">
        <Age then={row.created_at} after=" ago" />
        {row.changed_by !== null && <div class="sub">{plain(row.changed_by)}</div>}
      </td>
      <td role="cell" class="address">
        <Address url={row.source_config.custom_url} />
      </td>
    </tr>
  );
}

function NoMatch({ onState }: Pick<ListProps, 'onState'>): VNode {
  return (
    <div class="empty">
      <p>No deployment matches.</p>
      <button type="button" onClick={() => onState(FIRST_PAGE)}>
        Show all
      </button>
    </div>
  );
}

function Empty({ tenant }: Pick<ListProps, 'tenant'>): VNode {
  const header = /^[\w-]+$/.test(tenant) ? ` -H 'X-Tenant-Id: ${tenant}'` : '';
  return (
    <div class="empty">
      <h2>There is no deployment yet</h2>
      <p>
        <a href={NEW}>Create the first one here</a>, with kubectl, or over HTTP. <code>TOKEN</code> is the token that
        you signed in with; any image that listens on port 8000 and answers <code>GET /ok</code> with 200 will do.
      </p>
      <pre tabIndex={0} aria-label="Commands">
        {`curl -X POST "${API_URL}/v2/deployments?fieldValidation=Strict" \\
  -H "Authorization: Bearer $TOKEN"${header} \\
  -H 'Content-Type: application/json' -d '{
    "name": "shop", "source": "external_docker", "source_config": {},
    "source_revision_config": {
      "image_uri": "us-docker.pkg.dev/google-samples/containers/gke/hello-app:1.0"},
    "secrets": []}'`}
      </pre>
      <p>
        <a href={`${API_URL}/docs`}>The API's documents</a> describe every field, with a command for each call.
      </p>
    </div>
  );
}
