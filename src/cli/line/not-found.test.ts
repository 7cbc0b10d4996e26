// What is said of a deployment or a namespace that is not there, to callers with and without the right to look at namespaces.

import { describe, expect, it } from 'vitest';
import { aRecord, runCli } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { Forbidden } from '../../runtime/errors.ts';
import { NAMESPACES } from '../../runtime/kube/api-resources.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { Failure, type Kubectl } from '../transport/kubectl.ts';
import { RECORDS } from '../transport/records.ts';

interface Stage {
  /** Labels of the namespace; null: there is none; undefined: the caller may not look. */
  readonly labels?: Readonly<Record<string, string>> | null | undefined;
  /** Namespace of the kubeconfig's context; null: it has no context. */
  readonly context?: string | null;
  /** The deployments that there are; undefined: the caller may not list them. */
  readonly names?: readonly string[];
}

const TENANT = { 'davit.dev/tenant': 'true' };

function cluster({ labels, context = 'team', names }: Stage): Kubectl {
  return async ([verb, resource = '', name = '']) => {
    if (verb === 'config')
      return JSON.stringify({ contexts: context === null ? null : [{ context: { namespace: context } }] });
    // An empty list of pods is what `exec` gets of a deployment that is not there.
    if (resource === 'pods') return '{"items": []}';
    if (resource === 'namespace') {
      if (labels === undefined) throw new Failure('Error from server (Forbidden): namespaces is forbidden');
      return labels === null ? '' : JSON.stringify({ metadata: { name, labels } });
    }
    if (resource === RECORDS && name === '-o') {
      if (names === undefined) throw new Failure('Error from server (Forbidden): no list');
      return names.map((one) => `appdeployment.davit.dev/${one}\n`).join('');
    }
    throw new Failure(`Error from server (NotFound): ${RECORDS} "${name}" not found`);
  };
}

describe('a deployment that is not there', () => {
  it.each<[what: string, stage: Stage, args: readonly string[], says: string]>([
    [
      'has a near name',
      { labels: TENANT, names: ['shop', 'agent'] },
      [],
      'There is no deployment shpo in namespace team. Did you mean shop? To list all: kubectl davit status',
    ],
    [
      'has none',
      { labels: TENANT, names: ['agent'] },
      ['-n', 'other'],
      'There is no deployment shpo in namespace other. To list all: kubectl davit status --namespace=other',
    ],
    [
      'is requested by a caller who may look at nothing else',
      {},
      [],
      'There is no deployment shpo in namespace team. To list all: kubectl davit status',
    ],
    [
      'is asked for in a pod, which has no kubeconfig',
      { context: null, names: ['shop'] },
      [],
      'There is no deployment shpo. Did you mean shop? To list all: kubectl davit status',
    ],
    [
      'is asked for in a namespace that is not there',
      { labels: null },
      ['-n', 'nope'],
      'There is no namespace nope. Name another one with --namespace.',
    ],
    [
      'is asked for in one that is no tenant',
      { labels: {} },
      [],
      'Namespace team is not a tenant, so Davit runs nothing in it. A cluster administrator can make it one: kubectl label namespace team davit.dev/tenant=true',
    ],
  ])('%s', async (_what, stage, args, says) => {
    const ran = await runCli(['exec', 'shpo', ...args, '--', 'true'], { kubectl: cluster(stage) });
    expect(ran).toMatchObject({ code: 1, out: '', err: says });
  });

  it('says the same to a program, over the HTTP API', async () => {
    const ran = await makeOwnCli({ record: aRecord() }).run(['status', 'shpo', '-o', 'json']);
    expect(JSON.parse(ran.out)).toEqual({
      error: 'There is no deployment shpo in namespace team. Did you mean shop? To list all: kubectl davit status',
      exitCode: 1,
    });
  });
});

describe('the list of a namespace without deployments', () => {
  const listed = (labels: object | null): ReturnType<typeof makeOwnCli> => {
    const cli = makeOwnCli();
    const [there] = cli.kube.objects(NAMESPACES);
    if (labels === null) cli.kube.erase(NAMESPACES, { name: 'team' });
    else cli.kube.seed(NAMESPACES, { ...there, metadata: { ...there?.metadata, labels } } as KubeObject);
    return cli;
  };
  const unusable = /^Namespace team does not exist, is not a tenant, or you have no role there\. /;

  it.each<[what: string, labels: object | null, code: number, err: RegExp]>([
    ['that is a tenant', TENANT, 0, /^No deployments in namespace team yet\.\nTo deploy a folder: /],
    ['that is not there', null, 1, unusable],
    ['that is no tenant', {}, 1, unusable],
  ])('%s', async (_what, labels, code, err) => {
    const ran = await listed(labels).run(['status']);
    expect([ran.code, ran.out]).toEqual([code, '']);
    expect(ran.err).toMatch(err);
    const json = await listed(labels).run(['status', '-o', 'json']);
    expect(json.code).toBe(code);
    expect(JSON.parse(json.out)).toEqual(code === 0 ? [] : { error: ran.err, exitCode: 1 });
  });

  it('whose namespace nobody may look at is one all the same', async () => {
    const cli = listed(TENANT);
    cli.kube.failOn(({ verb, kind }) => (verb === 'get' && kind === 'Namespace' ? new Forbidden('get') : undefined));
    expect(await cli.run(['status'])).toMatchObject({ code: 0, out: '' });
  });
});

describe('a namespace whose deployments the caller may not read', () => {
  const says =
    'Namespace default does not exist, is not a tenant, or you have no role there. Name another one with --namespace, or ask for davit-viewer or davit-editor in it.';
  /** As kubectl says it. */
  const refusing: Kubectl = async ([verb = '', resource = '', name = '']) => {
    if (verb !== 'get') throw new Failure('Error from server (Forbidden): you may not');
    const [plural = '', ...group] = resource.split('.');
    const [what, does] = name === '' || name.startsWith('-') ? ['', 'list'] : [` "${name}"`, 'get'];
    throw new Failure(
      `Error from server (Forbidden): ${resource}${what} is forbidden: User "jane" cannot ${does} resource "${plural}" in API group "${group.join('.')}" in the namespace "default"`,
    );
  };

  it.each([['exec', 'shop', '--', 'true']].map((args) => [args] as const))('%j says so', async (args) => {
    const ran = await runCli(args, { kubectl: refusing });
    // What kubectl prints on the terminal would stand before it.
    expect(ran).toMatchObject({ code: 1, out: '', err: says, onTerminal: [] });
  });

  it.each([
    [['status']],
    [['status', 'shop']],
    [['run', 'shop', '--', 'true']],
    [['wait', 'shop']],
    [['logs', 'shop']],
    [['clone', 'shop', '--to', 'shop-2']],
    [['backups', 'shop']],
    [['delete', 'shop', '--yes']],
    [['env', 'shop', 'list']],
    [['secrets', 'shop', 'list']],
    [['secrets', 'shop', 'set', 'A']],
  ])('%j says so over the HTTP API', async (args) => {
    const cli = makeOwnCli({ record: aRecord() });
    cli.kube.allow(() => false);
    const ran = await cli.run(args, { input: 'x' });
    expect(ran).toMatchObject({ code: 1, out: '', err: says.replace('default', 'team') });
  });

  it('keeps the words about what the caller may not change', async () => {
    const words =
      'Error from server (Forbidden): appdeployments.davit.dev "shop" is forbidden: User "jane" cannot patch resource "appdeployments" in API group "davit.dev" in the namespace "default"';
    const kubectl: Kubectl = async () => {
      throw new Failure(words);
    };
    expect(await runCli(['exec', 'shop', '--', 'true'], { kubectl })).toMatchObject({ code: 1, err: words });
  });
});

describe('a cluster that cannot be asked', () => {
  const failing =
    (words: string): Kubectl =>
    async () => {
      throw new Failure(words);
    };
  const MISSING = 'kubectl could not be started: spawn kubectl ENOENT';
  // What kubectl says without a kubeconfig.
  const NOWHERE =
    'E1128 15:00:00.000000 1 memcache.go:265] "Unhandled Error" err="couldn\'t get current server API group list"\nThe connection to the server localhost:8080 was refused - did you specify the right host or port?';
  const ENVIRONMENT = { DAVIT_SERVER: 'https://davit.example.com', DAVIT_TOKEN: 'x' };

  it.each([
    [['exec', 'shop', '--', 'true']],
    [['listener', 'join', 'edge']],
    [['listener', 'revoke', 'edge']],
    [['open', 'shop', '--port', '8080']],
  ])('%j says that it needs the kubeconfig, although there are an address and a token', async (args) => {
    for (const words of [MISSING, NOWHERE]) {
      expect(await runCli(args, { kubectl: failing(words), environment: ENVIRONMENT })).toMatchObject({
        code: 1,
        out: '',
        err: `${args[0]} needs kubectl and a kubeconfig: Davit's HTTP API cannot do this. Name the kubeconfig with --kubeconfig or KUBECONFIG.`,
        onTerminal: [],
      });
    }
  });

  it('is named, or its HTTP API, for a command that takes either', async () => {
    const ran = await runCli(['open', 'shop', '-n', 'team'], { kubectl: failing(NOWHERE) });
    expect(ran).toMatchObject({
      code: 1,
      err: "open needs kubectl and a kubeconfig, or the address of Davit's HTTP API and a token. Name the kubeconfig with --kubeconfig or KUBECONFIG, or the address with --server or DAVIT_SERVER and the token with --token or DAVIT_TOKEN.",
    });
  });

  it.each([
    [['exec', 'shop', '--', 'true'], 'appdeployments'],
    [['listener', 'join', 'edge'], 'listeners'],
    [['open', 'shop'], 'appdeployments'],
  ])('%j says that Davit is not installed', async (args, plural) => {
    const kubectl: Kubectl = async ([, resource]) => {
      if (resource === 'pods') return '{"items": []}';
      throw new Failure(`error: the server doesn't have a resource type "${plural}"`);
    };
    expect(await runCli(args, { kubectl })).toMatchObject({
      code: 1,
      out: '',
      err: 'Davit is not installed in this cluster. If another cluster has Davit, select that cluster with --context or --kubeconfig.',
    });
  });
});
