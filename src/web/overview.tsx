// How a deployment is: what its parts used and use, what runs now, what the cluster reports, and all facts.

import type { VNode } from 'preact';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Revision, RevisionList } from '../deploy/http/revisions/payloads.ts';
import type { Usage } from '../deploy/http/usage/payloads.ts';
import { bytesText } from '../kinds/text.ts';
import type { TabProps } from './actions.tsx';
import { Axis, type AxisProps } from './axis.tsx';
import { type Followed, useFollowed } from './follow.ts';
import {
  advice,
  aspectsOf,
  failedLast,
  originOf,
  type Part,
  partsOf,
  ranOf,
  scaleOf,
  TONE_WORDS,
  toneOfCondition,
  toneOfPart,
} from './health.ts';
import { Age, Breakable, Facts } from './parts.tsx';
import { Reported } from './reported.tsx';
import { Card, type Row, Rows } from './rows.tsx';
import { Strips } from './tasks.tsx';
import { age, plain, short } from './text.ts';
import { Parts } from './usage.tsx';

interface OverviewProps extends TabProps, Pick<AxisProps, 'window' | 'linkOf'> {
  readonly revisions: Followed<RevisionList>;
}

/** Metrics-server looks no more often. */
const EVERY_MS = 15_000;

export function Overview({ revisions, window, linkOf, ...props }: OverviewProps): VNode {
  const { api, deployment } = props;
  const { id } = deployment;
  const usage = useFollowed(`${id} ${window}`, api.poll<Usage>(`v2/deployments/${id}/usage?window=${window}`), {
    everyMs: EVERY_MS,
  });
  const titles = new Map(partsOf(deployment).map((part) => [part.component, part.name]));
  return (
    <>
      <Axis usage={usage} window={window} linkOf={linkOf} titles={titles} />
      <div class="columns">
        <Parts deployment={deployment} usage={usage.value}>
          <Troubles deployment={deployment} />
        </Parts>
        <div>
          <Now deployment={deployment} revisions={revisions.value?.resources ?? []} />
          <Strips api={api} deployment={deployment} />
        </div>
      </div>
      <Reported {...props} />
      <details class="card fold">
        <summary>All facts</summary>
        <div class="columns">
          <Made deployment={deployment} />
          <AllFacts deployment={deployment} />
        </div>
      </details>
    </>
  );
}

const SOURCE_WORDS: Readonly<Record<Deployment['source'], string>> = {
  codehost: 'a repository',
  external_docker: 'an image',
  internal_docker: 'an image that was pushed here',
  internal_source: 'an upload',
  internal_template: 'a template',
};

/** Names of changed fields that are listed. */
const MOST_FIELDS = 4;

/** What runs, since when and by whom, and what else one asks first. */
function Now({
  deployment,
  revisions,
}: Pick<TabProps, 'deployment'> & { readonly revisions: readonly Revision[] }): VNode {
  const { source_config: config, active_revision_id: active, latest_revision_id: latest } = deployment;
  const revision = revisions.find(({ id }) => id === (active ?? latest));
  const fields = revision?.changes?.fields.map(({ field }) => field.replace(/^source_(revision_)?config\./, '')) ?? [];
  const more = fields.length > MOST_FIELDS ? ` and ${fields.length - MOST_FIELDS} more` : '';
  return (
    <Card title="Now">
      <Facts
        facts={[
          [
            'Revision',
            revision && [
              <code>{short(revision.id)}</code>,
              revision.requested_by !== null && ` by ${plain(revision.requested_by)}`,
              ', ',
              <Age then={revision.created_at} after=" ago" />,
            ],
          ],
          ['Changed', fields.length > 0 && plain(fields.slice(0, MOST_FIELDS).join(', ')) + more],
          [
            'Runs',
            <code>
              <Breakable text={(revision && ranOf(revision)) || originOf(deployment)} />
            </code>,
          ],
          ['Backup', deployment.database_backup && backupWords(deployment)],
          ['Access', config.custom_url && accessWords(config.access)],
        ]}
      />
    </Card>
  );
}

function backupWords({ database_backup: backup, database_verification: verification }: Deployment): string {
  const { last_success_at: at = null, last_failure_at: failedAt = null, size_bytes: size = null } = backup ?? {};
  if (failedLast(failedAt, at)) return `the last one failed ${age(failedAt, new Date())} ago`;
  if (at === null) return 'none yet';
  const verifiedAt = verification?.verified_at ?? null;
  const isVerified = verifiedAt !== null && verifiedAt >= at;
  return [`${isVerified ? 'verified, ' : ''}${age(at, new Date())} ago`, size !== null && bytesText(size)]
    .filter(Boolean)
    .join(', ');
}

function accessWords(access: Deployment['source_config']['access']): string {
  return access?.lock ? `sidecar ${plain(access.lock)} checks a key` : 'open to anyone who can reach its address';
}

/** What Davit makes, with one line for the pods of all parts: one condition is about all of them. */
function madeFor(deployment: Deployment): Part[] {
  const parts = partsOf(deployment);
  const running = parts.filter(({ isStore }) => !isStore);
  const [pods] = running;
  return [
    ...(pods ? [{ ...pods, name: 'pods', sizes: running.map(({ name, sizes }) => [name, ...sizes].join(' ')) }] : []),
    ...parts.filter(({ isStore }) => isStore),
    ...aspectsOf(deployment),
  ];
}

/** What is not in order. */
function Troubles({ deployment }: Pick<TabProps, 'deployment'>): VNode {
  const wrong = madeFor(deployment).filter((part) => part.condition && ['bad', 'busy'].includes(toneOfPart(part)));
  return <Rows none="" rows={wrong.map((part) => partRow({ ...part, sizes: [] }, deployment.status_message))} />;
}

function Made({ deployment }: Pick<TabProps, 'deployment'>): VNode {
  return (
    <section aria-labelledby="made">
      <h2 id="made">What Davit created</h2>
      <Rows rows={madeFor(deployment).map((part) => partRow(part, deployment.status_message))} />
    </section>
  );
}

/** `said` stands above already. */
function partRow(part: Part, said: string): Row {
  const { name, condition, sizes, asOf } = part;
  const tone = toneOfPart(part);
  const isWell = tone === 'good' || tone === 'off';
  const todo = tone === 'bad' && condition ? advice(condition.reason) : undefined;
  const message = condition && condition.message !== said && condition.message !== '' && plain(condition.message);
  return {
    key: name,
    tone,
    title: name,
    // Reasons are for programs: a person reads the message of what is well, and below the line that of what is not.
    says: [
      condition ? (isWell && message) || TONE_WORDS[toneOfCondition(condition)] : 'not checked yet',
      isWell && asOf === undefined && <span class="hidden">, {TONE_WORDS[tone]}</span>,
      condition && asOf !== undefined && [' as of ', <Age then={asOf} after=" ago" />],
    ],
    why: [!isWell && message && <div>{message}</div>, todo !== undefined && <div>What to do: {todo}</div>],
    sub: sizes,
  };
}

function AllFacts({ deployment }: Pick<TabProps, 'deployment'>): VNode {
  const { source_revision_config: revision } = deployment;
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">Facts</h2>
      <Facts
        facts={[
          ['Latest runs', <code>{plain(originOf(deployment))}</code>],
          ['Commit', revision.repo_commit_sha && <code>{short(revision.repo_commit_sha)}</code>],
          ['Its file', revision.davit_file && <code>{plain(revision.davit_file)}</code>],
          ['Pods without datastores', scaleOf(deployment)],
          ['Source', SOURCE_WORDS[deployment.source]],
          ['Created', <Age then={deployment.created_at} after=" ago" />],
          // Reports of the controller move the time too, so it is not when the person changed anything.
          ['Updated', <Age then={deployment.updated_at} after=" ago" />],
          ['Last changed by', deployment.changed_by && plain(deployment.changed_by)],
          ['Id', <code>{deployment.id}</code>],
        ]}
      />
    </section>
  );
}
