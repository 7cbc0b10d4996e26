// `--helm`: Davit as the chart installs it, with two pods of each part, TLS and leases of 15 seconds, instead of two processes of this machine.

import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Cluster } from '../cluster/cluster.ts';
import type { NodeImage } from '../cluster/node.ts';
import { ensureTools, toolPath } from '../cluster/tools.ts';
import { authority, servingSecret } from '../suites/builds/servers.ts';
import { fixedAddress } from '../support/build-platform.ts';
import { DAVIT_NAMESPACE, makeTenant, type Platform } from '../support/platform.ts';

const chart = join(import.meta.dirname, '../../charts/davit');
const SERVING = 'davit-api-serving';

export interface HelmDemo {
  /** Folder of the program. */
  readonly program: string;
  readonly exports: readonly string[];
  /** What to type, to see it fail over and upgrade. */
  readonly commands: readonly string[];
  start(): Promise<Platform>;
}

/** `images`: names of PostgreSQL and Redis. */
export async function prepareHelmDemo(
  cluster: Cluster,
  davit: NodeImage,
  images: Readonly<Record<string, string>>,
  say: (line: string) => void,
): Promise<HelmDemo> {
  const helm = toolPath(await ensureTools(['helm'], say), 'helm', 'helm');
  const address = await fixedAddress(cluster, 8);
  const trusted = join(cluster.runDir, 'authorities.pem');
  await writeFile(trusted, authority.certificate);
  const [repository = '', tag = ''] = davit.name.split(':');
  const values = {
    'image.repository': repository,
    'image.tag': tag,
    'api.service.clusterIP': address,
    'api.tls.secretName': SERVING,
    'settings.hosting': 'both',
    ...Object.fromEntries(Object.entries(images).map(([part, name]) => [`settings.images.${part}`, name])),
  };
  return {
    program: dirname(helm),
    exports: [`NODE_EXTRA_CA_CERTS=${trusted}`, `CURL_CA_BUNDLE=${trusted}`],
    commands: [
      `  kubectl get pods,leases -n ${DAVIT_NAMESPACE}`,
      `  kubectl delete pod -n ${DAVIT_NAMESPACE} -l app.kubernetes.io/component=controller   # another pod takes the lease, and hello keeps serving`,
      `  helm upgrade davit ${chart} -n ${DAVIT_NAMESPACE} --reuse-values --set api.logLevel=debug --wait`,
      `  helm rollback davit -n ${DAVIT_NAMESPACE} --wait`,
    ],
    async start() {
      const objects = [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: DAVIT_NAMESPACE } },
        servingSecret(SERVING, DAVIT_NAMESPACE, [address, `davit-api.${DAVIT_NAMESPACE}.svc`]),
      ];
      await cluster.kubectl(['apply', '--server-side', '-f', '-'], {
        input: objects.map((object) => JSON.stringify(object)).join('\n'),
      });
      say(`Installing the chart into namespace ${DAVIT_NAMESPACE}`);
      const set = Object.entries(values).flatMap(([path, value]) => ['--set-string', `${path}=${value}`]);
      await cluster.helm(['install', 'davit', chart, '-n', DAVIT_NAMESPACE, '--wait', '--timeout', '5m', ...set]);
      const pods = ['get', 'pods', '-n', DAVIT_NAMESPACE, '-o', 'jsonpath={.items[*].metadata.name}'];
      say(`Its pods are ready: ${(await cluster.kubectl(pods)).trim().split(' ').join(', ')}`);
      // The demo asks the API itself.
      setDefaultCACertificates([...getCACertificates('default'), authority.certificate]);
      return {
        apiUrl: `https://${address}`,
        metricsUrl: undefined,
        processes: {},
        makeTenant: (namespace) => makeTenant(cluster, namespace),
        // It goes with the cluster.
        stop: async () => undefined,
      };
    },
  };
}
