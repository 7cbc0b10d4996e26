// Version 2 of the pod contract: pods that ask for it get a credential for Davit's HTTP API. All others are those of version 1. Frozen, as
// test/golden/contract-2 holds it.

import { withApiToken } from '../api-token.ts';
import type { PodContract } from './contract.ts';
import { CONTRACT_V1 } from './v1.ts';

export const CONTRACT_V2: PodContract = {
  ...CONTRACT_V1,
  workload(inputs, role, size, image) {
    const made = CONTRACT_V1.workload(inputs, role, size, image);
    const { api } = inputs.revision.spec.resolved;
    return made.spec ? { ...made, spec: { ...made.spec, template: withApiToken(made.spec.template, api) } } : made;
  },
  migration(inputs, migrate, image) {
    const made = CONTRACT_V1.migration(inputs, migrate, image);
    const { api } = inputs.revision.spec.resolved;
    return made.spec ? { ...made, spec: { ...made.spec, template: withApiToken(made.spec.template, api) } } : made;
  },
  task(inputs, task, schedule, image) {
    const made = CONTRACT_V1.task(inputs, task, schedule, image);
    const { spec } = made;
    const job = spec?.jobTemplate.spec;
    if (!spec || !job) return made;
    const template = withApiToken(job.template, inputs.revision.spec.resolved.api);
    return { ...made, spec: { ...spec, jobTemplate: { ...spec.jobTemplate, spec: { ...job, template } } } };
  },
};
