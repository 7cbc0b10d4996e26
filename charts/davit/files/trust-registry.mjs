// Tells a node's containerd how the platform's registry is reached and which authorities it has. containerd reads these
// files at each pull, so it is not restarted. They stay when this pod ends: images are pulled at any time.

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { REGISTRY_FOLDER = '', REGISTRY_HOST = '', REGISTRY_SERVER = '', REGISTRY_CA = '', NODE_FOLDER = '' } = process.env;

const folder = join(REGISTRY_FOLDER, REGISTRY_HOST);
mkdirSync(folder, { recursive: true });

function write(name, text) {
  writeFileSync(join(folder, `.${name}`), text);
  renameSync(join(folder, `.${name}`), join(folder, name));
}

if (REGISTRY_CA !== '') write('ca.crt', REGISTRY_CA);
write(
  'hosts.toml',
  [
    `server = ${JSON.stringify(REGISTRY_SERVER)}`,
    `[host.${JSON.stringify(REGISTRY_SERVER)}]`,
    '  capabilities = ["pull", "resolve"]',
    ...(REGISTRY_CA === '' ? [] : [`  ca = ${JSON.stringify(join(NODE_FOLDER, REGISTRY_HOST, 'ca.crt'))}`]),
    '',
  ].join('\n'),
);

process.on('SIGTERM', () => process.exit(0));
setInterval(() => undefined, 3_600_000);
