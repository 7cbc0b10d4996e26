// The only state that a URL holds: which deployment is shown, `#/deployments/ID`.

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const LIST = '#/';

export function linkOf(id: string): string {
  return `#/deployments/${id}`;
}

/** The deployment that a URL's fragment names; undefined for the list. */
export function shownIn(fragment: string): string | undefined {
  const id = /^#\/deployments\/(.+)$/.exec(fragment)?.[1];
  return id !== undefined && UUID.test(id) ? id : undefined;
}
