// A listener as the API shows it. Pure.

import { createdAt, writtenAt } from '../../lib/kube/write-times.ts';
import { conditionOf } from '../../schema/conditions.ts';
import type { Listener } from '../../schema/listener.ts';
import type { ListenerResponse } from './payloads.ts';

export function presentListener(listener: Listener): ListenerResponse {
  const { metadata, spec, status } = listener;
  if (metadata.uid === undefined) throw new TypeError(`Listener ${metadata.name} has no uid`);
  return {
    id: metadata.uid,
    compute_type: 'k8s',
    compute_id: metadata.name,
    compute_config: { k8s_namespaces: spec.namespaces ? [...spec.namespaces] : null },
    created_at: createdAt(listener),
    updated_at: writtenAt(listener),
    version: status?.version ?? null,
    connected: conditionOf(status?.conditions, 'Connected')?.status === 'True',
    last_seen_at: status?.lastSeenAt ?? null,
  };
}
