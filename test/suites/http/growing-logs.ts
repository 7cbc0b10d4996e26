// Pods whose containers go on writing, as an API server serves their logs: for tests of logs that are read again and again.

import { NotFound } from '../../../src/runtime/errors.ts';
import { PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { type Facade, TENANT } from './facade.ts';

export interface Writer {
  /** A line of this second of 2026-01-01, with a fraction if one is given. */
  write(second: number, message: string, fraction?: string): void;
  /** The container ends; its log stays, until it starts again or the pod is gone. */
  end(): void;
  /** It ends and waits to be started again. Its node then gives one log for both starts. */
  wait(): void;
  /** Starts it again, with an empty log. */
  restart(): void;
  /** Takes the pod away. */
  remove(): void;
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
  readonly reads: { readonly path: string; readonly token: string | undefined }[];
  /** Called before a log is read. */
  onRead: (path: string) => void;
}

interface Log {
  text: string;
  previous: string | undefined;
  restarts: number;
  state: 'running' | 'terminated' | 'waiting';
}

export function growLogs(facade: Facade): GrowingLogs {
  const logs = new Map<string, Log>();
  const all: GrowingLogs = { start, reads: [], onRead: () => undefined };

  async function* stream(token: string | undefined, path: string): AsyncGenerator<Uint8Array> {
    all.reads.push({ path, token });
    all.onRead(path);
    const { pathname, searchParams: query } = new URL(path, 'https://kube.example');
    const [namespace = '', pod = ''] = /namespaces\/(.+)\/pods\/(.+)\/log/.exec(pathname)?.slice(1) ?? [];
    const log = logs.get(`${namespace}/${pod}/${query.get('container')}`);
    const text = query.has('previous') && log?.state !== 'waiting' ? log?.previous : log?.text;
    if (text === undefined) throw new NotFound('read a log');
    const since = query.get('sinceTime') ?? '';
    const tail = query.get('tailLines');
    const kept = text.split(/(?<=\n)/).filter((line) => line.slice(0, 19) >= since.slice(0, 19));
    const shown = Buffer.from((tail === null ? kept : kept.slice(-Number(tail))).join(''));
    yield shown.subarray(0, Number(query.get('limitBytes') ?? shown.length));
  }

  function start(
    id: string,
    pod: string,
    { namespace = TENANT.namespace, labels, container = 'server' }: Place = {},
  ): Writer {
    const key = `${namespace}/${pod}/${container}`;
    const log: Log = { text: '', previous: undefined, restarts: 0, state: 'running' };
    logs.set(key, log);
    const idOf = (n: number): string => `containerd://${pod}-${n}`;
    const show = (): void => {
      const containerID = idOf(log.restarts);
      const before = log.state === 'waiting' ? log.restarts : log.restarts - 1;
      const status = {
        name: container,
        containerID,
        restartCount: log.restarts,
        state: { [log.state]: log.state === 'terminated' ? { containerID } : {} },
        ...(before >= 0 && { lastState: { terminated: { containerID: idOf(before) } } }),
      };
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
        status: { containerStatuses: [status] },
      };
      facade.kube.seed(PODS, object as unknown as KubeObject);
    };
    const become = (state: Log['state']): void => {
      log.state = state;
      show();
    };
    show();
    return {
      write(second, message, fraction = '') {
        const at = new Date(Date.parse('2026-01-01T00:00:00Z') + second * 1000).toISOString().slice(0, 19);
        log.text += `${at}${fraction}Z ${message}\n`;
      },
      end: () => become('terminated'),
      wait: () => become('waiting'),
      restart() {
        Object.assign(log, { previous: log.text, text: '', restarts: log.restarts + 1 });
        become('running');
      },
      remove() {
        logs.delete(key);
        facade.kube.erase(PODS, { namespace, name: pod });
      },
    };
  }

  const { withToken } = facade.kube;
  facade.kube.withToken = (token) => ({ ...withToken(token), stream: (path) => stream(token, path) });
  facade.kube.stream = (path) => stream(undefined, path);
  return all;
}
