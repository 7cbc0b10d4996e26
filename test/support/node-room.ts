// How much room a cluster has for further pods, by what the pods that there are have asked for.

import { quantity } from '../../src/kinds/quantity.ts';

type Amounts = Readonly<Record<string, string | number>>;

interface Container {
  readonly resources?: { readonly requests?: Amounts };
}
interface Node {
  readonly status?: { readonly allocatable?: Amounts };
}
interface Pod {
  readonly spec: { readonly nodeName?: string; readonly containers: readonly Container[] };
  readonly status?: { readonly phase?: string };
}

/** CPU in cores, memory in MiB. */
interface Room {
  readonly cpu: number;
  readonly memoryMb: number;
}

const MEBIBYTE = 2 ** 20;

/** Of all nodes together. Pods that have ended have given back what they asked for. */
export function roomIn(nodes: readonly Node[], pods: readonly Pod[]): Room {
  const sum = (name: string, amounts: readonly (Amounts | undefined)[]): number =>
    amounts.reduce((total, one) => total + Number(quantity(one?.[name] ?? 0)), 0);
  const asked = pods
    .filter(({ spec, status }) => spec.nodeName !== undefined && !/^(Succeeded|Failed)$/.test(status?.phase ?? ''))
    .flatMap(({ spec }) => spec.containers.map(({ resources }) => resources?.requests));
  const has = nodes.map(({ status }) => status?.allocatable);
  return {
    cpu: sum('cpu', has) - sum('cpu', asked),
    memoryMb: (sum('memory', has) - sum('memory', asked)) / MEBIBYTE,
  };
}

interface Asked extends Room {
  /** What asks for it. */
  readonly what: string;
}

/** Where the room is not enough for a few more of these: what fits, and what helps. Undefined where it is. */
export function smallWords(room: Room, { what, cpu, memoryMb }: Asked): string | undefined {
  const fits = Math.max(0, Math.floor(Math.min(room.cpu / cpu, room.memoryMb / memoryMb)));
  if (fits >= FEW) return undefined;
  const left = `${Math.max(0, room.cpu).toFixed(1)} CPU and ${Math.max(0, Math.floor(room.memoryMb))} MB`;
  return `The node is small: ${left} are left. ${what} asks for ${cpu} CPU and ${memoryMb} MB, so ${fits === 0 ? 'none fits' : `${fits} more ${fits === 1 ? 'fits' : 'fit'}`}. Others stay Unschedulable: set smaller sizes (--set resource_spec.cpu=0.05), leave out stores (runtime.database: none), or delete what you do not need.`;
}

const FEW = 4;
