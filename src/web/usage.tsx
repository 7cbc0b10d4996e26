// The parts of a deployment with what they use, against what they request and may use.

import type { VNode } from 'preact';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Usage } from '../deploy/http/usage/payloads.ts';
import { type DeploymentPart, partsOf } from './health.ts';
import { Icon } from './icons.tsx';
import { type Column, Table } from './parts.tsx';
import { Card } from './rows.tsx';

type PartUsage = Usage['parts'][number];

interface PartsProps {
  readonly deployment: Deployment;
  /** What is known of it; absent before the first answer. */
  readonly usage: Usage | undefined;
  readonly children: VNode;
}

interface Used {
  readonly part: DeploymentPart;
  readonly used: PartUsage | undefined;
}

export function Parts({ deployment, usage, children }: PartsProps): VNode {
  const parts: Used[] = partsOf(deployment).map((part) => ({
    part,
    used: usage?.parts.find((one) => one.part === part.component),
  }));
  const ready = parts.filter(({ used }) => used?.now && used.now.ready >= wantedOf(used));
  const isKnown = parts.length > 0 && parts.every(({ used }) => used?.now);
  const columns: readonly Column<Used>[] = [
    {
      title: 'Part',
      kind: 'name',
      of: ({ part: { name, component } }) => [
        <Icon of={component} />,
        name,
        ' ',
        <span class="sub">{kindOf(component, deployment)}</span>,
      ],
    },
    {
      title: 'Pods',
      kind: 'number',
      short: 'Pods',
      of: ({ part, used }) => (used?.now ? `${used.now.ready} of ${wantedOf(used)}` : (part.sizes[0] ?? '–')),
    },
    meter('CPU', 'cpu', ''),
    meter('Memory', 'memory_mb', ' MB'),
    {
      title: 'Restarts',
      kind: 'number',
      short: 'Restarts',
      of: ({ used }) => <span class={used?.now?.restarts ? 'bad' : ''}>{used?.now?.restarts ?? '–'}</span>,
    },
  ];
  return (
    <Card title="Parts" id="parts" sub={isKnown && `${ready.length} of ${parts.length} ready`}>
      <Table label="parts" kind="parts" columns={columns} groups={[{ rows: parts }]} keyOf={({ part }) => part.name} />
      {children}
    </Card>
  );
}

/** CPU is of all pods, and memory of the fullest one. */
function meter(title: string, measure: 'cpu' | 'memory_mb', unit: string): Column<Used> {
  return {
    title,
    kind: `meter ${title.toLowerCase()}`,
    short: title,
    of: ({ used }) => {
      const pods = measure === 'cpu' ? Math.max(used?.now?.pods ?? used?.wanted ?? 1, 1) : 1;
      const times = (amount: number | null = null): number | null => amount && Math.round(amount * pods * 1000) / 1000;
      return (
        <Meter
          used={used?.[measure].at(-1)?.[1]}
          request={times(used?.request[measure])}
          limit={times(used?.limit[measure])}
          unit={`${unit}${pods === 1 ? '' : ` in ${pods} pods`}`}
        />
      );
    },
  };
}

function wantedOf({ wanted, now }: PartUsage): number {
  return wanted ?? now?.pods ?? 0;
}

/** What runs a store, or that it is a worker. */
function kindOf(component: string, { datastores, source_config: config }: Deployment): string {
  if (component === 'postgres' || component === 'redis') return datastores[component]?.version ?? '';
  return Object.hasOwn(config.runtime?.workers ?? {}, component) ? 'worker' : '';
}

interface MeterProps {
  readonly used: number | undefined;
  readonly request: number | null;
  readonly limit: number | null;
  readonly unit: string;
}

/** Near its limit from here on. */
const NEAR = 0.9;

/** In words, and as a bar up to the limit with a line at what is requested. */
function Meter({ used, request, limit, unit }: MeterProps): VNode {
  if (used === undefined) return <>{limit ? `limit ${limit}${unit}` : '–'}</>;
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
