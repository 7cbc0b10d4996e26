// The cluster's DNS server: a process of its own on the node, beside kubelet, so that names resolve whatever its
// launcher is busy with. It is never imported, only started (node.ts): dns.ts ADDRESS FILE, where FILE holds credentials
// of an account that may list and watch Services.
import { createSocket } from 'node:dgram';
import { readFile } from 'node:fs/promises';
import { type ApiObject, type Credentials, connectApi } from './api-client.ts';
import { clusterNames } from './dns-answers.ts';

interface Service extends ApiObject {
  readonly spec: { readonly clusterIP?: string };
}

const [address = '', file = ''] = process.argv.slice(2);
const credentials: Credentials = JSON.parse(await readFile(file, 'utf8'));
const names = clusterNames();

const socket = createSocket('udp4');
socket.on('message', (message, from) => {
  const answer = names.answer(message);
  if (answer !== undefined) socket.send(answer, from.port, from.address);
});
await new Promise<void>((resolve) => socket.bind(53, address, resolve));

void connectApi(credentials).follow<Service>(
  '/api/v1/services',
  new AbortController().signal,
  ({ metadata, spec }, gone) => {
    const { name, namespace = '' } = metadata;
    // A Service without an address of its own has no name here: none that these clusters run needs one.
    if (gone || spec.clusterIP === undefined || spec.clusterIP === 'None') names.delete(name, namespace);
    else names.set(name, namespace, spec.clusterIP);
  },
);
