// The tab Configure: the file, the variables and, of an upload, its next version. Part of create.js.

import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { uses } from '../kinds/source-rules.ts';
import { ConfigureFile } from './configure-file.tsx';
import { deployArchive } from './create-api.ts';
import { useForm } from './create-fields.tsx';
import type { SetFields } from './create-request.ts';
import { draftOf, isDirty as isDraftDirty } from './drafts.ts';
import type { ConfigureProps } from './new.tsx';
import { Failure, fieldOf, Submit } from './parts.tsx';
import { Card, useRead } from './rows.tsx';
import { archiveOf, folderIn, ProgressBar, UploadFields, useChosen, useProgress } from './upload.tsx';
import { Variables } from './variables.tsx';

export function ConfigureTab(props: ConfigureProps): VNode {
  const { api, deployment, isLocked } = props;
  const [isDirty, setIsDirty] = useState(() => isDraftDirty(draftOf(api, deployment.id)));
  return (
    <ConfigureFile {...props} onDirty={setIsDirty}>
      <Variables {...props} isDirty={isDirty} />
      {uses(deployment.source, 'upload') && !isLocked && <NextVersion {...props} />}
    </ConfigureFile>
  );
}

/** Uploads source code to be built with the deployment's configuration, and the folder's davit.yaml over it, as the plugin does. */
function NextVersion({ api, deployment, say }: ConfigureProps): VNode {
  const { id, name, source } = deployment;
  const { found: platform, failure } = useRead<Platform>(api, 'v2/platform');
  const mostMb = platform?.builds.upload_max_mb;
  const choosing = useChosen(deployment.source_revision_config.workflow_config_path ?? '');
  const { chosen, choose } = choosing;
  const progress = useProgress();
  const set = useRef<SetFields>([]);
  const { attributes, isAsking, failures } = useForm(send, set);

  async function send(form: HTMLFormElement): Promise<void> {
    const path = fieldOf(new FormData(form), 'new-config');
    set.current = [{ field: 'workflow_config_path', value: path }];
    const archive = await archiveOf(chosen, path, mostMb, progress.packing);
    const text = folderIn(chosen)?.davitFile;
    const body = { name, source, set: set.current, ...(text !== undefined && { file: text }) };
    await deployArchive(api, id, archive, body, progress.uploading(archive));
    say(`A new revision of ${name} is created.`);
    form.reset();
    choose(undefined);
  }

  return (
    <Card title="New version" failure={failure}>
      <form class="stack" {...attributes}>
        <UploadFields {...choosing} mostMb={mostMb} failures={failures} />
        <Failure sentence={failures['']} />
        <ProgressBar progress={isAsking ? progress.now : undefined} />
        <Submit isAsking={isAsking}>Upload and deploy</Submit>
      </form>
    </Card>
  );
}
