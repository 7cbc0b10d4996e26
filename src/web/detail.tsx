// One deployment: what is wrong and what to do, a tab for each thing that one does with it, and its log below.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { RevisionList } from '../deploy/http/revisions/payloads.ts';
import { conditionOf } from '../kinds/conditions.ts';
import { uses } from '../kinds/source-rules.ts';
import { Access } from './access.tsx';
import { Action, type Asked, type TabProps } from './actions.tsx';
import type { AxisProps } from './axis.tsx';
import type { Window } from './chart.ts';
import { Configure } from './configure.tsx';
import { Data } from './data.tsx';
import { type Followed, useFollowed } from './follow.ts';
import { advice, partsOf, phaseOf, type Tone, toneOf, wordOf } from './health.ts';
import { Logs } from './logs.tsx';
import { Menu, type MenuItem } from './menu.tsx';
import { Overview } from './overview.tsx';
import { Address, Asking, Status } from './parts.tsx';
import { type Compared, Revisions } from './revisions.tsx';
import { type LogState, linkOf, linkOfPush, TABS, type Tab, UUID } from './route.ts';
import { Tasks } from './tasks.tsx';
import { plain } from './text.ts';

export interface DetailProps extends Pick<TabProps, 'api' | 'say'>, Compared {
  /** As it was typed. */
  readonly tenant: string;
  readonly id: string;
  readonly tab: Tab;
  /** Called once, when the deployment that was shown is there no more. */
  readonly onGone: (name: string) => void;
  /** The list as it was left. */
  readonly list: string;
  readonly log: LogState;
  readonly onLog: (log: LogState) => void;
  /** How far back measurements go; an hour where the URL does not say. */
  readonly window: Window | undefined;
}

export function Detail({
  api,
  tenant,
  id,
  tab,
  say,
  onGone,
  list,
  log,
  onLog,
  window,
  ...compared
}: DetailProps): VNode {
  const deployment = useFollowed(id, api.deployment(id));
  const revisions = useFollowed(id, api.revisions(id));
  const [asked, setAsked] = useState<Asked>();
  const heading = useRef<HTMLHeadingElement>(null);
  const isFocused = useRef(false);
  const found = deployment.value;
  const isMissing = deployment.failure?.status === 404;
  const isGone = found !== undefined && isMissing;

  useEffect(() => {
    if (found === undefined && !isMissing) return;
    document.title = `${found?.name ?? 'No deployment'} – Davit`;
    if (isFocused.current) return;
    isFocused.current = true;
    heading.current?.focus();
  }, [found === undefined, isMissing]);
  useEffect(() => {
    if (isGone) onGone(found.name);
  }, [isGone]);

  if (found === undefined) {
    return (
      <section>
        <a href={list}>← All deployments</a>
        {!isMissing && <Asking of={deployment} what="The deployment" />}
        {isMissing && (
          <h1 tabIndex={-1} ref={heading}>
            There is no such deployment, or not for this token and tenant
          </h1>
        )}
      </section>
    );
  }

  const tone = toneOf(found);
  const isLeaving = found.status === 'AWAITING_DELETE';
  const ask = isLeaving ? undefined : setAsked;
  const props: TabProps = { api, deployment: found, namespace: namespaceOf(tenant), say, onAsk: ask };
  return (
    <article class={tab === 'logs' ? 'whole-log' : ''} aria-labelledby="deployment">
      <nav class="crumb" aria-label="Back">
        <a href={list}>← All deployments</a>
      </nav>
      <div class="head">
        <h1 id="deployment" ref={heading} tabIndex={-1}>
          {found.name}
        </h1>
        <Status status={found.status} phase={phaseOf(found)} tone={tone} />
        <Address url={found.source_config.custom_url} />
        {ask && <Acts deployment={found} onAsk={ask} />}
      </div>
      <nav class="tabs" aria-label="Deployment">
        {TABS.map(({ name, title }) => (
          <a key={name} href={linkOf(id, name, log)} aria-current={name === tab ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <Asking of={deployment} what="The deployment" />
      <Verdict deployment={found} tone={tone} onAsk={ask} />
      <Panel
        tab={tab}
        revisions={revisions}
        window={window ?? '1h'}
        linkOf={(wanted) => linkOf(id, 'overview', log, { window: wanted })}
        {...compared}
        {...props}
      />
      <Logs
        api={api}
        id={id}
        isElsewhere={found.source_config.listener_id !== null}
        isWhole={tab === 'logs'}
        parts={partsOf(found).map(({ name, component }) => ({ name, component }))}
        revisions={revisions.value?.resources ?? []}
        state={log}
        onState={onLog}
      />
      {asked !== undefined && (
        <Action
          key={JSON.stringify(asked)}
          asked={asked}
          api={api}
          deployment={found}
          onDone={say}
          onClose={() => {
            setAsked(undefined);
            // The button may be gone with what was changed.
            setTimeout(() => document.activeElement === document.body && heading.current?.focus());
          }}
        />
      )}
    </article>
  );
}

interface PanelProps extends TabProps, Compared, Pick<AxisProps, 'window' | 'linkOf'> {
  readonly tab: Tab;
  readonly revisions: Followed<RevisionList>;
}

function Panel({ tab, revisions, pair, onPair, window, linkOf: link, ...props }: PanelProps): VNode | null {
  switch (tab) {
    case 'overview':
      return <Overview {...props} revisions={revisions} window={window} linkOf={link} />;
    case 'logs':
      return null;
    case 'revisions':
      return <Revisions {...props} followed={revisions} pair={pair} onPair={onPair} />;
    case 'configure':
      return <Configure {...props} />;
    case 'data':
      return <Data {...props} />;
    case 'tasks':
      return <Tasks {...props} />;
    case 'access':
      return <Access {...props} />;
  }
}

function Acts({
  deployment,
  onAsk,
}: {
  readonly deployment: Deployment;
  readonly onAsk: (asked: Asked) => void;
}): VNode {
  const { id, source } = deployment;
  const isPushed = uses(source, 'push');
  const items: (MenuItem | false)[] = [
    { label: 'Scale', does: () => onAsk({ action: 'scale' }) },
    { label: 'Sizes', does: () => onAsk({ action: 'sizes' }) },
    isPushed && { label: 'Push an image', does: linkOfPush(id) },
    uses(source, 'upload') && { label: 'Upload a version', does: linkOf(id, 'configure') },
    !isPushed && !uses(source, 'upload') && { label: 'Clone', does: () => onAsk({ action: 'clone' }) },
    { label: 'Delete', does: () => onAsk({ action: 'delete' }), isDangerous: true },
  ];
  return (
    <span class="actions">
      <button type="button" onClick={() => onAsk({ action: 'restart' })}>
        Restart
      </button>
      <Menu label="More" items={items.filter((item) => item !== false)} />
      <button type="button" class="main" onClick={() => onAsk({ action: 'deploy' })}>
        Deploy
      </button>
    </span>
  );
}

/** Undefined where the tenant was named by its id, or not at all. */
function namespaceOf(tenant: string): string | undefined {
  return /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(tenant) && !UUID.test(tenant) ? tenant : undefined;
}

/** The one look: how it is in words, and what a person has to do. */
interface VerdictProps extends Pick<TabProps, 'deployment' | 'onAsk'> {
  readonly tone: Tone;
}

function Verdict({ deployment, tone, onAsk }: VerdictProps): VNode {
  const ready = conditionOf(deployment.conditions, 'Ready');
  const todo = tone === 'bad' && ready ? advice(ready.reason) : undefined;
  return (
    <div class={`verdict ${tone}`}>
      <section aria-label="Status" aria-live="polite">
        <p>
          <span class="hidden">
            {[deployment.status, phaseOf(deployment), tone === 'good' ? wordOf(deployment) : undefined]
              .filter((word) => word !== undefined)
              .join(', ')}
            .{' '}
          </span>
          {tone !== 'good' && <span class="reason">{wordOf(deployment)}</span>} {plain(deployment.status_message)}
        </p>
        {todo !== undefined && (
          <p>
            <strong>What to do:</strong> {todo}
          </p>
        )}
      </section>
      {deployment.next_act !== null && onAsk && (
        <button type="button" onClick={() => onAsk({ action: 'next' })}>
          {deployment.next_act.label}…
        </button>
      )}
    </div>
  );
}
