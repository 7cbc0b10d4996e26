// All metrics of a process, in one registry.

import { makeRegistryMetrics, type RegistryMetrics } from '../build/registry/metrics.ts';
import { makeMetrics, type RuntimeMetrics } from '../runtime/controller/metrics.ts';
import { makeRecordMetrics, type RecordMetrics } from './monitoring/metrics.ts';

export type AllMetrics = RuntimeMetrics & RecordMetrics & RegistryMetrics;

export function makeAllMetrics(): AllMetrics {
  const metrics = makeMetrics();
  return { ...metrics, ...makeRecordMetrics(metrics.registry), ...makeRegistryMetrics(metrics.registry) };
}
