// Who reaches a deployment, and where.

import type { VNode } from 'preact';
import type { Deployment } from '../deploy/http/payloads.ts';
import { Address, Facts } from './parts.tsx';
import { plain } from './text.ts';

export function Access({ deployment }: { readonly deployment: Deployment }): VNode {
  const { custom_url: url, access } = deployment.source_config;
  const lock = access?.lock ? `sidecar ${access.lock} asks for a key` : 'open to everybody who reaches its address';
  return (
    <section class="card" aria-labelledby="access">
      <h2 id="access">Access</h2>
      <Facts
        facts={[
          ['Address', url && <Address url={url} />],
          ['In the cluster', deployment.internal_url && <code>{plain(deployment.internal_url)}</code>],
          ['Lock', url && lock],
        ]}
      />
    </section>
  );
}
