// How a deployment is: the facts of now, what Davit has made of it, and what the cluster reports.

import type { VNode } from 'preact';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { TabProps } from './actions.tsx';
import {
  advice,
  aspectsOf,
  type Condition,
  originOf,
  type Part,
  partsOf,
  scaleOf,
  TONE_WORDS,
  toneOfCondition,
  toneOfPart,
} from './health.ts';
import { Age, Facts, Mark } from './parts.tsx';
import { Reported } from './reported.tsx';
import { plain, short } from './text.ts';

export function Overview({ api, deployment, namespace, say }: TabProps): VNode {
  return (
    <>
      <div class="columns">
        <Tree deployment={deployment} />
        <Now deployment={deployment} />
      </div>
      <Reported api={api} deployment={deployment} namespace={namespace} say={say} />
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

function Now({ deployment }: { readonly deployment: Deployment }): VNode {
  const { source_revision_config: revision } = deployment;
  return (
    <section class="card" aria-labelledby="now">
      <h2 id="now">Now</h2>
      <Facts
        facts={[
          ['Runs', <code>{plain(originOf(deployment))}</code>],
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
    <section class="card" aria-labelledby="parts">
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
