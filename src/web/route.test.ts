// What the fragment of the page's URL says, and that a link leads back to the same.

import { describe, expect, it } from 'vitest';
import { FIRST_PAGE, LIST, type LogState, linkOf, linkOfList, NEW, TABS, viewIn } from './route.ts';

const id = '99999999-0000-4000-8000-000000000009';
const revisionId = '88888888-0000-4000-8000-000000000008';
const LOG: LogState = { kind: '', revisionId: '', level: '', part: '', text: '', hasChecks: false };

describe('a fragment', () => {
  it.each([
    ['', FIRST_PAGE],
    [LIST, FIRST_PAGE],
    ['#/?name=sh%26+op&status=READY&offset=50', { nameContains: 'sh& op', status: 'READY', offset: 50 }],
    ['#/?status=NONE&offset=-1', FIRST_PAGE],
    ['#/?status=toString&offset=1e3', FIRST_PAGE],
    ['#/?offset=9999999999', FIRST_PAGE],
    ['#/?name=%', { ...FIRST_PAGE, nameContains: '%' }],
    ['#/deployments/../../v1/projects', FIRST_PAGE],
    ['#/deployments/', FIRST_PAGE],
    ['#/new/', FIRST_PAGE],
    [`#/deployments/${id}/a/b`, FIRST_PAGE],
    ['#/deployments/shop/push', FIRST_PAGE],
    ['#elsewhere', FIRST_PAGE],
  ])('%j names the list', (fragment, state) => {
    expect(viewIn(fragment)).toEqual({ view: 'list', state });
  });

  it('names a deployment, or the form for a new one', () => {
    expect(linkOf(id)).toBe(`#/deployments/${id}`);
    expect(viewIn(linkOf(id))).toEqual({ view: 'deployment', id, tab: 'overview', log: LOG });
    expect(linkOf(id, 'data')).toBe(`#/deployments/${id}/data`);
    expect(viewIn(NEW)).toEqual({ view: 'new' });
    for (const tab of ['push', 'upload'] as const)
      expect(viewIn(linkOf(id, tab))).toEqual({ view: 'deployment', id, tab, log: LOG });
  });

  it.each<LogState>([
    LOG,
    { ...LOG, kind: 'pods' },
    { ...LOG, kind: 'build', revisionId },
    { kind: 'pods', revisionId, level: 'ERROR', part: 'queue', text: 'a&b=c #%?', hasChecks: true },
  ])('of a deployment whose log shows %j leads to it', (log) => {
    expect(viewIn(linkOf(id, 'overview', log))).toEqual({ view: 'deployment', id, tab: 'overview', log });
    for (const { name } of TABS)
      expect(viewIn(linkOf(id, name, log))).toEqual({ view: 'deployment', id, tab: name, log });
  });

  it.each([
    'log=elsewhere&revision=x',
    'log=build',
    `revision=${revisionId}`,
    'level=LOUD',
    'level=error',
    'checks=1',
    '%',
  ])('with what a log cannot show, %j, shows what it would without', (query) => {
    expect(viewIn(`#/deployments/${id}?${query}`)).toEqual({ view: 'deployment', id, tab: 'overview', log: LOG });
  });

  it.each([FIRST_PAGE, { nameContains: 'a&b=c #%', status: 'UNUSED', offset: 100 }])('of %j leads to it', (state) => {
    expect(viewIn(linkOfList(state))).toEqual({ view: 'list', state });
  });
});
