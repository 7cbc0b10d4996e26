// The next version of a deployment whose source is uploaded. Part of create.js.

import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { deployArchive } from './create-api.ts';
import { arriveAt, useForm } from './create-fields.tsx';
import type { SetFields } from './create-request.ts';
import type { ConfigureProps } from './new.tsx';
import { Failure, fieldOf, Submit } from './parts.tsx';
import { linkOf } from './route.ts';
import { Card, useRead } from './rows.tsx';
import { archiveOf, folderIn, ProgressBar, UploadFields, useChosen, useProgress } from './upload.tsx';

/** Uploads source code to be built with the deployment's configuration, and the folder's davit.yaml over it, as the plugin does. */
export function NextVersion({ api, deployment, say }: ConfigureProps): VNode {
  const { id, name, source } = deployment;
  const { found: platform, failure } = useRead<Platform>(api, 'v2/platform');
  const choosing = useChosen(deployment.source_revision_config.workflow_config_path ?? '');
  const progress = useProgress();
  const set = useRef<SetFields>([]);
  const { attributes, isAsking, failures } = useForm(send, set);

  async function send(form: HTMLFormElement): Promise<void> {
    const path = fieldOf(new FormData(form), 'new-config');
    set.current = [{ field: 'workflow_config_path', value: path }];
    const archive = await archiveOf(choosing.chosen, path, platform?.builds.upload_max_mb, progress.packing);
    const text = folderIn(choosing.chosen)?.davitFile;
    const body = { name, source, set: set.current, ...(text !== undefined && { file: text }) };
    await deployArchive(api, id, archive, body, progress.uploading(archive));
    // The person has perhaps gone elsewhere meanwhile.
    if (!form.isConnected) return;
    say(`A new revision of ${name} is created.`);
    arriveAt(linkOf(id));
  }

  return (
    <Card title="Upload a version" failure={failure}>
      <form class="stack" {...attributes}>
        <p>To build the source that it has, use Build again under More.</p>
        <UploadFields {...choosing} platform={platform} failures={failures} />
        <Failure sentence={failures['']} />
        <ProgressBar progress={isAsking ? progress.now : undefined} />
        <Submit isAsking={isAsking}>Upload and deploy</Submit>
      </form>
    </Card>
  );
}
