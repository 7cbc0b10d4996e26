// What the plan knows of the workspace: its paths and a few texts, read beforehand. Paths are relative to the root and
// without `./`; the root is ''.

import { PlanFailure, shown } from './failure.ts';

export type EntryKind = 'file' | 'folder' | 'link' | 'other';

export interface Workspace {
  /** What the source is called; it names the folder of the root in the image. */
  readonly name: string;
  /** Links are listed as links and never followed. */
  readonly entries: ReadonlyMap<string, EntryKind>;
  /** Content of the configuration file and of each package.json and requirements.txt. */
  readonly texts: ReadonlyMap<string, string>;
}

/** A path relative to `folder`, as one relative to the root. `what` names the key it was given in. */
export function resolvePath(what: string, folder: string, path: string): string {
  if (path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path) || path.startsWith('~'))
    throw new PlanFailure(
      'PathOutsideWorkspace',
      `${what} is the absolute path ${shown(path)}. Give a path relative to the configuration file.`,
    );
  const parts: string[] = folder === '' ? [] : folder.split('/');
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined)
      throw new PlanFailure(
        'PathOutsideWorkspace',
        `${what} is ${shown(path)}, which leads out of the workspace. Move it into the repository.`,
      );
  }
  return parts.join('/');
}

export function folderOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '' : path.slice(0, slash);
}

export function joinPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

export function isInside(folder: string, path: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}

/** What is at `path`, undefined for nothing. A link on the way there is a failure: the builder follows none. */
export function entryAt({ entries }: Workspace, what: string, path: string): EntryKind | undefined {
  if (path === '') return 'folder';
  const parts = path.split('/');
  for (let length = 1; length <= parts.length; length += 1) {
    const ancestor = parts.slice(0, length).join('/');
    if (entries.get(ancestor) === 'link')
      throw new PlanFailure(
        'PathIsLink',
        `${what} goes through the symbolic link ${shown(ancestor)}, and a build follows none. Name the path that it points to.`,
      );
  }
  return entries.get(path);
}

export function isFile(workspace: Workspace, what: string, path: string): boolean {
  return entryAt(workspace, what, path) === 'file';
}

export function requireFile(workspace: Workspace, what: string, path: string): void {
  const kind = entryAt(workspace, what, path);
  if (kind === 'file') return;
  if (kind === undefined)
    throw new PlanFailure('PathMissing', `${what} names ${shown(path)}, which is not in the workspace.`);
  throw new PlanFailure('ConfigurationInvalid', `${what} names ${shown(path)}, which is not a file.`);
}

export function requireFolder(workspace: Workspace, what: string, path: string): void {
  const kind = entryAt(workspace, what, path);
  if (kind === 'folder') return;
  if (kind === undefined)
    throw new PlanFailure('PathMissing', `${what} names ${shown(path)}, which is not in the workspace.`);
  throw new PlanFailure('ConfigurationInvalid', `${what} names ${shown(path)}, which is not a folder.`);
}
