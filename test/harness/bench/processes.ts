// What the kernel knows of a process: processor time and memory. Linux alone.

import { readFile } from 'node:fs/promises';

/** USER_HZ, which is 100 on every architecture that Linux tells it to. */
const TICKS_PER_SECOND = 100;

/** Milliseconds of processor time of all its threads, user and system together. */
export async function cpuMs(pid: number): Promise<number> {
  return cpuMsOf(await readFile(`/proc/${pid}/stat`, 'utf8'));
}

/** Resident memory in MiB. */
export async function rssMiB(pid: number): Promise<number> {
  return rssMiBOf(await readFile(`/proc/${pid}/status`, 'utf8'));
}

/** `stat` of proc(5): the name, in parentheses, may hold blanks and parentheses itself. */
export function cpuMsOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // The state is field 3, so utime and stime, 14 and 15, are these.
  const ticks = Number(fields[11]) + Number(fields[12]);
  if (!Number.isFinite(ticks)) throw new Error(`no processor time in ${stat}`);
  return (ticks * 1000) / TICKS_PER_SECOND;
}

export function rssMiBOf(status: string): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kibibytes === undefined) throw new Error('no VmRSS: the process has ended');
  return Number(kibibytes) / 1024;
}
