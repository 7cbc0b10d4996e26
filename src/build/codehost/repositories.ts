// Common parts of code hosts: the form of a repository in GitHub and Gitea, and which of them can be deployed.

import { z } from 'zod';
import { CodeHostFailed } from '../../runtime/errors.ts';

export interface Repository {
  readonly id: number;
  readonly owner: string;
  readonly name: string;
  readonly url: string;
  readonly defaultBranch: string;
}

const Listed = z.array(
  z.object({
    id: z.int(),
    name: z.string().min(1),
    owner: z.object({ login: z.string().min(1) }),
    html_url: z.url(),
    default_branch: z.string().nullish(),
    archived: z.boolean().nullish(),
    disabled: z.boolean().nullish(),
    /** Of Gitea, which gives an empty repository a default branch. */
    empty: z.boolean().nullish(),
  }),
);
export type Listed = z.output<typeof Listed>;

/** One page of a list. Throws CodeHostFailed for anything else. */
export function readPage(page: unknown): Listed {
  const read = Listed.safeParse(page);
  if (!read.success) throw new CodeHostFailed('malformed', "The code host's answer is not a list of repositories.");
  return read.data;
}

/** Distinct repositories by owner and name, without archived, disabled and empty ones. */
export function deployable(listed: Listed): Repository[] {
  const byId = new Map(listed.map((repository) => [repository.id, repository]));
  return [...byId.values()]
    .flatMap(({ id, name, owner, html_url: url, default_branch: defaultBranch, archived, disabled, empty }) =>
      archived === true || disabled === true || empty === true || !defaultBranch
        ? []
        : [{ id, owner: owner.login, name, url, defaultBranch }],
    )
    .toSorted((a, b) => compare(a.owner, b.owner) || compare(a.name, b.name));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
