// Which pod `open` leads to, and when it leads to another one.

import { describe, expect, it } from 'vitest';
import { aRecord, makeInstantClock } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { Failure, type Forwarded, type ForwardTarget, type Kubectl } from '../transport/kubectl.ts';
import { RECORDS } from '../transport/records.ts';
import { forwarding } from './open.ts';

const pod = (name: string, minute: number, more: object = {}, ready = 'True'): object => ({
  metadata: { name, creationTimestamp: `2026-02-02T00:0${minute}:00Z`, ...more },
  status: { conditions: [{ type: 'Ready', status: ready }] },
});
const ending = { deletionTimestamp: '2026-02-02T00:09:00Z' };

/** One kubectl that forwards; `end` is what becomes of it. */
interface Opened extends ForwardTarget {
  readonly end: (code: number, message?: string) => void;
  readonly isClosed: () => boolean;
}

/** `looks`: the pods that each reading finds, after which the last stays; undefined: it fails. `atLast`: called when that is reached. */
function stage(
  looks: readonly (readonly object[] | undefined)[],
  onForward: (opened: Opened, count: number) => void,
  atLast?: (opened: Opened | undefined) => void,
) {
  const left = [...looks];
  const opened: Opened[] = [];
  const said: string[] = [];
  const kubectl: Kubectl = async ([, resource]) => {
    if (resource === RECORDS) return JSON.stringify(aRecord());
    if (left.length === 1) atLast?.(opened.at(-1));
    const items = left.length > 1 ? left.shift() : left[0];
    if (items === undefined) throw new Failure('The connection to the server was refused');
    return JSON.stringify({ items });
  };
  const ongoing = forwarding(
    {
      kubectl,
      clock: makeInstantClock(),
      warn: (line) => said.push(line),
      onOpen: (port) => said.push(`open ${port}`),
      async forward(target) {
        let isClosed = false;
        const { promise, resolve } = Promise.withResolvers<Awaited<Forwarded['ended']>>();
        const one: Opened = {
          ...target,
          end: (code, message = '') => resolve({ code, message }),
          isClosed: () => isClosed,
        };
        opened.push(one);
        onForward(one, opened.length);
        return {
          port: target.localPort || 4321,
          ended: promise,
          close() {
            isClosed = true;
            resolve({ code: 130, message: '' });
          },
        };
      },
    },
    'shop',
    0,
  );
  return { opened, said, ongoing };
}
const targets = (opened: readonly Opened[]): [string, number | undefined][] =>
  opened.map(({ target, localPort }) => [target, localPort]);

describe('open', () => {
  it('leads to the newest pod, and to the next one on the same port when a rollout ends that', async () => {
    const { opened, said, ongoing } = stage(
      [
        [pod('shop-1', 1)],
        [pod('shop-1', 1)],
        [pod('shop-1', 1)],
        [pod('shop-1', 1), pod('shop-2', 2, {}, 'False')],
        [pod('shop-1', 1, ending), pod('shop-2', 2)],
      ],
      (one, count) => {
        if (count === 2) one.end(0);
      },
    );
    expect(await ongoing).toBe(0);
    expect(targets(opened)).toEqual([
      ['pod/shop-1', 0],
      ['pod/shop-2', 4321],
    ]);
    expect(opened[0]?.isClosed()).toBe(true);
    expect(said).toEqual(['open 4321', 'The port now leads to pod shop-2.']);
  });

  it('stays with a pod that is ready, and through a look that fails', async () => {
    const { opened, ongoing } = stage(
      [
        [pod('shop-1', 1), pod('shop-2', 2)],
        [pod('shop-1', 1), pod('shop-2', 2)],
        undefined,
        [pod('shop-2', 2), pod('shop-3', 3)],
        [],
        [pod('shop-2', 2)],
      ],
      () => undefined,
      (one) => one?.end(130),
    );
    expect(await ongoing).toBe(130);
    expect(targets(opened)).toEqual([['pod/shop-2', 0]]);
  });

  it('waits for another pod when its own was lost', async () => {
    const lost = 'error: lost connection to pod';
    const { opened, said, ongoing } = stage(
      [[pod('shop-1', 1)], [pod('shop-1', 1)], [], [], [pod('shop-2', 2)]],
      (one, count) => one.end(count === 1 ? 1 : 0, lost),
    );
    expect(await ongoing).toBe(0);
    expect(targets(opened).at(-1)).toEqual(['pod/shop-2', 4321]);
    expect(said).toEqual([
      'open 4321',
      'Pod shop-1 has ended, and no other pod is ready. Waiting for one.',
      'The port now leads to pod shop-2.',
    ]);
  });

  it('ends with what is wrong when no other one comes', async () => {
    const { ongoing } = stage([[pod('shop-1', 1)], [pod('shop-1', 1)], []], (one) => one.end(1, 'lost'));
    await expect(ongoing).rejects.toThrow(/^No pod of shop is ready\. /);
  });

  it('ends with the words of kubectl when no attempt lasts', async () => {
    const { opened, ongoing } = stage([[pod('shop-1', 1)]], (one) => one.end(1, 'error: no port http'));
    await expect(ongoing).rejects.toThrow('error: no port http');
    expect(opened).toHaveLength(3);
  });
});

describe('open with an address of the HTTP API', () => {
  const environment = { DAVIT_SERVER: 'https://davit.example.com' };
  const NO_CLUSTER = 'kubectl could not be started: spawn kubectl ENOENT';
  const kubectl: Kubectl = async () => {
    throw new Failure(NO_CLUSTER);
  };
  const exposed = aRecord(
    { sourceConfig: { customUrl: 'https://shop.example.com' } },
    { url: 'https://shop.example.com' },
  );

  it('prints the address of the deployment, without a kubeconfig', async () => {
    const cli = makeOwnCli({ record: exposed });
    expect(await cli.run(['open', 'shop'], { environment, kubectl })).toMatchObject({
      code: 0,
      out: 'https://shop.example.com',
      asked: [],
    });
    const json = await cli.run(['open', 'shop', '-o', 'json'], { environment, kubectl });
    expect(JSON.parse(json.out)).toEqual({ name: 'shop', url: 'https://shop.example.com' });
  });

  it('says that there is none, and that a port needs the kubeconfig', async () => {
    const ran = await makeOwnCli({ record: aRecord() }).run(['open', 'shop'], { environment, kubectl });
    expect([ran.code, ran.out, ran.err.split('\n')]).toEqual([
      1,
      '',
      [
        'shop has no address outside the cluster, so kubectl forwards a local port.',
        expect.stringMatching(/^open needs kubectl and a kubeconfig: Davit's HTTP API cannot do this\. /),
      ],
    ]);
  });

  it('forwards the port that is named', async () => {
    const ran = await makeOwnCli({ record: exposed }).run(['open', 'shop', '--port', '4321'], { environment, kubectl });
    expect(ran).toMatchObject({ code: 1, out: '', asked: [expect.stringMatching(/^get appdeployments/)] });
  });
});
