// The frame: who is asked for, which of the views is shown, and what is announced.

import type { VNode } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { TenantAccess } from './access.tsx';
import type { Api, Session } from './api.ts';
import { Detail } from './detail.tsx';
import { useQuestion } from './dialog.tsx';
import { Icon } from './icons.tsx';
import { List } from './list.tsx';
import { Menu } from './menu.tsx';
import { New } from './new.tsx';
import { fieldOf, Word } from './parts.tsx';
import { ACCESS, FIRST_PAGE, LIST, linkOf, linkOfList, type View, viewIn } from './route.ts';
import { useSession } from './session.ts';
import { Relayed, SignIn } from './sign-in.tsx';
import { SignInAgain } from './sign-in-again.tsx';
import { plain } from './text.ts';

interface Shown {
  readonly shown: View;
  /** Shows what the link names. `replacing`: the button Back does not lead to what was shown before. */
  readonly go: (link: string, replacing?: boolean) => void;
}

function useShown(): Shown {
  const [fragment, setFragment] = useState(() => location.hash);
  useEffect(() => {
    const onChange = (): void => setFragment(location.hash);
    addEventListener('popstate', onChange);
    addEventListener('hashchange', onChange);
    return () => {
      removeEventListener('popstate', onChange);
      removeEventListener('hashchange', onChange);
    };
  }, []);
  const go = useCallback((link: string, replacing = false) => {
    if (replacing) history.replaceState(null, '', link);
    else history.pushState(null, '', link);
    setFragment(link);
  }, []);
  const shown = useMemo(() => viewIn(fragment), [fragment]);
  return { shown, go };
}

/** Ages grow while nothing else changes. */
function useClock(): void {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((ticks) => ticks + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
}

/** A sentence that stays until it is dismissed, or another view is shown than the one that it was said in. */
function useNotice({ shown }: Shown, session: Session | undefined): [string, (sentence: string) => void] {
  const [notice, setNotice] = useState('');
  const place = shown.view === 'deployment' ? shown.id : shown.view;
  const said = useRef({ notice, place });
  useEffect(() => setNotice(''), [session]);
  useEffect(() => {
    if (said.current.notice !== notice) said.current = { notice, place };
    else if (said.current.place !== place) setNotice('');
  }, [notice, place]);
  return [notice, setNotice];
}

export function App({ root }: { readonly root: HTMLElement }): VNode {
  const using = useSession(root);
  const { begun, issuer, session, refused, tenant, api, leave } = using;
  const views = useShown();
  const { shown, go } = views;
  const [notice, setNotice] = useNotice(views, session);
  useClock();
  useFindKey();

  return (
    <>
      <Bar
        session={session}
        onFind={shown.view === 'list' ? undefined : (name) => go(linkOfList({ ...FIRST_PAGE, nameContains: name }))}
        onLeave={leave}
        onTenant={async (wanted) => {
          await using.change(wanted);
          go(LIST);
        }}
      />
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
        {begun === undefined ? (
          <p class="asking">Signing in …</p>
        ) : begun.how === 'relayed' ? (
          <Relayed />
        ) : api === undefined ? (
          <SignIn
            key={JSON.stringify(begun)}
            issuer={issuer}
            elsewhere={using.elsewhere}
            tenant={tenant}
            begun={begun}
            onEnter={using.enter}
            onLeave={leave}
          />
        ) : (
          <Views key={tenant} api={api} tenant={tenant} shown={shown} go={go} say={setNotice} />
        )}
      </main>
      {session && refused !== undefined && (
        <SignInAgain issuer={issuer} session={session} refused={refused} onRenewed={using.renew} onLeave={leave} />
      )}
    </>
  );
}

interface ViewsProps extends Shown {
  readonly api: Api;
  readonly tenant: string;
  /** Shows and announces a sentence. */
  readonly say: (sentence: string) => void;
}

/** What a tenant has: one of the views, and what they remember of one another. */
function Views({ api, tenant, shown, go, say }: ViewsProps): VNode {
  const id = shown.view === 'deployment' ? shown.id : undefined;
  /** The deployment that was shown last, whose row the focus returns to. */
  const left = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (id !== undefined) left.current = id;
  }, [id]);
  /** The list as it was shown last. */
  const list = useRef(LIST);
  if (shown.view === 'list') list.current = linkOfList(shown.state);
  const onGone = useCallback((name: string) => {
    say(`${name} is deleted.`);
    go(list.current);
  }, []);

  switch (shown.view) {
    case 'list':
      return (
        <List
          api={api}
          state={shown.state}
          onState={(state, replacing) => go(linkOfList(state), replacing)}
          focusOn={left.current}
        />
      );
    case 'new':
      return <New api={api} say={say} go={go} list={list.current} />;
    case 'access':
      return <TenantAccess api={api} say={say} list={list.current} />;
    case 'deployment':
      return (
        <Detail
          key={shown.id}
          api={api}
          tenant={tenant}
          id={shown.id}
          say={say}
          onGone={onGone}
          list={list.current}
          tab={shown.tab}
          log={shown.log}
          onLog={(log) => go(linkOf(shown.id, shown.tab, log, shown), true)}
          pair={shown.pair}
          window={shown.window}
          onPair={(pair) => go(linkOf(shown.id, 'revisions', shown.log, { pair }), true)}
        />
      );
  }
}

function Find({ onFind }: { readonly onFind: (name: string) => void }): VNode {
  return (
    <search class="find">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onFind(fieldOf(new FormData(event.currentTarget), 'find'));
        }}
      >
        <Word id="find" name="find" type="search" aria-label="Find a deployment" placeholder="Find a deployment (/)" />
      </form>
    </search>
  );
}

/** The key / leads to the field that finds a deployment. */
function useFindKey(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      if (key !== '/' || ctrlKey || metaKey || altKey) return;
      if (target instanceof Element && target.closest('input, textarea, select, dialog, [contenteditable]')) return;
      const field = document.getElementById('find') ?? document.getElementById('name');
      if (field === null) return;
      event.preventDefault();
      field.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

interface BarProps {
  readonly session: Session | undefined;
  /** Absent where the list is shown, which has a field of its own. */
  readonly onFind: ((name: string) => void) | undefined;
  readonly onLeave: () => void;
  /** Rejects with the sentence that says why not. */
  readonly onTenant: (tenant: string) => Promise<void>;
}

function Bar({ session, onFind, onLeave, onTenant }: BarProps): VNode {
  const [dialog, setQuestion] = useQuestion(() => undefined);
  /** Those of this session: no route lists the tenants that a person may use. */
  const [used, setUsed] = useState<readonly string[]>([]);
  async function change(wanted: string): Promise<void> {
    await onTenant(wanted);
    setUsed([...new Set([...used, session?.tenant ?? '', wanted])].filter((tenant) => tenant !== ''));
  }
  const ask = (tenant: string): void =>
    setQuestion({
      title: 'Another tenant',
      action: 'Show its deployments',
      fields: [{ id: 'tenant', label: 'Tenant', defaultValue: tenant }],
      send: (form) => change(fieldOf(form, 'tenant')),
    });
  return (
    <header class="bar">
      <a class="brand" href={LIST}>
        <Icon of="davit" size={22} />
        Davit
      </a>
      {session && onFind && <Find onFind={onFind} />}
      {session && (
        <div class="who">
          {session.credentials.person !== undefined && <span>{plain(session.credentials.person)}</span>}
          <Menu
            label={`Tenant ${session.tenant}`}
            items={[
              { label: 'Access and tokens', does: ACCESS },
              ...used
                .filter((tenant) => tenant !== session.tenant)
                .map((label) => ({ label, does: () => void change(label).catch(() => ask(label)) })),
              { label: 'Another tenant …', does: () => ask(session.tenant) },
            ]}
          />
          <button
            type="button"
            onClick={() => {
              setUsed([]);
              onLeave();
            }}
          >
            Sign out
          </button>
        </div>
      )}
      {dialog}
    </header>
  );
}
