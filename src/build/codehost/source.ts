// Resolves a branch or tag of a repository to its commit, with what the commit says of itself.

import { z } from 'zod';
import type { Commit } from '../../deploy/record/build-source.ts';
import { FILE_TOO_LARGE, LARGEST_FILE_BYTES } from '../../kinds/source-files.ts';
import { quoted, shortened } from '../../kinds/text.ts';
import { CodeHostFailed } from '../../runtime/errors.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import { codeHostFailure, type Session } from './listing-session.ts';

/** Owner and name of a repository, from its URL. */
export interface RepositoryName {
  readonly owner: string;
  readonly name: string;
}

/** Returns undefined for a URL that does not name a repository. */
export function repositoryName(repoUrl: string): RepositoryName | undefined {
  // URLs lose such steps when they are parsed, and then lead elsewhere than people read.
  if (/\/(\.|%2e){1,2}(\/|$)/i.test(repoUrl)) return undefined;
  const path =
    URL.parse(repoUrl)
      ?.pathname.replace(/^\/+|(?<!\/)\/+$/g, '')
      .split('/') ?? [];
  if (path.length < 2) return undefined;
  const [owner, name] = path.slice(-2).map(decoded);
  const bare = name?.replace(/\.git$/, '');
  return owner && bare ? { owner, name: bare } : undefined;
}

/** Part of a URL's path. Undefined if it is not percent-encoded UTF-8, or has characters that no name of a repository has. */
function decoded(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part);
    return /^[^\p{Cc}/\\]+$/u.test(text) && !/^\.{1,2}(\.git)?$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

function headersWith(authorization: string): Record<string, string> {
  return { authorization, accept: 'application/json', 'user-agent': 'davit' };
}

/** Most characters of an author and of a message, as the schema of revisions has them. */
const LONGEST = { author: 256, message: 512 } as const;
/** Whatever is not as the hosts document it is left out: only the commit itself is needed. */
const optionalText = z.string().optional().catch(undefined);
const Commits = z
  .array(
    z.object({
      sha: z.string().regex(/^[0-9a-f]{40,64}$/),
      commit: z
        .object({
          author: z.object({ name: optionalText }).optional().catch(undefined),
          message: optionalText,
        })
        .optional()
        .catch(undefined),
    }),
  )
  .max(1);

/** What a repository has at a path: text, or something else that is not read. */
export type FileContent = { readonly text: string } | { readonly problem: string };

const Content = z.object({
  type: z.string(),
  size: z.number().optional(),
  encoding: z.string().nullish(),
  content: z.string().nullish(),
});

/**
 * Reads a file of the repository at a commit, in one request. `path`: relative to its root. Throws CodeHostFailed, but not for a file that
 * is missing, too large or no text.
 */
export async function fileAt(
  { apiUrl, authorization }: { readonly apiUrl: string; readonly authorization: string },
  { owner, name }: RepositoryName,
  { path, commit }: { readonly path: string; readonly commit: string },
  session: Session,
): Promise<FileContent> {
  const headers = headersWith(authorization);
  const steps = path.split('/').filter((step) => step !== '' && step !== '.');
  if (steps.includes('..')) return { problem: 'leads out of the repository' };
  const where = `${apiUrl}/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/contents/${steps.map(encodeURIComponent).join('/')}`;
  const answer = await session.ask(`${where}?ref=${encodeURIComponent(commit)}`, { headers });
  if (answer.status === 404) return { problem: `is missing at commit ${commit.slice(0, 12)}` };
  if (answer.status !== 200)
    throw codeHostFailure(answer.status, (header) => answer.headers.get(header), answer.body, new Date());
  const body = jsonOf(answer.body);
  if (Array.isArray(body)) return { problem: 'is a folder' };
  const found = Content.safeParse(body);
  if (!found.success) throw new CodeHostFailed('malformed', "The code host's answer is not a file.");
  const { type, size = 0, encoding, content } = found.data;
  if (type !== 'file') return { problem: `is a ${shortened(type, 20)} instead of a file` };
  const tooLarge = { problem: FILE_TOO_LARGE };
  if (size > LARGEST_FILE_BYTES) return tooLarge;
  if (encoding !== 'base64' || typeof content !== 'string')
    throw new CodeHostFailed('malformed', "The code host's answer has no content of the file.");
  const bytes = Buffer.from(content, 'base64');
  if (bytes.length > LARGEST_FILE_BYTES) return tooLarge;
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'is not text in UTF-8' };
  }
}

/** What a commit has at its code host for one context. */
export interface CommitStatus {
  readonly commit: string;
  readonly state: 'pending' | 'success' | 'failure' | 'error';
  readonly description: string;
  /** Names what it is about: a later one of the same context takes its place. */
  readonly context: string;
}

/** GitHub's request, which Gitea takes as it is. Throws CodeHostFailed: `refused` without the permission to write statuses. */
export async function putStatus(
  { apiUrl, authorization }: { readonly apiUrl: string; readonly authorization: string },
  { owner, name }: RepositoryName,
  { commit, ...status }: CommitStatus,
  session: Session,
): Promise<void> {
  const url = `${apiUrl}/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/statuses/${commit}`;
  const headers = { ...headersWith(authorization), 'content-type': 'application/json' };
  const answer = await session.ask(url, { method: 'POST', headers, body: JSON.stringify(status) });
  // 422: the commit is gone, or has GitHub's most statuses. There is nothing left to tell.
  if ((answer.status >= 200 && answer.status <= 299) || answer.status === 422) return;
  // GitHub hides what a token may not write.
  const code = answer.status === 404 ? 403 : answer.status;
  throw codeHostFailure(code, (header) => answer.headers.get(header), answer.body, new Date());
}

/**
 * Resolves `ref` (a branch, tag or commit) to its current commit. Throws CodeHostFailed, with `missing` if the
 * repository or the ref does not exist.
 */
export async function commitAt(
  kind: 'github' | 'gitea',
  { apiUrl, authorization }: { readonly apiUrl: string; readonly authorization: string },
  { owner, name }: RepositoryName,
  ref: string,
  session: Session,
): Promise<Commit> {
  const headers = headersWith(authorization);
  const repository = `${apiUrl}/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
  const there = await session.ask(repository, { headers });
  if (there.status === 404 || there.status === 301)
    throw new CodeHostFailed(
      'missing',
      `Repository ${owner}/${name} does not exist, or the integration's account cannot see it.`,
      { missing: 'repository' },
    );
  if (there.status !== 200)
    throw codeHostFailure(there.status, (header) => there.headers.get(header), there.body, new Date());
  const more = kind === 'gitea' ? '&limit=1&stat=false&verification=false&files=false' : '&per_page=1';
  const answer = await session.ask(`${repository}/commits?sha=${encodeURIComponent(ref)}${more}`, { headers });
  // 409: the repository is empty. 422: GitHub's response to an invalid ref. 500: Gitea's response to a missing ref.
  const isMissing =
    [404, 409, 422].includes(answer.status) || (answer.status === 500 && /not found|not exist/i.test(answer.body));
  const commits = answer.status === 200 ? Commits.safeParse(jsonOf(answer.body)) : undefined;
  if (isMissing || commits?.data?.length === 0)
    throw new CodeHostFailed(
      'missing',
      `Repository ${owner}/${name} has no branch, tag or commit ${ref}, or is empty.`,
      { missing: 'ref' },
    );
  if (answer.status !== 200)
    throw codeHostFailure(answer.status, (header) => answer.headers.get(header), answer.body, new Date());
  const [found] = commits?.data ?? [];
  if (found === undefined) throw new CodeHostFailed('malformed', "The code host's answer is not a list of commits.");
  const { author, message = '' } = found.commit ?? {};
  const commitAuthor = quoted(author?.name, LONGEST.author);
  const commitMessage = quoted(message.trimStart().split('\n', 1)[0], LONGEST.message);
  return {
    commit: found.sha,
    ...(commitAuthor !== '' && { commitAuthor }),
    ...(commitMessage !== '' && { commitMessage }),
  };
}
