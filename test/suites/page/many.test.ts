// A tenant with 5,000 deployments: the list says what is wrong first, finds one at once, and asks for a page alone.

import { describe, expect } from 'vitest';
import { lookAgain } from './browser.ts';
import { focused, heading, it, missing, rows, why } from './fixtures.ts';

const CRASHED = ['False', 'ContainerCrashed', 'Container server exits with code 1.'] as const;

describe.skipIf(missing !== undefined)(`5,000 deployments${why}`, () => {
  it('are listed with what needs attention first, a page at a time, and found by a name', async ({
    world,
    enter,
    visits,
  }) => {
    for (let n = 0; n < 5000; n += 1)
      world.deploy(`app-${String(n).padStart(4, '0')}`, {
        ageMs: n * 60_000,
        revisions: [],
        ...(n % 1000 === 999 && { conditions: { Ready: CRASHED } }),
      });
    const page = await enter();
    await page.getByText('Deployments 1 to 50, and more').waitFor();
    const failing = ['app-0999', 'app-1999', 'app-2999', 'app-3999', 'app-4999'];
    expect((await rows(page)).slice(0, 6)).toEqual([...failing, 'app-0000']);
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement.id')).toBe('name');
    await page.keyboard.type('app-4321');
    await page.getByText('1 deployment', { exact: true }).waitFor();
    expect(await rows(page)).toEqual(['app-4321']);
    await page.getByRole('link', { name: 'app-4321' }).click();
    await heading(page, 'app-4321');
    // From elsewhere, the same key leads to the field in the bar.
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('/');
    expect(await focused(page)).toBe('Find a deployment');
    await page.keyboard.type('app-0042');
    await page.keyboard.press('Enter');
    await page.getByText('1 deployment', { exact: true }).waitFor();
    expect(await rows(page)).toEqual(['app-0042']);
    await lookAgain(page);
    const lists = visits[0]?.requests.filter((request) => request.startsWith('GET /v2/deployments?')) ?? [];
    expect(lists.filter((request) => !/\blimit=(1|51)\b/.test(request))).toEqual([]);
  });
});
