// The time axis: what a part used, and what happened meanwhile. Its sizes are attributes of SVG: the policy of the page allows no styles in it.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Usage } from '../deploy/http/usage/payloads.ts';
import {
  areaOf,
  labelled,
  lineOf,
  type Mark,
  marksOf,
  type Point,
  type Row,
  rowsOf,
  runsOf,
  type Scale,
  scale,
  topOf,
  WINDOWS,
  type Window,
} from './chart.ts';
import type { Followed } from './follow.ts';
import { Asking, type Column, Select, Table } from './parts.tsx';
import { Card } from './rows.tsx';
import { plain } from './text.ts';
import { useZone, type Zone } from './times.ts';

export interface AxisProps {
  readonly usage: Followed<Usage>;
  readonly window: Window;
  readonly linkOf: (window: Window) => string;
  /** Names of parts as people read them, by their names in the API. */
  readonly titles: ReadonlyMap<string, string>;
}

export function Axis({ usage, window, linkOf, titles }: AxisProps): VNode {
  const [chosen, setChosen] = useState<string>();
  const [zone] = useZone();
  const { value } = usage;
  const part = value?.parts.find(({ part: name }) => name === chosen) ?? value?.parts[0];
  const isMeasured = part !== undefined && part.cpu.length + part.memory_mb.length > 0;
  return (
    <Card
      title={WINDOWS[window].title}
      id="axis"
      kind="axis"
      end={
        <>
          {value !== undefined && value.parts.length > 1 && (
            <Select
              aria-label="Part"
              value={part?.part}
              options={value.parts.map(({ part: name }) => [name, titles.get(name) ?? name])}
              onValue={setChosen}
            />
          )}
          <nav class="segments" aria-label="Time">
            {Object.entries(WINDOWS).map(([name, { short }]) => (
              <a key={name} href={linkOf(name as Window)} aria-current={name === window ? 'true' : undefined}>
                {short}
              </a>
            ))}
          </nav>
        </>
      }
    >
      <Asking of={usage} what="The measurements" />
      {value !== undefined && part !== undefined && isMeasured && (
        <>
          <Chart usage={value} part={part} title={titles.get(part.part) ?? part.part} zone={zone} />
          <details class="fold">
            <summary>As a table</summary>
            <Numbers zone={zone} rows={rowsOf(value, part)} withDay={window !== '1h' && window !== '6h'} />
          </details>
        </>
      )}
      {value !== undefined && <p class="sub">{plain(sourceOf(value, isMeasured, zone))}</p>}
    </Card>
  );
}

/** Of a window, without measurements at its beginning. */
const LITTLE = 0.05;

function sourceOf({ source, since, missing, start, end }: Usage, isMeasured: boolean, zone: Zone): string {
  const from = source === 'prometheus' ? 'Measured by Prometheus' : 'Measured by metrics-server';
  const [begun, first, last] = [since ?? end, start, end].map((time) => Date.parse(time));
  const isWhole = since !== null && (begun ?? 0) - (first ?? 0) <= LITTLE * ((last ?? 0) - (first ?? 0));
  const known = isWhole
    ? `${from}.`
    : since === null
      ? ''
      : `${from} since ${momentOf(Date.parse(since) / 1000, true, zone)}.`;
  const nothing = source !== null && !isMeasured ? 'This part has no measurements yet.' : '';
  const times = isMeasured ? `Times are in ${zone}.` : '';
  return [known, times, nothing, missing ?? ''].filter((sentence) => sentence !== '').join(' ');
}

function momentOf(seconds: number, withDay: boolean, zone: Zone): string {
  const time = { hour: '2-digit', minute: '2-digit', ...(zone === 'UTC' && { timeZone: 'UTC' }) } as const;
  const day = { day: 'numeric', month: 'short' } as const;
  return new Date(seconds * 1000).toLocaleString('en-GB', withDay ? { ...day, ...time } : time);
}

/** Pixels. */
const [LEFT, RIGHT, TOP, PANE, BETWEEN, BELOW] = [64, 8, 26, 84, 30, 20];
const HEIGHT = TOP + 2 * PANE + BETWEEN + BELOW;
const LABEL = 72;

interface ChartProps {
  readonly usage: Usage;
  readonly part: Usage['parts'][number];
  readonly title: string;
  readonly zone: Zone;
}

function Chart({ usage, part, title, zone }: ChartProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const watching = new ResizeObserver(([entry]) =>
      setWidth(Math.max(280, Math.floor(entry?.contentRect.width ?? 640))),
    );
    if (box.current) watching.observe(box.current);
    return () => watching.disconnect();
  }, []);
  const [start, end] = [Date.parse(usage.start) / 1000, Date.parse(usage.end) / 1000];
  const x = scale([start, end], [LEFT, width - RIGHT]);
  const pods = part.now?.pods ?? part.wanted ?? 1;
  const cpuLimit = part.limit.cpu === null ? null : Math.round(part.limit.cpu * Math.max(pods, 1) * 1000) / 1000;
  const marks = marksOf(usage, part.part);
  const withLabel = labelled(marks, x, LABEL);
  const panes = [
    { name: 'cpu', unit: 'CPU', points: part.cpu, limit: cpuLimit, top: TOP },
    { name: 'memory', unit: 'MB', points: part.memory_mb, limit: part.limit.memory_mb, top: TOP + PANE + BETWEEN },
  ] as const;
  return (
    <div ref={box}>
      <svg
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label={inWords(part, title, marks)}
      >
        {marks.map((mark) => (
          <Sign key={`${mark.kind} ${mark.at} ${mark.label}`} mark={mark} x={x} isLabelled={withLabel.has(mark)} />
        ))}
        {panes.map((pane) => (
          <Pane key={pane.name} {...pane} x={x} right={width - RIGHT} step={usage.step_seconds}>
            {pane.name === 'memory' ? marks.filter(({ kind }) => kind === 'crash') : []}
          </Pane>
        ))}
        {[0, 0.5, 1].map((place) => (
          <text key={place} x={x(start + place * (end - start))} y={HEIGHT - 5} text-anchor={ANCHORS[place * 2]}>
            {momentOf(start + place * (end - start), usage.step_seconds > 90, zone)}
          </text>
        ))}
      </svg>
      <ul class="legend" aria-hidden="true">
        <li class="cpu">CPU, all pods of {title}</li>
        <li class="memory">memory, its fullest pod</li>
        {Object.entries(KINDS).map(
          ([kind, word]) =>
            marks.some((mark) => mark.kind === kind) && (
              <li key={kind} class={kind}>
                {word}
              </li>
            ),
        )}
      </ul>
    </div>
  );
}

const ANCHORS = ['start', 'middle', 'end'] as const;
const KINDS: Readonly<Record<Mark['kind'], string>> = {
  revision: 'revision',
  crash: 'crash',
  operation: 'database operation',
};

interface PaneProps {
  readonly name: 'cpu' | 'memory';
  readonly unit: string;
  readonly points: readonly Point[];
  readonly limit: number | null;
  readonly top: number;
  readonly x: Scale;
  readonly right: number;
  readonly step: number;
  /** Crashes that are marked in it. */
  readonly children: readonly Mark[];
}

function Pane({ name, unit, points, limit, top, x, right, step, children: crashes }: PaneProps): VNode {
  const most = topOf(points, limit);
  const y = scale([0, most], [top + PANE, top]);
  const runs = runsOf(points, step);
  const isLimitIn = limit !== null && limit <= most;
  return (
    <g class={name}>
      <path class="grid" d={`M${LEFT} ${y(0)}H${right}M${LEFT} ${y(most / 2)}H${right}M${LEFT} ${y(most)}H${right}`} />
      <text x={LEFT - 8} y={y(most) + 4} text-anchor="end">
        {`${Number(most.toPrecision(3))} ${unit}`}
      </text>
      <text x={LEFT - 8} y={y(0) + 4} text-anchor="end">
        0
      </text>
      {isLimitIn && <path class="limit" d={`M${LEFT} ${y(limit)}H${right}`} />}
      {limit !== null && (
        <text x={right} y={(isLimitIn ? y(limit) : top) - 4} text-anchor="end">
          {`limit ${limit} ${unit}${isLimitIn ? '' : ' ↑'}`}
        </text>
      )}
      {runs.map((run) => [
        <path key={`area ${run[0]?.[0]}`} class="area" d={areaOf(run, x, y)} />,
        <path key={`line ${run[0]?.[0]}`} class="line" d={lineOf(run, x, y)} />,
      ])}
      {crashes.map(({ at, label }) => {
        const before = points.findLast(([time]) => time <= at) ?? points[0];
        return (
          <path key={`${at} ${label}`} class="crash" d={`M${x(at) - 5} ${y(before?.[1] ?? 0) - 5}l10 10m0-10l-10 10`}>
            <title>{plain(label)}</title>
          </path>
        );
      })}
    </g>
  );
}

interface SignProps {
  readonly mark: Mark;
  readonly x: Scale;
  readonly isLabelled: boolean;
}

/** A revision or an operation, across both panes. */
function Sign({ mark: { kind, at, until = at, label }, x, isLabelled }: SignProps): VNode | null {
  const bottom = HEIGHT - BELOW;
  if (kind === 'crash') return null;
  if (kind === 'operation') {
    const left = Math.max(LEFT, x(at));
    return (
      <rect class="operation" x={left} y={TOP - 6} width={Math.max(3, x(until) - left)} height={bottom - TOP + 6}>
        <title>{plain(label)}</title>
      </rect>
    );
  }
  return (
    <g class="revision">
      <path d={`M${x(at)} ${TOP - 8}V${bottom}`} />
      {isLabelled && <rect x={x(at) - LABEL / 2 + 2} y={0} width={LABEL - 4} height={18} rx={9} />}
      {isLabelled && (
        <text x={x(at)} y={13} text-anchor="middle">
          {label.replace('revision ', '')}
        </text>
      )}
      <title>{label}</title>
    </g>
  );
}

/** What a person sees at a glance. */
function inWords({ cpu, memory_mb: memory, limit }: ChartProps['part'], title: string, marks: readonly Mark[]): string {
  const span = (points: readonly Point[], unit: string): string => {
    const values = points.map(([, value]) => value);
    return values.length === 0 ? 'not measured' : `${values.at(-1)} ${unit} now, ${Math.max(...values)} at most`;
  };
  const memoryLimit = limit.memory_mb === null ? '' : ` of ${limit.memory_mb}`;
  const counted = Object.keys(KINDS).flatMap((kind) => {
    const count = marks.filter((mark) => mark.kind === kind).length;
    return count === 0 ? [] : [`${kind}s: ${count}`.replace('crashs', 'crashes')];
  });
  return [
    `${title}: CPU ${span(cpu, 'cores')}`,
    `memory ${span(memory, 'MB')}${memoryLimit}`,
    ...counted,
    'a table follows',
  ].join('; ');
}

interface NumbersProps extends Pick<ChartProps, 'zone'> {
  readonly rows: readonly Row[];
  readonly withDay: boolean;
}

function Numbers({ rows, withDay, zone }: NumbersProps): VNode {
  const number = (title: string, short: string, of: (row: Row) => number | undefined): Column<Row> => ({
    title,
    kind: 'number',
    short,
    of: (row) => of(row) ?? '–',
  });
  return (
    <Table
      label="axis"
      columns={[
        { title: 'From', kind: 'name', of: ({ at }) => momentOf(at, withDay, zone) },
        number('CPU', 'CPU', ({ cpu }) => cpu),
        number('Memory, MB', 'MB', ({ memoryMb }) => memoryMb),
        number('Ready', 'Ready', ({ ready }) => ready),
        number('Restarts', 'Restarts', ({ restarts }) => restarts),
        { title: 'What happened', kind: 'message', of: ({ what }) => plain(what.join(', ')) },
      ]}
      groups={[{ rows }]}
      keyOf={({ at }) => String(at)}
    />
  );
}
