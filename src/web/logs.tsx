// What the pods or a build of a deployment wrote: the newest lines, and those that come.

import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Revision } from '../deploy/http/revisions/payloads.ts';
import { mayBeBuilt } from '../kinds/source-rules.ts';
import type { LogLine } from '../logs/payloads.ts';
import type { Api, LogFilter, LogSource, Written } from './api.ts';
import { useFollowed } from './follow.ts';
import { type DeploymentPart, IN_BUILD } from './health.ts';
import { Asking, Select, Word } from './parts.tsx';
import { LEVELS, type LogState } from './route.ts';
import { isHealthCheck, linesByMinute, plain, short } from './text.ts';
import { clock, useZone, type Zone } from './times.ts';

/** More would make the page slow. */
const MOST_SHOWN = 3000;
/** How often the logs of a listener's cluster are read. */
export const ELSEWHERE_MS = 10_000;
/** Where there is no room for the pane beside what it is about. */
const NARROW_PX = 720;

interface LogsProps {
  readonly api: Api;
  readonly id: string;
  /** Whether a listener's cluster runs it. Each read of its logs is a request to that cluster. */
  readonly isElsewhere: boolean;
  /** Whether it is shown alone, and not below something else. */
  readonly isWhole: boolean;
  /** Whose pods write. */
  readonly parts: readonly Pick<DeploymentPart, 'name' | 'component'>[];
  /** Newest first. */
  readonly revisions: readonly Revision[];
  readonly state: LogState;
  readonly onState: (state: LogState) => void;
}

/** A pane below every tab, or the tab of the log. Closed, it asks for nothing. */
export function Logs({ api, id, isElsewhere, isWhole, parts, revisions, state, onState }: LogsProps): VNode {
  const { level, part, text, hasChecks } = state;
  const [zone, setZone] = useZone();
  const [isOpen, setIsOpen] = useState(() => innerWidth > NARROW_PX);
  useEffect(() => {
    const wide = matchMedia(`(min-width: ${NARROW_PX + 1}px)`);
    const onChange = (): void => setIsOpen(wide.matches);
    wide.addEventListener('change', onChange);
    return () => wide.removeEventListener('change', onChange);
  }, []);
  const source = chosenIn(state, revisions[0]);
  const isShown = isWhole || isOpen;

  return (
    <section class={isWhole ? 'card' : isOpen ? 'pane' : 'pane closed'} aria-labelledby="logs">
      <div class="pane-head">
        <h2 id="logs">
          Logs <span class="sub">in {zone}</span>
        </h2>
        {!isWhole && (
          <button type="button" class="plain" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
            {isOpen ? 'Hide the log' : 'Show the log'}
          </button>
        )}
        {isShown && (
          <button type="button" class="plain" onClick={() => setZone(zone === 'UTC' ? 'local time' : 'UTC')}>
            {zone === 'UTC' ? 'Local time' : 'UTC'}
          </button>
        )}
        {isShown && <Filters source={source} parts={parts} revisions={revisions} state={state} onState={onState} />}
      </div>
      {isShown && (
        <Lines
          hasChecks={hasChecks}
          key={[source, level, part, text].join(' ')}
          api={api}
          id={id}
          source={sourceOf(source)}
          everyMs={isElsewhere && source.startsWith('pods') ? ELSEWHERE_MS : undefined}
          filter={{
            ...(level !== '' && { level }),
            ...(text !== '' && { query: text }),
            ...(part !== '' && source.startsWith('pods') && { component: part }),
          }}
        />
      )}
    </section>
  );
}

interface FiltersProps extends Pick<LogsProps, 'parts' | 'revisions' | 'state' | 'onState'> {
  readonly source: string;
}

function Filters({ source, parts, revisions, state, onState }: FiltersProps): VNode {
  const { kind, revisionId, level, part, text, hasChecks } = state;
  const built = revisions.filter((revision) => mayBeBuilt(revision.source));
  return (
    <search class="filters" aria-label="Logs">
      <Select
        id="log-source"
        label="Of"
        value={source}
        options={[
          ['pods', 'all pods'],
          ...revisions.map(({ id }) => [`pods ${id}`, `pods of ${short(id)}`] as const),
          ...(revisionId === '' || revisions.some(({ id }) => id === revisionId)
            ? []
            : [[source, `${kind} of ${short(revisionId)}`] as const]),
          ...built.map(({ id }) => [`build ${id}`, `build of ${short(id)}`] as const),
        ]}
        onValue={(chosen) => {
          const { kind: of, revisionId: id = '' } = sourceOf(chosen);
          onState({ ...state, kind: of, revisionId: id });
        }}
      />
      {source.startsWith('pods') && (
        <Select
          id="log-part"
          label="Part"
          value={part}
          options={[
            ['', 'all but datastores'],
            ...parts.map(({ name, component }) => [component, name] as const),
            ...(part === '' || parts.some(({ component }) => component === part) ? [] : [[part, part] as const]),
          ]}
          onValue={(one) => onState({ ...state, part: one })}
        />
      )}
      <Select
        id="log-level"
        label="Level"
        value={level}
        options={[['', 'all'], ...LEVELS.map((one) => [one, one] as const)]}
        onValue={(one) => onState({ ...state, level: one as LogState['level'] })}
      />
      <label for="log-text">Text</label>
      <Word
        id="log-text"
        type="search"
        value={text}
        onChange={(event) => onState({ ...state, text: event.currentTarget.value })}
      />
      <label>
        <input
          type="checkbox"
          checked={hasChecks}
          onChange={(event) => onState({ ...state, hasChecks: event.currentTarget.checked })}
        />{' '}
        Health checks
      </label>
    </search>
  );
}

/** The value of the choice: what is in the URL, or the build where that is what the deployment waits for. */
function chosenIn({ kind, revisionId }: LogState, latest: Revision | undefined): string {
  if (kind !== '') return revisionId === '' ? kind : `${kind} ${revisionId}`;
  const isAboutBuild = latest !== undefined && (IN_BUILD.includes(latest.status) || latest.status === 'BUILD_FAILED');
  return isAboutBuild && mayBeBuilt(latest.source) ? `build ${latest.id}` : 'pods';
}

function sourceOf(chosen: string): LogSource {
  const [kind, revisionId] = chosen.split(' ');
  return { kind: kind === 'build' ? 'build' : 'pods', ...(revisionId !== undefined && { revisionId }) };
}

interface LinesProps {
  readonly api: Api;
  readonly id: string;
  readonly source: LogSource;
  readonly everyMs: number | undefined;
  /** Whether health checks that succeeded are shown. */
  readonly hasChecks: boolean;
  readonly filter: LogFilter;
}

export function withNews(before: Written | undefined, { lines, isTruncated }: Written): Written {
  return { lines: before ? [...before.lines, ...lines].slice(-MOST_SHOWN) : lines, isTruncated };
}

function Lines({ api, id, source, everyMs, hasChecks, filter }: LinesProps): VNode {
  const followed = useFollowed('', api.logs(id, source, filter), { take: withNews, everyMs });
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [minute, setMinute] = useState('');
  const [zone] = useZone();
  const all = followed.value?.lines;
  const lines = useMemo(() => all?.filter(({ message }) => hasChecks || !isHealthCheck(message)), [all, hasChecks]);
  const chosen = useMemo(() => lines?.filter(({ timestamp }) => timestamp.startsWith(minute)), [lines, minute]);
  // Most answers bring nothing new.
  const shown = useMemo(() => chosen?.map((line) => <Line key={line.id} line={line} zone={zone} />), [chosen, zone]);

  useEffect(() => {
    if (isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);

  return (
    <>
      <Asking of={followed} what="The lines" />
      {lines !== undefined && <Rate lines={lines} minute={minute} onMinute={setMinute} />}
      {followed.value?.isTruncated && (
        <p class="sub">Lines may be missing: reading ended at a limit, or a node did not answer.</p>
      )}
      <div
        class="log"
        role="log"
        aria-live="off"
        aria-label="Lines, newest last"
        tabIndex={0}
        ref={box}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < 24;
        }}
      >
        {shown}
        {lines?.length === 0 && <p class="asking">No lines yet, or none match.</p>}
      </div>
    </>
  );
}

const [BAR, GAP, HEIGHT] = [8, 3, 26];

interface RateProps {
  readonly lines: readonly LogLine[];
  /** As the timestamps of its lines begin; empty for all. */
  readonly minute: string;
  readonly onMinute: (minute: string) => void;
}

/** Lines a minute, failures in another colour. A minute that is chosen is shown alone. */
function Rate({ lines, minute, onMinute }: RateProps): VNode | null {
  const [zone] = useZone();
  const minutes = useMemo(() => linesByMinute(lines), [lines]);
  const most = Math.max(...minutes.map(({ count }) => count));
  if (minutes.length < 2 && minute === '') return null;
  return (
    <div class="rate">
      <svg class="bars" width={minutes.length * (BAR + GAP)} height={HEIGHT} aria-hidden="true">
        {minutes.map(({ at, count, failures }, place) => {
          const [all, bad] = [count, failures].map((number) =>
            number === 0 ? 0 : Math.max(2, (number / most) * HEIGHT),
          );
          const x = place * (BAR + GAP);
          return (
            <g key={at} class={at === minute ? 'chosen' : ''} onClick={() => onMinute(at === minute ? '' : at)}>
              <rect x={x} y={HEIGHT - (all ?? 0)} width={BAR} height={all} />
              <rect class="bad" x={x} y={HEIGHT - (bad ?? 0)} width={BAR} height={bad} />
            </g>
          );
        })}
      </svg>
      <Select
        id="log-minute"
        label="Minute"
        value={minute}
        options={[
          ['', 'all'],
          ...minutes.map(({ at, count, failures }): [string, string] => [
            at,
            `${clock(`${at}:00Z`, zone).slice(0, 5)}, ${count === 1 ? '1 line' : `${count} lines`}${failures > 0 ? `, ${failures} failed` : ''}`,
          ]),
        ]}
        onValue={onMinute}
      />
    </div>
  );
}

export function Line({ line, zone }: { readonly line: LogLine; readonly zone: Zone }): VNode {
  const { timestamp, level, message, pod, container } = line;
  return (
    <div class={`line ${level?.toLowerCase() ?? ''}`}>
      <time datetime={timestamp} title={`${timestamp} ${pod ?? ''}`}>
        {clock(timestamp, zone)}
      </time>{' '}
      <span class="level">{level}</span> <span class="writer">{plain(container)}</span>{' '}
      <span class="words">{plain(message)}</span>
    </div>
  );
}
