// The frame: who is asked for, which of the two views is shown, and what is announced.

import type { VNode } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { makeApi, type Session } from './api.ts';
import { Detail } from './detail.tsx';
import { FIRST_PAGE, List, type ListState } from './list.tsx';
import { LIST, shownIn } from './route.ts';
import { SignIn } from './sign-in.tsx';

function useShownId(): string | undefined {
  const [id, setId] = useState(() => shownIn(location.hash));
  useEffect(() => {
    const onChange = (): void => setId(shownIn(location.hash));
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return id;
}

/** Ages grow while nothing else changes. */
function useClock(): void {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((ticks) => ticks + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
}

export function App(): VNode {
  const [session, setSession] = useState<Session>();
  const [refused, setRefused] = useState<string>();
  const [tenant, setTenant] = useState('');
  const [notice, setNotice] = useState('');
  const [list, setList] = useState<ListState>(FIRST_PAGE);
  const id = useShownId();
  useClock();
  /** The deployment that was shown last, whose row the focus returns to. */
  const left = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (id !== undefined) left.current = id;
  }, [id]);

  const leave = useCallback((why?: string) => {
    setSession(undefined);
    setRefused(why);
    setNotice('');
  }, []);
  const api = useMemo(() => session && makeApi(session, leave), [session]);
  const enter = useCallback((entered: Session) => {
    setTenant(entered.tenant);
    setRefused(undefined);
    setSession(entered);
  }, []);
  const onGone = useCallback((name: string) => {
    setNotice(`${name} is deleted.`);
    location.hash = LIST;
  }, []);

  return (
    <>
      <header class="bar">
        <a class="brand" href={LIST}>
          Davit
        </a>
        {session && (
          <div class="who">
            {session.tenant !== '' && <span>Tenant {session.tenant}</span>}
            <button type="button" onClick={() => leave()}>
              Sign out
            </button>
          </div>
        )}
      </header>
      <main id="content">
        <div class="notice" role="status">
          {notice !== '' && (
            <>
              <span>{notice}</span>
              <button type="button" class="plain" onClick={() => setNotice('')}>
                Dismiss
              </button>
            </>
          )}
        </div>
        {api === undefined ? (
          <SignIn tenant={tenant} refused={refused} onEnter={enter} />
        ) : id === undefined ? (
          <List api={api} tenant={tenant} state={list} onState={setList} focusOn={left.current} />
        ) : (
          <Detail key={id} api={api} id={id} say={setNotice} onGone={onGone} />
        )}
      </main>
    </>
  );
}
