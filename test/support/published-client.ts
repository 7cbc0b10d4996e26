// The published CLI (PyPI langgraph-cli), as it is, in a virtual environment of the cache.

import { join } from 'node:path';
import type { Progress } from '../cluster/prepared.ts';
import { ensurePython } from '../cluster/python.ts';

const requirements = join(import.meta.dirname, '../suites/plan/requirements.txt');

/** Path of the program. */
export function ensurePublishedClient(progress: Progress): Promise<string> {
  return ensurePython('langgraph', requirements, progress);
}

/** It reaches the server alone: it reports its use to nobody. */
export function publishedEnvironment(to: {
  /** Folder for what it keeps. */
  readonly home: string;
  readonly server: string;
  readonly token: string;
  /** Id of the tenant. */
  readonly tenant: string;
}): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: to.home,
    PYTHONUTF8: '1',
    NO_PROXY: '*',
    LANGGRAPH_CLI_NO_ANALYTICS: '1',
    LANGGRAPH_HOST_URL: to.server,
    LANGGRAPH_HOST_API_KEY: to.token,
    LANGSMITH_TENANT_ID: to.tenant,
  };
}
