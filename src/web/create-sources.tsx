// What a new deployment runs: an image, a repository of an integration, a template, an upload, or what is pushed.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { DEFAULT_CONFIGURATION } from '../kinds/source-files.ts';
import type { Source } from '../kinds/source-rules.ts';
import { Field } from './create-fields.tsx';
import { basesOf, type Failures } from './create-request.ts';
import type { NewProps } from './new.tsx';
import { Failure } from './parts.tsx';
import { useRead } from './rows.tsx';

interface SourceFieldsProps extends Pick<NewProps, 'api'> {
  readonly source: Source;
  readonly platform: Platform | undefined;
  readonly failures: Failures;
  /** Those of an upload. */
  readonly children: VNode;
}

export function SourceFields({ source, children, ...props }: SourceFieldsProps): VNode {
  const views: Readonly<Record<Source, () => VNode>> = {
    external_docker: () => <Field id="new-image" failures={props.failures} required />,
    codehost: () => <RepositoryFields {...props} />,
    internal_template: () => <TemplateFields {...props} />,
    internal_source: () => children,
    internal_docker: () => (
      <p class="help">The next page shows where to push the image, and creates a password for it.</p>
    ),
  };
  return views[source]();
}

type PlatformProps = Pick<SourceFieldsProps, 'api' | 'platform' | 'failures'>;

interface Repository {
  readonly name: string;
  readonly owner: string;
  readonly url: string;
  readonly default_branch: string;
}

function RepositoryFields({ api, platform, failures }: PlatformProps): VNode {
  const integrations = platform?.integrations ?? [];
  const [integration, setIntegration] = useState(integrations[0]?.id ?? '');
  return (
    <>
      <Field
        id="new-integration"
        failures={failures}
        value={integration}
        options={integrations.map(({ id, name, host }) => [id, `${name} (${host})`])}
        onValue={setIntegration}
      />
      <Repositories key={integration} api={api} platform={platform} integration={integration} failures={failures} />
    </>
  );
}

function Repositories({
  api,
  platform,
  integration,
  failures,
}: PlatformProps & { readonly integration: string }): VNode {
  const path = `v1/integrations/forge/codehost/${integration}/repos`;
  const { found: all, failure, isAsking, again } = useRead<readonly Repository[]>(api, path);
  const [url, setUrl] = useState('');
  return (
    <>
      <p class="asking" role="status">
        {isAsking && 'Loading its repositories …'}
        {all?.length === 0 && 'Its credentials cannot see any repository.'}
      </p>
      <Failure sentence={failure?.message} />
      {failure !== undefined && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
      {all !== undefined && all.length > 0 && (
        <>
          <Field
            id="new-repository"
            failures={failures}
            required
            value={url}
            options={[
              ['', `Choose one of ${all.length}`],
              ...all.map((one) => [one.url, `${one.owner}/${one.name}`] as const),
            ]}
            onValue={setUrl}
          />
          <Field
            key={url}
            id="new-ref"
            failures={failures}
            required
            defaultValue={all.find((one) => one.url === url)?.default_branch ?? ''}
          />
          <Field id="new-config" failures={failures} required defaultValue={DEFAULT_CONFIGURATION} />
          {platform && <p class="help">{basesOf(platform)}</p>}
          <Field id="new-push" failures={failures} type="checkbox" />
        </>
      )}
    </>
  );
}

function TemplateFields({ platform, failures }: PlatformProps): VNode {
  const templates = platform?.templates ?? [];
  const [name, setName] = useState(templates[0]?.name);
  const template = templates.find((one) => one.name === name);
  /** What a template may say; otherwise a person does. */
  const field = (id: 'new-ref' | 'new-config', fixed: string | null | undefined, suggested: string): VNode => (
    <Field
      key={`${id} ${name}`}
      id={id}
      failures={failures}
      required
      readOnly={fixed !== null}
      defaultValue={fixed ?? suggested}
    />
  );
  return (
    <>
      <Field
        id="new-template"
        failures={failures}
        value={name}
        options={templates.map((one) => [one.name, one.name])}
        onValue={setName}
      />
      {template && (
        <p class="help">
          It runs <code>{template.image_uri ?? template.repo_url}</code>.
        </p>
      )}
      {template?.repo_url && (
        <>
          {field('new-ref', template.repo_ref, 'main')}
          {field('new-config', template.workflow_config_path, DEFAULT_CONFIGURATION)}
          {platform && <p class="help">{basesOf(platform)}</p>}
        </>
      )}
    </>
  );
}
