// The names of fields in sentences, as callers of the HTTP API know them.

import { expect, it } from 'vitest';
import { inApiWords } from './field-words.ts';

it.each([
  ['set at most one of healthPath and healthCommand', 'set at most one of health_path and health_command'],
  ['the sleep of preStop must be shorter', 'the sleep of pre_stop must be shorter'],
  ['secretReferences apply only to source external_docker', 'secret_references apply only to source external_docker'],
  ['minScale must be at most maxScale', 'min_scale must be at most max_scale'],
  ['heartbeatMaxAgeSeconds needs heartbeatFile', 'heartbeat_max_age_seconds needs heartbeat_file'],
  ['codeChallengeMethod needs usesPkce', 'code_challenge_method needs uses_pkce'],
  // Pod parts have Kubernetes' names in the API too.
  ['set subPath or subPathExpr, and a mountPath', 'set subPath or subPathExpr, and a mountPath'],
  ['PostgreSQL of GitHub is someOtherWord', 'PostgreSQL of GitHub is someOtherWord'],
])('%s', (message, said) => {
  expect(inApiWords(message)).toBe(said);
});
