// Pods whose containers go on writing, as an API server serves their logs: for tests of logs that are followed.

import { NotFound } from '../../../src/lib/errors.ts';
import { PODS } from '../../../src/lib/kube/api-resources.ts';
import type { KubeObject, StreamOptions } from '../../../src/lib/kube/client.ts';
import { type Facade, TENANT } from './facade.ts';

export interface Writer {
  /** A line of this second of 2026-01-01, with a fraction if one is given. */
  write(second: number, message: string, fraction?: string): void;
  /** The container ends; its log stays, until it starts again or the pod is gone. */
  end(): void;
  /** Starts it again, with an empty log. */
  restart(): void;
  /** Takes the pod away. */
  remove(): void;
  /** Breaks every connection that follows it. */
  cut(): void;
}

interface Log {
  text: string;
  previous: string | undefined;
  restarts: number;
  isRunning: boolean;
  wake: Set<() => void>;
  cuts: number;
}

export interface Place {
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly container?: string;
}

export interface GrowingLogs {
  /** Starts a pod of the deployment with this id. */
  start(id: string, pod: string, place?: Place): Writer;
  /** Reads of logs as they were asked for, with whose token. */
  readonly reads: { readonly path: string; readonly token: string | undefined; readonly isOpenEnded: boolean }[];
  /** Reads that are open now. */
  open: number;
}

export function growLogs(facade: Facade): GrowingLogs {
  const logs = new Map<string, Log>();
  const all: GrowingLogs = { start, reads: [], open: 0 };

  async function* stream(
    token: string | undefined,
    path: string,
    { signal, isOpenEnded = false }: StreamOptions = {},
  ): AsyncGenerator<Uint8Array> {
    all.reads.push({ path, token, isOpenEnded });
    const { pathname, searchParams: query } = new URL(path, 'https://kube.example');
    const [namespace = '', pod = ''] = /namespaces\/(.+)\/pods\/(.+)\/log/.exec(pathname)?.slice(1) ?? [];
    const log = logs.get(`${namespace}/${pod}/${query.get('container')}`);
    if (log === undefined) throw new NotFound('read a log');
    const text = query.has('previous') ? log.previous : undefined;
    if (query.has('previous') && text === undefined) throw new NotFound('read a log');
    const since = query.get('sinceTime') ?? '';
    const tail = query.get('tailLines');
    const wanted = (lines: string): string => {
      const kept = lines.split(/(?<=\n)/).filter((line) => line.slice(0, 19) >= since.slice(0, 19));
      return (tail === null ? kept : kept.slice(-Number(tail))).join('');
    };
    all.open += 1;
    try {
      if (text !== undefined) {
        yield Buffer.from(wanted(text));
        return;
      }
      const { restarts, cuts } = log;
      let at = log.text.length;
      if (log.text !== '') yield Buffer.from(wanted(log.text));
      while (query.has('follow') && log.isRunning && log.restarts === restarts && log.cuts === cuts) {
        if (log.text.length === at) {
          // oxlint-disable-next-line no-await-in-loop -- until there is more
          await new Promise<void>((resolve) => {
            log.wake.add(resolve);
            signal?.addEventListener('abort', () => resolve());
          });
        }
        signal?.throwIfAborted();
        if (log.restarts !== restarts || log.cuts !== cuts) return;
        const more = log.text.slice(at);
        at = log.text.length;
        if (more !== '') yield Buffer.from(more);
      }
    } finally {
      all.open -= 1;
    }
  }

  function start(
    id: string,
    pod: string,
    { namespace = TENANT.namespace, labels, container = 'server' }: Place = {},
  ): Writer {
    const key = `${namespace}/${pod}/${container}`;
    const log: Log = { text: '', previous: undefined, restarts: 0, isRunning: true, wake: new Set(), cuts: 0 };
    logs.set(key, log);
    const show = (): void => {
      const state = log.isRunning ? { running: {} } : { terminated: {} };
      const object = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: pod,
          namespace,
          labels: labels ?? {
            'davit.dev/deployment': 'shop',
            'davit.dev/deployment-uid': id,
            'davit.dev/component': 'server',
            'davit.dev/revision': id,
          },
        },
        status: {
          containerStatuses: [
            { name: container, containerID: `containerd://${pod}-${log.restarts}`, restartCount: log.restarts, state },
          ],
        },
      };
      facade.kube.seed(PODS, object as KubeObject);
    };
    const wake = (): void => {
      for (const resolve of log.wake) resolve();
      log.wake.clear();
    };
    show();
    return {
      write(second, message, fraction = '') {
        const at = new Date(Date.parse('2026-01-01T00:00:00Z') + second * 1000).toISOString().slice(0, 19);
        log.text += `${at}${fraction}Z ${message}\n`;
        wake();
      },
      end() {
        log.isRunning = false;
        show();
        wake();
      },
      restart() {
        Object.assign(log, { previous: log.text, text: '', restarts: log.restarts + 1, isRunning: true });
        show();
        wake();
      },
      remove() {
        log.isRunning = false;
        logs.delete(key);
        facade.kube.erase(PODS, { namespace, name: pod });
        wake();
      },
      cut() {
        log.cuts += 1;
        wake();
      },
    };
  }

  const { withToken } = facade.kube;
  facade.kube.withToken = (token) => ({ ...withToken(token), stream: (path, options) => stream(token, path, options) });
  facade.kube.stream = (path, options) => stream(undefined, path, options);
  return all;
}
