// Lists of names of a registry, page by page.

import { z } from 'zod';
import { RegistryFailed } from '../../../runtime/errors.ts';
import { jsonOf } from '../../../runtime/json-value.ts';
import { type Answer, discard, LARGEST_MANIFEST, registryFailure, textOf } from './answers.ts';
import type { Asked, RegistryRequests } from './requests.ts';

const MOST_PAGES = 1000;

export interface RegistryLists {
  /** Returns the tags of a repository, at least `atMost` of them if it has more. Empty if there is no such repository. */
  tags(repository: string, signal: AbortSignal, atMost?: number): Promise<string[]>;
  /** Returns the names of all repositories, also of those that have become empty. */
  repositories(signal: AbortSignal): Promise<string[]>;
}

export function makeLists({ origin, ask, urlOf }: RegistryRequests): RegistryLists {
  async function listed(
    first: URL,
    asked: Asked,
    namesOf: (page: z.output<typeof Page>) => readonly string[] | null | undefined,
    atMost = Infinity,
  ): Promise<string[]> {
    const found: string[] = [];
    let url: URL | undefined = first;
    for (let pages = 0; url !== undefined && found.length < atMost; pages += 1) {
      if (pages === MOST_PAGES)
        throw new RegistryFailed('malformed', `The registry has more than ${MOST_PAGES} pages of names.`);
      const answer: Answer = await ask(url, asked);
      if (answer.statusCode === 404) {
        await discard(answer);
        return found;
      }
      if (answer.statusCode !== 200) throw await registryFailure(answer);
      const page = Page.safeParse(jsonOf(await textOf(answer, LARGEST_MANIFEST, asked.signal)));
      if (!page.success) throw new RegistryFailed('malformed', 'The registry sent something other than a list.');
      found.push(...(namesOf(page.data) ?? []));
      url = nextOf(answer, url);
    }
    return found;
  }

  return {
    tags: (repository, signal, atMost) =>
      listed(
        // As many as Distribution sends in one answer: it reads the names of all tags for each page.
        urlOf(repository, 'tags/list?n=1000'),
        { repository, actions: ['pull'], signal },
        ({ tags }) => tags,
        atMost,
      ),

    repositories: (signal) =>
      listed(
        new URL(`${origin}/v2/_catalog?n=100`),
        { type: 'registry', repository: 'catalog', actions: ['*'], signal },
        ({ repositories }) => repositories,
      ),
  };
}

const Page = z.object({
  tags: z.array(z.string()).nullish(),
  repositories: z.array(z.string()).nullish(),
});

function nextOf({ headers }: Answer, from: URL): URL | undefined {
  const { link } = headers;
  const [, next] = /<([^<>]+)>;\s*rel="?next"?/.exec([link ?? ''].flat().join(',')) ?? [];
  const url = next === undefined ? null : URL.parse(next, from.href);
  return url?.origin === from.origin ? url : undefined;
}
