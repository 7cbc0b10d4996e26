// Texts that were typed and not applied. They stay while another tab, another deployment or the list is shown, and leaving asks first.

export interface Draft {
  /** The text as the API has it. */
  readonly base: string;
  readonly text: string;
  /** The version that `base` is of. */
  readonly etag: string;
}

/** By who is signed in and the id of the deployment. */
const drafts = new Map<object, Map<string, Draft>>();

export function draftOf(session: object, id: string): Draft | undefined {
  return drafts.get(session)?.get(id);
}

/** Of one session alone: another person has signed in. */
export function keepDraft(session: object, id: string, draft: Draft): void {
  const kept = drafts.get(session) ?? new Map<string, Draft>();
  kept.set(id, draft);
  drafts.clear();
  drafts.set(session, kept);
}

export function isDirty(draft: Draft | undefined): boolean {
  return draft !== undefined && draft.text !== draft.base;
}

function unsaved(): string[] {
  return [...drafts.values()].flatMap((kept) => [...kept].filter(([, draft]) => isDirty(draft)).map(([id]) => id));
}

/** The part of the Navigation API that is used. Where there is none, a text stays all the same. */
interface Navigate extends Event {
  readonly hashChange: boolean;
  readonly destination: { readonly url: string };
}

/** Asks before a text is lost with the page, or out of sight. */
export function askBeforeLeaving(target: Window & { readonly navigation?: EventTarget }): void {
  target.addEventListener('beforeunload', (event) => {
    if (unsaved().length > 0) event.preventDefault();
  });
  target.navigation?.addEventListener('navigate', (event) => {
    const { hashChange, destination, cancelable } = event as Navigate;
    const [here, there] = [target.location.hash, new URL(destination.url).hash];
    const isLeft = (id: string): boolean => here.includes(id) && !there.includes(id);
    if (!hashChange || !cancelable || !unsaved().some(isLeft)) return;
    if (!target.confirm('Your changes are not applied. They are kept until you close this page. Leave now?'))
      event.preventDefault();
  });
}
