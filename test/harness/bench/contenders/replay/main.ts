// The replaying process: every record that is there when it starts, then nothing until it is told to end.

import { readFile } from 'node:fs/promises';
import type { ApiObject } from '../../../../cluster/api-client.ts';
import type { Rendering } from '../../children.ts';
import { inParallel } from '../../load.ts';
import { connect, replayRecord, uidsOfNamespaces } from './replay.ts';

interface Listed extends ApiObject {
  readonly spec: { readonly sourceRevisionConfig: { readonly imageUri: string } };
}

const { KUBECONFIG = '', CHILDREN = '', WORKERS = '' } = process.env;
const rendering = JSON.parse(await readFile(CHILDREN, 'utf8')) as Rendering;
const client = connect(JSON.parse(await readFile(KUBECONFIG, 'utf8')));
const tenants = await uidsOfNamespaces(client);
const { items } = await client.list<Listed>('/apis/davit.dev/v1alpha1/appdeployments');
process.stdout.write('READY\n');
await inParallel(items, Number(WORKERS), ({ metadata, spec }) =>
  replayRecord(client, rendering, {
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    uid: metadata.uid ?? '',
    tenantId: tenants.get(metadata.namespace ?? '') ?? '',
    image: spec.sourceRevisionConfig.imageUri,
  }),
);
setInterval(() => undefined, 1 << 30);
