// What the kubelet says of a container whose image it cannot pull.
// Source: kubernetes/pkg/kubelet/images/types.go.

import type { ContainerStatus } from './observed.ts';

const PULL_REASONS: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'RegistryUnavailable',
  'ErrImageInspect',
]);

export function failsToPull({ state }: ContainerStatus): boolean {
  return PULL_REASONS.has(state?.waiting?.reason ?? '');
}
