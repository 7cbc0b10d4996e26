// The pod of a command that runs and ends, with what the server's pods have.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import type { ImageComponent } from '../../kinds/meta.ts';
import { asOneOff } from '../record/as-one-off.ts';
import { commonLabels } from '../record/labels.ts';
import { withApiToken } from './api-token.ts';
import type { PodParts } from './contracts/contract.ts';
import type { Inputs } from './inputs.ts';
import { podTemplateFor } from './pod-template.ts';

export interface OneOffPod {
  readonly component: ImageComponent;
  /** Name of its container. */
  readonly container: string;
  readonly image: string;
  readonly runs: Pick<IContainer, 'command' | 'args'>;
}

/** For a revision, before any pod of it exists. */
export function oneOffPodTemplate(
  inputs: Inputs,
  { component, container, image, runs }: OneOffPod,
  parts: PodParts,
): IPodTemplateSpec {
  const { record, revision } = inputs;
  const { secretDigests: _rolled, ...plain } = inputs;
  const { server: size, api } = revision.spec.resolved;
  const server = podTemplateFor(plain, 'server', size, image, parts);
  const labels = commonLabels(record, component);
  return withApiToken(asOneOff(server, { container, runs, labels, env: parts.env(plain, component) }), api);
}

/** A pod that the cluster takes away (a drain, an eviction) is replaced, and nothing else is tried again. */
export const ONCE = {
  backoffLimit: 0,
  podFailurePolicy: {
    rules: [{ action: 'Ignore' as const, onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
  },
};
