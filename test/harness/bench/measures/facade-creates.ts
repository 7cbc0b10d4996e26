// P9: how long a POST takes, by its slowest hundredth, against the three writes that it needs made by a plain client: the
// dry run, the Secret and the record, one after the other.

import { makeTenant, type Tenant } from '../../../support/platform.ts';
import { davit } from '../contenders/davit.ts';
import { inTurns, putUnder, type Serving, startFacade } from '../facade.ts';
import type { Figure } from '../figures.ts';
import type { Load, Loaded } from '../http-load.ts';
import { recordsPath } from '../load.ts';
import type { Bench, BenchServer, Measure } from '../measure.ts';
import { rssMiB } from '../processes.ts';
import { recordIn } from '../records.ts';

const NAMESPACE = 'creates';
const LONGEST_SECONDS = 60;

export const facadeCreates: Measure = {
  key: 'P9',
  goal: { atMost: 1.2 },
  async run(bench) {
    await davit({ workers: bench.workers }).prepare?.(bench.say);
    return bench.onFreshServer({ tenants: [], controllers: true }, async (server) => {
      const tenant = await makeTenant(server.cluster, NAMESPACE);
      const facade = await startFacade(bench, server);
      try {
        return await measure(bench, server, tenant, facade);
      } finally {
        await facade.stop();
      }
    });
  },
};

async function measure(bench: Bench, server: BenchServer, tenant: Tenant, facade: Serving): Promise<Figure[]> {
  const figures: Figure[] = [];
  let round = 0;
  for (const clients of bench.quick ? [1, 50] : [1, 10, 50]) {
    const samples: number[] = [];
    let absolutes = {};
    const load = { clients, turns: bench.quick ? 200 : 500, seconds: LONGEST_SECONDS };
    for (let repeat = 0; repeat < bench.repeats; repeat += 1) {
      round += 1;
      const before = await rssMiB(facade.pid);
      const posts = (): Promise<Loaded> => putUnder({ ...load, ...postsTo(facade, tenant, `post-${round}`) });
      const writes = (): Promise<Loaded> => putUnder({ ...load, ...writesTo(server, tenant, `bare-${round}`) });
      const [ours, theirs] = await inTurns(repeat, posts, writes);
      samples.push(ours.p99Ms / theirs.p99Ms);
      absolutes = {
        p50Ms: Number(ours.p50Ms.toFixed(1)),
        p99Ms: Number(ours.p99Ms.toFixed(1)),
        bareP50Ms: Number(theirs.p50Ms.toFixed(1)),
        bareP99Ms: Number(theirs.p99Ms.toFixed(1)),
        perSecond: Math.round(ours.perSecond),
        barePerSecond: Math.round(theirs.perSecond),
        fewestOfAClient: ours.perClient[0],
        mostOfAClient: ours.perClient[1],
        rssMiB: Math.round(await rssMiB(facade.pid)),
        rssBeforeMiB: Math.round(before),
      };
    }
    figures.push({ key: `P9.clients${clients}`, goal: { atMost: 1.2 }, samples, absolutes });
  }
  return figures;
}

type Work = Pick<Load, 'url' | 'steps' | 'headers' | 'ca'>;

function postsTo({ url }: Serving, { id, token }: Tenant, prefix: string): Work {
  const body = {
    name: `${prefix}-{n}`,
    source: 'external_docker',
    source_config: {},
    source_revision_config: { image_uri: 'registry.example/shop:1' },
    secrets: [{ name: 'API_KEY', value: 'a value' }],
  };
  return {
    url,
    headers: { authorization: `Bearer ${token}`, 'x-tenant-id': id },
    steps: [{ method: 'POST', path: '/v2/deployments', body: JSON.stringify(body) }],
  };
}

function writesTo({ cluster }: BenchServer, { token }: Tenant, prefix: string): Work & { readonly ca: string } {
  const name = `${prefix}-{n}`;
  const record = recordIn(NAMESPACE, 0);
  const secretName = `${name}--vars-0123456789`;
  const secrets = [{ name: 'API_KEY', secretName, secretKey: 'API_KEY' }];
  const body = JSON.stringify({ ...record, metadata: { name }, spec: { ...record.spec, secrets } });
  const secret = {
    metadata: { name: secretName, labels: { 'davit.dev/deployment': name, 'davit.dev/variables': '' } },
    immutable: true,
    stringData: { API_KEY: 'a value' },
  };
  const path = recordsPath(NAMESPACE);
  return {
    url: cluster.server,
    ca: cluster.ca,
    headers: { authorization: `Bearer ${token}` },
    steps: [
      { method: 'POST', path: `${path}?dryRun=All`, body },
      { method: 'POST', path: `/api/v1/namespaces/${NAMESPACE}/secrets`, body: JSON.stringify(secret) },
      { method: 'POST', path, body },
    ],
  };
}
