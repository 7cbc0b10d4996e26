// The state that a URL holds, in its fragment: the list with its filters, `#/?status=READY`, one deployment with its tab and what its
// log shows, `#/deployments/ID/revisions?log=build&level=ERROR`, how far back its measurements go, `#/deployments/ID?window=24h`, the form for
// a new one, `#/new`, or who gave agents their tokens, `#/access`. Pure.

import { WINDOWS, type Window } from './chart.ts';
import { STATUSES } from './health.ts';

export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface ListState {
  readonly nameContains: string;
  /** Empty for all. */
  readonly status: string;
  readonly offset: number;
}

export const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const;

/** What the log of a deployment shows. */
export interface LogState {
  /** Empty where nobody has chosen: what is most likely wanted. */
  readonly kind: 'pods' | 'build' | '';
  /** Empty for the pods of all revisions. */
  readonly revisionId: string;
  /** Empty for all. */
  readonly level: (typeof LEVELS)[number] | '';
  /** Component of the pods; empty for all but the stores. */
  readonly part: string;
  readonly text: string;
  /** Whether health checks that succeeded are shown. */
  readonly hasChecks: boolean;
}

export const TABS = [
  { name: 'overview', title: 'Overview' },
  { name: 'logs', title: 'Logs' },
  { name: 'revisions', title: 'Revisions' },
  { name: 'configure', title: 'Configure' },
  { name: 'data', title: 'Data' },
  { name: 'tasks', title: 'Tasks' },
  { name: 'access', title: 'Access' },
] as const;
/** Forms in place of a tab: what is brought to a deployment. */
const FORMS = ['push', 'upload'] as const;
export type Tab = (typeof TABS)[number]['name'] | (typeof FORMS)[number];

/** Two revisions that are compared. */
export interface Pair {
  readonly from: string;
  readonly to: string;
}

export type View =
  | { readonly view: 'list'; readonly state: ListState }
  | {
      readonly view: 'deployment';
      readonly id: string;
      readonly tab: Tab;
      readonly log: LogState;
      readonly pair?: Pair;
      readonly window?: Window;
    }
  | { readonly view: 'new' | 'access' };

export const FIRST_PAGE: ListState = { nameContains: '', status: '', offset: 0 };
export const LIST = '#/';
export const NEW = '#/new';
export const ACCESS = '#/access';

/** What a tab of a deployment shows beside the log. */
export interface Shown {
  readonly pair?: Pair | undefined;
  readonly window?: Window | undefined;
}

export function linkOf(id: string, tab: Tab = 'overview', log?: LogState, { pair, window }: Shown = {}): string {
  const query = new URLSearchParams({
    ...pair,
    ...(window && window !== '1h' && { window }),
    ...(log?.kind && { log: log.kind }),
    ...(log?.revisionId && { revision: log.revisionId }),
    ...(log?.level && { level: log.level }),
    ...(log?.part && { part: log.part }),
    ...(log?.text && { text: log.text }),
    ...(log?.hasChecks && { checks: 'shown' }),
  }).toString();
  return `#/deployments/${id}${tab === 'overview' ? '' : `/${tab}`}${query === '' ? '' : `?${query}`}`;
}

export function linkOfList({ nameContains, status, offset }: ListState): string {
  const query = new URLSearchParams({
    ...(nameContains !== '' && { name: nameContains }),
    ...(status !== '' && { status }),
    ...(offset > 0 && { offset: String(offset) }),
  }).toString();
  return query === '' ? LIST : `${LIST}?${query}`;
}

/** What a URL's fragment names. The list, if it names nothing that there is. */
export function viewIn(fragment: string): View {
  if (fragment === NEW) return { view: 'new' };
  if (fragment === ACCESS) return { view: 'access' };
  const [, id = '', place, wanted] = /^#\/deployments\/([^/?]+)(?:\/([a-z]+))?(?:\?(.*))?$/s.exec(fragment) ?? [];
  if (UUID.test(id)) {
    const tab = [...TABS.map(({ name }) => name), ...FORMS].find((name) => name === place) ?? 'overview';
    const query = new URLSearchParams(wanted);
    const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
    const pair = tab === 'revisions' && UUID.test(from) && UUID.test(to) ? { pair: { from, to } } : {};
    const wide = query.get('window') ?? '';
    const window = tab === 'overview' && Object.hasOwn(WINDOWS, wide) ? { window: wide as Window } : {};
    return { view: 'deployment', id, tab, log: logIn(query), ...pair, ...window };
  }
  const query = new URLSearchParams(/^#\/\?(.*)$/s.exec(fragment)?.[1]);
  const status = query.get('status') ?? '';
  const offset = query.get('offset') ?? '';
  return {
    view: 'list',
    state: {
      nameContains: query.get('name') ?? '',
      status: Object.hasOwn(STATUSES, status) ? status : '',
      offset: /^\d{1,9}$/.test(offset) ? Number(offset) : 0,
    },
  };
}

function logIn(query: URLSearchParams): LogState {
  const [kind, revision] = [query.get('log'), query.get('revision') ?? ''];
  const revisionId = UUID.test(revision) ? revision : '';
  return {
    // A build is one revision's.
    kind: kind === 'pods' || (kind === 'build' && revisionId !== '') ? kind : '',
    revisionId: kind === 'pods' || kind === 'build' ? revisionId : '',
    part: /^[a-z][a-z0-9-]{0,62}$/.exec(query.get('part') ?? '')?.[0] ?? '',
    level: LEVELS.find((level) => level === query.get('level')) ?? '',
    text: query.get('text') ?? '',
    hasChecks: query.get('checks') === 'shown',
  };
}
