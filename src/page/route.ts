// The state that a URL holds, in its fragment: the list with its filters, `#/?status=READY`, one deployment, `#/deployments/ID`, or the
// form for a new one, `#/new`. Pure.

import { STATUSES } from './health.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface ListState {
  readonly nameContains: string;
  /** Empty for all. */
  readonly status: string;
  readonly offset: number;
}

export type View =
  | { readonly view: 'list'; readonly state: ListState }
  | { readonly view: 'deployment'; readonly id: string }
  | { readonly view: 'new' };

export const FIRST_PAGE: ListState = { nameContains: '', status: '', offset: 0 };
export const LIST = '#/';
export const NEW = '#/new';

export function linkOf(id: string): string {
  return `#/deployments/${id}`;
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
  const id = /^#\/deployments\/(.+)$/.exec(fragment)?.[1];
  if (id !== undefined && UUID.test(id)) return { view: 'deployment', id };
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
