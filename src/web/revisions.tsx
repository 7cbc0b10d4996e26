// The revisions of a deployment: who asked for them, what each changed, and how it went.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Revision, RevisionList } from '../deploy/http/revisions/payloads.ts';
import { mayBeBuilt } from '../kinds/source-rules.ts';
import { shortened } from '../kinds/text.ts';
import { interrupting, rollingBack, type TabProps } from './actions.tsx';
import type { Api } from './api.ts';
import { stepsOf } from './build-steps.ts';
import { ChangeList, Differences } from './differences.tsx';
import { type Followed, useFollowed } from './follow.ts';
import { canRollBackTo, IN_BUILD, noticesOf, ranOf, toneOfRevision } from './health.ts';
import { Age, Asking, Breakable, type Column, Mark, Select, Table } from './parts.tsx';
import type { Pair } from './route.ts';
import { Acts, Card, Rows } from './rows.tsx';
import { plain, short } from './text.ts';

/** The two revisions that are compared, which the URL names. */
export interface Compared {
  readonly pair: Pair | undefined;
  readonly onPair: (pair: Pair) => void;
}

interface RevisionsProps extends Compared, Pick<TabProps, 'api' | 'deployment' | 'onAsk'> {
  readonly followed: Followed<RevisionList>;
}

/** Characters of what happened to a revision that is not the latest: whatever was in its way is over. */
const LONGEST_OF_OLDER = 200;

const STATUS: Column<Revision> = {
  title: 'Status',
  kind: 'status',
  of: (revision) => <Mark tone={toneOfRevision(revision)}>{revision.status}</Mark>,
};
const RUNS: Column<Revision> = {
  title: 'Runs',
  kind: 'image',
  short: 'Runs',
  of: (revision) => <Breakable text={ranOf(revision)} />,
};
const AGE: Column<Revision> = {
  title: 'Age',
  kind: 'number',
  short: 'Age',
  of: (one) => <Age then={one.created_at} />,
};

export function Revisions({ api, deployment, followed, pair, onPair, onAsk }: RevisionsProps): VNode {
  const rows = followed.value?.resources;
  /** The revision whose steps are shown. */
  const [opened, setOpened] = useState<string>();
  const { active_revision_id: active, latest_revision_id: latest } = deployment;
  const columns: readonly Column<Revision>[] = [
    {
      title: 'Revision',
      kind: 'name',
      of: ({ id }) => [
        <code>{short(id)}</code>,
        id === active && <span class="tag">active</span>,
        id === latest && <span class="tag">latest</span>,
      ],
    },
    STATUS,
    {
      title: 'Details',
      kind: 'message',
      of: (revision) => <Happened {...revision} isLatest={revision === rows?.[0]} />,
    },
    RUNS,
    AGE,
    {
      title: 'Action',
      kind: 'action',
      of: (revision) => {
        const { id, source, status } = revision;
        const [isLatest, isOpen] = [revision === rows?.[0], id === opened];
        return (
          <Acts
            acts={[
              mayBeBuilt(source) && {
                label: 'Steps',
                of: `of ${short(id)}`,
                isOpen,
                onClick: () => setOpened(isOpen ? undefined : id),
              },
              onAsk &&
                !isLatest &&
                canRollBackTo(revision) && {
                  label: 'Roll back',
                  of: `to ${short(id)}`,
                  onClick: () => onAsk(rollingBack({ api, deployment }, revision)),
                },
              onAsk &&
                IN_BUILD.includes(status) && {
                  label: 'Interrupt',
                  of: short(id),
                  onClick: () => onAsk(interrupting({ api, deployment }, revision)),
                },
            ]}
          />
        );
      },
    },
  ];
  return (
    <section aria-labelledby="revisions">
      <h2 id="revisions">Revisions</h2>
      <Asking of={followed} what="The revisions" />
      {rows?.length === 0 && <p>No revisions yet: the deployment has no image or source.</p>}
      {rows !== undefined && rows.length > 0 && (
        <Table
          label="revisions"
          kind="revisions"
          columns={columns}
          groups={[{ rows }]}
          keyOf={({ id }) => id}
          toneOf={toneOfRevision}
        />
      )}
      {opened !== undefined && <Steps key={opened} api={api} id={deployment.id} revisionId={opened} />}
      {rows !== undefined && rows.length > 1 && (
        <Compare api={api} id={deployment.id} revisions={rows} pair={pair} onPair={onPair} />
      )}
    </section>
  );
}

function Happened({ isLatest, ...revision }: Revision & { readonly isLatest: boolean }): VNode {
  const text = plain(revision.status_message ?? '');
  return (
    <>
      {isLatest || text.length <= LONGEST_OF_OLDER ? (
        text
      ) : (
        <details>
          <summary>{shortened(text, LONGEST_OF_OLDER)}</summary>
          <div>{text}</div>
        </details>
      )}
      {revision.changes !== null && revision.changes.fields.length > 0 && (
        <ChangeList changes={revision.changes.fields} />
      )}
      {noticesOf(revision).map((notice) => (
        <div key={notice} class="sub">
          {plain(notice)}
        </div>
      ))}
    </>
  );
}

interface CompareProps extends Compared {
  readonly api: Api;
  readonly id: string;
  /** Newest first, at least two. */
  readonly revisions: readonly Revision[];
}

function Compare({ api, id, revisions, pair, onPair }: CompareProps): VNode {
  const [newest, before] = revisions;
  const { from, to } = pair ?? { from: before?.id ?? '', to: newest?.id ?? '' };
  const choice = (id: string, label: string, value: string, onValue: (one: string) => void): VNode => (
    <Select
      id={id}
      label={label}
      value={value}
      onValue={onValue}
      options={[
        ...(revisions.some((one) => one.id === value) ? [] : [[value, short(value)] as const]),
        ...revisions.map((one) => [one.id, `${short(one.id)}, ${one.status}`] as const),
      ]}
    />
  );
  return (
    <Card title="Compare">
      <div class="row">
        {choice('compare-from', 'From', from, (one) => onPair({ from: one, to }))}
        {choice('compare-to', 'to', to, (one) => onPair({ from, to: one }))}
      </div>
      <Differences key={`${from} ${to}`} api={api} id={id} from={from} to={to} />
    </Card>
  );
}

/** The steps of a build with their seconds, as its log has them. */
function Steps({ api, id, revisionId }: Pick<CompareProps, 'api' | 'id'> & { readonly revisionId: string }): VNode {
  const followed = useFollowed(revisionId, api.logs(id, { kind: 'build', revisionId }, {}), {
    take: (before, { lines, isTruncated }) => ({ lines: [...(before?.lines ?? []), ...lines], isTruncated }),
  });
  const steps = stepsOf(followed.value?.lines.map(({ message }) => plain(message)) ?? []);
  return (
    <Card title={`Steps of the build of ${short(revisionId)}`}>
      <Asking of={followed} what="The steps" />
      <Rows
        none="The log of the build has no steps, or is no longer kept."
        rows={
          followed.value &&
          steps.map(({ number, title, tone, seconds, lastLine }) => ({
            key: number,
            tone,
            says: [title, seconds !== undefined && <span class="sub"> {seconds} s</span>],
            why: lastLine,
          }))
        }
      />
    </Card>
  );
}
