// Source code that is uploaded: a folder, which is packed here, or an archive. Part of create.js.

import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { DEFAULT_CONFIGURATION } from '../kinds/source-files.ts';
import { bytesText } from '../kinds/text.ts';
import { Field } from './create-fields.tsx';
import { basesOf, type Failures, Unfit, unfit } from './create-request.ts';
import { fieldsOf, valueAt, wordOf } from './file-text.ts';
import { configFailure, type Folder, folderOf, MEBIBYTE, packed, type Selection, selectionOf } from './folder.ts';
import { Failure } from './parts.tsx';
import { messageOf, plain } from './text.ts';

/** Between two reports of progress. */
const PROGRESS_MS = 100;
/** Paths that are listed of what is left out. */
const MOST_LISTED = 200;

/** What somebody has chosen. */
export type Chosen = { readonly folder: Folder } | { readonly archive: File };

/** The archive of what was chosen. `mostMb`: undefined while it is not known. Throws Unfit. */
export async function archiveOf(
  chosen: Chosen | undefined,
  config: string,
  mostMb: number | undefined = Number.POSITIVE_INFINITY,
  onPacked: (done: number, of: number) => void,
): Promise<Blob> {
  if (chosen === undefined) throw new Unfit('new-folder', 'Choose a folder, or an archive.');
  if ('archive' in chosen) {
    const { archive } = chosen;
    const why = unfit(archive, new Uint8Array(await archive.slice(0, 3).arrayBuffer()), mostMb);
    if (why !== undefined) throw new Unfit('new-archive', why);
    return archive;
  }
  const selection = selectionOf(chosen.folder, config);
  if (selection.failure !== undefined) throw new Unfit('new-folder', selection.failure);
  // The field says so itself, while somebody types.
  if (configFailure(selection, config) !== undefined) throw new Unfit('new-config', '');
  try {
    let toldAt = 0;
    return await packed(selection, mostMb * MEBIBYTE, (done) => {
      // Thousands of files would each draw the form again.
      if (performance.now() - toldAt < PROGRESS_MS) return;
      toldAt = performance.now();
      onPacked(done, selection.size);
    });
  } catch (error) {
    throw new Unfit('new-folder', messageOf(error));
  }
}

/** How far it is; bytes of bytes. */
interface Progress {
  readonly does: 'Packing' | 'Uploading';
  readonly done: number;
  readonly of: number;
}

interface Progressing {
  readonly now: Progress | undefined;
  readonly packing: (done: number, of: number) => void;
  readonly uploading: (archive: Blob) => (done: number) => void;
}

export function useProgress(): Progressing {
  const [now, setNow] = useState<Progress>();
  return {
    now,
    packing: (done, of) => setNow({ does: 'Packing', done, of }),
    uploading:
      ({ size }) =>
      (done) =>
        setNow({ does: 'Uploading', done, of: size }),
  };
}

export function ProgressBar({ progress }: { readonly progress: Progress | undefined }): VNode | null {
  if (progress === undefined) return null;
  const { does, done, of } = progress;
  const id = 'upload-progress';
  return (
    <p class="progress">
      <label for={id}>
        {does} {bytesText(done)} of {bytesText(of)}
      </label>
      <progress id={id} value={done} max={Math.max(of, 1)} />
    </p>
  );
}

interface Choosing {
  readonly chosen: Chosen | undefined;
  /** Path of the configuration file. */
  readonly config: string;
  readonly choose: (chosen: Chosen | undefined) => void;
  readonly setConfig: (path: string) => void;
}

export function folderIn(chosen: Chosen | undefined): Folder | undefined {
  return chosen && 'folder' in chosen ? chosen.folder : undefined;
}

/** `present`: the path in force; empty for none. As for the plugin, the folder's davit.yaml names it, or what the folder has. */
export function useChosen(present = ''): Choosing {
  const [chosen, setChosen] = useState<Chosen>();
  const [config, setConfig] = useState(present);
  function choose(next: Chosen | undefined): void {
    const folder = folderIn(next);
    const named = wordOf(valueAt(fieldsOf(folder?.davitFile ?? ''), ['workflow_config_path']));
    if (folder) setConfig(named || (folder.files.some(({ path }) => path === present) && present) || folder.builtFrom);
    setChosen(next);
  }
  return { chosen, config: config || DEFAULT_CONFIGURATION, choose, setConfig };
}

interface UploadFieldsProps extends Choosing {
  readonly platform: Platform | undefined;
  readonly failures: Failures;
}

export function UploadFields({ platform, failures, chosen, config, choose, setConfig }: UploadFieldsProps): VNode {
  const [failure, setFailure] = useState<string>();
  const folder = folderIn(chosen);
  const selection = useMemo(() => folder && selectionOf(folder, config), [folder, config]);
  const { 'new-config': refused, ...others } = failures;
  const wrong = (selection && configFailure(selection, config)) || refused;
  function read(files: FileList | null): void {
    setFailure(undefined);
    if (files === null || files.length === 0) choose(undefined);
    else
      folderOf(files).then(
        (found) => choose({ folder: found }),
        () => setFailure('The folder cannot be read. Choose it again.'),
      );
  }
  return (
    <>
      <Field
        id="new-folder"
        failures={failures}
        type="file"
        // @ts-expect-error -- it is no standard, and in every browser
        webkitdirectory
        onInput={({ currentTarget }) => read(currentTarget.files)}
      />
      <Failure sentence={failure} />
      {selection && <Summary selection={selection} davitFile={folder?.davitFile} />}
      <Field
        id="new-archive"
        failures={failures}
        type="file"
        accept=".gz,.tgz,application/gzip"
        onInput={({ currentTarget: { files } }) => choose(files?.[0] && { archive: files[0] })}
      />
      {platform && (
        <p class="help">
          At most {platform.builds.upload_max_mb} MiB, packed. If you choose both, the one that you chose last is
          uploaded.
        </p>
      )}
      <Field
        // Chosen again, it has another default.
        key={folder ? `${folder.name} ${folder.builtFrom}` : ''}
        id="new-config"
        failures={{ ...others, ...(wrong && { 'new-config': wrong }) }}
        required
        defaultValue={config}
        onInput={({ currentTarget }) => setConfig(currentTarget.value.trim())}
      />
      {platform && <p class="help">{basesOf(platform)}</p>}
    </>
  );
}

interface SummaryProps {
  readonly selection: Selection;
  readonly davitFile: string | undefined;
}

/** What is packed of a folder, and what is not. */
function Summary({ selection, davitFile }: SummaryProps): VNode {
  const { name, taken, left, size, failure } = selection;
  const listed = [...left].slice(0, MOST_LISTED);
  return (
    <div class="packed">
      <p role="status">
        {plain(name)}: {taken.length === 1 ? '1 file' : `${taken.length} files`}, {bytesText(size)}.{' '}
        {davitFile !== undefined && 'Its davit.yaml applies.'}
      </p>
      <Failure sentence={failure} />
      {left.size > 0 && (
        <details>
          <summary>Left out: {[...left.values()].reduce((sum, files) => sum + files, 0)} files</summary>
          <ul>
            {listed.map(([path, files]) => (
              <li key={path}>
                <code>{plain(path)}</code> {path.endsWith('/') && <span class="sub">{files} files</span>}
              </li>
            ))}
          </ul>
          {left.size > listed.length && <p class="help">And {left.size - listed.length} more.</p>}
        </details>
      )}
    </div>
  );
}
