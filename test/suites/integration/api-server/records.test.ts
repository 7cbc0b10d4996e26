// The generated CustomResourceDefinitions on a real API server: accepted, and every bad record refused where a person
// would look for the fault.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { effectiveNumbers, resolve } from '../../../../src/deploy/record/resolve.ts';
import { MOST_LISTED } from '../../../../src/kinds/database-names.ts';
import { type Cluster, startCluster } from '../../../cluster/cluster.ts';
import { aSpec, SETTINGS } from '../../../support/builders.ts';
import { eventually } from '../../../support/running-davit.ts';
import { type Answer, aRevision, type Door, openDoor } from './door.ts';

const root = join(import.meta.dirname, '../../../..');
const PLURALS = [
  'appdeployments',
  'apprevisions',
  'applogs',
  'datastoreoperations',
  'notifiers',
  'tracingprojects',
  'oauthproviders',
  'codehostintegrations',
  'listeners',
] as const;
const RECORDS = '/apis/davit.dev/v1alpha1/namespaces/default/appdeployments';
const UUID = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
const OTHER_UUID = '5f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';

let cluster: Cluster;
let door: Door;
beforeAll(async () => {
  cluster = await startCluster({ pods: 'off', controllers: false });
  door = openDoor(cluster);
  await cluster.kubectl([
    'apply',
    '--server-side',
    ...PLURALS.flatMap((plural) => ['-f', join(root, `crds/${plural}.yaml`)]),
  ]);
  await cluster.kubectl([
    'wait',
    '--for=condition=Established',
    '--timeout=180s',
    ...PLURALS.map((plural) => `crd/${plural}.davit.dev`),
  ]);
}, 900_000);
afterAll(async () => {
  await door?.close();
  await cluster?.stop();
}, 60_000);

type Spec = Readonly<Record<string, unknown>>;

function aRecord(spec: Spec, name = 'shop'): object {
  return { apiVersion: 'davit.dev/v1alpha1', kind: 'AppDeployment', metadata: { name }, spec };
}
function docker(more: Spec = {}): Spec {
  return { source: 'external_docker', sourceRevisionConfig: { imageUri: 'registry.example/shop:1' }, ...more };
}
function codehost(config: Spec = {}, revision: Spec = {}): Spec {
  return {
    source: 'codehost',
    sourceConfig: { integrationId: UUID, repoUrl: 'https://code.example/team/shop', ...config },
    sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'davit.json', ...revision },
  };
}
function sized(resourceSpec: Spec): Spec {
  return docker({ sourceConfig: { resourceSpec } });
}
function volume(parts: Spec): Spec {
  return sized({ volumes: [{ name: 'data', ...parts }] });
}
function container(parts: Spec): Spec {
  return sized({ sidecars: [{ name: 'helper', image: 'helper:1', ...parts }] });
}
function reference(name: string, more: Spec = {}): Spec {
  return { name, secretName: 'mine', secretKey: 'key', ...more };
}

function dryRun(record: object): Promise<Answer> {
  return door.call('POST', `${RECORDS}?dryRun=All&fieldValidation=Strict`, record);
}

describe('the definitions', () => {
  it.each(PLURALS)('%s is established and structural', async (plural) => {
    const { body } = await door.call(
      'GET',
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.davit.dev`,
    );
    const { conditions } = body['status'] as { conditions: { type: string; status: string }[] };
    const states = Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
    expect(states).toEqual({ Established: 'True', NamesAccepted: 'True' });
  });

  it.each(PLURALS)('%s fits into the annotation that kubectl apply keeps', async (plural) => {
    const text = await readFile(join(root, `crds/${plural}.yaml`), 'utf8');
    // As JSON, which is how it is kept.
    expect(JSON.stringify(parse(text)).length).toBeLessThan(262_144);
  });

  it('kubectl explain describes a field', async () => {
    // Discovery knows a new kind a moment after it is established.
    await eventually(async () =>
      expect(await cluster.kubectl(['explain', 'appd.spec.sourceConfig.resourceSpec.dbStorageGi'])).toContain(
        'It can grow but not shrink',
      ),
    );
  });

  it('kubectl get has the printer columns, and selects by state', async () => {
    await door.call('POST', RECORDS, aRecord(docker(), 'columns'));
    expect(await cluster.kubectl(['get', 'davit'])).toMatch(/NAME +STATUS +PHASE +UP-TO-DATE +REPLICAS +URL +AGE\n/);
    expect(await cluster.kubectl(['get', 'appd', '--field-selector=spec.source=external_docker'])).toContain('columns');
    expect(await cluster.kubectl(['get', 'appd', '--field-selector=status.state=READY'])).not.toContain('columns');
  });

  it('a status has all backups that it may list, each with all that is known of it', async () => {
    await door.call('POST', RECORDS, aRecord(docker(), 'listed'));
    const one = { name: '20260202T020000Z-0123abcd', takenAt: '2026-02-02T02:00:00Z', sizeBytes: 2048 };
    const known = {
      number: 1,
      postgresVersion: 17,
      databases: 3,
      roles: 4,
      verified: true,
      byHand: true,
      earlier: true,
    };
    const list = (most: number): object => {
      const newest = Array.from({ length: most }, () => ({ ...one, ...known }));
      return { databaseBackups: { listedAt: '2026-02-02T02:00:09Z', count: 99, newest } };
    };
    const write = (status: object): Promise<Answer> =>
      door.call('PATCH', `${RECORDS}/listed/status?fieldValidation=Strict`, { status });
    expect(await write(list(MOST_LISTED))).toMatchObject({ status: 200, body: { status: list(MOST_LISTED) } });
    expect((await write(list(MOST_LISTED + 1))).status).toBe(422);
  });

  it('a new record has a condition that it is not reconciled, which kstatus needs', async () => {
    await door.call('POST', RECORDS, aRecord(docker(), 'unseen'));
    const status = ['get', 'appd', 'unseen', '-o', 'jsonpath={.status}'];
    expect(await cluster.kubectl(status)).toBe('{"observedGeneration":0}');
  });
});

describe('good records', () => {
  const good: readonly { readonly name: string; readonly spec: Spec }[] = [
    { name: 'external_docker, the least', spec: docker() },
    {
      name: 'external_docker by digest, with references',
      spec: docker({
        sourceRevisionConfig: { imageUri: `registry.example:5000/team/shop:1@sha256:${'a'.repeat(64)}` },
        secretReferences: [reference('API_KEY')],
      }),
    },
    {
      name: 'external_docker for a listener',
      spec: docker({ sourceConfig: { listenerId: UUID, listenerConfig: { k8sNamespace: 'team' } } }),
    },
    {
      name: 'codehost',
      spec: codehost({ buildOnPush: true, installCommand: 'npm ci', buildCommand: 'npm run build' }),
    },
    { name: 'internal_docker, waiting for a push', spec: { source: 'internal_docker' } },
    {
      name: 'internal_source, waiting for an upload',
      spec: { source: 'internal_source', sourceConfig: { installCommand: 'npm ci' } },
    },
    {
      name: 'internal_template by image',
      spec: { source: 'internal_template', sourceRevisionConfig: { imageUri: 'templates/chat:1' } },
    },
    {
      name: 'internal_template by repository',
      spec: { source: 'internal_template', sourceConfig: { repoUrl: 'https://code.example/templates/chat' } },
    },
    { name: 'deployment type dev_zero', spec: docker({ sourceConfig: { deploymentType: 'dev_zero' } }) },
    { name: 'the sizes in force where none is given', spec: sized(effectiveNumbers(resolve(aSpec(), SETTINGS))) },
    {
      name: 'every part of a pod',
      spec: sized({
        minScale: 1,
        maxScale: 3,
        cpu: 0.5,
        cpuLimit: 1,
        memoryMb: 512,
        memoryLimitMb: 1024,
        queueMaxScale: 0,
        dbStorageGi: 20,
        labels: { team: 'shop' },
        annotations: { note: 'x' },
        serviceAccountName: 'shop',
        imagePullSecrets: [{ name: 'pull' }],
        volumes: [
          { name: 'scratch', emptyDir: { sizeLimit: '1Gi' } },
          { name: 'conf', projected: { sources: [{ configMap: { name: 'c' } }] } },
        ],
        volumeMounts: [{ name: 'scratch', mountPath: '/scratch', readOnly: false }],
        initContainers: [
          {
            name: 'migrate',
            image: 'shop:1',
            command: ['migrate'],
            env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key: 'a' } } }],
          },
        ],
        sidecars: [
          {
            name: 'proxy',
            image: 'proxy:1',
            resources: { limits: { cpu: 1, memory: '64Mi' } },
            securityContext: {
              readOnlyRootFilesystem: true,
              privileged: false,
              capabilities: { drop: ['ALL'] },
              seccompProfile: { type: 'RuntimeDefault' },
            },
          },
        ],
      }),
    },
  ];
  it.each(good)('$name', async ({ spec }) => {
    const { status, message } = await dryRun(aRecord(spec));
    expect(message).toBe('');
    expect(status).toBe(201);
  });

  it('the longest name', async () => {
    expect((await dryRun(aRecord(docker(), `a${'b'.repeat(39)}`))).status).toBe(201);
  });

  it('the API server adds defaults', async () => {
    const { body } = await dryRun(aRecord({ source: 'internal_docker' }));
    expect(body['spec']).toEqual({
      source: 'internal_docker',
      sourceConfig: {},
      sourceRevisionConfig: {},
      secrets: [],
      tracingProjectDeletionPolicy: 'Retain',
    });
  });

  it('free-form pod parts keep unknown fields', async () => {
    const { body } = await dryRun(
      aRecord(volume({ csi: { driver: 'secrets.example', volumeAttributes: { a: 'b' } } })),
    );
    expect(body).toMatchObject({
      spec: {
        sourceConfig: {
          resourceSpec: { volumes: [{ csi: { driver: 'secrets.example', volumeAttributes: { a: 'b' } } }] },
        },
      },
    });
  });
});

interface Bad {
  readonly name: string;
  readonly record: object;
  readonly field: string;
  readonly says: string;
}

function bad(name: string, spec: Spec, field: string, says: string): Bad {
  return { name, record: aRecord(spec), field, says };
}
function badName(name: string, says: string): Bad {
  return { name: `name ${name}`, record: aRecord(docker(), name), field: 'metadata.name', says };
}
const RESOURCES = 'spec.sourceConfig.resourceSpec';

describe('bad records', () => {
  const refused: readonly Bad[] = [
    badName('a--b', 'must not contain --'),
    badName('xn', 'the name xn is reserved'),
    badName('1shop', 'a name must be lower-case letters, digits and single hyphens'),
    badName('shop.web', 'a name must be lower-case letters, digits and single hyphens'),
    badName(`a${'b'.repeat(40)}`, 'at most 40 characters'),
    bad('no source', { sourceRevisionConfig: { imageUri: 'a' } }, 'spec.source', 'Required value'),
    bad(
      'an unknown source',
      docker({ source: 'ftp' }),
      'spec.source',
      'supported values: "codehost", "external_docker"',
    ),
    bad(
      'external_docker without an image',
      { source: 'external_docker' },
      'spec.sourceRevisionConfig.imageUri',
      'source external_docker needs imageUri',
    ),
    bad(
      'external_docker with a repository',
      docker({ sourceConfig: { repoUrl: 'https://code.example/a' } }),
      'spec.sourceConfig.repoUrl',
      'repoUrl does not apply to source external_docker',
    ),
    bad(
      'external_docker with a tarball',
      docker({ sourceRevisionConfig: { imageUri: 'a', sourceTarballPath: 'a.tgz' } }),
      'spec.sourceRevisionConfig.sourceTarballPath',
      'does not apply',
    ),
    bad(
      'codehost without an integration',
      { ...codehost(), sourceConfig: { repoUrl: 'https://code.example/a' } },
      'spec.sourceConfig.integrationId',
      'needs integrationId',
    ),
    bad(
      'codehost without a repository',
      { ...codehost(), sourceConfig: { integrationId: UUID } },
      'spec.sourceConfig.repoUrl',
      'needs repoUrl',
    ),
    bad(
      'codehost without a ref',
      { ...codehost(), sourceRevisionConfig: { workflowConfigPath: 'a.json' } },
      'spec.sourceRevisionConfig.repoRef',
      'needs repoRef',
    ),
    bad(
      'codehost without a workflow',
      { ...codehost(), sourceRevisionConfig: { repoRef: 'main' } },
      'spec.sourceRevisionConfig.workflowConfigPath',
      'needs workflowConfigPath',
    ),
    bad(
      'codehost with an image',
      codehost({}, { imageUri: 'a' }),
      'spec.sourceRevisionConfig.imageUri',
      'does not apply to source codehost',
    ),
    bad(
      'codehost with a listener',
      codehost({ listenerId: UUID, listenerConfig: {} }),
      'spec.sourceConfig.listenerId',
      'does not apply to source codehost',
    ),
    bad(
      'a tag that is built on push',
      codehost({ buildOnPush: true }, { repoRef: 'refs/tags/v1' }),
      'spec.sourceConfig.buildOnPush',
      'must be false for a tag',
    ),
    bad(
      'internal_docker with a build command',
      { source: 'internal_docker', sourceConfig: { buildCommand: 'make' } },
      'spec.sourceConfig.buildCommand',
      'does not apply to source internal_docker',
    ),
    bad(
      'internal_source with an image',
      { source: 'internal_source', sourceRevisionConfig: { imageUri: 'a' } },
      'spec.sourceRevisionConfig.imageUri',
      'does not apply to source internal_source',
    ),
    bad(
      'internal_template of nothing',
      { source: 'internal_template' },
      'spec.sourceRevisionConfig.imageUri',
      'needs imageUri or repoUrl of a template',
    ),
    bad(
      'references of another source',
      { source: 'internal_docker', secretReferences: [reference('A')] },
      'spec.secretReferences',
      'apply only to source external_docker',
    ),
    bad(
      'a listener without its namespace',
      docker({ sourceConfig: { listenerId: UUID } }),
      'spec.sourceConfig.listenerConfig',
      'set listenerId and listenerConfig together',
    ),
    bad(
      'an integration that is no uuid',
      codehost({ integrationId: 'mine' }),
      'spec.sourceConfig.integrationId',
      'should match',
    ),
    bad(
      'a repository over plain http',
      codehost({ repoUrl: 'http://code.example/a' }),
      'spec.sourceConfig.repoUrl',
      'should match',
    ),
    bad(
      'a repository that is an option',
      codehost({ repoUrl: '--upload-pack=x' }),
      'spec.sourceConfig.repoUrl',
      'should match',
    ),
    bad('a repository of git ext', codehost({ repoUrl: 'ext::sh -c x' }), 'spec.sourceConfig.repoUrl', 'should match'),
    bad(
      'a ref that is an option',
      codehost({}, { repoRef: '-x' }),
      'spec.sourceRevisionConfig.repoRef',
      'should match',
    ),
    bad(
      'a workflow outside of the repository',
      codehost({}, { workflowConfigPath: 'a/../../etc/passwd' }),
      'spec.sourceRevisionConfig.workflowConfigPath',
      'must stay inside the repository',
    ),
    bad(
      'an absolute workflow',
      codehost({}, { workflowConfigPath: '/etc/passwd' }),
      'spec.sourceRevisionConfig.workflowConfigPath',
      'should match',
    ),
    bad(
      'a tarball outside of its store',
      { source: 'internal_source', sourceRevisionConfig: { sourceTarballPath: '../../a.tgz' } },
      'spec.sourceRevisionConfig.sourceTarballPath',
      'is not a path that the upload endpoint returned',
    ),
    bad(
      'a command with a control character',
      codehost({ buildCommand: 'make\u0007' }),
      'spec.sourceConfig.buildCommand',
      'should match',
    ),
    bad(
      'an image with a space',
      docker({ sourceRevisionConfig: { imageUri: 'shop :1' } }),
      'spec.sourceRevisionConfig.imageUri',
      'should match',
    ),
    bad(
      'an image with a short digest',
      docker({ sourceRevisionConfig: { imageUri: 'shop@sha256:abc' } }),
      'spec.sourceRevisionConfig.imageUri',
      'should match',
    ),
    bad(
      'a host with a path',
      docker({ sourceConfig: { customUrl: 'https://shop.example/a' } }),
      'spec.sourceConfig.customUrl',
      'should match',
    ),
    bad(
      'a host with a user',
      docker({ sourceConfig: { customUrl: 'https://a@shop.example' } }),
      'spec.sourceConfig.customUrl',
      'should match',
    ),
    bad(
      'an unknown deployment type',
      docker({ sourceConfig: { deploymentType: 'huge' } }),
      'spec.sourceConfig.deploymentType',
      'supported values',
    ),
    bad(
      'a secret without a key',
      docker({ secrets: [{ name: 'A', secretName: 'mine' }] }),
      'spec.secrets[0].secretKey',
      'Required value',
    ),
    bad(
      'a secret whose name a shell cannot say',
      docker({ secrets: [reference('MY-KEY')] }),
      'spec.secrets[0].name',
      'should match',
    ),
    bad(
      'a secret that the platform sets',
      docker({ secrets: [reference('POSTGRES_URI')] }),
      'spec.secrets',
      'set by the platform',
    ),
    bad(
      'a secret of another namespace',
      docker({ secrets: [reference('A', { secretName: 'other/mine' })] }),
      'spec.secrets[0].secretName',
      'should match',
    ),
    bad(
      'a secret twice',
      docker({ secrets: [reference('A'), reference('A', { secretKey: 'b' })] }),
      'spec.secrets[1]',
      'Duplicate value',
    ),
    bad(
      'a reference twice',
      docker({ secretReferences: [reference('A'), reference('A')] }),
      'spec.secretReferences[1]',
      'Duplicate value',
    ),
    bad(
      'a name in secrets and in references',
      docker({ secrets: [reference('A')], secretReferences: [reference('A')] }),
      'spec.secretReferences',
      'not in both',
    ),
    bad('a negative scale', sized({ minScale: -1 }), `${RESOURCES}.minScale`, 'greater than or equal to 0'),
    bad('a scale beyond all bounds', sized({ maxScale: 101 }), `${RESOURCES}.maxScale`, 'less than or equal to 100'),
    bad('half a replica', sized({ minScale: 0.5 }), `${RESOURCES}.minScale`, 'must be of type integer'),
    bad(
      'minimum above maximum',
      sized({ minScale: 3, maxScale: 2 }),
      `${RESOURCES}.maxScale`,
      'maxScale must not be below minScale',
    ),
    bad(
      'a CPU limit below the request',
      sized({ cpu: 2, cpuLimit: 1 }),
      `${RESOURCES}.cpuLimit`,
      'must not be below cpu',
    ),
    bad(
      'a memory limit below the request',
      sized({ dbMemoryMb: 2048, dbMemoryLimitMb: 1024 }),
      `${RESOURCES}.dbMemoryLimitMb`,
      'must not be below dbMemoryMb',
    ),
    bad('a CPU of a word', sized({ cpu: 'one' }), `${RESOURCES}.cpu`, 'must be of type number'),
    bad('no storage', sized({ dbStorageGi: 0 }), `${RESOURCES}.dbStorageGi`, 'greater than or equal to 1'),
    bad('a label that is no label', sized({ labels: { team: 'a b' } }), `${RESOURCES}.labels.team`, 'should match'),
    bad('a label without a name', sized({ labels: { 'a/': 'b' } }), `${RESOURCES}.labels`, 'a key is a name'),
    bad(
      'a label that selects pods',
      sized({ labels: { 'davit.dev/deployment': 'other' } }),
      `${RESOURCES}.labels`,
      'reserved for Davit and Kubernetes',
    ),
    bad(
      'an annotation of ours',
      sized({ annotations: { 'davit.dev/applied': 'x' } }),
      `${RESOURCES}.annotations`,
      'reserved for Davit and Kubernetes',
    ),
    bad(
      'an annotation that turns AppArmor off',
      sized({ annotations: { 'container.apparmor.security.beta.kubernetes.io/server': 'unconfined' } }),
      `${RESOURCES}.annotations`,
      'reserved for Davit and Kubernetes',
    ),
    bad('a container of our name', container({ name: 'server' }), `${RESOURCES}.sidecars`, 'are reserved for Davit'),
    bad(
      'a name in both lists of containers',
      sized({ initContainers: [{ name: 'a', image: 'a' }], sidecars: [{ name: 'a', image: 'a' }] }),
      `${RESOURCES}.sidecars`,
      'must not have the same name',
    ),
    bad(
      'a mount of no volume',
      sized({ volumeMounts: [{ name: 'a', mountPath: '/a' }] }),
      `${RESOURCES}.volumeMounts`,
      'no volume has the name of this mount',
    ),
    bad(
      "a sidecar's mount of no volume",
      container({ volumeMounts: [{ name: 'a', mountPath: '/a' }] }),
      `${RESOURCES}.sidecars`,
      'no volume has the name of this mount',
    ),
    bad(
      'a host path',
      volume({ hostPath: { path: '/' } }),
      '',
      'unknown field "spec.sourceConfig.resourceSpec.volumes[0].hostPath"',
    ),
    bad('a volume of no kind', volume({}), `${RESOURCES}.volumes[0]`, 'exactly one of configMap, secret'),
    bad(
      'a volume of two kinds',
      volume({ emptyDir: {}, secret: { secretName: 'a' } }),
      `${RESOURCES}.volumes[0]`,
      'exactly one of',
    ),
    bad(
      'a volume twice',
      sized({
        volumes: [
          { name: 'a', emptyDir: {} },
          { name: 'a', emptyDir: {} },
        ],
      }),
      `${RESOURCES}.volumes[1]`,
      'Duplicate value',
    ),
    bad(
      'a mount with a colon',
      sized({ volumeMounts: [{ name: 'a', mountPath: '/a:b' }] }),
      `${RESOURCES}.volumeMounts[0].mountPath`,
      'must not contain a colon',
    ),
    bad(
      'a mount with two sub paths',
      sized({ volumeMounts: [{ name: 'a', mountPath: '/a', subPath: 'a', subPathExpr: 'b' }] }),
      `${RESOURCES}.volumeMounts[0].subPathExpr`,
      'not both',
    ),
    bad(
      'a mount propagation of a dream',
      sized({ volumeMounts: [{ name: 'a', mountPath: '/a', mountPropagation: 'Everywhere' }] }),
      `${RESOURCES}.volumeMounts[0].mountPropagation`,
      'supported values',
    ),
    bad(
      'a container without an image',
      sized({ initContainers: [{ name: 'a' }] }),
      `${RESOURCES}.initContainers[0].image`,
      'Required value',
    ),
    bad(
      'a container with a bad name',
      container({ name: 'My Helper' }),
      `${RESOURCES}.sidecars[0].name`,
      'should match',
    ),
    bad(
      'a preStop hook that does nothing',
      docker({ sourceConfig: { runtime: { queue: { preStop: {} } } } }),
      'spec.sourceConfig.runtime.queue.preStop',
      'set exactly one of sleep and exec',
    ),
    bad(
      'a mount that reaches the node',
      sized({ volumeMounts: [{ name: 'a', mountPath: '/a', mountPropagation: 'Bidirectional' }] }),
      `${RESOURCES}.volumeMounts[0].mountPropagation`,
      'Bidirectional is refused',
    ),
    ...Object.entries({
      privileged: true,
      capabilities: { add: ['CHOWN'], drop: ['ALL'] },
      procMount: 'Unmasked',
      seccompProfile: { type: 'Unconfined' },
      appArmorProfile: { type: 'Unconfined' },
      seLinuxOptions: { type: 'spc_t' },
      windowsOptions: { hostProcess: true },
    }).map(([field, value]) =>
      bad(
        `a container with ${field}`,
        container({ securityContext: { [field]: value } }),
        `${RESOURCES}.sidecars[0].securityContext.${field}`,
        'refused by the pod policy',
      ),
    ),
    bad(
      'a container twice',
      sized({
        sidecars: [
          { name: 'a', image: 'a' },
          { name: 'a', image: 'b' },
        ],
      }),
      `${RESOURCES}.sidecars[1]`,
      'Duplicate value',
    ),
    bad(
      'a container with a host port',
      container({ ports: [{ hostPort: 80 }] }),
      '',
      'unknown field "spec.sourceConfig.resourceSpec.sidecars[0].ports"',
    ),
    bad(
      'a quantity that is an object',
      container({ resources: { limits: { cpu: {} } } }),
      `${RESOURCES}.sidecars[0].resources.limits.cpu`,
      'must be of type integer,string',
    ),
    bad(
      'too many sidecars',
      sized({ sidecars: Array.from({ length: 21 }, (_, i) => ({ name: `a${i}`, image: 'a' })) }),
      `${RESOURCES}.sidecars`,
      'must have at most 20 items',
    ),
    bad(
      'a pull secret of another namespace',
      sized({ imagePullSecrets: [{ name: 'other/pull' }] }),
      `${RESOURCES}.imagePullSecrets[0].name`,
      'should match',
    ),
    bad('a field that is misspelt', docker({ secrts: [] }), '', 'unknown field "spec.secrts"'),
  ];
  it.each(refused)('$name', async ({ record, field, says }) => {
    const { status, message, causes } = await dryRun(record);
    expect([400, 422]).toContain(status);
    if (field === '') return expect(message).toContain(says);
    const cause = causes.find((one) => one.field === field && one.message.includes(says));
    expect(cause, JSON.stringify(causes, null, 1)).toBeDefined();
  });
});

describe('immutable fields', () => {
  const name = 'fixed';
  beforeAll(async () => {
    await door.call(
      'POST',
      RECORDS,
      aRecord(docker({ revisionSerial: 3, sourceConfig: { resourceSpec: { cpu: 1 } } }), name),
    );
  });
  async function patch(spec: Spec): Promise<Answer> {
    return door.call('PATCH', `${RECORDS}/${name}?dryRun=All`, { spec });
  }

  it('source', async () => {
    const { causes } = await patch({ source: 'internal_docker' });
    expect(causes).toContainEqual(
      expect.objectContaining({ field: 'spec.source', message: expect.stringContaining('source cannot be changed') }),
    );
  });
  describe('fields that the source does not allow to change', () => {
    const listener = { listenerId: UUID, listenerConfig: { k8sNamespace: 'team' } };
    const template = { source: 'internal_template', sourceRevisionConfig: { imageUri: 'templates/chat:1' } };
    const cases: readonly { readonly name: string; readonly from: Spec; readonly to: Spec; readonly field?: string }[] =
      [
        { name: 'integrationId', from: codehost(), to: { integrationId: OTHER_UUID }, field: 'integrationId' },
        { name: 'integrationId in upper case', from: codehost(), to: { integrationId: UUID.toUpperCase() } },
        { name: 'repoUrl', from: codehost(), to: { repoUrl: 'https://code.example/b' }, field: 'repoUrl' },
        {
          name: 'a repoUrl that there was none',
          from: template,
          to: { repoUrl: 'https://a.example/b' },
          field: 'repoUrl',
        },
        { name: 'a listener that there was none', from: docker(), to: listener, field: 'listenerId' },
        {
          name: 'no listener any more',
          from: docker({ sourceConfig: listener }),
          to: { listenerId: null, listenerConfig: null },
          field: 'listenerId',
        },
        {
          name: 'listenerConfig',
          from: docker({ sourceConfig: listener }),
          to: { listenerConfig: { k8sNamespace: 'other' } },
          field: 'listenerConfig',
        },
        { name: 'buildOnPush, which is not fixed', from: codehost(), to: { buildOnPush: true } },
      ];
    it.each(cases.map((one, index) => ({ ...one, index })))('$name', async ({ from, to, field, index }) => {
      await door.call('POST', RECORDS, aRecord(from, `fixed-${index}`));
      const patched = await door.call('PATCH', `${RECORDS}/fixed-${index}?dryRun=All`, { spec: { sourceConfig: to } });
      if (field === undefined) return expect([patched.status, patched.message]).toEqual([200, '']);
      expect(patched.causes).toContainEqual(
        expect.objectContaining({
          field: `spec.sourceConfig.${field}`,
          message: expect.stringContaining(`${field} cannot be changed after creation`),
        }),
      );
    });
  });
  it('extensions cannot be added or changed, and can be taken away', async () => {
    const asking = (extensions: string[] | null): object => ({ spec: { sourceConfig: { database: { extensions } } } });
    const refused = {
      field: 'spec.sourceConfig.database.extensions',
      message: expect.stringContaining('can be set only when the deployment is created') as string,
    };
    const late = await door.call('PATCH', `${RECORDS}/${name}?dryRun=All`, asking(['vector']));
    expect(late.causes).toContainEqual(expect.objectContaining(refused));
    const begun = docker({ sourceConfig: { database: { extensions: ['vector'] } } });
    await door.call('POST', RECORDS, aRecord(begun, 'begun-with-vector'));
    const place = `${RECORDS}/begun-with-vector?dryRun=All`;
    expect((await door.call('PATCH', place, asking([]))).causes).toContainEqual(expect.objectContaining(refused));
    expect((await door.call('PATCH', place, asking(null))).status).toBe(200);
  });

  it('a restore cannot be added, and can be changed and taken away', async () => {
    const asking = (restore: object | null): object => ({ spec: { sourceConfig: { database: { restore } } } });
    const late = await door.call('PATCH', `${RECORDS}/${name}?dryRun=All`, asking({ from: 'shop' }));
    expect(late.causes).toContainEqual(
      expect.objectContaining({
        field: 'spec.sourceConfig.database.restore',
        message: expect.stringContaining('can be set only when the deployment is created') as string,
      }),
    );
    const begun = docker({ sourceConfig: { database: { restore: { from: 'shop' } } } });
    await door.call('POST', RECORDS, aRecord(begun, 'begun-with-a-backup'));
    const place = `${RECORDS}/begun-with-a-backup?dryRun=All`;
    for (const restore of [{ from: 'other', at: '2026-02-01T00:00:00+01:00' }, null]) {
      expect(await door.call('PATCH', place, asking(restore))).toMatchObject({ status: 200, message: '' });
    }
  });
  it('revisionSerial cannot be lowered or dropped', async () => {
    expect((await patch({ revisionSerial: 2 })).message).toContain('revisionSerial must not be lowered');
    expect((await patch({ revisionSerial: null })).message).toContain('revisionSerial must not be lowered');
    expect((await patch({ revisionSerial: 4 })).status).toBe(200);
  });
  it('rebuildSerial is at most revisionSerial', async () => {
    expect((await patch({ rebuildSerial: 9 })).message).toContain(
      'must not be above revisionSerial: to request a revision of the newest commit, set both to the same number',
    );
    expect((await patch({ revisionSerial: 5, rebuildSerial: 5 })).status).toBe(200);
  });
  it('other fields can be changed', async () => {
    expect((await patch({ sourceConfig: { resourceSpec: { cpu: 2 } } })).status).toBe(200);
  });
  it('the status cannot be written with the record', async () => {
    await door.call('PATCH', `${RECORDS}/${name}`, { status: { state: 'READY' } });
    const { body } = await door.call('GET', `${RECORDS}/${name}`);
    expect(body['status']).toEqual({ observedGeneration: 0 });
  });
  it('an AppRevision', async () => {
    const path = '/apis/davit.dev/v1alpha1/namespaces/default/apprevisions';
    const made = await door.call('POST', path, aRevision('fixed--12345678', name));
    expect(made.message).toBe('');
    const { message } = await door.call('PATCH', `${path}/fixed--12345678`, { spec: { resolved: { port: 9000 } } });
    expect(message).toContain('a revision is a snapshot');
  });
});

describe('the kinds of organization and tenants', () => {
  const provider = (more: Spec = {}): Spec => ({
    name: 'Tracker',
    clientId: 'abc',
    authUrl: 'https://tracker.example/authorize?a=b',
    tokenUrl: 'https://[2001:db8::1]:8443/token',
    ...more,
  });
  const integration = (more: Spec = {}): Spec => ({
    kind: 'github',
    apiUrl: 'https://git.example/api/v3',
    credentialsRef: { name: 'git' },
    ...more,
  });
  const write = (kind: string, spec: Spec, name = 'git'): Promise<Answer> =>
    door.call('POST', `/apis/davit.dev/v1alpha1/namespaces/default/${kind.toLowerCase()}s?dryRun=All`, {
      apiVersion: 'davit.dev/v1alpha1',
      kind,
      metadata: { name },
      spec,
    });

  it.each([
    ['OAuthProvider', provider(), { usesPkce: false, tokenEndpointAuthMethod: 'client_secret_post' }],
    ['OAuthProvider', provider({ usesPkce: true, codeChallengeMethod: 'plain' }), { isDynamicClient: false }],
    ['OAuthProvider', provider({ providerId: 'git_.Hub' }), { providerId: 'git_.Hub' }],
    ['CodeHostIntegration', integration({ app: { id: 1, installationId: 2 } }), { tenants: [] }],
    ['Listener', { namespaces: ['a', 'b'] }, { namespaces: ['a', 'b'] }],
  ])('%s is taken, with its defaults', async (kind, spec, want) => {
    expect(await write(kind, spec)).toMatchObject({ message: '', status: 201, body: { spec: want } });
  });

  it.each([
    ['OAuthProvider', provider({ authUrl: 'http://a.example' }), 'spec.authUrl', 'should match'],
    ['OAuthProvider', provider({ authUrl: 'https://u:p@a.example' }), 'spec.authUrl', 'should match'],
    ['OAuthProvider', provider({ authUrl: 'https://a.example/#f' }), 'spec.authUrl', 'should match'],
    ['OAuthProvider', provider({ authUrl: 'https://a.example:65536' }), 'spec.authUrl', 'absolute https URL'],
    ['OAuthProvider', provider({ codeChallengeMethod: 'S256' }), 'spec.codeChallengeMethod', 'needs usesPkce'],
    ['OAuthProvider', provider({ providerId: 'a b' }), 'spec.providerId', 'should match'],
    ['OAuthProvider', provider({ providerId: '..' }), 'spec.providerId', 'should match'],
    ['OAuthProvider', provider({ providerId: 'git' }), 'spec.providerId', 'leave out providerId'],
    ['OAuthProvider', provider({ clientId: '' }), 'spec.clientId', 'at least 1 chars'],
    ['CodeHostIntegration', integration({ kind: 'svn' }), 'spec.kind', 'supported values'],
    ['CodeHostIntegration', integration({ apiUrl: 'https://a.example?x' }), 'spec.apiUrl', 'must not have a query'],
    [
      'CodeHostIntegration',
      integration({ kind: 'gitea', app: { id: 1, installationId: 2 } }),
      'spec.app',
      'app is for kind github',
    ],
    ['CodeHostIntegration', integration({ tenants: ['a', 'a'] }), 'spec.tenants[1]', 'Duplicate value'],
    ['Listener', { namespaces: [] }, 'spec.namespaces', 'at least 1 items'],
    ['Listener', { namespaces: ['A'] }, 'spec.namespaces[0]', 'should match'],
  ])('%s %j', async (kind, spec, field, says) => {
    const { causes } = await write(kind, spec);
    const cause = causes.find((one) => one.field === field && one.message.includes(says));
    expect(cause, JSON.stringify(causes, null, 1)).toBeDefined();
  });

  it.each([
    ['git_hub', 'git_lab'],
    ['git_hub', undefined],
    [undefined, 'git_hub'],
  ])('the providerId %s of an OAuthProvider does not become %s', async (before, after) => {
    const path = '/apis/davit.dev/v1alpha1/namespaces/default/oauthproviders';
    const object = (providerId?: string): Spec => ({
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'OAuthProvider',
      metadata: { name: 'moving' },
      spec: provider(providerId === undefined ? {} : { providerId }),
    });
    expect(await door.call('POST', path, object(before))).toMatchObject({ status: 201 });
    const patch = { spec: { providerId: after ?? null } };
    const refused = await door.call('PATCH', `${path}/moving`, patch);
    expect([refused.status, refused.message]).toEqual([422, expect.stringContaining('providerId cannot be changed')]);
    expect(await door.call('DELETE', `${path}/moving`)).toMatchObject({ status: 200 });
  });

  it.each(['Git', 'a--b', 'a.b', 'a'.repeat(64)])('an OAuthProvider may not be called %s', async (name) => {
    expect((await write('OAuthProvider', provider(), name)).status).toBe(422);
  });
});
