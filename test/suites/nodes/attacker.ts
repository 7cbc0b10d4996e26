// A pod of a tenant that tries to connect to datastores of all tenants.

import { eventually } from '../../support/running-davit.ts';
import type { Stage } from '../backups/stage.ts';

const SCRIPT = `
const net = require('net');
const tries = process.env.ADDRESSES.split(',').map((address) => new Promise((resolve) => {
  const [host, port] = address.split(':');
  const socket = net.connect({ host, port: Number(port), timeout: 4000 });
  const end = (reached) => { socket.destroy(); resolve(reached ? [address] : []); };
  socket.on('connect', () => end(true));
  socket.on('timeout', () => end(false));
  socket.on('error', () => end(false));
}));
Promise.all(tries).then((all) => console.log(JSON.stringify(all.flat())));
`;

/** Those of the addresses to which a TCP connection was made, in their order. */
export async function reachedFrom(
  { cluster, sample, apply }: Stage,
  namespace: string,
  name: string,
  labels: Readonly<Record<string, string>>,
  addresses: readonly string[],
): Promise<readonly string[]> {
  await apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels },
    spec: {
      restartPolicy: 'Never',
      // Policies of a new pod reach the nodes of the others after some time.
      containers: [
        {
          name: 'main',
          image: sample,
          imagePullPolicy: 'Never',
          command: ['sh', '-c', 'sleep 15; exec node -e "$SCRIPT"'],
          env: [
            { name: 'SCRIPT', value: SCRIPT },
            { name: 'ADDRESSES', value: addresses.join() },
          ],
        },
      ],
    },
  });
  return eventually(async () => {
    const log = await cluster.kubectl(['-n', namespace, 'logs', name]);
    return JSON.parse(log) as readonly string[];
  }, 240_000);
}
