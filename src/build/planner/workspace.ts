// The workspace as the plan reads it: its paths and the content of a few files. Paths are relative to the root, without
// `./`. The root is ''.

import { PlanFailure, shown } from './failure.ts';

export type EntryKind = 'file' | 'folder' | 'link' | 'other';

export interface Workspace {
  /** Name of the source, which the root's folder in the image gets. */
  readonly name: string;
  /** All paths. Symbolic links are not followed. */
  readonly entries: ReadonlyMap<string, EntryKind>;
  /** Content of the configuration file and of each package.json and requirements.txt. */
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * Resolves a path relative to `folder` to one relative to the root. `what` names its key. Throws PlanFailure for a path
 * outside the workspace.
 */
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
        `${what} is ${shown(path)}, which is outside the workspace. Move it into the repository.`,
      );
  }
  return parts.join('/');
}

export function parentFolder(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '' : path.slice(0, slash);
}

export function joinPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

export function isInside(folder: string, path: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}

/**
 * Kind of the entry at `path`, or undefined if there is none. Throws PlanFailure for a path through a symbolic link,
 * which the builder does not follow.
 */
export function entryAt({ entries }: Workspace, what: string, path: string): EntryKind | undefined {
  if (path === '') return 'folder';
  const parts = path.split('/');
  for (let length = 1; length <= parts.length; length += 1) {
    const ancestor = parts.slice(0, length).join('/');
    if (entries.get(ancestor) === 'link')
      throw new PlanFailure(
        'PathIsLink',
        `${what} goes through the symbolic link ${shown(ancestor)}, which a build does not follow. Use the path of its target.`,
      );
  }
  return entries.get(path);
}

export function isFile(workspace: Workspace, what: string, path: string): boolean {
  return entryAt(workspace, what, path) === 'file';
}

/** Throws PlanFailure unless `path` is a file, or a folder if `wanted` says so. */
export function requireFile(workspace: Workspace, what: string, path: string, wanted: EntryKind = 'file'): void {
  const kind = entryAt(workspace, what, path);
  if (kind === wanted) return;
  if (kind === undefined)
    throw new PlanFailure('PathMissing', `${what} names ${shown(path)}, which is not in the workspace.`);
  throw new PlanFailure('ConfigurationInvalid', `${what} names ${shown(path)}, which is not a ${wanted}.`);
}
