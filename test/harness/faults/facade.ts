// The facade killed between its writes, or left without an answer: a client that tries again until it is told how it
// stands, and what must be true of the cluster then. A lane of its own beside run.ts: here it is the caller who acts, and
// the controller that is left in peace.

import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { TASK_LABEL } from '../../../src/kinds/meta.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { Tenant } from '../../support/platform.ts';
import type { Fault } from './fault.ts';
import { LEASE_MS, makeRunFolder, makeRunTenant } from './ground.ts';
import type { Violation } from './invariants.ts';
import type { Census, Seen } from './object-history.ts';
import type { Actor, Trace } from './proxy/trace.ts';
import { startProxy } from './proxy.ts';
import { type Cast, startCast } from './run-processes.ts';
import { startWith } from './seeded-start.ts';
import { IMAGES, NotConverged, RECORD } from './workloads/stage.ts';

export interface FacadePlan {
  readonly workload: 'http';
  readonly fault: Fault;
  /** A bug that is put into both processes for this plan (mutants.ts). */
  readonly seed?: string;
}

const PATIENCE_MS = 30_000;
const RETRY_MS = 150;
/** Longer than the collector waits for the record of a Secret, as mutants.ts has it. */
const GRACE_MS = 5000;
/** Sent as values of secrets; may be in Secrets and answers, and nowhere else. */
const CANARIES = ['canary-one-9f1c', 'canary-two-77ab', 'canary-three-c04e'] as const;
const ACTORS: readonly Actor[] = ['a', 'facade'];
/** Runs when somebody asks. */
const TASK = 'reindex';
const ONE_RUN = { 'idempotency-key': 'one-run' };

/** One answer of the facade, or why there was none. */
export interface Attempt {
  readonly what: string;
  readonly status: number | 'no answer';
}

interface FacadeRun {
  readonly trace: Trace;
  readonly cast: Cast;
  readonly attempts: readonly Attempt[];
  readonly stuck: string | undefined;
  /** As it stood when all had been said and the collector had had its time; before the deletion. */
  readonly settled: readonly Seen[];
  readonly history: readonly { readonly kind: string; readonly object: Seen }[];
  readonly left: readonly string[];
  readonly accidents: number;
  readonly told: string;
}

/** Every plan of the facade, given the labels of its writes. */
export function facadePlans(labels: readonly string[]): FacadePlan[] {
  return facadeFaults(labels).map((fault) => ({ workload: 'http', fault }));
}

/** Killed before, at and after each of these writes, or told wrong about it. */
export function facadeFaults(labels: readonly string[]): Fault[] {
  return labels.flatMap((at): Fault[] => [
    { kind: 'crash-before', at },
    { kind: 'crash-lost', at },
    { kind: 'crash-after', at },
    { kind: 'lost', at },
    { kind: 'refused', at, status: 500 },
    { kind: 'refused', at, status: 503 },
    { kind: 'refused-committed', at, status: 500 },
  ]);
}

/** The labels of the facade's writes in an undisturbed run, which must itself be without blame. */
export async function learnFacade(cluster: Cluster, census: Census): Promise<readonly string[]> {
  const run = await runFacade({ workload: 'http', fault: { kind: 'none' } }, cluster, census);
  const wrong = judgeFacade(run);
  if (wrong.length > 0) throw new Error(`undisturbed, the facade: ${wrong.map(({ what }) => what).join('; ')}`);
  return run.trace.writes.filter(({ actor }) => actor === 'facade').map(({ label }) => label);
}

export async function runFacadePlan(
  plan: FacadePlan,
  cluster: Cluster,
  census: Census,
): Promise<{ readonly violations: Violation[]; readonly fired: boolean }> {
  const run = await runFacade(plan, cluster, census);
  return { violations: judgeFacade(run), fired: run.trace.fired };
}

let serial = 0;

async function runFacade({ fault, seed }: FacadePlan, cluster: Cluster, census: Census): Promise<FacadeRun> {
  serial += 1;
  const namespace = `http-${process.pid}-${serial}`;
  const tenant = await makeRunTenant(cluster, namespace);
  const proxy = await startProxy({
    server: cluster.server,
    ca: cluster.ca,
    fault,
    leaseMs: LEASE_MS,
    actors: ACTORS,
    kill: (actor, signal) => cast.kill(actor, signal),
    pause: (actor, ms) => cast.pause(actor, ms),
    atWrite: () => Promise.resolve(),
  });
  const folder = await makeRunFolder(cluster, { namespace, authority: proxy.ca });
  const cast = await startCast(ACTORS, {
    cluster,
    proxy,
    namespace,
    directory: folder.directory,
    keys: await folder.keysOf('davit-controller'),
    facadeKeys: await folder.keysOf('davit-api'),
    leaseMs: LEASE_MS,
    ...startWith({ seeds: ['SHORT_GRACE', ...(seed === undefined ? [] : [seed])] }),
    letItEnd: false,
  });
  const attempts: Attempt[] = [];
  const settled: Seen[] = [];
  const client = makeClient(cast, tenant, attempts);
  let stuck: string | undefined;
  try {
    await useApi(client, census, namespace, proxy.enter, settled);
  } catch (error) {
    if (!(error instanceof NotConverged)) throw error;
    stuck = error.message;
  }
  const accidents = cast.starts() - ACTORS.length - cast.kills();
  await cast.stop();
  proxy.close();
  const logs = await Promise.all(cast.logs.map((log) => readFile(log, 'utf8')));
  const run: FacadeRun = {
    trace: proxy.trace,
    cast,
    attempts,
    stuck,
    settled,
    history: census.history(namespace),
    left: secretsOfValues(census, namespace).map(({ metadata }) => metadata.name),
    accidents,
    told: logs.join(''),
  };
  await folder.remove();
  await cluster.api.call('DELETE', `/api/v1/namespaces/${namespace}`).catch(() => undefined);
  census.forget(namespace);
  return run;
}

interface Client {
  /** Tries until there is an answer below 500; the last status, and the parsed body. */
  call(
    method: string,
    path: string,
    body?: object,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ readonly status: number; readonly body: Body }>;
}

interface Body {
  readonly id: string;
  readonly resources: readonly Body[];
  /** The name of the Job, of a run. */
  readonly job?: string;
}

export function makeClient(cast: Cast, tenant: Tenant, attempts: Attempt[]): Client {
  const headers = { authorization: `Bearer ${tenant.token}`, 'x-tenant-id': tenant.id };
  type More = Readonly<Record<string, string>>;
  async function once(method: string, path: string, body?: object, more?: More): Promise<Response | undefined> {
    try {
      return await fetch(`${cast.facadeUrl()}${path}`, {
        method,
        headers: { ...headers, ...(body && { 'content-type': 'application/json' }), ...more },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(10_000),
      });
    } catch {
      return undefined;
    }
  }
  return {
    async call(method, path, body, more) {
      const what = `${method} ${path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')}`;
      const end = performance.now() + PATIENCE_MS;
      while (performance.now() < end) {
        const response = await once(method, path, body, more);
        const text = await response?.text().catch(() => undefined);
        attempts.push({ what, status: response === undefined || text === undefined ? 'no answer' : response.status });
        if (response !== undefined && text !== undefined && response.status < 500 && response.status !== 429)
          return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Body };
        await sleep(RETRY_MS);
      }
      throw new NotConverged(`${what}: no answer in ${PATIENCE_MS / 1000} s`);
    },
  };
}

/** Makes a deployment, changes it, deploys it again, goes back, runs a task of it, deletes it. */
async function useApi(
  { call }: Client,
  census: Census,
  namespace: string,
  enter: (phase: string) => void,
  settled: Seen[],
): Promise<void> {
  const recordNow = (): Seen | undefined =>
    census.current(namespace).find(({ kind }) => kind === 'AppDeployment')?.object;
  const untilReady = (what: string): Promise<void> =>
    until(`${what}: Ready`, () => {
      const record = recordNow();
      const conditions = (record?.status?.conditions ?? []) as { type: string; status: string }[];
      const ready = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
      return ready && record?.status?.observedGeneration === record?.metadata.generation;
    });
  enter('post');
  const made = await call('POST', '/v2/deployments', {
    name: RECORD,
    source: 'external_docker',
    source_config: { tasks: [{ name: TASK, command: ['reindex'] }] },
    source_revision_config: { image_uri: IMAGES[0] },
    secrets: [{ name: 'KEY', value: CANARIES[0] }],
  });
  // Who was not answered and tries again learns that it is there, and finds it by its name.
  const found =
    made.status === 201 ? made.body : (await call('GET', `/v2/deployments?name=${RECORD}`)).body.resources[0];
  if (found === undefined) throw new NotConverged(`POST was answered with ${made.status}, and nothing is there`);
  const path = `/v2/deployments/${found.id}`;
  await untilReady('post');
  enter('patch');
  const changes = { source_revision_config: { image_uri: IMAGES[1] }, secrets: [{ name: 'KEY', value: CANARIES[1] }] };
  await call('PATCH', path, changes);
  await untilReady('patch');
  enter('put');
  await call('PUT', `${path}/secrets/KEY?secrets=names`, { value: CANARIES[2] });
  await untilReady('put');
  enter('deploy');
  await call('POST', `${path}/revisions`, {});
  await untilReady('deploy');
  enter('redeploy');
  const first = (await call('GET', `${path}/revisions`)).body.resources.at(-1);
  await call('POST', `${path}/revisions/${first?.id}/redeploy`);
  await untilReady('redeploy');
  enter('run');
  // Who was not answered asks for the same run.
  const runs = [await askToRun(call, path), await askToRun(call, path)];
  const jobs = new Set(jobsOfTask(census.history(namespace)));
  if (jobs.size !== 1 || runs.some((job) => job === undefined || !jobs.has(job)))
    throw new NotConverged(
      `run: the answers named ${runs.join(' and ')}, and ${[...jobs].join(', ') || 'no Job'} was made`,
    );
  await sleep(GRACE_MS);
  settled.push(...census.current(namespace).map(({ object, kind }) => ({ ...object, kind })));
  enter('delete');
  await call('DELETE', path);
  await until('delete: nothing of it is left', () => {
    return recordNow() === undefined && secretsOfValues(census, namespace).length === 0;
  });
}

/** Resolves to the name of the Job in the answer. */
async function askToRun(call: Client['call'], path: string): Promise<string | undefined> {
  const { status, body } = await call('POST', `${path}/tasks/${TASK}/runs`, undefined, ONE_RUN);
  if (status >= 300) throw new NotConverged(`run: ${status} ${JSON.stringify(body)}`);
  return body.job;
}

/** Names of all Jobs that were made for runs of the task. */
function jobsOfTask(history: FacadeRun['history']): string[] {
  return history
    .filter(({ kind, object }) => kind === 'Job' && object.metadata.labels?.[TASK_LABEL] === TASK)
    .map(({ object }) => object.metadata.name);
}

function secretsOfValues(census: Census, namespace: string): Seen[] {
  return census
    .current(namespace)
    .filter(({ kind, object }) => kind === 'Secret' && object.metadata.labels?.['davit.dev/variables'] !== undefined)
    .map(({ object }) => object);
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!holds()) {
    if (performance.now() > end) throw new NotConverged(`${what}, not in ${PATIENCE_MS / 1000} s`);
    await sleep(20);
  }
}

function judgeFacade(run: FacadeRun): Violation[] {
  const found: Violation[] = [];
  const blame = (invariant: string, what: string | undefined): void => {
    if (what !== undefined) found.push({ invariant, what: `${what}; see ${run.cast.logs.join(' ')}` });
  };
  blame('I1 converges', run.stuck);
  blame('I4 no leak', run.stuck === undefined ? orphan(run) : undefined);
  blame('I5 one writer', run.trace.withoutLease[0]);
  blame('I6 honest', wrongAnswer(run));
  blame('I7 exactly once', madeTwice(run));
  blame('I8 no secret outside Secrets', canaryOutside(run));
  blame('I11 data', run.stuck === undefined ? lostValue(run) : undefined);
  blame('I13 no accident', run.accidents > 0 ? 'a process ended on its own' : undefined);
  return found;
}

/** Only who was not answered, or told to try again, may be told that it is there, or gone, already. */
function wrongAnswer({ attempts }: FacadeRun): string | undefined {
  for (const [index, { what, status }] of attempts.entries()) {
    if (status === 'no answer' || status < 300 || status >= 500) continue;
    const isAgain = attempts.slice(0, index).some((before) => before.what === what);
    const saysAgain =
      (what === 'POST /v2/deployments' && status === 409) || (what.startsWith('DELETE') && status === 404);
    if (!isAgain || !saysAgain) return `${what} was answered with ${status}`;
  }
  return undefined;
}

function madeTwice({ history, attempts }: FacadeRun): string | undefined {
  const uids = (kind: string): Set<string | undefined> =>
    new Set(history.filter((one) => one.kind === kind).map(({ object }) => object.metadata.uid));
  const records = uids('AppDeployment').size;
  if (records > 1) return `${records} records were made`;
  const jobs = new Set(jobsOfTask(history)).size;
  if (jobs > 1) return `${jobs} Jobs were made for one run of a task`;
  // A revision is requested by each attempt that was carried out: that one is made again is the caller's wish.
  const asked = attempts.filter(({ what }) => /^(POST|PATCH|PUT) (?!.*\/tasks\/)/.test(what)).length;
  const revisions = uids('AppRevision').size;
  return revisions > asked ? `${revisions} revisions were made, ${asked} were asked for` : undefined;
}

function namedBy(settled: readonly Seen[]): Set<string> {
  type Named = readonly { readonly secretName: string }[];
  return new Set(
    settled.flatMap(({ kind, spec }) => {
      if (kind === 'AppDeployment') return (spec.secrets as Named).map(({ secretName }) => secretName);
      if (kind === 'AppRevision') return (spec.requested.secrets as Named).map(({ secretName }) => secretName);
      return [];
    }),
  );
}

function orphan({ settled, left }: FacadeRun): string | undefined {
  if (left.length > 0) return `after the deletion ${left.join(', ')} is left`;
  const named = namedBy(settled);
  const nobodys = settled.find(
    ({ kind, metadata }) =>
      kind === 'Secret' && metadata.labels?.['davit.dev/variables'] !== undefined && !named.has(metadata.name),
  );
  return nobodys && `nothing names the Secret ${nobodys.metadata.name}`;
}

/** What is named is there, and the record's own values are those of the revision gone back to. */
function lostValue({ settled }: FacadeRun): string | undefined {
  const secrets = new Map(settled.filter(({ kind }) => kind === 'Secret').map((one) => [one.metadata.name, one.data]));
  const missing = [...namedBy(settled)].find((name) => !secrets.has(name));
  if (missing !== undefined) return `the Secret ${missing} is named and not there`;
  const record = settled.find(({ kind }) => kind === 'AppDeployment');
  const [reference] = (record?.spec.secrets ?? []) as { secretName: string; secretKey: string }[];
  const value = Buffer.from(secrets.get(reference?.secretName ?? '')?.[reference?.secretKey ?? ''] ?? '', 'base64');
  return value.toString() === CANARIES[0] ? undefined : 'the value gone back to is not what it was';
}

function canaryOutside({ history, told }: FacadeRun): string | undefined {
  const encoded = CANARIES.flatMap((canary) => [canary, Buffer.from(canary).toString('base64')]);
  const isIn = (text: string): boolean => encoded.some((canary) => text.includes(canary));
  if (isIn(told)) return 'a value is in a log';
  const teller = history.find(({ kind, object }) => kind !== 'Secret' && isIn(JSON.stringify(object)));
  return teller && `a value is in ${teller.kind} ${teller.object.metadata.name}`;
}
