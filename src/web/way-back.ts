// What the page does when it starts: whether the issuer has led here with an answer, and whether this tab has asked for it. Pure.

/** What is needed of the way to the issuer on the way back. */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** On the way to the issuer. */
export interface Kept {
  readonly flow: Flow;
  readonly tenant: string;
  /** The view that the person wanted. */
  readonly fragment: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export type Next =
  | { readonly next: 'ask' }
  /** A reload: the issuer may know the person yet. */
  | { readonly next: 'go silently' }
  | { readonly next: 'finish'; readonly flow: Flow }
  /** Another tab may have asked for the answer. `otherwise`: what to say if none has. */
  | { readonly next: 'relay'; readonly otherwise: string };

const LONGEST_MS = 10 * 60_000;

/** `tab`: the tenant for which this tab was signed in before a reload. */
export function whatNow(answer: URLSearchParams, kept: Kept | undefined, tab: string | undefined, nowMs: number): Next {
  const isAnswer = answer.has('state') && (answer.has('code') || answer.has('error'));
  if (!isAnswer) return { next: tab === undefined ? 'ask' : 'go silently' };
  if (kept === undefined || answer.get('state') !== kept.flow.state)
    return {
      next: 'relay',
      otherwise: 'The page did not ask for this answer of the issuer, or has already used it. Sign in again.',
    };
  if (Math.abs(nowMs - kept.at) > LONGEST_MS)
    return { next: 'relay', otherwise: 'Signing in took longer than ten minutes. Sign in again.' };
  return { next: 'finish', flow: kept.flow };
}

/** Undefined for what the page has not written. */
export function keptIn(text: string | null): Kept | undefined {
  try {
    const kept = JSON.parse(text ?? 'null') as Partial<Kept> | null;
    const { state, nonce, verifier } = kept?.flow ?? {};
    const words = [state, nonce, verifier, kept?.tenant, kept?.fragment];
    return words.every((word) => typeof word === 'string') && typeof kept?.at === 'number' ? (kept as Kept) : undefined;
  } catch {
    return undefined;
  }
}
