// The fields of a new deployment that is built from a repository, which is chosen from the list of an integration.

import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { type Ask, type Repository, repositories } from './create-api.ts';
import { Asked, Checked, ConfigField } from './create-fields.tsx';
import type { Failures } from './create-request.ts';
import { Failure, Word } from './parts.tsx';
import { messageOf } from './text.ts';

interface Listed {
  readonly all?: readonly Repository[];
  readonly failure?: string;
}

/** The repositories of an integration, asked for again with each `attempt`. */
function useRepositories(api: Ask, integrationId: string, attempt: number): Listed {
  const [listed, setListed] = useState<Listed>({});
  useEffect(() => {
    let isNewest = true;
    setListed({});
    repositories(api, integrationId).then(
      (all) => isNewest && setListed({ all }),
      (error: unknown) => isNewest && setListed({ failure: messageOf(error) }),
    );
    return () => {
      isNewest = false;
    };
  }, [integrationId, attempt]);
  return listed;
}

export interface RepositoryFieldsProps {
  readonly api: Ask;
  /** At least one. */
  readonly integrations: Platform['integrations'];
  readonly failures: Failures;
}

export function RepositoryFields({ api, integrations, failures }: RepositoryFieldsProps): VNode {
  const [integration, setIntegration] = useState(integrations[0]?.id ?? '');
  const [attempt, setAttempt] = useState(0);
  const { all, failure } = useRepositories(api, integration, attempt);
  return (
    <>
      <Asked id="new-integration" failures={failures}>
        {(more) => (
          <select {...more} value={integration} onChange={(event) => setIntegration(event.currentTarget.value)}>
            {integrations.map(({ id, name, host }) => (
              <option key={id} value={id}>
                {name} ({host})
              </option>
            ))}
          </select>
        )}
      </Asked>
      <p class="asking" role="status">
        {all === undefined && failure === undefined && 'Loading its repositories …'}
        {all?.length === 0 && 'Its credentials see no repository.'}
      </p>
      <Failure sentence={failure} />
      {failure !== undefined && (
        <button type="button" onClick={() => setAttempt(attempt + 1)}>
          Try again
        </button>
      )}
      {all !== undefined && all.length > 0 && <Chosen key={integration} all={all} failures={failures} />}
    </>
  );
}

interface ChosenProps {
  readonly all: readonly Repository[];
  readonly failures: Failures;
}

function Chosen({ all, failures }: ChosenProps): VNode {
  const [url, setUrl] = useState('');
  const branch = all.find((one) => one.url === url)?.default_branch ?? '';
  return (
    <>
      <Asked id="new-repository" failures={failures}>
        {(more) => (
          <select {...more} required value={url} onChange={(event) => setUrl(event.currentTarget.value)}>
            <option value="">Choose one of {all.length}</option>
            {all.map((one) => (
              <option key={one.url} value={one.url}>
                {one.owner}/{one.name}
              </option>
            ))}
          </select>
        )}
      </Asked>
      <Asked key={url} id="new-ref" failures={failures}>
        {(more) => <Word {...more} required defaultValue={branch} />}
      </Asked>
      <ConfigField failures={failures} />
      <Checked id="new-push" failures={failures} />
    </>
  );
}
