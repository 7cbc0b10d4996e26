// `npm run fuzz`: schemathesis makes requests from the OpenAPI document, valid and not, against the facade on a real API
// server, and holds every answer against the document.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensurePython } from '../../cluster/python.ts';
import { startDavit } from '../../kit/davit.ts';
import { optionsOf } from '../../support/options.ts';

/** What every answer is held against. Left out: `positive_data_acceptance` (a JSON Schema can't say which source goes with which field). */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'unsupported_method',
  'use_after_free',
  'ignored_auth',
];

const USAGE = `npm run fuzz -- [options]

  --examples N  requests for each operation; 60 by default
  --seed N      the same requests again
  --help
`;

const values = optionsOf(
  {
    examples: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
  { command: 'npm run fuzz', usage: USAGE },
);

function say(line: string): void {
  process.stderr.write(`  ${line}\n`);
}

const requirements = join(import.meta.dirname, 'requirements.txt');
const program = await ensurePython('schemathesis', requirements, say);
const davit = await startDavit('apiserver', { progress: say, values: { 'settings.http.requestsPerMinute': 0 } });
let code = 1;
try {
  const tenant = await davit.makeTenant('fuzz');
  say(`seed ${values.seed}`);
  const child = spawn(
    program,
    [
      'run',
      `${davit.apiUrl}/openapi.json`,
      `--url=${davit.apiUrl}`,
      `--header=Authorization: Bearer ${tenant.token}`,
      `--header=X-Tenant-Id: ${tenant.id}`,
      `--checks=${CHECKS.join(',')}`,
      `--max-examples=${values.examples}`,
      `--seed=${values.seed}`,
      // More would be faster, and trip over a fault of Python 3.11 when it compiles in threads.
      '--workers=1',
      '--continue-on-failure',
      '--output-sanitize=true',
      '--no-color',
    ],
    { stdio: 'inherit', cwd: davit.cluster.runDir },
  );
  code = await new Promise<number>((resolve) => child.on('exit', (exit) => resolve(exit ?? 1)));
} finally {
  await davit.stop();
}
process.exit(code);
