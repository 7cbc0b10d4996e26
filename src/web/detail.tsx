// One deployment: what is wrong and what to do, what Davit has made of it, its revisions and its logs.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { RevisionList } from '../deploy/http/revisions/payloads.ts';
import { conditionOf } from '../kinds/conditions.ts';
import { uses } from '../kinds/source-rules.ts';
import { bytesText, shortened } from '../kinds/text.ts';
import { Action, type Asked } from './actions.tsx';
import type { Api } from './api.ts';
import { type Followed, useFollowed } from './follow.ts';
import {
  advice,
  aspectsOf,
  type Condition,
  canRollBackTo,
  IN_BUILD,
  noticesOf,
  originOf,
  type Part,
  partsOf,
  phaseOf,
  ranOf,
  scaleOf,
  TONE_WORDS,
  type Tone,
  toneOf,
  toneOfCondition,
  toneOfPart,
  toneOfRevision,
  wordOf,
} from './health.ts';
import { Logs } from './logs.tsx';
import { Address, Age, Asking, Breakable, Mark, Status } from './parts.tsx';
import { Reported } from './reported.tsx';
import { type LogState, linkOfPush, UUID } from './route.ts';
import { Tasks } from './tasks.tsx';
import { plain, short } from './text.ts';
import type { Variable } from './variables.tsx';

export interface DetailProps {
  readonly api: Api;
  /** As it was typed. */
  readonly tenant: string;
  readonly id: string;
  /** Shows and announces a sentence. */
  readonly say: (sentence: string) => void;
  /** Called once, when the deployment that was shown is there no more. */
  readonly onGone: (name: string) => void;
  /** The list as it was left. */
  readonly list: string;
  readonly log: LogState;
  readonly onLog: (log: LogState) => void;
}

export function Detail({ api, tenant, id, say, onGone, list, log, onLog }: DetailProps): VNode {
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
  return (
    <article aria-labelledby="deployment">
      <nav aria-label="Back">
        <a href={list}>← All deployments</a>
      </nav>
      <div class="head">
        <h1 id="deployment" ref={heading} tabIndex={-1}>
          {found.name}
        </h1>
        <Status status={found.status} phase={phaseOf(found)} tone={tone} />
        {!isLeaving && (
          <span class="actions">
            {uses(found.source, 'push') && (
              <a class="button" href={linkOfPush(id)}>
                Push an image
              </a>
            )}
            <button type="button" onClick={() => setAsked({ action: 'deploy' })}>
              Deploy
            </button>
            <button type="button" onClick={() => setAsked({ action: 'scale' })}>
              Scale
            </button>
            <button type="button" onClick={() => setAsked({ action: 'sizes' })}>
              Sizes
            </button>
            {!uses(found.source, 'push') && !uses(found.source, 'upload') && (
              <button type="button" onClick={() => setAsked({ action: 'clone' })}>
                Clone
              </button>
            )}
            <button type="button" class="danger" onClick={() => setAsked({ action: 'delete' })}>
              Delete
            </button>
          </span>
        )}
      </div>
      <Asking of={deployment} what="The deployment" />
      <Verdict deployment={found} tone={tone} />
      <div class="columns">
        <Facts deployment={found} />
        <Tree deployment={found} />
      </div>
      <Variables deployment={found} onAsk={isLeaving ? undefined : setAsked} />
      <Revisions deployment={found} followed={revisions} onAsk={isLeaving ? undefined : setAsked} />
      <Tasks api={api} deployment={found} onAsk={isLeaving ? undefined : setAsked} />
      <Reported api={api} deployment={found} namespace={namespaceOf(tenant)} say={say} />
      <Logs
        api={api}
        id={id}
        isElsewhere={found.source_config.listener_id !== null}
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

/** Undefined where the tenant was named by its id, or not at all. */
function namespaceOf(tenant: string): string | undefined {
  return /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(tenant) && !UUID.test(tenant) ? tenant : undefined;
}

/** The one look: how it is in words, and what a person has to do. */
function Verdict({ deployment, tone }: { readonly deployment: Deployment; readonly tone: Tone }): VNode {
  const ready = conditionOf(deployment.conditions, 'Ready');
  const todo = tone === 'bad' && ready ? advice(ready.reason) : undefined;
  return (
    <section class={`verdict ${tone}`} aria-label="Status" aria-live="polite">
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
  );
}

const SOURCE_WORDS: Readonly<Record<Deployment['source'], string>> = {
  codehost: 'a repository',
  external_docker: 'an image',
  internal_docker: 'an image that was pushed here',
  internal_source: 'an upload',
  internal_template: 'a template',
};

function lockOf(access: Deployment['source_config']['access']): string {
  return access?.lock ? `sidecar ${access.lock} asks for a key` : 'open to everybody who reaches it';
}

function Facts({ deployment }: { readonly deployment: Deployment }): VNode {
  const { source_config: config, source_revision_config: revision, database_archive: archive } = deployment;
  const verifiedAt = deployment.database_verification?.verified_at ?? null;
  const facts: [string, VNode | string | null][] = [
    ['Runs', <code>{plain(originOf(deployment))}</code>],
    ['Commit', revision.repo_commit_sha && <code>{short(revision.repo_commit_sha)}</code>],
    ['Its file', revision.davit_file && <code>{plain(revision.davit_file)}</code>],
    [
      'Address',
      config.custom_url && (
        <>
          <Address url={config.custom_url} /> {lockOf(config.access)}
        </>
      ),
    ],
    ['In the cluster', deployment.internal_url && <code>{plain(deployment.internal_url)}</code>],
    ['Pods without stores', scaleOf(deployment)],
    ['Source', SOURCE_WORDS[deployment.source]],
    ['PostgreSQL', versionOf(deployment.datastores.postgres)],
    ['Redis', versionOf(deployment.datastores.redis)],
    ['Database, on deletion', deployment.database_claim && deployment.database_deletion_policy],
    ['Last backup', deployment.database_backup && <LastBackup report={deployment.database_backup} />],
    ['Last verification', verifiedAt && <Age then={verifiedAt} after=" ago" />],
    ['Archive', archive && <Archive report={archive} />],
    ['Created', <Age then={deployment.created_at} after=" ago" />],
    // Reports of the controller move the time too, so it is not when the person changed anything.
    ['Updated', <Age then={deployment.updated_at} after=" ago" />],
    ['Last changed by', deployment.changed_by && plain(deployment.changed_by)],
    ['Id', <code>{deployment.id}</code>],
  ];
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">Facts</h2>
      <dl>
        {facts
          .filter(([, fact]) => fact !== null && fact !== '')
          .map(([title, fact]) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{fact}</dd>
            </div>
          ))}
      </dl>
    </section>
  );
}

function versionOf(datastore: Deployment['datastores']['postgres']): string | null {
  if (!datastore) return null;
  const version = datastore.version ?? 'version not known';
  return datastore.available === null ? version : `${version}, and a patch is available`;
}

/** Whether the last failure came after the last success. Both RFC 3339. */
function failedLast(failedAt: string | null, succeededAt: string | null): failedAt is string {
  return failedAt !== null && (succeededAt === null || failedAt > succeededAt);
}

/** What is known of the backups of the database. */
function LastBackup({ report }: { readonly report: NonNullable<Deployment['database_backup']> }): VNode {
  const { name, last_success_at: at, size_bytes: size, last_failure_at: failedAt, last_failure: words } = report;
  const isFailing = failedLast(failedAt, at);
  return (
    <>
      {at === null ? 'none yet' : <Age then={at} after=" ago" />}
      {size !== null && `, ${bytesText(size)}`}
      {name !== null && (
        <>
          {', '}
          <code>{plain(name)}</code>
        </>
      )}
      {isFailing && (
        <div class="why">
          The last run failed <Age then={failedAt} after=" ago" />: {plain(words ?? '')}
        </div>
      )}
    </>
  );
}

/** From when on the database can be restored to any time, and the newest base backup. */
function Archive({ report }: { readonly report: NonNullable<Deployment['database_archive']> }): VNode {
  const { first_recoverable_at: first, last_backup_at: at, last_failure_at: failedAt } = report;
  const isFailing = failedLast(failedAt, at);
  return (
    <>
      {first === null ? 'none yet' : `any time since ${first}`}
      {at !== null && (
        <>
          , base backup <Age then={at} after=" ago" />
        </>
      )}
      {isFailing && (
        <div class="why">
          The last base backup failed <Age then={failedAt} after=" ago" />.
        </div>
      )}
    </>
  );
}

interface AskingProps {
  readonly deployment: Deployment;
  /** Absent where nothing can be changed. */
  readonly onAsk: ((asked: Asked) => void) | undefined;
}

/** Plain variables, and the names of the secret ones: the page asks for no value of these. */
function Variables({ deployment, onAsk }: AskingProps): VNode {
  const { secrets, secret_references: references, source_config: config } = deployment;
  return (
    <section aria-labelledby="variables">
      <h2 id="variables">
        Variables <span class="sub">secret ones without their values</span>
      </h2>
      <ul class="variables">
        {config.env?.map(({ name, value }) => (
          <VariableLine key={name} variable={{ name, kind: 'plain', value }} onAsk={onAsk}>
            <span class="sub">{value === '' ? 'an empty text' : <code>{plain(value)}</code>}</span>
          </VariableLine>
        ))}
        {secrets.map(({ name }) => (
          <VariableLine key={name} variable={{ name, kind: 'secret' }} onAsk={onAsk} />
        ))}
        {references?.map(({ name, secret_name: secretName, secret_key: secretKey }) => (
          <VariableLine key={name} variable={{ name, kind: 'reference', secretName, secretKey }} onAsk={onAsk}>
            <span class="sub">{plain(`Secret ${secretName}, key ${secretKey}`)}</span>
          </VariableLine>
        ))}
      </ul>
      {onAsk && (
        <button type="button" onClick={() => onAsk({ action: 'set' })}>
          Add a variable
        </button>
      )}
    </section>
  );
}

interface VariableLineProps extends Pick<AskingProps, 'onAsk'> {
  readonly variable: Variable;
  readonly children?: VNode;
}

function VariableLine({ variable, onAsk, children }: VariableLineProps): VNode {
  const { name } = variable;
  return (
    <li>
      <code>{plain(name)}</code> {children}
      {onAsk && (
        <span class="actions">
          <button type="button" aria-label={`Change ${name}`} onClick={() => onAsk({ action: 'set', variable })}>
            Change
          </button>
          <button type="button" aria-label={`Remove ${name}`} onClick={() => onAsk({ action: 'unset', variable })}>
            Remove
          </button>
        </span>
      )}
    </li>
  );
}

/** The parts that Davit makes. One condition is about the pods of all of them: it is said once. */
function Tree({ deployment }: { readonly deployment: Deployment }): VNode {
  const parts = partsOf(deployment);
  const [running, stores] = [parts.filter(({ isStore }) => !isStore), parts.filter(({ isStore }) => isStore)];
  const [pods] = running;
  return (
    <section aria-labelledby="parts">
      <h2 id="parts">What Davit made</h2>
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

interface RevisionsProps extends AskingProps {
  readonly followed: Followed<RevisionList>;
}

/** Characters of what happened to a revision that is not the latest: whatever was in its way is over. */
const LONGEST_OF_OLDER = 200;

function Happened({ text, isLatest }: { readonly text: string; readonly isLatest: boolean }): VNode {
  if (isLatest || text.length <= LONGEST_OF_OLDER) return <>{text}</>;
  return (
    <details>
      <summary>{shortened(text, LONGEST_OF_OLDER)}</summary>
      <div>{text}</div>
    </details>
  );
}

function Revisions({ deployment, followed, onAsk }: RevisionsProps): VNode {
  const rows = followed.value?.resources;
  return (
    <section aria-labelledby="revisions">
      <h2 id="revisions">Revisions</h2>
      <Asking of={followed} what="The revisions" />
      {rows?.length === 0 && <p>None yet: there is nothing to run.</p>}
      {rows !== undefined && rows.length > 0 && (
        <table class="list revisions" role="table" aria-labelledby="revisions">
          <thead role="rowgroup">
            <tr role="row">
              {['Revision', 'Status', 'What happened', 'Runs', 'Age', 'Action'].map((title) => (
                <th key={title} role="columnheader" scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {rows.map((revision, place) => (
              <tr role="row" key={revision.id} class={toneOfRevision(revision)}>
                <th role="rowheader" scope="row" class="name">
                  <code>{short(revision.id)}</code>
                  {revision.id === deployment.active_revision_id && <span class="tag">active</span>}
                  {revision.id === deployment.latest_revision_id && <span class="tag">latest</span>}
                </th>
                <td role="cell" class="status">
                  <Mark tone={toneOfRevision(revision)}>{revision.status}</Mark>
                </td>
                <td role="cell" class="message">
                  <Happened text={plain(revision.status_message ?? '')} isLatest={place === 0} />
                  {noticesOf(revision).map((notice) => (
                    <div key={notice} class="sub">
                      {plain(notice)}
                    </div>
                  ))}
                </td>
                <td role="cell" class="image" data-title="Runs">
                  <Breakable text={ranOf(revision)} />
                </td>
                <td role="cell" class="number" data-title="Age">
                  <Age then={revision.created_at} />
                </td>
                <td role="cell" class="action">
                  {onAsk && place > 0 && canRollBackTo(revision) && (
                    <button
                      type="button"
                      aria-label={`Roll back to ${short(revision.id)}`}
                      onClick={() => onAsk({ action: 'roll back', revision })}
                    >
                      Roll back
                    </button>
                  )}
                  {onAsk && IN_BUILD.includes(revision.status) && (
                    <button
                      type="button"
                      aria-label={`Interrupt ${short(revision.id)}`}
                      onClick={() => onAsk({ action: 'interrupt', revision })}
                    >
                      Interrupt
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
