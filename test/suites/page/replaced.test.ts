// The API is stopped and another one starts at its address: nothing that was typed is lost.

import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { open, signIn, visit } from './browser.ts';
import { browser, heading, it, LONG, missing, tab, why } from './fixtures.ts';

interface Front {
  readonly port: number;
  stop(): Promise<void>;
}

/** A server of its own, with the state that is in the API server. */
async function startFront(to: string, port = 0): Promise<Front> {
  const server = createServer((incoming, answer) => {
    const { url = '/', method, headers } = incoming;
    const onward = request(new URL(url, to), { method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    incoming.pipe(onward);
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

describe.skipIf(missing !== undefined)(`an API that is replaced${why}`, () => {
  it(
    'loses nothing that was typed into Configure, Variables and the form for a new one',
    LONG,
    async ({ world, visits }) => {
      for (const name of ['shop', 'cart']) world.deploy(name);
      const first = await startFront(world.url);
      const enter = async (): Promise<Page> => {
        const visited = await visit(browser, `http://127.0.0.1:${first.port}`);
        visits.push(visited);
        await signIn(visited.page);
        await heading(visited.page, 'Deployments');
        return visited.page;
      };
      const [configuring, changing, creating] = [await enter(), await enter(), await enter()];
      await open(configuring, 'shop');
      await tab(configuring, 'Configure');
      await configuring.getByLabel('Port').fill('8080');
      await open(changing, 'cart');
      await tab(changing, 'Configure');
      await changing.getByRole('button', { name: 'Change variables…' }).click();
      await changing.getByRole('button', { name: 'Add a variable' }).click();
      await changing.getByRole('textbox', { name: 'Name of variable 1' }).fill('API_KEY');
      await changing.getByLabel('Value of API_KEY', { exact: true }).fill('canary');
      await creating.getByRole('link', { name: 'New deployment' }).click();
      await creating.getByLabel('Name').fill('blog');
      await creating.getByLabel('Image').fill('images.example.com/team/blog:1');
      await creating.getByText('More: port').click();
      await creating.getByLabel('Port').fill('3000');
      const acts = [
        [configuring, 'Review and apply'],
        [changing, 'Apply'],
        [creating, 'Create'],
      ] as const;

      await first.stop();
      for (const [page, act] of acts) {
        await page.getByRole('button', { name: act, exact: true }).click();
        await page.getByRole('alert').getByText('The API cannot be reached.').first().waitFor();
      }
      const second = await startFront(world.url, first.port);
      for (const [page, act] of acts) await page.getByRole('button', { name: act, exact: true }).click();
      await configuring.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
      await configuring.getByRole('status').getByText('A new revision of shop is created.').waitFor();
      await changing.getByRole('status').getByText('The variables of cart are changed.').waitFor();
      await heading(creating, 'blog');
      await second.stop();
      const spec = (wanted: string) =>
        world.facade.records.list().find(({ metadata }) => metadata.name === wanted)?.spec;
      expect(spec('shop')?.sourceConfig.runtime?.port).toBe(8080);
      expect(spec('cart')?.secrets.map(({ name }) => name)).toEqual(['API_KEY']);
      expect(spec('blog')).toMatchObject({
        sourceRevisionConfig: { imageUri: 'images.example.com/team/blog:1' },
        sourceConfig: { runtime: { port: 3000 } },
      });
    },
  );
});
