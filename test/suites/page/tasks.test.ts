// The tab Tasks of the page: the strip and the log of runs, and a command that is run here.

import type { Page } from 'playwright-core';
import { describe, expect, vi } from 'vitest';
import { TASK_CONTAINER } from '../../../src/kinds/meta.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { JOBS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { accessibilityFindings, open } from './browser.ts';
import { isGoodEverywhere, it, LONG, missing, signInAgain, tab, tabTo, why } from './fixtures.ts';
import { deployTeam, seedServer, type World } from './world.ts';

/** The only Job ends, as the Job controller reports it. */
function end(world: World, exitCode: number): void {
  const [job] = world.facade.kube.objects(JOBS);
  const { name = '', namespace = '' } = job?.metadata ?? {};
  const at = new Date().toISOString();
  const state = {
    terminated: {
      containerID: 'x',
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      startedAt: at,
      finishedAt: at,
    },
  };
  const pod = world.facade.kube.objects(PODS).find(({ metadata }) => metadata.name === `${name}-x`);
  world.facade.kube.seed(PODS, {
    ...pod,
    status: {
      phase: exitCode === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [{ name: TASK_CONTAINER, containerID: 'x', state }],
    },
  } as KubeObject);
  const type = exitCode === 0 ? 'Complete' : 'Failed';
  world.facade.kube.seed(JOBS, {
    ...job,
    metadata: { ...job?.metadata, name, namespace },
    status: { startTime: at, conditions: [{ type, status: 'True', lastTransitionTime: at }] },
  } as KubeObject);
}

async function enterTasks(enter: () => Promise<Page>): Promise<Page> {
  const page = await enter();
  await open(page, 'shop');
  await tab(page, 'Tasks');
  await page.getByText('shop--clean-29700180').waitFor();
  return page;
}

describe.skipIf(missing !== undefined).concurrent(`the tab Tasks${why}`, () => {
  it('shows how the last runs ended, and the log of one', async ({ world, enter }) => {
    const { shop } = deployTeam(world);
    world.writeRun(shop, 'shop--clean-29701620', ['no such table: <b>sessions</b>', 'bye']);
    const page = await enterTasks(enter);
    await page.getByRole('img', { name: 'Last runs, oldest first: succeeded, failed' }).waitFor();
    await tabTo(page, 'Log of shop--clean-29701620');
    await page.keyboard.press('Enter');
    const log = page.getByRole('log', { name: 'Lines of shop--clean-29701620' });
    await log.getByText('no such table: <b>sessions</b>').waitFor();
    expect(await log.locator('.line').count()).toBe(2);
    // The line above says how it ended.
    expect(await page.getByText(/^Failed, exit code 3/).count()).toBe(1);
    await isGoodEverywhere(page, 'tasks');
    await page.getByRole('button', { name: 'Log of shop--clean-29701620' }).click();
    await log.waitFor({ state: 'detached' });
    // What the controller reports of a run that has just begun.
    const clean = shop.status?.tasks?.find(({ name }) => name === 'clean');
    const runs = [{ job: 'shop--run-fresh', state: 'Running' as const }, ...(clean?.runs ?? [])];
    world.facade.records.put({
      ...shop,
      status: { ...shop.status, tasks: [{ name: 'clean', state: 'Scheduled', schedule: '0 3 * * *', runs }] },
    } as typeof shop);
    await page.getByText('shop--run-fresh').waitFor();
  });

  it('runs a command and follows it until it ends', async ({ world, enter }) => {
    const { shop } = deployTeam(world);
    seedServer(world, shop);
    const page = await enterTasks(enter);
    await tabTo(page, 'Command');
    await page.keyboard.type(`python -c 'print("<b>hi</b>")'`);
    await page.getByText('Sent: ["python","-c","print(\\"<b>hi</b>\\")"]').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('Nothing was written yet.').waitFor();
    const [job] = world.facade.kube.objects(JOBS);
    const name = job?.metadata.name ?? '';
    expect(JSON.stringify(job)).toContain(JSON.stringify(['python', '-c', 'print("<b>hi</b>")']));
    world.writeRun(shop, name, ['<b>hi</b>']);
    const log = page.getByRole('log', { name: `Lines of ${name}` });
    await log.getByText('<b>hi</b>').waitFor();
    world.writeRun(shop, name, ['more']);
    await log.getByText('more').waitFor();
    end(world, 3);
    await page
      .getByRole('status')
      .getByText(/^Failed, exit code 3/)
      .waitFor();
    await vi.waitFor(async () => expect(await log.locator('.line').allInnerTexts()).toHaveLength(2), LONG);
    expect(await page.getByLabel('Command', { exact: true }).inputValue()).toBe(`python -c 'print("<b>hi</b>")'`);
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('says why no command may run in the words of the API, and what was typed stays', async ({ world, enter }) => {
    const { shop } = deployTeam(world);
    const page = await enterTasks(enter);
    const field = page.getByLabel('Command', { exact: true });
    await field.fill('ls');
    await page.keyboard.press('Enter');
    const card = page.getByRole('region', { name: 'Run a command' });
    await card.getByRole('alert').getByText(/./).first().waitFor();
    seedServer(world, shop);
    const refusal = 'jobs.batch is forbidden: User "anna" cannot create resource "jobs"';
    world.facade.kube.failOn(({ kind, verb }) =>
      kind === 'Job' && verb === 'create' ? new Forbidden('no', { serverMessage: refusal }) : undefined,
    );
    await page.keyboard.press('Enter');
    await card.getByRole('alert').getByText(refusal).waitFor();
    world.facade.kube.failOn(() => undefined);
    await page.route('**/runs', (route) => route.fulfill({ status: 401, json: { detail: 'The token has expired.' } }));
    await page.keyboard.press('Enter');
    await signInAgain(page, '**/runs');
    expect(await field.inputValue()).toBe('ls');
    await card.getByRole('button', { name: 'Run' }).click();
    await vi.waitFor(() => expect(world.facade.kube.objects(JOBS)).toHaveLength(1), LONG);
  });
});
