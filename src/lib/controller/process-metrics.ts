// Metrics of the process itself: version, CPU, memory, event loop and garbage collection, under the names that Prometheus clients
// for Node.js share.

import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/** Interval of the event loop's samples. The default of 10 ms would wake an idle process a hundred times a second. */
const LAG_RESOLUTION_MS = 100;

/** Adds the metrics to `registry`. `command` is the command that the process runs. Call it once in a process. */
export function addProcessMetrics(
  registry: Registry,
  { command, version }: { command: string; version: string },
): void {
  new Gauge({
    name: 'davit_build_info',
    help: 'Always 1; the labels say what runs',
    labelNames: ['command', 'version'],
    registers: [registry],
  }).set({ command, version }, 1);
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_RESOLUTION_MS });
}
