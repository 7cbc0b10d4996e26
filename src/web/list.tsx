// All deployments of the tenant: a page of them, filtered by name and status.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Deployment, DeploymentList } from '../deploy/http/payloads.ts';
import { API_URL, type Api } from './api.ts';
import { useFollowed } from './follow.ts';
import { originOf, phaseOf, STATUSES, scaleOf, type Tone, toneOf } from './health.ts';
import { Address, Age, Asking, Breakable, type Column, Select, Status, Table, Word } from './parts.tsx';
import { FIRST_PAGE, type ListState, linkOf, NEW } from './route.ts';
import { useAllowed } from './rows.tsx';
import { plain } from './text.ts';

const PAGE = 50;
const TYPING_MS = 250;

export interface ListProps {
  readonly api: Api;
  readonly state: ListState;
  /** `replacing`: the button Back does not lead to the state before. */
  readonly onState: (state: ListState, replacing?: boolean) => void;
  /** Id of the deployment whose row gets the focus. */
  readonly focusOn: string | undefined;
}

export function List({ api, state, onState, focusOn }: ListProps): VNode {
  const query = new URLSearchParams({
    // One more than is shown tells whether there is another page.
    limit: String(PAGE + 1),
    offset: String(state.offset),
    order_by: 'attention',
    ...(state.nameContains !== '' && { name_contains: state.nameContains }),
    ...(state.status !== '' && { status: state.status }),
  });
  const followed = useFollowed(`${query}`, api.poll<DeploymentList>(`v2/deployments?${query}`));
  const may = useAllowed(api, 'v2/deployments?limit=1');
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
        {may?.('POST') && (
          <span class="actions">
            <a class="button main" href={NEW}>
              New deployment
            </a>
          </span>
        )}
      </div>
      <Filters state={state} onState={onState} />
      <Asking of={followed} what="The deployments" />
      {rows?.length === 0 &&
        (isFiltered || state.offset > 0 ? (
          <div class="empty">
            <p>No deployment matches.</p>
            <button type="button" onClick={() => onState(FIRST_PAGE)}>
              Show all
            </button>
          </div>
        ) : (
          <Empty />
        ))}
      {rows !== undefined && rows.length > 0 && (
        <Table
          label="deployments"
          columns={COLUMNS}
          groups={GROUPS.map(({ title, tones }) => ({
            title,
            rows: rows.filter((row) => tones.includes(toneOf(row))),
          })).filter((group) => group.rows.length > 0)}
          keyOf={({ id }) => id}
          toneOf={toneOf}
          isStale={isPending}
        />
      )}
      <nav class="pages" aria-label="Pages">
        <span role="status">{rows !== undefined && !isPending && countOf(state.offset, rows.length, hasMore)}</span>
        {(state.offset > 0 || hasMore) && <Steps state={state} onState={onState} hasMore={hasMore} />}
      </nav>
    </section>
  );
}

function Steps({
  state,
  onState,
  hasMore,
}: Pick<ListProps, 'state' | 'onState'> & { readonly hasMore: boolean }): VNode {
  const step = (label: string, offset: number, isPossible: boolean): VNode => (
    <button type="button" disabled={!isPossible} onClick={() => onState({ ...state, offset })}>
      {label}
    </button>
  );
  return (
    <span class="actions">
      {step('Previous', Math.max(0, state.offset - PAGE), state.offset > 0)}
      {step('Next', state.offset + PAGE, hasMore)}
    </span>
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
      <Word
        id="name"
        type="search"
        placeholder="part of a name"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <Select
        id="status"
        label="Status"
        value={state.status}
        options={[['', 'All'], ...Object.entries(STATUSES)]}
        onValue={(status) => onState({ ...state, status, offset: 0 })}
      />
    </search>
  );
}

/** In the order in which the API lists them. */
const GROUPS: readonly { readonly title: string; readonly tones: readonly Tone[] }[] = [
  { title: 'Needs attention', tones: ['bad'] },
  { title: 'Running', tones: ['good', 'busy'] },
  { title: 'Unused', tones: ['off'] },
];

const COLUMNS: readonly Column<Deployment>[] = [
  {
    title: 'Name',
    kind: 'name',
    of: ({ id, name }) => (
      <a id={`link-${id}`} href={linkOf(id)}>
        {name}
      </a>
    ),
  },
  {
    title: 'Status',
    kind: 'status',
    of: (row) => <Status status={row.status} phase={phaseOf(row)} tone={toneOf(row)} />,
  },
  { title: 'Details', kind: 'message', of: (row) => <span class="clamped">{plain(row.status_message)}</span> },
  { title: 'Runs', kind: 'image', short: 'Runs', of: (row) => <Breakable text={originOf(row)} /> },
  { title: 'Pods', kind: 'number', short: 'Pods', of: scaleOf },
  {
    title: 'Created, changed by',
    kind: 'changed',
    short: 'Created',
    of: ({ created_at: at, changed_by: by }) => [
      <Age then={at} after=" ago" />,
      by !== null && <div class="sub">{plain(by)}</div>,
    ],
  },
  { title: 'Address', kind: 'address', of: (row) => <Address url={row.source_config.custom_url} /> },
];

function Empty(): VNode {
  return (
    <div class="empty">
      <h2>No deployments yet</h2>
      <p>
        <a href={NEW}>Create the first one here</a>, with kubectl, or over HTTP. Any image works that listens on port
        8000 and answers <code>GET /ok</code> with 200.
      </p>
      <p>
        <a href={`${API_URL}/docs`}>The API's documents</a> describe every field, with a command for each call.
      </p>
    </div>
  );
}
