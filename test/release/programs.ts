// The programs that a release is made with, from pinned Go modules, and Buildah from the machine's packages.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ensureTools, lastLines, toolPath } from '../cluster/tools.ts';

const run = promisify(execFile);

/** Resolves to what it prints. Throws with its last lines. */
export type Program = (...args: readonly string[]) => Promise<string>;

export interface Programs {
  readonly crane: Program;
  readonly helm: Program;
  readonly cosign: Program;
}

export interface ProgramOptions {
  readonly progress: (line: string) => void;
  /** The registry speaks HTTP, as one of a test does. */
  readonly isPlain: boolean;
}

export async function releasePrograms({ progress, isPlain }: ProgramOptions): Promise<Programs> {
  const tools = await ensureTools(['registry', 'helm', 'cosign'], progress);
  const crane = programAt(toolPath(tools, 'registry', 'crane'));
  const helm = programAt(toolPath(tools, 'helm', 'helm'));
  const cosign = programAt(toolPath(tools, 'cosign', 'cosign'));
  const plain = <T extends readonly string[]>(...flags: T): readonly string[] => (isPlain ? flags : []);
  return {
    crane: (...args) => crane(...args, ...plain('--insecure')),
    helm: (...args) => helm(...args, ...(args[0] === 'push' ? plain('--plain-http') : [])),
    cosign: (...args) =>
      cosign(
        ...args,
        ...(OF_IMAGES.has(args[0] ?? '') ? plain('--allow-insecure-registry', '--allow-http-registry') : []),
      ),
  };
}

/** Commands of cosign that ask a registry. */
const OF_IMAGES: ReadonlySet<string> = new Set(['sign', 'attest', 'verify', 'verify-attestation']);

export function programAt(
  path: string,
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Program {
  return async (...args) => {
    try {
      const { stdout } = await run(path, [...args], { ...options, maxBuffer: 64 << 20 });
      return stdout;
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      const words = lastLines(`${stdout}${stderr}` || String(error), 15);
      throw new Error(`${path.split('/').at(-1)} ${args[0]} failed:\n${words}`, { cause: error });
    }
  };
}

/** Digest of what a registry has under this name; undefined where it has nothing there. Throws where it cannot be asked. */
export async function digestAt(crane: Program, name: string): Promise<string | undefined> {
  try {
    return (await crane('digest', name)).trim();
  } catch (error) {
    if (/MANIFEST_UNKNOWN|NAME_UNKNOWN|404 Not Found/.test(String(error))) return undefined;
    throw error;
  }
}

/** SHA-256, in hexadecimal, of the chart archive that a registry has under this name; undefined where it has none. Throws where it cannot be asked. */
export async function chartAt(crane: Program, name: string): Promise<string | undefined> {
  if ((await digestAt(crane, name)) === undefined) return undefined;
  const { layers } = JSON.parse(await crane('manifest', name)) as {
    readonly layers: readonly { readonly mediaType: string; readonly digest: string }[];
  };
  // https://helm.sh/docs/topics/registries/#oci-artifact-structure
  const content = layers.find(({ mediaType }) => mediaType === 'application/vnd.cncf.helm.chart.content.v1.tar+gzip');
  return content?.digest.replace('sha256:', '') ?? '';
}
