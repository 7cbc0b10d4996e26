import { expect, it } from 'vitest';
import { ownImageProblem } from './own-image.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const TENANT = { namespace: 'team', tenantId: '1F2E3D4C-0000-0000-0000-000000000000' };
const OWN = 'registry.example:5000/davit/team-1f2e3d4c/shop';
const REGISTRY = { host: 'registry.example:5000', repository: 'davit', insecure: false, tokens: true };

function problem(imageUri: string | undefined, source: 'internal_docker' | 'external_docker' = 'internal_docker') {
  const sourceRevisionConfig = imageUri === undefined ? {} : { imageUri };
  return ownImageProblem({ source, sourceRevisionConfig }, 'shop', TENANT, REGISTRY);
}

it.each([undefined, `${OWN}@${DIGEST}`])("%s is the deployment's own", (image) => {
  expect(problem(image)).toBeUndefined();
});
it.each([
  `${OWN}:latest`,
  `${OWN}:latest@${DIGEST}`,
  OWN,
  `${OWN}-2@${DIGEST}`,
  `${OWN}/below@${DIGEST}`,
  `registry.example:5000/davit/other-1f2e3d4c/shop@${DIGEST}`,
  `docker.io/davit/team-1f2e3d4c/shop@${DIGEST}`,
  `shop@${DIGEST}`,
])('%s is not', (image) => {
  expect(problem(image)).toBe(`must be an image in this deployment's repository, by digest: ${OWN}@sha256:…`);
  expect(problem(image, 'external_docker')).toBeUndefined();
});
