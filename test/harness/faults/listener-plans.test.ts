import { describe, expect, it } from 'vitest';
import { LISTENER_WORKLOADS, listenerPlans } from './listener-plans.ts';

const labels = {
  hub: ['enrol/apply namespaces davit-lsn-X#1', 'create/apply listenerworks ID#1', 'change/apply listenerworks ID#2'],
  link: ['create/apply listenerworks/status ID#1'],
  remote: [],
};
const plans = listenerPlans(labels);

describe('plans of listeners', () => {
  it('has each workload', () => {
    expect(new Set(plans.map(({ workload }) => workload))).toEqual(new Set(LISTENER_WORKLOADS));
  });
  it('has three crashes at the first write of a kind, and one at a later one', () => {
    const crashesAt = (write: string): number =>
      plans.filter(({ fault }) => 'at' in fault && fault.at === write && fault.kind.startsWith('crash')).length;
    expect(labels.hub.map(crashesAt)).toEqual([3, 3, 1]);
    expect(labels.link.map(crashesAt)).toEqual([3]);
  });
  it('has none twice', () => {
    expect(new Set(plans.map((plan) => JSON.stringify(plan))).size).toBe(plans.length);
  });
});
