// Volumes for PersistentVolumeClaims: a folder of the run for each, offered as a hostPath volume of the node. Also in
// clusters without real pods, where nothing is written into them but claims bind all the same. With several nodes, a
// volume of class `standard` belongs to the node of its first pod, as a disk of the node does, and one of class `shared`
// goes with its pods, as a disk of the network does.
import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApiClient, ApiError, type ApiObject, patient } from './api-client.ts';

const provisioner = 'davit.dev/host-path';
const storageClass = 'standard';
const sharedClass = 'shared';
/** Written by the scheduler. */
const selectedNode = 'volume.kubernetes.io/selected-node';
const provisionedBy = 'pv.kubernetes.io/provisioned-by';
const mergePatch = 'application/merge-patch+json';

interface Claim extends ApiObject {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly accessModes: readonly string[];
    readonly resources: { readonly requests: { readonly storage: string } };
  };
  readonly status?: { readonly phase?: string; readonly capacity?: { readonly storage?: string } };
}

interface Volume extends ApiObject {
  readonly spec: { readonly hostPath?: { readonly path: string } };
  readonly status?: { readonly phase?: string };
}

export async function startProvisioner(
  masters: ApiClient,
  folder: string,
  nodes: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const [first = '', ...others] = nodes;
  const isAlone = others.length === 0;
  // No event would call a second time for what was lost while the server was away.
  const api = patient(masters);
  await mkdir(folder, { recursive: true });
  await api.ensure('/apis/storage.k8s.io/v1/storageclasses', {
    metadata: { name: storageClass, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner,
    reclaimPolicy: 'Delete',
    volumeBindingMode: isAlone ? 'Immediate' : 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  });
  if (!isAlone)
    await api.ensure('/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name: sharedClass },
      provisioner,
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'Immediate',
      allowVolumeExpansion: true,
    });
  void api.follow<Claim>('/api/v1/persistentvolumeclaims', signal, (claim, gone) => {
    const { storageClassName, volumeName } = claim.spec;
    const isShared = storageClassName === sharedClass;
    if (gone || (storageClassName !== storageClass && !isShared)) return;
    if (volumeName !== undefined) {
      if (claim.status?.phase === 'Bound') quietly(grow(api, claim));
      return;
    }
    const node = isAlone ? first : claim.metadata.annotations?.[selectedNode];
    if (isShared) quietly(provision(api, folder, undefined, claim));
    else if (node !== undefined) quietly(provision(api, folder, node, claim));
  });
  void api.follow<Volume>('/api/v1/persistentvolumes', signal, (volume, gone) => {
    if (gone || volume.metadata.annotations?.[provisionedBy] !== provisioner) return;
    if (volume.status?.phase === 'Released') quietly(remove(api, folder, volume));
  });
}

/** Every change comes again with the next event; an object that has gone meanwhile is no loss. */
function quietly(work: Promise<void>): void {
  work.catch((error: unknown) => {
    if (error instanceof ApiError && (error.status === 404 || error.status === 409)) return;
    process.emitWarning(`provisioner: ${error instanceof Error ? error.message : String(error)}`);
  });
}

/** `node`: of all, if it is not given. */
async function provision(api: ApiClient, folder: string, node: string | undefined, claim: Claim): Promise<void> {
  const name = `pvc-${claim.metadata.uid}`;
  const path = join(folder, name);
  await mkdir(path, { recursive: true });
  // Pods run as whatever user they name, and hostPath volumes know no fsGroup. mkdir alone obeys the umask.
  await chmod(path, 0o777);
  await api.ensure('/api/v1/persistentvolumes', {
    metadata: { name, annotations: { [provisionedBy]: provisioner } },
    spec: {
      storageClassName: claim.spec.storageClassName,
      capacity: { storage: claim.spec.resources.requests.storage },
      accessModes: claim.spec.accessModes,
      persistentVolumeReclaimPolicy: 'Delete',
      hostPath: { path, type: 'Directory' },
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace: claim.metadata.namespace,
        name: claim.metadata.name,
        uid: claim.metadata.uid,
      },
      ...(node !== undefined && {
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
            ],
          },
        },
      }),
    },
  });
}

/** A folder is as large as the disk: growth is only the saying of it. The API server refuses to shrink. */
async function grow(api: ApiClient, claim: Claim): Promise<void> {
  const { storage } = claim.spec.resources.requests;
  if (claim.status?.capacity?.storage === storage) return;
  await api.call(
    'PATCH',
    `/api/v1/persistentvolumes/${claim.spec.volumeName}`,
    { spec: { capacity: { storage } } },
    mergePatch,
  );
  const path = `/api/v1/namespaces/${claim.metadata.namespace}/persistentvolumeclaims/${claim.metadata.name}/status`;
  await api.call('PATCH', path, { status: { capacity: { storage } } }, mergePatch);
}

async function remove(api: ApiClient, folder: string, volume: Volume): Promise<void> {
  // The name is ours (pvc-UID), so the path cannot lead out of the folder, whatever the object says.
  await rm(join(folder, volume.metadata.name), { recursive: true, force: true });
  await api.call('DELETE', `/api/v1/persistentvolumes/${volume.metadata.name}`);
}
