// The parts of a deployment with what they use, against what they request and may use.

import type { VNode } from 'preact';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Usage } from '../deploy/http/usage/payloads.ts';
import { type DeploymentPart, partsOf } from './health.ts';
import { Titles } from './parts.tsx';

type PartUsage = Usage['parts'][number];

/** `usage`: what is known of it; absent before the first answer. */
export function Parts({
  deployment,
  usage,
}: {
  readonly deployment: Deployment;
  readonly usage: Usage | undefined;
}): VNode {
  const parts = partsOf(deployment).map((part) => ({
    part,
    used: usage?.parts.find((one) => one.part === part.component),
  }));
  const ready = parts.filter(({ used }) => used?.now && used.now.ready >= wantedOf(used));
  const isKnown = parts.length > 0 && parts.every(({ used }) => used?.now);
  return (
    <>
      <div class="card-head">
        <h2 id="parts">Parts</h2>
        {isKnown && (
          <span class="sub">
            {ready.length} of {parts.length} ready
          </span>
        )}
      </div>
      <table class="list parts" role="table" aria-labelledby="parts">
        <Titles titles={['Part', 'Pods', 'CPU', 'Memory', 'Restarts']} />
        <tbody role="rowgroup">
          {parts.map(({ part, used }) => (
            <Row key={part.name} part={part} used={used} deployment={deployment} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function wantedOf({ wanted, now }: PartUsage): number {
  return wanted ?? now?.pods ?? 0;
}

interface RowProps {
  readonly part: DeploymentPart;
  readonly used: PartUsage | undefined;
  readonly deployment: Deployment;
}

function Row({ part: { component, name, sizes }, used, deployment }: RowProps): VNode {
  const { now, cpu = [], memory_mb: memory = [], request, limit } = used ?? {};
  const pods = Math.max(now?.pods ?? used?.wanted ?? 1, 1);
  return (
    <tr role="row">
      <th role="rowheader" scope="row" class="name">
        {name} <span class="sub">{kindOf(component, deployment)}</span>
      </th>
      <td role="cell" class="number" data-title="Pods">
        {used && now ? `${now.ready} of ${wantedOf(used)}` : (sizes[0] ?? '–')}
      </td>
      <td role="cell" class="meter cpu" data-title="CPU">
        <Meter used={cpu.at(-1)?.[1]} request={times(request?.cpu, pods)} limit={times(limit?.cpu, pods)} unit="" />
      </td>
      <td role="cell" class="meter memory" data-title="Memory">
        <Meter used={memory.at(-1)?.[1]} request={request?.memory_mb} limit={limit?.memory_mb} unit=" MB" />
      </td>
      <td role="cell" class={now && now.restarts > 0 ? 'number bad' : 'number'} data-title="Restarts">
        {now?.restarts ?? '–'}
      </td>
    </tr>
  );
}

/** What runs a store, or that it is a worker. */
function kindOf(component: string, { datastores, source_config: config }: Deployment): string {
  if (component === 'postgres' || component === 'redis') return datastores[component]?.version ?? '';
  return Object.hasOwn(config.runtime?.workers ?? {}, component) ? 'worker' : '';
}

function times(amount: number | null | undefined, pods: number): number | null | undefined {
  return typeof amount === 'number' ? Math.round(amount * pods * 1000) / 1000 : amount;
}

interface MeterProps {
  readonly used: number | undefined;
  readonly request: number | null | undefined;
  readonly limit: number | null | undefined;
  readonly unit: string;
}

/** Near its limit from here on. */
const NEAR = 0.9;

/** In words, and as a bar up to the limit with a line at what is requested. */
function Meter({ used, request, limit, unit }: MeterProps): VNode {
  if (used === undefined) return <>{limit ? `– of ${limit}${unit}` : '–'}</>;
  if (!limit) return <>{`${used}${unit}`}</>;
  const isNear = used >= limit * NEAR;
  return (
    <>
      {`${used} of ${limit}${unit}`}
      {isNear && <span class="hidden"> (near its limit)</span>}
      <svg viewBox="0 0 100 6" width="100%" height="6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="whole" width="100" height="6" />
        <rect class={isNear ? 'used near' : 'used'} width={Math.min(100, (100 * used) / limit)} height="6" />
        {request && request < limit ? (
          <rect class="requested" x={(100 * request) / limit} width="1" height="6" />
        ) : null}
      </svg>
    </>
  );
}
