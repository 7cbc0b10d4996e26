// The pod's environment as it may be shown: tests can tell which secret arrived, and nobody can read it.
import { createHash } from 'node:crypto';
import type { Environment } from './config.ts';

const secretName = /PASSWORD|SECRET|TOKEN|URI|KEY/i;

export function showEnvironment(env: Environment): Record<string, string> {
  const shown: Record<string, string> = {};
  for (const name of Object.keys(env).toSorted()) {
    const value = env[name] ?? '';
    shown[name] = secretName.test(name) ? fingerprint(value) : value;
  }
  return shown;
}

export function fingerprint(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 12);
}
