// The person's session: how it begins, is renewed and ends.

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SignInSetup } from '../kinds/sign-in.ts';
import { API_URL, type Api, makeApi, type Session } from './api.ts';
import { type Credentials, type Issuer, loadIssuer, type Start } from './credentials.ts';
import { RENEWED } from './follow.ts';

interface Using {
  /** Absent while the page looks how it begins. */
  readonly begun: Start | undefined;
  readonly issuer: Issuer | undefined;
  /** The issuer that leads back to another address of the page. */
  readonly elsewhere: SignInSetup | undefined;
  readonly session: Session | undefined;
  /** Why the API takes the token no more. */
  readonly refused: string | undefined;
  readonly tenant: string;
  readonly api: Api | undefined;
  readonly enter: (session: Session) => void;
  readonly renew: (credentials: Credentials) => void;
  readonly leave: () => void;
  /** Goes on for another tenant. Rejects with the sentence that says why not. */
  readonly change: (tenant: string) => Promise<void>;
}

/** Who uses the page: nobody yet, somebody whom the API has still to accept, or a session. */
export function useSession(root: HTMLElement): Using {
  const [{ issuer, elsewhere }, setIssuers] = useState<Awaited<ReturnType<typeof loadIssuer>>>({});
  const [begun, setBegun] = useState<Start>();
  const [session, setSession] = useState<Session>();
  const [refused, setRefused] = useState<string>();
  const [tenant, setTenant] = useState('');
  useEffect(() => {
    async function begin(): Promise<Start> {
      const found = await loadIssuer(root, `${API_URL}/`);
      setIssuers(found);
      return found.issuer?.start() ?? { how: 'ask' };
    }
    void begin()
      .catch((): Start => ({ how: 'ask', failure: 'A part of this page could not be loaded. Reload the page.' }))
      .then((first) => {
        if ('tenant' in first) setTenant(first.tenant ?? '');
        setBegun(first);
      });
  }, []);

  const leave = useCallback(() => {
    const credentials = session?.credentials ?? (begun?.how === 'enter' ? begun.credentials : undefined);
    void credentials?.end();
    issuer?.remember(undefined);
    setSession(undefined);
    setRefused(undefined);
    setBegun({ how: 'ask', hasLeft: credentials?.subject !== undefined });
  }, [session, begun, issuer]);
  const enter = useCallback(
    (entered: Session) => {
      setTenant(entered.tenant);
      setSession(entered);
      issuer?.remember(entered.credentials.subject === undefined ? undefined : entered.tenant);
    },
    [issuer],
  );
  /** What is shown stays, and asks again. */
  function renew(credentials: Credentials): void {
    if (session) session.credentials = credentials;
    setRefused(undefined);
    document.dispatchEvent(new Event(RENEWED));
  }
  const present = useRef(session);
  present.current = session;
  async function change(wanted: string): Promise<void> {
    if (session === undefined || wanted === session.tenant) return;
    const other = { ...session, tenant: wanted };
    await makeApi(other, setRefused).check();
    // Somebody has signed out, or chosen another one, while this one was asked.
    if (present.current === session) enter(other);
  }
  const api = useMemo(() => session && makeApi(session, setRefused), [session]);
  return { begun, issuer, elsewhere, session, refused, tenant, api, leave, enter, renew, change };
}
