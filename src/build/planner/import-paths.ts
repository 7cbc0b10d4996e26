// Import strings of the configuration file ("./path/to/file.py:variable"), and their form in the image.

import { PlanFailure, shown } from './failure.ts';
import type { WorkflowConfig } from './workflow-config.ts';
import { entryAt, resolvePath, type Workspace } from './workspace.ts';

export function isJavaScript(file: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(file);
}

/** Whether an import string names a file, not an installed module. */
function isPath(module: string): boolean {
  return module.includes('/') || module.startsWith('.') || module.endsWith('.py') || isJavaScript(module);
}

interface ImportString {
  readonly module: string;
  readonly attribute: string;
}

function splitImport(what: string, value: string): ImportString {
  const colon = value.indexOf(':');
  const [module, attribute] = [value.slice(0, colon), value.slice(colon + 1)];
  if (colon < 1 || attribute === '')
    throw new PlanFailure(
      'ConfigurationInvalid',
      `${what} is ${shown(value)}. It must be "./path/to/file.py:variable".`,
    );
  return { module, attribute };
}

/** Whether any graph is in Python, which is assumed for every graph that is not in a JavaScript file. */
export function hasPythonGraph({ graphs }: Readonly<WorkflowConfig>): boolean {
  return Object.values(graphs).some((graph) => !isJavaScript(graphFile(graph)));
}

export function hasJavaScriptGraph({ graphs }: Readonly<WorkflowConfig>): boolean {
  return Object.values(graphs).some((graph) => isJavaScript(graphFile(graph)));
}

function graphFile(graph: WorkflowConfig['graphs'][string]): string {
  return (typeof graph === 'string' ? graph : graph.path).split(':')[0] ?? '';
}

/** Returns the import string for the image. `what` names the key, `path` is relative to the workspace's root. */
export type Rewrite = (what: string, path: string, written: ImportString) => string;

/** Returns the configuration with every path to code validated and rewritten. Throws PlanFailure. */
export function rewritePaths(
  config: Readonly<WorkflowConfig>,
  workspace: Workspace,
  folder: string,
  rewrite: Rewrite,
): WorkflowConfig {
  function one(what: string, value: string): string {
    const written = splitImport(what, value);
    if (!isPath(written.module)) return value;
    const path = resolvePath(what, folder, written.module);
    const kind = entryAt(workspace, what, path);
    if (kind !== undefined && kind !== 'file')
      throw new PlanFailure('ConfigurationInvalid', `${what} names ${shown(path)}, which is not a file.`);
    return rewrite(what, path, written);
  }
  function handler<Part extends { path?: string | null | undefined }>(name: string, part: Part): Part {
    return part.path ? { ...part, path: one(`${name}.path`, part.path) } : part;
  }
  const { graphs, auth, encryption, priority, checkpointer, http, store } = config;
  return {
    ...config,
    graphs: Object.fromEntries(
      Object.entries(graphs).map(([id, graph]) => {
        const what = `graphs.${shown(id).slice(1, -1)}`;
        return [id, typeof graph === 'string' ? one(what, graph) : { ...graph, path: one(`${what}.path`, graph.path) }];
      }),
    ),
    ...(auth && { auth: handler('auth', auth) }),
    ...(encryption && { encryption: handler('encryption', encryption) }),
    ...(priority && { priority: handler('priority', priority) }),
    ...(checkpointer && { checkpointer: handler('checkpointer', checkpointer) }),
    ...(http?.app && { http: { ...http, app: one('http.app', http.app) } }),
    // `embed` is also the name of a model ("provider:model"). Only a relative path names code.
    ...(store?.index?.embed?.startsWith('.') && {
      store: { ...store, index: { ...store.index, embed: one('store.index.embed', store.index.embed) } },
    }),
  };
}
