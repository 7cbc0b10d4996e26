// From nothing to pods that serve, for each source that is built or pushed, by the commands of docs/builds.md as they stand there;
// then what of it must do nothing, and which rights it took.

import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import { asked, granted, idle } from '../../support/audited-rights.ts';
import { CATALOGUE, ToRun } from '../../support/documents/catalogue.ts';
import { documentedCommands, scriptsOf } from '../../support/documents/documented.ts';
import { eventually } from '../../support/running-davit.ts';
import { administrator } from './gitea.ts';
import { BUILT_WITHIN_MS, type Ground, prepareGround, TEAM } from './ground.ts';
import { type Server, serve } from './servers.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the sources are left out`);

const toRun = new ToRun(documentedCommands(), 'builds');

interface Revision {
  readonly id: string;
  readonly status: string;
  readonly source_revision_config: { readonly repo_commit_sha: string | null };
}
interface Page<T> {
  readonly resources: readonly T[];
}
/** A webhook as the code host sent it. */
interface Delivery {
  readonly headers: Record<string, string>;
  readonly body: string;
}

describe.skipIf(!machine.ok)('the sources of docs/builds.md', { timeout: 2 * BUILT_WITHIN_MS }, () => {
  let ground: Ground;
  beforeAll(async () => {
    // Only webhooks tell of a push.
    ground = await prepareGround({ auditLog: true, pollSeconds: 0, progress: say });
  });
  afterAll(() => ground?.stop());

  /** Types lines in a shell of their own, without those that are to be run nowhere. */
  function type(...lines: readonly string[]): Promise<string> {
    const { shell, variables } = ground;
    return shell.run(['export KUBECONFIG="$PLUGIN_KUBECONFIG"', ...lines], variables);
  }

  /** The commands of a source, after those that all sources share, without those that another test runs, and the build of the plugin. */
  function commandsFor(source: string): string[] {
    const [shared = ''] = scriptsOf('docs/builds.md', '## From a clean clone to READY').filter((one) =>
      one.startsWith('call()'),
    );
    const own = scriptsOf('docs/builds.md', `### ${source}`);
    expect(own.length).toBeGreaterThan(0);
    return [shared, ...own].flatMap((block) =>
      block.split('\n').filter((line) => !(line in CATALOGUE) && line !== 'npm run build'),
    );
  }

  async function revisionsOf(name: string): Promise<readonly Revision[]> {
    const [deployment] = (await ground.call<Page<{ id: string }>>('GET', `/v2/deployments?name=${name}`)).resources;
    return (await ground.call<Page<Revision>>('GET', `/v2/deployments/${deployment?.id}/revisions`)).resources;
  }

  it('a repository is built, and each push that a signed webhook tells of', async () => {
    const out = await type(...commandsFor('codehost'));
    expect(out.trim().split('\n')).toEqual([
      `${ground.builds.gitea.url}/${administrator}/shop.git`,
      'READY',
      'the first version',
      'secret/gitea patched',
      'gitea',
      'READY',
      'the second version',
    ]);
    const revisions = await revisionsOf('shop');
    expect(revisions.map(({ status }) => status)).toEqual(['DEPLOYED', 'DEPLOYED']);
  });

  it('a delivery that comes again, or that was changed, does nothing', async () => {
    const { builds, cluster } = ground;
    const { data } = JSON.parse(await cluster.kubectl(['get', 'secret', 'gitea', '-n', 'davit-org', '-o', 'json'])) as {
      data: Record<string, string>;
    };
    const secret = Buffer.from(data['webhook-secret'] ?? '', 'base64').toString();
    const deliveries: Delivery[] = [];
    const receiver: Server = await serve(cluster.hostAddress, async (request, response) => {
      deliveries.push({ headers: request.headers as Record<string, string>, body: await text(request) });
      response.end();
    });
    try {
      const config = { url: receiver.url, content_type: 'json', secret };
      const hook = { type: 'gitea', active: true, events: ['push'], config };
      await builds.gitea.call('POST', `/repos/${administrator}/shop/hooks`, hook);
      const commit = await builds.gitea.commit('shop', { 'README.md': 'The third version.\n' });
      await eventually(async () => {
        const [newest] = await revisionsOf('shop');
        expect(newest).toMatchObject({ status: 'DEPLOYED', source_revision_config: { repo_commit_sha: commit } });
      }, BUILT_WITHIN_MS);
      await eventually(async () => expect(deliveries).toHaveLength(1));
    } finally {
      await receiver.close();
    }
    const [delivery] = deliveries;
    if (delivery === undefined) throw new Error('nothing was delivered');
    const webhook = `${builds.platform.apiUrl}/v1/integrations/forge/codehost/${builds.integrationId}/webhook`;
    const signed = Object.fromEntries(Object.entries(delivery.headers).filter(([name]) => name.startsWith('x-')));
    const send = async (headers: Record<string, string>, body: string): Promise<number> =>
      (await fetch(webhook, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }))
        .status;
    const versions = async (): Promise<string> =>
      ground.kubectl('get', 'appd,appr', '-o', 'jsonpath={.items[*].metadata.resourceVersion}') as Promise<string>;
    const jobs = (): Promise<string> => cluster.kubectl(['get', 'jobs', '-n', 'davit-builds', '-o', 'name']);
    const before = [await versions(), await jobs()];
    const other = delivery.body.replaceAll('refs/heads/main', 'refs/heads/other');
    expect(other).not.toBe(delivery.body);
    const sent = [
      await send(signed, delivery.body),
      await send(signed, delivery.body),
      await send(signed, other),
      await send({ 'x-gitea-event': 'push' }, delivery.body),
    ];
    expect(sent).toEqual([202, 202, 401, 401]);
    // The controller asks the code host within a second of being told.
    await new Promise((resolve) => setTimeout(resolve, 8000));
    expect([await versions(), await jobs()]).toEqual(before);
    await ground.clear();
  });

  it('a folder is deployed by the plugin, and uploaded with curl', async () => {
    const out = await type(...commandsFor('internal_source'));
    expect(out).toContain(`In the cluster: http://agent.${TEAM}.svc   From here: kubectl davit open agent`);
    expect(out.match(/^the first version$/gm)).toHaveLength(2);
    await ground.clear();
  });

  it('an image is pushed by a published client', async () => {
    const out = await type(...commandsFor('internal_docker'));
    expect(out.trim().split('\n').slice(-2)).toEqual(['READY', 'the first version']);
    await ground.clear();
  });

  it('templates are deployed: an image, and a repository that is built', async () => {
    const out = await type(...commandsFor('internal_template'));
    expect(out.match(/^READY$/gm)).toHaveLength(2);
    expect(out).toContain('\nthe first version\n');
    await ground.clear();
  });

  it('the other commands of the documents', async () => {
    const reach = 'export DAVIT_SERVER="$API" DAVIT_TOKEN="$TOKEN"';
    const take = (line: string): string =>
      toRun.take(line, { NAME: 'agent', FOLDER: './agent', ACCOUNT: 'team', REVISION_ID: '"$REVISION"' });
    const deployed = await type(
      reach,
      'cp -r docs/example/. agent',
      take('kubectl davit deploy ./agent --name agent'),
      take('kubectl davit deploy FOLDER'),
      take('kubectl davit logs NAME --build'),
      take('kubectl get appr'),
      take('kubectl create token ACCOUNT'),
    );
    expect(deployed).toMatch(/^agent--[0-9a-f]{8} /m);
    // A build that is interrupted while its log is followed.
    const interrupted = await type(
      reach,
      `sed -i 's/"dockerfile_lines": ./&"RUN sleep 300", /' agent/langgraph.json`,
      'kubectl davit deploy agent > deploy.log 2>&1 & DEPLOYING=$!',
      `until REVISION=$(kubectl get appr -o jsonpath='{.items[?(@.status.state=="BUILDING")].spec.id}') && [ -n "$REVISION" ]; do sleep 1; done`,
      `${take('kubectl davit logs NAME --build --follow')} & FOLLOWING=$!`,
      'until grep -q "sleep 300" deploy.log; do sleep 1; done',
      take('kubectl annotate appd NAME davit.dev/interrupt=REVISION_ID'),
      'wait "$FOLLOWING"',
      'wait "$DEPLOYING" || echo "deploy ended with $?"',
      'cat deploy.log >&2; tail -n 1 deploy.log',
    );
    expect(interrupted).toContain('sleep 300');
    expect(interrupted).toMatch(
      /deploy ended with 1\nagent will not become ready on its own: The build was interrupted/,
    );
    await type(take('kubectl rollout restart statefulset/davit-registry -n davit-system'));
    expect([...toRun.left]).toEqual([]);
    await ground.clear();
  });

  describe('the rights that all this took', () => {
    it('were all granted', async () => {
      for (const account of ['davit-controller', 'davit-api'])
        expect([account, ...(await asked(ground.cluster, account)).refused]).toEqual([account]);
    });

    it('are those that are granted for builds and for the registry', async () => {
      const { cluster } = ground;
      const unused = async (account: string, ...roles: readonly (readonly [string, string])[]): Promise<string[]> => {
        const { used } = await asked(cluster, account);
        return idle(await granted(cluster, ...roles.map(([where, role]) => ['-n', where, 'role', role])), used);
      };
      expect(await unused('davit-controller', ['davit-builds', 'davit-controller-builds'])).toEqual([]);
      expect(
        await unused('davit-api', ['davit-builds', 'davit-api-builds'], ['davit-system', 'davit-api-own']),
      ).toEqual([
        // The next key, after half a year.
        'patch /secrets',
      ]);
    });
  });
});
