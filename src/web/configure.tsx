// What a deployment is configured with: its file, its variables and, of an upload, its next version.

import type { VNode } from 'preact';
import type { TabProps } from './actions.tsx';
import { Loaded } from './new.tsx';

export function Configure({ api, deployment, say, onAsk }: TabProps): VNode {
  return <Loaded api={api} deployment={deployment} say={say} isLocked={onAsk === undefined} />;
}
