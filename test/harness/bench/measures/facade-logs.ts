// P16: a page of logs of 20 pods of 10 containers that wrote 4 MiB each: memory that the facade grows by, and how long
// others' requests take meanwhile, against calm. Pages by turns of the newest lines and of a level that no line has, for
// which everything is read that a page may cost.

import { makeTenant, type Tenant } from '../../../support/platform.ts';
import { davit } from '../contenders/davit.ts';
import { putUnder, type Serving, startFacade } from '../facade.ts';
import type { Figure } from '../figures.ts';
import type { Loaded } from '../http-load.ts';
import { createRecords } from '../load.ts';
import { startLogServer } from '../log-source.ts';
import type { Bench, BenchServer, Measure } from '../measure.ts';
import { rssMiB } from '../processes.ts';
import { recordIn } from '../records.ts';

const NAMESPACE = 'logs';
const WRITTEN = { pods: 20, containers: 10, mebibytes: 4 };
const CLIENTS = 4;
const SAMPLED_MS = 20;

export const facadeLogs: Measure = {
  key: 'P16',
  goal: { atMost: 2 },
  async run(bench) {
    await davit({ workers: bench.workers }).prepare?.(bench.say);
    return bench.onFreshServer({ tenants: [] }, (server) => measure(bench, server));
  },
};

async function measure(bench: Bench, server: BenchServer): Promise<Figure[]> {
  const tenant = await makeTenant(server.cluster, NAMESPACE);
  const made = await createRecords(
    server.cluster,
    Array.from({ length: 100 }, (_, index) => recordIn(NAMESPACE, index)),
  );
  const source = await startLogServer(server.cluster, { namespace: NAMESPACE, ...WRITTEN });
  try {
    const facade = await startFacade(bench, server, source.url);
    try {
      return await compare(bench, facade, tenant, made[0]?.metadata.uid ?? '');
    } finally {
      await facade.stop();
    }
  } finally {
    await source.stop();
  }
}

async function compare(bench: Bench, facade: Serving, tenant: Tenant, id: string): Promise<Figure[]> {
  const headers = { authorization: `Bearer ${tenant.token}`, 'x-tenant-id': tenant.id };
  const load = (): Promise<Loaded> =>
    putUnder({
      url: facade.url,
      steps: [{ path: '/v2/deployments?limit=20' }],
      headers,
      clients: CLIENTS,
      seconds: bench.quick ? 3 : 10,
      warmUpSeconds: 0.5,
    });
  const page = async (body: object): Promise<boolean> => {
    const answer = await fetch(`${facade.url}/v1/projects/${id}/deploy_logs`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (answer.status !== 200) throw new Error(`a page of logs: ${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as { truncated: boolean }).truncated;
  };
  const ratios: number[] = [];
  const grown: number[] = [];
  let absolutes: Record<string, number> = {};
  await load();
  for (let repeat = 0; repeat < bench.repeats; repeat += 1) {
    const calm = await load();
    const before = await rssMiB(facade.pid);
    let peak = before;
    let isOver = false;
    const sampled = (async () => {
      while (!isOver) {
        peak = Math.max(peak, await rssMiB(facade.pid));
        await new Promise((resolve) => setTimeout(resolve, SAMPLED_MS));
      }
    })();
    let pages = 0;
    let truncated = 0;
    const read = (async () => {
      for (; !isOver; pages += 1) if (await page(pages % 2 === 0 ? { level: 'CRITICAL' } : {})) truncated += 1;
    })();
    const busy = await load();
    isOver = true;
    await Promise.all([sampled, read]);
    ratios.push(busy.p99Ms / calm.p99Ms);
    grown.push(peak - before);
    absolutes = {
      pages,
      truncated,
      calmP99Ms: Number(calm.p99Ms.toFixed(2)),
      busyP99Ms: Number(busy.p99Ms.toFixed(2)),
      calmPerSecond: Math.round(calm.perSecond),
      busyPerSecond: Math.round(busy.perSecond),
      rssMiB: Math.round(before),
    };
  }
  return [
    { key: 'P16.memory', goal: { atMost: 64 }, samples: grown, absolutes: { ...absolutes, unit: 'MiB' } },
    { key: 'P16.others', goal: { atMost: 2 }, samples: ratios, absolutes },
  ];
}
