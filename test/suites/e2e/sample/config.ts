// What a pod of the sample is told by its environment, parsed once. Names are those of the platform's pod contract.
export const roles = ['server', 'queue', 'orchestrator', 'executor'] as const;
export type Role = (typeof roles)[number];

export interface Config {
  readonly role: Role;
  readonly port: number;
  readonly pod: string;
  readonly deploymentName: string;
  readonly revision: string;
  readonly postgresUri: string;
  readonly redisUri: string;
  /** How many jobs this pod works on at once; 0 if it leaves the queue to others. */
  readonly jobs: number;
}

export class BadEnvironment extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>;

export function readConfig(env: Environment, hostname: string): Config {
  const role = oneOf(roles, 'DAVIT_ROLE', env['DAVIT_ROLE'] || 'server');
  const jobsPerWorker = wholeNumber('N_JOBS_PER_WORKER', env['N_JOBS_PER_WORKER'] || '10', 1000);
  return {
    role,
    port: wholeNumber('PORT', env['PORT'] || '8000', 65_535),
    pod: env['HOSTNAME'] || hostname,
    deploymentName: env['DAVIT_DEPLOYMENT_NAME'] ?? '',
    revision: env['DAVIT_REVISION_ID'] ?? '',
    postgresUri: required('POSTGRES_URI', env['POSTGRES_URI'] || env['DATABASE_URI']),
    redisUri: required('REDIS_URI', env['REDIS_URI']),
    jobs: role === 'server' || role === 'queue' ? jobsPerWorker : 0,
  };
}

function required(name: string, value: string | undefined): string {
  if (!value) throw new BadEnvironment(`${name} is not set`);
  return value;
}

function wholeNumber(name: string, value: string, max: number): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 0 || number > max) {
    throw new BadEnvironment(`${name} must be a whole number from 0 to ${max}, not "${value}"`);
  }
  return number;
}

function oneOf<T extends string>(allowed: readonly T[], name: string, value: string): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw new BadEnvironment(`${name} must be one of ${allowed.join(', ')}, not "${value}"`);
  return found;
}
