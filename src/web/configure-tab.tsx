// The tab Configure: the file, the variables and, of an upload, its next version. Part of create.js.

import type { TargetedSubmitEvent, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { uses } from '../kinds/source-rules.ts';
import { ConfigureFile } from './configure-file.tsx';
import * as requests from './create-api.ts';
import { type Failures, failuresOf, type SetFields } from './create-request.ts';
import { draftOf, isDirty as isDraftDirty } from './drafts.ts';
import type { ConfigureProps } from './new.tsx';
import { Failure, fieldOf } from './parts.tsx';
import {
  archiveOf,
  failureOf,
  folderIn,
  type Progress,
  ProgressBar,
  sendArchive,
  Unfit,
  UploadFields,
  useChosen,
} from './upload.tsx';
import { Variables } from './variables.tsx';

export function ConfigureTab(props: ConfigureProps): VNode {
  const { api, deployment, isLocked } = props;
  const [isDirty, setIsDirty] = useState(() => isDraftDirty(draftOf(api, deployment.id)));
  return (
    <div class="configure">
      <ConfigureFile {...props} onDirty={setIsDirty} />
      <Variables {...props} isDirty={isDirty} />
      {uses(deployment.source, 'upload') && !isLocked && <NextVersion {...props} />}
    </div>
  );
}

/** Uploads source code to be built with the deployment's configuration, and the folder's davit.yaml over it, as the plugin does. */
function NextVersion({ api, deployment, say }: ConfigureProps): VNode {
  const { id, name, source } = deployment;
  const [platform, setPlatform] = useState<Platform>();
  const choosing = useChosen(deployment.source_revision_config.workflow_config_path ?? '');
  const { chosen, choose } = choosing;
  const [failures, setFailures] = useState<Failures>({});
  const [progress, setProgress] = useState<Progress>();
  const [isAsking, setIsAsking] = useState(false);
  useEffect(() => {
    requests.platform(api).then(setPlatform, (error: unknown) => setFailures(failuresOf(error, [])));
  }, []);

  async function deploy(event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    if (isAsking) return;
    const form = event.currentTarget;
    const path = fieldOf(new FormData(form), 'new-config');
    const set: SetFields = [{ field: 'workflow_config_path', value: path }];
    setIsAsking(true);
    setFailures({});
    try {
      const archive = await archiveOf(chosen, path, platform?.builds.upload_max_mb, setProgress);
      const text = folderIn(chosen)?.davitFile;
      const body = { name, source, set, ...(text !== undefined && { file: text }) };
      const uploaded = await sendArchive(api, id, archive, setProgress);
      await requests.apply(api, { ...body, source_tarball_path: uploaded }, true);
      say(`A new revision of ${name} is created.`);
      form.reset();
      choose(undefined);
    } catch (error) {
      setFailures(error instanceof Unfit ? failureOf(error, chosen) : failuresOf(error, ['new-config'], set));
    }
    setProgress(undefined);
    setIsAsking(false);
  }

  return (
    <section class="card" aria-labelledby="next-version">
      <h2 id="next-version">New version</h2>
      <form class="upload" onSubmit={(event) => void deploy(event)}>
        <UploadFields {...choosing} mostMb={platform?.builds.upload_max_mb} failures={failures} />
        <Failure sentence={failures['']} />
        <ProgressBar progress={progress} />
        <div class="actions">
          <button type="submit" class="main" aria-disabled={isAsking}>
            {isAsking ? 'Asking the API …' : 'Upload and deploy'}
          </button>
        </div>
      </form>
    </section>
  );
}
