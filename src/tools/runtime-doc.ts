// The table of docs/fields.md: what each field of a Runtime becomes.

import type { SourceConfig } from '../kinds/app-deployment.ts';
import { ROLES } from '../kinds/meta.ts';
import { Runtime } from '../kinds/runtime.ts';
import type { RuntimePart } from '../kinds/runtime-part.ts';
import { structuralSchema } from '../kinds/structural-schema.ts';
import { effectsTable, fieldsOf } from './effects.ts';
import { withTable } from './sections.ts';

/** A record whose parts all have these fields, and a worker that has some of its own. */
function partsWith(own: RuntimePart, ofWorker: object): SourceConfig {
  return {
    resourceSpec: { queueMinScale: 1, orchestratorMinScale: 1, executorCpu: 1 },
    runtime: { ...Object.fromEntries(ROLES.map((role) => [role, own])), workers: { mailer: { ...own, ...ofWorker } } },
  };
}

const command = ['serve'];

export const RUNTIME_EXAMPLES: readonly SourceConfig[] = [
  partsWith(
    {
      command,
      args: ['--port', '$(PORT)'],
      port: 9191,
      healthPath: '/alive',
      healthPeriodSeconds: 30,
      healthTimeoutSeconds: 20,
      healthFailureThreshold: 5,
      terminationGracePeriodSeconds: 600,
      preStop: { sleep: { seconds: 20 } },
      placement: {
        nodeSelector: { pool: 'gpu' },
        tolerations: [
          { key: 'nvidia.com/gpu', operator: 'Equal', value: 'a', effect: 'NoExecute', tolerationSeconds: 60 },
        ],
        runtimeClassName: 'nvidia',
        hostUsers: false,
        resources: { 'nvidia.com/gpu': 1 },
      },
    },
    { minScale: 2, maxScale: 4, cpu: 0.5, cpuLimit: 3, memoryMb: 300, memoryLimitMb: 3000 },
  ),
  partsWith(
    { command, healthCommand: ['ping'], healthRestart: true, preStop: { exec: { command: ['drain'] } } },
    { singleton: true },
  ),
  partsWith({ command, heartbeatFile: '/tmp/alive', heartbeatMaxAgeSeconds: 30 }, {}),
  {
    runtime: {
      port: 2026,
      healthPath: '/healthz',
      envNames: { DB_HOST: 'postgres_host', DB_PASSWORD: 'postgres_password' },
      postgresUriScheme: 'postgresql+asyncpg',
      apiToken: true,
      without: ['N_JOBS_PER_WORKER'],
    },
  },
  { runtime: { migrate: { command: ['aegra', 'db', 'upgrade'], args: ['--verbose'], timeoutSeconds: 300 } } },
  {
    resourceSpec: { queueMinScale: 1, queueMaxScale: 5 },
    runtime: { queueDepth: { query: "SELECT count(*) FROM run WHERE status = 'pending'", perPod: 5 } },
  },
  { runtime: { database: 'none' } },
  { runtime: { redis: 'none' } },
];

/** docs/fields.md with its table of fields regenerated. The parts and workers share fields, which the server shows. */
export function withRuntimeTable(page: string): string {
  const fields = fieldsOf('runtime', structuralSchema(Runtime), RUNTIME_EXAMPLES);
  const ofServer = new Set(fields.flatMap(({ field }) => /^server\.(.*)/.exec(field)?.[1] ?? []));
  const shown = fields.filter(
    ({ field }) =>
      !/^(?:queue|orchestrator|executor)\./.test(field) &&
      !(field.startsWith('workers.NAME.') && ofServer.has(field.slice('workers.NAME.'.length))),
  );
  return withTable(page, 'src/tools/runtime-doc.ts', effectsTable(shown, apiName));
}

/** Names that are Kubernetes' own, below pre_stop, have no capitals; keys of env_names are no names of fields. */
function apiName(field: string): string {
  return field.replaceAll(/(?<![A-Z.])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
