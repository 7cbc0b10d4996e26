// P8: pages of the deployments of a tenant with 10,000 records, whole and by each filter, by the rate of requests: against
// bare Fastify that answers the same bytes, and against the API server's own live list. No two requests in a row ask for the
// same page.

import { requestedOf } from '../../../../src/deploy/record/requested.ts';
import { resolve } from '../../../../src/deploy/record/resolve.ts';
import { serialRevisionId } from '../../../../src/deploy/record/revision-id.ts';
import { defaultSettings } from '../../../../src/kinds/settings.ts';
import { type ApiObject, connectApi } from '../../../cluster/api-client.ts';
import { DAVIT_NAMESPACE, makeTenant, type Tenant } from '../../../support/platform.ts';
import { davit } from '../contenders/davit.ts';
import { putUnder, type Serving, startBare, startFacade } from '../facade.ts';
import type { Figure } from '../figures.ts';
import type { Loaded } from '../http-load.ts';
import { createRecords, inParallel, recordsPath } from '../load.ts';
import type { Bench, BenchServer, Measure } from '../measure.ts';
import { cpuMs, rssMiB } from '../processes.ts';
import { type BareRecord, recordIn } from '../records.ts';

const NAMESPACE = 'lists';
/** For each record of the bench's size, so that a whole run has 10,000. */
const RECORDS = 10;
const TAG = 'dddddddd-1111-4111-8111-111111111111';
const IN_FLIGHT = 32;
/** Of each path with each number of clients: nine samples a path. */
const MOST_REPEATS = 3;
/** Pages that are asked for in turn. */
const VARIANTS = 16;

export const facadeLists: Measure = {
  key: 'P8',
  goal: { atLeast: 0.5 },
  async run(bench) {
    await davit({ workers: bench.workers }).prepare?.(bench.say);
    return bench.onFreshServer({ tenants: [], controllers: true }, (server) => measure(bench, server));
  },
};

async function measure(bench: Bench, server: BenchServer): Promise<Figure[]> {
  const tenant = await makeTenant(server.cluster, NAMESPACE);
  const empty = await startFacade(bench, server);
  const emptyMiB = await rssMiB(empty.pid);
  await empty.stop();
  const count = bench.records * RECORDS;
  bench.say(`Making ${count} records, one in ten of them with a revision`);
  const made = await fill(server, count);
  const facade = await startFacade(bench, server);
  try {
    const freshMiB = await rssMiB(facade.pid);
    const figures = await compare(bench, server, tenant, facade, pathsOf(count, made));
    const pagesMiB = await rssMiB(facade.pid);
    const kilobytes = ((freshMiB - emptyMiB) * 1024) / count;
    return figures.map((figure, index) =>
      index > 0
        ? figure
        : {
            ...figure,
            absolutes: {
              ...figure.absolutes,
              records: count,
              listedMs: Math.round(facade.readyMs),
              rssEmptyMiB: Math.round(emptyMiB),
              rssMiB: Math.round(freshMiB),
              rssAfterMiB: Math.round(pagesMiB),
              kBPerRecord: Number(kilobytes.toFixed(2)),
            },
          },
    );
  } finally {
    await facade.stop();
  }
}

/** Records that filters tell apart; of each tenth a DEPLOYED revision and a status, as after its roll-out. */
async function fill({ cluster }: BenchServer, count: number): Promise<ApiObject[]> {
  const records = Array.from({ length: count }, (_, index) => filteredRecord(index));
  const made = await createRecords(cluster, records);
  // An admission policy lets nobody else make a revision.
  const token = await cluster.tokenFor(DAVIT_NAMESPACE, 'davit-controller');
  const controller = connectApi({ server: cluster.server, ca: cluster.ca, token });
  const tenth = made.filter((_, index) => index % 10 === 0);
  await inParallel(tenth, IN_FLIGHT, async (record, index) => {
    const { name, uid = '' } = record.metadata;
    const bare = records[index * 10] as BareRecord;
    const id = serialRevisionId(uid, 1);
    const revision = {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppRevision',
      metadata: { name: `${name}--${id.slice(0, 8)}`, labels: { 'davit.dev/deployment': name } },
      spec: {
        id,
        deploymentName: name,
        deploymentUid: uid,
        deploymentGeneration: 1,
        revisionSerial: 1,
        source: bare.spec.source,
        requested: requestedOf(bare.spec),
        resolved: resolve(bare.spec, defaultSettings()),
      },
    };
    await controller.call('POST', `/apis/davit.dev/v1alpha1/namespaces/${NAMESPACE}/apprevisions`, revision);
    const status = { state: 'READY', activeRevisionId: id, stateChangedAt: '2026-01-01T00:00:00Z' };
    const path = `${recordsPath(NAMESPACE)}/${name}/status`;
    await controller.call('PATCH', path, { status }, 'application/merge-patch+json');
  });
  controller.close();
  return made;
}

function filteredRecord(index: number): BareRecord {
  const record = recordIn(NAMESPACE, index);
  const labels = index % 100 === 0 ? { [`tag.davit.dev/${TAG}`]: '' } : {};
  const type = index % 5 === 0 ? { sourceConfig: { deploymentType: 'dev' as const } } : {};
  return { ...record, metadata: { ...record.metadata, labels }, spec: { ...record.spec, ...type } } as BareRecord;
}

/** What is asked, each time the next of these paths, by the name of its figure. */
function pathsOf(count: number, made: readonly ApiObject[]): [string, string[]][] {
  const id = (index: number): string => made[index % count]?.metadata.uid ?? '';
  const varied = (path: (nth: number) => string): string[] => Array.from({ length: VARIANTS }, (_, nth) => path(nth));
  const pages = (query: string, offset: (nth: number) => number): string[] =>
    varied((nth) => `/v2/deployments?limit=100${query}&offset=${offset(nth)}`);
  const filtered = (query: string): string[] => pages(query, (nth) => nth);
  return [
    ['page', pages('', (nth) => (nth * 100) % (count / 2))],
    ['deep', pages('', (nth) => count / 2 + ((nth * 100) % (count / 4)))],
    ['status', filtered('&status=READY')],
    ['deployment_type', filtered('&deployment_type=dev')],
    ['image_version', filtered('&image_version=3')],
    ['tag_value_ids', filtered(`&tag_value_ids=${TAG}`)],
    ['remote_reconciled', filtered('&remote_reconciled=false')],
    ['name', varied((nth) => `/v2/deployments?limit=100&name=shop-${7 + nth}`)],
    ['name_contains', filtered('&name_contains=shop-1')],
    ['name_contains_none', varied((nth) => `/v2/deployments?limit=100&name_contains=nowhere-${nth}`)],
    [
      'deployment_ids',
      varied((nth) => `/v2/deployments?limit=100&deployment_ids=${[1, 2, 3].map((k) => id(3 * nth + k)).join(',')}`),
    ],
    ['get', varied((nth) => `/v2/deployments/${id(nth)}`)],
  ];
}

async function compare(
  bench: Bench,
  server: BenchServer,
  tenant: Tenant,
  facade: Serving,
  paths: readonly [string, string[]][],
): Promise<Figure[]> {
  const headers = { authorization: `Bearer ${tenant.token}`, 'x-tenant-id': tenant.id };
  const bodies = new Map(
    await inParallel(
      paths.flatMap(([, varied]) => varied),
      IN_FLIGHT,
      async (path) => {
        const answer = await fetch(facade.url + path, { headers });
        return [path, await answer.text()] as const;
      },
    ),
  );
  const bare = await startBare(server, Object.fromEntries(bodies));
  const [seconds, warmUpSeconds] = bench.quick ? [0.5, 0.2] : [1.5, 0.3];
  const under = (serving: Serving, varied: readonly string[], clients: number): Promise<Loaded> => {
    const steps = varied.map((path) => ({ path }));
    return putUnder({ url: serving.url, steps, alternate: true, headers, clients, seconds, warmUpSeconds });
  };
  const figures: Figure[] = [];
  let live: Figure[] = [];
  try {
    for (const [name, varied] of paths) {
      const samples: number[] = [];
      const absolutes: Record<string, number> = {};
      for (const clients of bench.quick ? [10] : [1, 10, 50]) {
        for (let repeat = 0; repeat < Math.min(MOST_REPEATS, bench.repeats); repeat += 1) {
          const arms = repeat % 2 === 0 ? [facade, bare] : [bare, facade];
          const before = await cpuMs(facade.pid);
          const first = await under(arms[0] as Serving, varied, clients);
          const second = await under(arms[1] as Serving, varied, clients);
          const [ours, theirs] = repeat % 2 === 0 ? [first, second] : [second, first];
          const used = (await cpuMs(facade.pid)) - before;
          samples.push(ours.perSecond / theirs.perSecond);
          absolutes[`perSecond${clients}`] = Math.round(ours.perSecond);
          absolutes[`barePerSecond${clients}`] = Math.round(theirs.perSecond);
          absolutes[`p50Ms${clients}`] = Number(ours.p50Ms.toFixed(2));
          absolutes[`p99Ms${clients}`] = Number(ours.p99Ms.toFixed(2));
          // The warm-up is in it: a little too much rather than too little.
          absolutes[`cpuUs${clients}`] = Math.round((used * 1000) / ours.turns);
        }
      }
      const bytes = Math.round(varied.reduce((sum, path) => sum + (bodies.get(path)?.length ?? 0), 0) / varied.length);
      figures.push({ key: `P8.${name}`, goal: { atLeast: 0.5 }, samples, absolutes: { bytes, ...absolutes } });
    }
    live = await againstLive(bench, server, tenant, (clients) => under(facade, paths[0]?.[1] ?? [], clients));
  } finally {
    await bare.stop();
  }
  return [...figures, ...live];
}

/** The same caller asks the API server for as many records, and for all of them. */
async function againstLive(
  bench: Bench,
  { cluster }: BenchServer,
  tenant: Tenant,
  ours: (clients: number) => Promise<Loaded>,
): Promise<Figure[]> {
  const headers = { authorization: `Bearer ${tenant.token}`, accept: 'application/json' };
  const figures: Figure[] = [];
  for (const [name, query] of [
    ['live', '?limit=100'],
    ['live_whole', ''],
  ] as const) {
    const samples: number[] = [];
    let absolutes = {};
    for (let repeat = 0; repeat < bench.repeats; repeat += 1) {
      const mine = await ours(10);
      const theirs = await putUnder({
        url: cluster.server,
        ca: cluster.ca,
        steps: [{ path: recordsPath(NAMESPACE) + query }],
        headers,
        clients: 10,
        seconds: bench.quick ? 2 : 5,
      });
      samples.push(mine.perSecond / theirs.perSecond);
      absolutes = {
        perSecond: Math.round(mine.perSecond),
        livePerSecond: Number(theirs.perSecond.toFixed(1)),
        livePageBytes: Math.round(theirs.bytes / theirs.turns),
        liveP99Ms: Math.round(theirs.p99Ms),
      };
    }
    figures.push({ key: `P8.${name}`, goal: { atLeast: 20 }, samples, absolutes });
  }
  return figures;
}
