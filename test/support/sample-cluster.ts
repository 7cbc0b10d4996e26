// The embedded cluster together with the images that the sample deployment needs, as the demo and the tests want it.

import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { ensureImages, type Images } from '../cluster/images/build.ts';
import type { NodeImage } from '../cluster/node.ts';
import type { Progress } from '../cluster/prepared.ts';
import { ensureTools, toolPath } from '../cluster/tools.ts';

/** References by digest: people deploy so, and a tag would hide a stale image. */
export interface SampleImages {
  readonly postgres: string;
  readonly redis: string;
  readonly sample: string;
}

/** The sample under another tag: to change the image of a deployment is to try a new revision. */
export const SAMPLE_AGAIN = 'davit.local/sample:2';

export interface SampleCluster {
  readonly cluster: Cluster;
  readonly images: SampleImages;
  readonly kubectlPath: string;
}

/** What the stand-in is told to run: it never looks for an image. */
const NAMES_ALONE: SampleImages = {
  postgres: 'davit.local/postgres:17',
  redis: 'davit.local/redis:8',
  sample: 'davit.local/sample:1',
};

export interface SampleClusterOptions {
  readonly pods: 'auto' | 'off';
  readonly auditLog?: boolean;
  /** Whether real pods may have user namespaces. */
  readonly userNamespaces?: boolean;
  /** Images besides the sample's; not asked for where no pod runs. */
  readonly more?: () => Promise<readonly NodeImage[]>;
  readonly progress: Progress;
}

export async function startSampleCluster({
  pods,
  auditLog = false,
  userNamespaces = false,
  more = async () => [],
  progress,
}: SampleClusterOptions): Promise<SampleCluster> {
  const mayRunPods =
    pods === 'auto' && process.env['DAVIT_PODS'] !== 'off' && process.platform === 'linux' && process.getuid?.() === 0;
  // Made while Kubernetes starts; a failure is told by whoever needs them.
  const making = mayRunPods ? ensureImages(progress) : undefined;
  making?.catch(() => undefined);
  const cluster = await startCluster({
    pods,
    auditLog,
    userNamespaces,
    progress,
    ...(making && {
      images: making.then(async ({ sample, ...images }) => [
        ...Object.values(images),
        { ...sample, alsoNamed: [SAMPLE_AGAIN] },
        ...(await more()),
      ]),
    }),
  });
  try {
    const images = cluster.node === 'real' && making ? byDigest(await making) : NAMES_ALONE;
    const tools = await ensureTools(['kubernetes'], progress);
    return { cluster, images, kubectlPath: toolPath(tools, 'kubernetes', 'kubectl') };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

function byDigest({ postgres, redis, sample }: Images): SampleImages {
  const reference = ({ name, digest }: { name: string; digest: string }): string =>
    `${name.slice(0, name.lastIndexOf(':'))}@${digest}`;
  return { postgres: reference(postgres), redis: reference(redis), sample: reference(sample) };
}
