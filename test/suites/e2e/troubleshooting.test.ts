// What people see of a deployment that is broken: the HTTP API, the page, the controller's log, the metrics and the alerts say the
// same of it, and what they say to do mends it. The page of docs about it is written from what is seen here.

import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, type ExpectStatic, inject, it } from 'vitest';
import { isFailure } from '../../../src/kinds/app-deployment-conditions.ts';
import { advice, TONE_WORDS } from '../../../src/web/health.ts';
import { linkOf } from '../../../src/web/route.ts';
import { plain } from '../../../src/web/text.ts';
import { openShell, type Shell } from '../../support/documents/documented.ts';
import type { Tenant } from '../../support/platform.ts';
import { AS_EXPECTED, type Evaluation, evaluate, firing, promtoolPath } from '../../support/promtool.ts';
import { type Answer, type Attached, attach, eventually } from '../../support/running-davit.ts';
import { type Line, linesOf, type Scrape, scrape, seriesOf } from '../../support/telemetry.ts';
import { chromiumHere, launch, signIn, type Visit, visit } from '../page/browser.ts';
import { type Broken, GROUPS, readyOf, SIZES, type Site, VARIABLES } from './broken-deployments.ts';
import { CALL, NEXT, type Seen, troubleshootingPage } from './troubleshooting-page.ts';

const davit: Attached = attach(inject('davit'));
const here = await chromiumHere();
const missing = davit.node !== 'real' ? 'no real pods' : 'missing' in here ? here.missing : undefined;

const NAME = 'shop';
const STORES = 'stores';
const WITHIN_MS = 240_000;
const DOCUMENT = join(import.meta.dirname, '../../../docs/troubleshooting.md');
/** How long the alerts are given. */
const MINUTES = 120;

const seen = new Map<string, Seen>();
const evaluations: Evaluation[] = [];
let browser: Browser;
let promtool: string;

describe.skipIf(missing !== undefined)(
  `a broken deployment${missing === undefined ? '' : ` (left out: ${missing})`}`,
  () => {
    beforeAll(async () => {
      if (!('program' in here)) return;
      [browser, promtool] = await Promise.all([launch(here.program), promtoolPath(), startStores()]);
    }, 300_000);
    afterAll(() => browser?.close());

    it.concurrent.for(GROUPS.map((group, index) => ({ ...group, index })))(
      'by $name says why, and what to do about it',
      { timeout: 1_200_000 },
      async ({ failures, index }, { expect }) => {
        const place = await makePlace(await davit.tenant(`broken-${index + 1}`));
        try {
          for (const failure of failures) {
            await happens(place, failure, expect).catch(async (error: unknown) => {
              throw new Error(`${failure.title}: ${String(error)}\n${await place.history()}`, { cause: error });
            });
          }
          expect(place.visit?.complaints).toEqual([]);
        } finally {
          await place.leave();
        }
      },
    );

    it('raises the alerts that docs/monitoring.md has for it, if nobody acts', async ({ expect }) => {
      expect(evaluations).toHaveLength(GROUPS.flatMap(({ failures }) => failures).length);
      expect(await evaluate(promtool, evaluations)).toBe(AS_EXPECTED);
    });

    it('is on its page of docs as it was seen; if not: run this file with -u', async ({ expect }) => {
      await expect(troubleshootingPage(readFileSync(DOCUMENT, 'utf8'), GROUPS, seen)).toMatchFileSnapshot(DOCUMENT);
    });
  },
);

/** A PostgreSQL and a Redis that belong to nobody, so that a deployment is one pod. */
async function startStores(): Promise<void> {
  const pod = (name: string, port: number, image: string, env: readonly object[] = []): object[] => [
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: STORES, labels: { app: name } },
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name, image, env, ports: [{ containerPort: port }] }] },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: STORES },
      spec: { selector: { app: name }, ports: [{ port }] },
    },
  ];
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: STORES } },
    ...pod('postgres', 5432, davit.images.postgres, [{ name: 'POSTGRES_HOST_AUTH_METHOD', value: 'trust' }]),
    ...pod('redis', 6379, davit.images.redis),
  ];
  await davit.kubectl(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items });
}

interface Place {
  readonly site: Site;
  visit?: Visit;
  /** What was typed, since it was emptied. */
  readonly typed: string[];
  /** Types commands into a shell that has what the page of docs sets up. Answers with what they print. */
  type(...commands: readonly string[]): Promise<string>;
  answer(): Promise<Answer>;
  latest(): Promise<{ readonly status: string; readonly status_message: string }>;
  page(): Promise<Page>;
  /** Text without what is of this run alone. */
  documented(text: string): string;
  /** For a failed test: what the log and the cluster say about it. */
  history(): Promise<string>;
  leave(): Promise<void>;
}

async function makePlace(tenant: Tenant): Promise<Place> {
  const { namespace } = tenant;
  const shell: Shell = await openShell(davit.kubeconfig, { kubectl: davit.kubectlPath }, WITHIN_MS);
  const typed: string[] = [];
  let id = '';
  const path = (): string => `/v2/deployments/${id}`;
  const type = (...commands: readonly string[]): Promise<string> =>
    shell.run([CALL, ...commands], { API: davit.apiUrl, TOKEN: tenant.token, ID: id });
  const typeOne = async (command: string): Promise<string> => {
    typed.push(command);
    return type(command);
  };

  const site: Site = {
    namespace,
    image: davit.images.sample,
    async create({
      resourceSpec = {},
      runtime,
      image = davit.images.sample,
      references = [],
      hasOwnStores = false,
    } = {}) {
      const named = new Set(references.map((one) => (one as { name: string }).name));
      const external = ['postgres', 'redis'].map((store) => ({
        name: `${store.toUpperCase()}_URI_CUSTOM`,
        secret_name: STORES,
        secret_key: store,
      }));
      const { status, body } = await davit.call(tenant, 'POST', '/v2/deployments?fieldValidation=Strict', {
        name: NAME,
        source: 'external_docker',
        source_config: { resource_spec: { ...SIZES, ...resourceSpec }, ...(runtime && { runtime }) },
        source_revision_config: { image_uri: image },
        secrets: VARIABLES,
        secret_references: [...(hasOwnStores ? [] : external.filter(({ name }) => !named.has(name))), ...references],
      });
      if (status !== 201) throw new Error(`POST: ${status} ${JSON.stringify(body)}`);
      id = body.id;
    },
    async patch(body) {
      await typeOne(`call -X PATCH "$API/v2/deployments/$ID" -d ${quoted(JSON.stringify(body))}`);
    },
    untilServing: () =>
      eventually(async () => {
        if (readyOf(await place.answer())?.status !== 'True') throw new Error(`${namespace}: it does not serve`);
      }, WITHIN_MS),
    kubectl: (...args) => typeOne(['kubectl', ...args.map(quoted), '-n', namespace].join(' ')),
    async apply(object, file = 'object.yaml') {
      await writeFile(join(shell.folder, file), JSON.stringify(object));
      return typeOne(`kubectl apply -f ${file} -n ${namespace}`);
    },
    type: typeOne,
  };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: STORES },
    stringData: { postgres: `postgresql://postgres@postgres.${STORES}/postgres`, redis: `redis://redis.${STORES}` },
  };
  await site.apply(secret);

  const place: Place = {
    site,
    typed,
    type,
    answer: () => davit.call(tenant, 'GET', path()),
    latest: async () => (await davit.call(tenant, 'GET', `${path()}/revisions?limit=1`)).body.resources[0],
    async page() {
      if (place.visit === undefined) {
        place.visit = await visit(browser, davit.apiUrl);
        const { page } = place.visit;
        await signIn(page, tenant);
        await page.getByRole('heading', { level: 1, name: 'Deployments', exact: true }).waitFor();
        await page.evaluate(`location.hash = ${JSON.stringify(linkOf(id))}`);
      }
      return place.visit.page;
    },
    documented: (text) =>
      text
        .replaceAll(davit.images.sample, 'registry.example.com/shop:1')
        .replaceAll(id, '$ID')
        .replaceAll(new RegExp(`\\b${namespace}\\b`, 'g'), 'team')
        .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UID')
        .replaceAll(/\bshop-[0-9a-z]{5,10}-[0-9a-z]{5}\b/g, 'shop-POD')
        .replaceAll(/\b(shop--migrate)-[0-9a-f]{8}\b/g, '$1-REVISION')
        .replaceAll(/\bshop--[0-9a-f]{8}\b/g, 'shop--REVISION')
        .replaceAll(/have [\d.]+ CPU and \d+ MiB/g, 'have 4 CPU and 16384 MiB'),
    async history() {
      const lines = await linesAbout(namespace, 0);
      const told = lines.map(({ time, msg, status, reason, message, suppressed }) =>
        [time, msg, status, reason, message, suppressed].join(' '),
      );
      return [...told, await type(`kubectl get pods,events -n ${namespace} -o wide`)].join('\n');
    },
    async leave() {
      await place.visit?.page.context().close();
      await davit.kubectl(['delete', 'appd', '--all', '-n', namespace, '--wait=false']);
      await shell.close();
    },
  };
  return place;
}

/** As one word of a shell. */
function quoted(word: string): string {
  return /^[\w./:=,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** It breaks, is looked at from all sides, and is mended. */
async function happens(place: Place, failure: Broken, expect: ExpectStatic): Promise<void> {
  const { site, typed } = place;
  const { reason, says, saysFirst = says, isStalled, alerts, title, look } = failure;
  const since = Date.now();
  await failure.break(site);
  const wanted = { reason, status: 'False', isStalled: isStalled ? 'True' : 'False' };
  const { body } = await eventually(
    async () => {
      const answer = await place.answer();
      const stalled = answer.body.conditions.find(({ type }: { type: string }) => type === 'Stalled');
      const { reason: is, status } = readyOf(answer) ?? {};
      expect({ reason: is, status, isStalled: stalled?.status }, JSON.stringify(answer.body.status_message)).toEqual(
        wanted,
      );
      expect(answer.body.status_message).toMatch(says);
      return answer;
    },
    WITHIN_MS,
    300,
  );
  const message: string = body.status_message;
  const revision = await eventually(async () => {
    const latest = await place.latest();
    if (latest.status !== 'DEPLOYED' || isStalled) expect(latest.status_message).toBe(message);
    return latest;
  });

  // What the page of docs says to type first, and what it says to look at then.
  expect(await place.type(NEXT.ask)).toContain(JSON.stringify(message).slice(1, -1));
  expect(await place.type(`kubectl get appd shop -n ${site.namespace} -o wide`)).toContain(reason);
  if (look) expect(await place.type(`call ${look.command}`)).toContain(look.shows);

  const page = await place.page();
  const word = reason === 'Paused' ? 'paused' : TONE_WORDS[isFailure(reason) ? 'bad' : 'busy'];
  const todo = isFailure(reason) ? advice(reason) : undefined;
  const shown = await eventually(async () => {
    const verdict = await page.locator('.verdict').innerText();
    expect(verdict).toContain(plain(message));
    expect(verdict).toContain(word);
    expect(verdict.includes('What to do:')).toBe(todo !== undefined);
    if (todo !== undefined) expect(verdict).toContain(todo);
    return verdict;
  }, 60_000);

  const told = await eventually(async () => {
    const found = (await linesAbout(site.namespace, since)).findLast(
      (line) => isReadyLine(line) && line['reason'] === reason,
    );
    expect(found).toMatchObject({
      level: 'info',
      kind: 'AppDeployment',
      status: 'False',
      message: expect.stringMatching(saysFirst),
    });
    return found as Line;
  });
  const event = await eventually(async () => {
    const list = await site.kubectl(
      'get',
      'events',
      `--field-selector=involvedObject.kind=AppDeployment,reason=${reason}`,
      '-o',
      'jsonpath={.items[*].type}',
    );
    expect(list).not.toBe('');
    return `${list.split(' ')[0]} ${reason}`;
  });
  expect(event).toMatch(/^Warning /);
  const { samples, series } = await eventually(async () => {
    // The state may move on. Another record may have the reason in another state, and is counted sooner.
    const state: string = (await place.answer()).body.status;
    const labels = { state, ready: 'False', stalled: wanted.isStalled, reason };
    const all = await scrape(davit, 'controller');
    const counted = seriesOf(all, 'davit_deployments', labels).map(([one]) => one);
    expect(counted, JSON.stringify(labels)).toHaveLength(1);
    return { samples: all, series: counted[0] ?? '' };
  });
  const at = Date.now() / 1000;
  const [, stalledAt] = seriesOf(samples, 'davit_deployments_stalled_oldest_timestamp_seconds', { reason })[0] ?? [];
  expect(stalledAt !== undefined).toBe(isStalled);
  if (stalledAt !== undefined) expect(at - stalledAt).toBeLessThan(WITHIN_MS / 1000);
  evaluations.push(ifNobodyActs(title, samples, reason, alerts));

  typed.splice(0);
  await failure.mend(site, message);
  const mended = [...typed];
  await place.type(NEXT.wait);
  await eventually(
    async () => {
      const answer = await place.answer();
      expect(answer.body, JSON.stringify(answer.body.status_message)).toMatchObject({ status: 'READY' });
      expect(readyOf(answer)).toMatchObject({ status: 'True', reason: 'Serving' });
      expect((await place.latest()).status).toBe('DEPLOYED');
    },
    WITHIN_MS,
    300,
  );
  await page.locator('.verdict.good').waitFor();
  const steps = (await linesAbout(site.namespace, since)).filter(isReadyLine);
  const transitions = steps.map(({ status, reason: to }) => `${String(status)} ${String(to)}`);
  expect(transitions.filter((step, place_) => step === transitions[place_ + 1])).toEqual([]);
  await eventually(async () => {
    const last = (await linesAbout(site.namespace, since)).findLast(isReadyLine);
    expect(last).toMatchObject({ status: 'True', reason: 'Serving' });
    // A record with many lines has its last one within a minute.
  }, 70_000);

  seen.set(title, {
    status: body.status,
    message: place.documented(message),
    stalled: wanted.isStalled,
    revision: revision.status,
    word,
    event,
    todo: shown.includes('What to do:') ? todo : undefined,
    line: {
      level: told.level,
      kind: told['kind'],
      namespace: 'team',
      name: told['name'],
      status: told['status'],
      reason: told['reason'],
      msg: told.msg,
    },
    series,
    mended: mended.map((command) => place.documented(command)),
  });
}

const isReadyLine = ({ msg }: Line): boolean => msg === 'Condition Ready changed';

async function linesAbout(namespace: string, since: number): Promise<Line[]> {
  const lines = await linesOf(davit, 'controller');
  return lines.filter(
    (line) => line['namespace'] === namespace && line['name'] === NAME && Date.parse(line.time) >= since,
  );
}

/** The alerts about this reason, where for two hours each scrape is like this one. */
function ifNobodyActs(name: string, samples: Scrape, reason: string, alerts: readonly string[]): Evaluation {
  const ofRecords = [...samples].filter(([series]) => /^davit_(deployments|databases_at_risk)/.test(series));
  return {
    name,
    start: new Date().toISOString(),
    minutes: MINUTES,
    series: ofRecords.map(([series, value]) => ({ series, values: `${value}x${MINUTES}` })),
    expected: [firing(alerts, `, reason="${reason}"`)],
  };
}
