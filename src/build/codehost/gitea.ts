// Gitea and Forgejo. The first page says how many repositories there are; the others are then read a few at a time.

import { CodeHostFailed } from '../../runtime/errors.ts';
import { codeHostFailure, type Session } from './listing-session.ts';
import { type Listed, readPage } from './repositories.ts';

export interface GiteaAccount {
  /** https://HOST/api/v1; no slash at the end. */
  readonly apiUrl: string;
  readonly token: string;
}

/** Gitea's default maximum page size. */
const PAGE_SIZE = 50;
const AT_ONCE = 4;

/** All repositories that the account can see. Throws CodeHostFailed. */
export async function listGitea({ apiUrl, token }: GiteaAccount, session: Session): Promise<Listed> {
  async function page(
    number: number,
  ): Promise<{ readonly listed: Listed; readonly total: number | undefined; readonly next: boolean }> {
    const answer = await session.ask(`${apiUrl}/user/repos?page=${number}&limit=${PAGE_SIZE}`, {
      headers: { authorization: `token ${token}`, accept: 'application/json', 'user-agent': 'davit' },
    });
    if (answer.status !== 200)
      throw codeHostFailure(answer.status, (name) => answer.headers.get(name), answer.body, new Date());
    const total = answer.headers.get('x-total-count');
    return {
      listed: readPage(parsed(answer.body)),
      total: total !== null && /^\d+$/.test(total) ? Number(total) : undefined,
      next: /rel="next"/.test(answer.headers.get('link') ?? ''),
    };
  }

  const first = await page(1);
  const listed = [...first.listed];
  if (listed.length === 0) return listed;
  if (first.total === undefined) {
    // An old version, or a proxy in between: read page by page while there is a next page.
    for (let number = 2, more = first.next; more; number += 1) {
      const { listed: some, next } = await page(number);
      listed.push(...some);
      more = next && some.length > 0;
    }
    return listed;
  }
  // The host may be configured for smaller pages than requested.
  const pages = Math.ceil(first.total / first.listed.length);
  for (let number = 2; number <= pages; number += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, pages - number + 1) }, (_, index) => number + index);
    const some = await Promise.all(numbers.map((one) => page(one)));
    listed.push(...some.flatMap((one) => one.listed));
  }
  return listed;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    throw new CodeHostFailed('malformed', "The code host's answer is not JSON.");
  }
}
