// One deployment: what is wrong and what to do, a tab for each thing that one does with it, and its log below.

import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { RevisionList } from '../deploy/http/revisions/payloads.ts';
import { conditionOf } from '../kinds/conditions.ts';
import { uses } from '../kinds/source-rules.ts';
import { Access, Reach } from './access.tsx';
import { cloning, deleting, deploying, nextAct, restarting, scaling, type TabProps } from './actions.tsx';
import type { Window } from './chart.ts';
import { Data } from './data.tsx';
import { type Question, useQuestion } from './dialog.tsx';
import { useFollowed } from './follow.ts';
import { advice, partsOf, phaseOf, type Tone, toneOf, wordOf } from './health.ts';
import { Logs } from './logs.tsx';
import { Menu, type MenuItem } from './menu.tsx';
import { Loaded } from './new.tsx';
import { Overview } from './overview.tsx';
import { Asking, Status } from './parts.tsx';
import { type Compared, Revisions } from './revisions.tsx';
import { type LogState, linkOf, TABS, type Tab, UUID } from './route.ts';
import { useAllowed } from './rows.tsx';
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

export function Detail(props: DetailProps): VNode {
  const { api, tenant, id, tab, say, onGone, list, log, onLog, window = '1h', pair, onPair } = props;
  const path = `v2/deployments/${id}`;
  const deployment = useFollowed(id, api.poll<Deployment>(`${path}?secrets=names`));
  const revisions = useFollowed(id, api.poll<RevisionList>(`${path}/revisions?limit=100&changes=true`));
  const may = useAllowed(api, `${path}?secrets=names`);
  const [dialog, setQuestion] = useQuestion(say, deployment.again);
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
            This deployment does not exist, or this token and tenant cannot read it
          </h1>
        )}
      </section>
    );
  }

  const tone = toneOf(found);
  const isLeaving = found.status === 'AWAITING_DELETE';
  const isReader = may?.('PATCH') === false;
  const onAsk = isLeaving || may === undefined || isReader ? undefined : setQuestion;
  const given: TabProps = { api, deployment: found, namespace: namespaceOf(tenant), say, onAsk };
  const tabs: Readonly<Record<Tab, () => VNode | null | undefined>> = {
    overview: () => (
      <Overview
        {...given}
        revisions={revisions}
        window={window}
        linkOf={(wanted) => linkOf(id, 'overview', log, { window: wanted })}
      />
    ),
    logs: () => null,
    revisions: () => <Revisions {...given} followed={revisions} pair={pair} onPair={onPair} />,
    configure: () => <Loaded {...given} isLocked={onAsk === undefined} shown="configure" />,
    push: () => onAsk && <Loaded {...given} isLocked={false} shown="push" />,
    upload: () => onAsk && <Loaded {...given} isLocked={false} shown="upload" />,
    data: () => <Data {...given} />,
    tasks: () => <Tasks {...given} />,
    access: () => <Access {...given} />,
  };
  return (
    <article aria-labelledby="deployment">
      <nav class="crumb" aria-label="Back">
        <a href={list}>← All deployments</a>
      </nav>
      <div class="head">
        <h1 id="deployment" ref={heading} tabIndex={-1}>
          {found.name}
        </h1>
        <Status status={found.status} phase={phaseOf(found)} tone={tone} />
        <Reach {...given} />
        {isReader && <span class="sub">You may view this deployment, but not change it.</span>}
        {onAsk && <Acts api={api} deployment={found} onAsk={onAsk} mayDelete={may?.('DELETE') === true} />}
      </div>
      <nav class="tabs" aria-label="Deployment">
        {TABS.map(({ name, title }) => (
          <a key={name} href={linkOf(id, name, log)} aria-current={name === tab ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <Asking of={deployment} what="The deployment" />
      <Verdict api={api} deployment={found} tone={tone} onAsk={onAsk} />
      {tabs[tab]()}
      <Logs
        api={api}
        id={id}
        isElsewhere={found.source_config.listener_id !== null}
        isWhole={tab === 'logs'}
        parts={partsOf(found)}
        revisions={revisions.value?.resources ?? []}
        state={log}
        onState={onLog}
      />
      {dialog}
    </article>
  );
}

interface ActsProps extends Pick<TabProps, 'api' | 'deployment'> {
  readonly onAsk: (question: Question) => void;
  readonly mayDelete: boolean;
}

function Acts({ onAsk, mayDelete, ...subject }: ActsProps): VNode {
  const { id, source } = subject.deployment;
  const [isPushed, isUploaded] = [uses(source, 'push'), uses(source, 'upload')];
  const items: (MenuItem | false)[] = [
    { label: 'Scale', does: () => onAsk(scaling(subject)) },
    { label: 'Sizes', does: linkOf(id, 'configure') },
    { label: 'Export', does: linkOf(id, 'configure') },
    isPushed && { label: 'Push an image', does: linkOf(id, 'push') },
    isUploaded && { label: 'Build again', does: () => onAsk(deploying(subject)) },
    !isPushed && !isUploaded && { label: 'Clone', does: () => onAsk(cloning(subject)) },
    mayDelete && { label: 'Delete', does: () => onAsk(deleting(subject)), isDangerous: true },
  ];
  return (
    <span class="actions">
      <button type="button" onClick={() => onAsk(restarting(subject))}>
        Restart
      </button>
      <Menu label="More" items={items.filter((item) => item !== false)} />
      {isUploaded ? (
        <a class="button main" href={linkOf(id, 'upload')}>
          Deploy
        </a>
      ) : (
        <button type="button" class="main" onClick={() => onAsk(deploying(subject))}>
          Deploy
        </button>
      )}
    </span>
  );
}

/** Undefined where the tenant was named by its id, or not at all. */
function namespaceOf(tenant: string): string | undefined {
  return /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(tenant) && !UUID.test(tenant) ? tenant : undefined;
}

/** The one look: how it is in words, and what a person has to do. */
interface VerdictProps extends Pick<TabProps, 'api' | 'deployment' | 'onAsk'> {
  readonly tone: Tone;
}

function Verdict({ api, deployment, tone, onAsk }: VerdictProps): VNode {
  const { next_act: next } = deployment;
  const ready = conditionOf(deployment.conditions, 'Ready');
  const todo = tone === 'bad' && ready ? advice(ready.reason) : undefined;
  const isAboutData =
    ready !== undefined && conditionOf(deployment.conditions, 'DatabaseReady')?.reason === ready.reason;
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
          {tone !== 'good' && <strong>{wordOf(deployment)}:</strong>} {plain(deployment.status_message)}
        </p>
        {todo !== undefined && (
          <p>
            <strong>What to do:</strong> {todo}{' '}
            {isAboutData && <a href={linkOf(deployment.id, 'data')}>Its databases</a>}
          </p>
        )}
      </section>
      {next !== null && onAsk && (
        <button type="button" onClick={() => onAsk(nextAct({ api, deployment }, next))}>
          {next.label}…
        </button>
      )}
    </div>
  );
}
