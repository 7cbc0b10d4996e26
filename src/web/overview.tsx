// How a deployment is: what its parts used and use, what runs now, what the cluster reports, and all facts.

import type { VNode } from 'preact';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Revision, RevisionList } from '../deploy/http/revisions/payloads.ts';
import { bytesText } from '../kinds/text.ts';
import type { TabProps } from './actions.tsx';
import { Axis, type AxisProps } from './axis.tsx';
import { type Followed, useFollowed } from './follow.ts';
import {
  advice,
  aspectsOf,
  type Condition,
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
import { Age, Breakable, Facts, Mark } from './parts.tsx';
import { Reported } from './reported.tsx';
import { Strips } from './strips.tsx';
import { age, plain, short } from './text.ts';
import { Parts } from './usage.tsx';

interface OverviewProps extends TabProps, Pick<AxisProps, 'window' | 'linkOf'> {
  readonly revisions: Followed<RevisionList>;
}

/** Metrics-server looks no more often. */
const EVERY_MS = 15_000;

export function Overview({ api, deployment, namespace, say, revisions, window, linkOf }: OverviewProps): VNode {
  const { id } = deployment;
  const usage = useFollowed(`${id} ${window}`, api.usage(id, window), { everyMs: EVERY_MS });
  const titles = new Map(partsOf(deployment).map((part) => [part.component, part.name]));
  return (
    <>
      <Axis usage={usage} window={window} linkOf={linkOf} titles={titles} />
      <div class="columns">
        <section class="card" aria-labelledby="parts">
          <Parts deployment={deployment} usage={usage.value} />
          <Troubles deployment={deployment} />
        </section>
        <div>
          <Now deployment={deployment} revisions={revisions.value?.resources ?? []} />
          <Strips api={api} deployment={deployment} />
        </div>
      </div>
      <Reported api={api} deployment={deployment} namespace={namespace} say={say} />
      <details class="card fold">
        <summary>All facts</summary>
        <div class="columns">
          <Tree deployment={deployment} />
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
    <section class="card" aria-labelledby="now">
      <h2 id="now">Now</h2>
      <Facts
        facts={[
          [
            'Revision',
            revision ? (
              <>
                <code>{short(revision.id)}</code>
                {revision.requested_by !== null && ` by ${plain(revision.requested_by)}`},{' '}
                <Age then={revision.created_at} after=" ago" />
              </>
            ) : null,
          ],
          ['Changed', fields.length > 0 ? plain(fields.slice(0, MOST_FIELDS).join(', ')) + more : null],
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
    </section>
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
  return access?.lock ? `sidecar ${plain(access.lock)} asks for a key` : 'open to everybody who reaches its address';
}

/** What is not in order, once for the pods of all parts. */
function Troubles({ deployment }: Pick<TabProps, 'deployment'>): VNode {
  const [pods, ...others] = partsOf(deployment);
  const all = [
    ...(pods ? [{ ...pods, name: 'pods' }] : []),
    ...others.filter(({ isStore }) => isStore),
    ...aspectsOf(deployment),
  ];
  const wrong = all.filter((part) => part.condition && ['bad', 'busy'].includes(toneOfPart(part)));
  return (
    <ul class="reports">
      {wrong.map((part) => (
        <Leaf key={part.name} part={{ ...part, sizes: [] }} said={deployment.status_message} />
      ))}
    </ul>
  );
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
          ['Pods without stores', scaleOf(deployment)],
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

/** The parts that Davit makes. One condition is about the pods of all of them: it is said once. */
function Tree({ deployment }: { readonly deployment: Deployment }): VNode {
  const parts = partsOf(deployment);
  const [running, stores] = [parts.filter(({ isStore }) => !isStore), parts.filter(({ isStore }) => isStore)];
  const [pods] = running;
  return (
    <section aria-labelledby="made">
      <h2 id="made">What Davit made</h2>
      <ul class="tree">
        {running.length > 1 && pods && (
          <Leaf part={{ ...pods, name: 'pods', sizes: [] }} said={deployment.status_message}>
            <ul class="tree">
              {running.map(({ name, sizes }) => (
                <li key={name}>
                  <strong>{name}</strong> <span class="sub">{sizes.join(' · ')}</span>
                </li>
              ))}
            </ul>
          </Leaf>
        )}
        {(running.length > 1 ? stores : parts).map((part) => (
          <Leaf key={part.name} part={part} said={deployment.status_message} />
        ))}
        {aspectsOf(deployment).map((part) => (
          <Leaf key={part.name} part={part} said={deployment.status_message} />
        ))}
      </ul>
    </section>
  );
}

interface LeafProps {
  readonly part: Part;
  /** What stands above already. */
  readonly said: string;
  readonly children?: VNode;
}

function Leaf({ part, said, children }: LeafProps): VNode {
  const { name, condition, sizes, asOf } = part;
  const tone = toneOfPart(part);
  const todo = tone === 'bad' && condition ? advice(condition.reason) : undefined;
  const isWell = tone === 'good' || tone === 'off';
  return (
    <li>
      <Mark tone={tone}>
        <strong>{name}</strong> <span class="reason">{condition ? wordsOf(condition, said) : 'not looked at yet'}</span>
        {condition && isWell && asOf === undefined && <span class="hidden">, {TONE_WORDS[tone]}</span>}
        {condition && asOf !== undefined && (
          <span class="sub">
            {' '}
            as of <Age then={asOf} after=" ago" />
          </span>
        )}
      </Mark>
      {sizes.length > 0 && <div class="sizes">{sizes.join(' · ')}</div>}
      {condition && !isWell && condition.message !== said && <div class="why">{plain(condition.message)}</div>}
      {todo !== undefined && <div class="why">What to do: {todo}</div>}
      {children}
    </li>
  );
}

/** Reasons are for programs: a person reads the message of what is well, and below the line that of what is not. */
function wordsOf(condition: Condition, said: string): string {
  const tone = toneOfCondition(condition);
  const isShown = (tone === 'good' || tone === 'off') && condition.message !== '' && condition.message !== said;
  return isShown ? plain(condition.message) : TONE_WORDS[tone];
}
