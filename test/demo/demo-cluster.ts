// What the demo needs of a cluster: the embedded one, or one of the caller's own.

import type { PlatformThatBuilds } from '../support/build-platform.ts';
import type { Platform, Target, Values } from '../support/platform.ts';

/** Namespace of the demo's tenant. */
export const TENANT = 'demo';

/** Something that the person at the terminal can mend; printed without a stack. */
export class DemoError extends Error {}

/** A store for backups. */
export interface DemoBackups {
  /** Of the chart. */
  readonly values: Values;
  /** Gives the tenant the keys of the store. */
  admit(namespace: string): Promise<void>;
  /** Makes the first backup of a deployment now. Returns its name. */
  backUp(namespace: string, deployment: string, stopping: AbortSignal): Promise<string>;
}

export interface DemoCluster {
  readonly target: Target;
  /** Images that take the places of the platform's own. */
  readonly images: Readonly<Record<string, string>>;
  readonly kubeconfig: string;
  /** A kubectl that works as printed, in the tenant's namespace, after the exports. */
  readonly kubectlCommand: string;
  /** What a shell must know first: lines of `NAME=VALUE`. */
  readonly exports: readonly string[];
  /** Folders of programs that the commands need. */
  readonly programs: readonly string[];
  /** A folder of this demo's own. */
  readonly directory: string;
  readonly realPods: boolean;
  readonly sampleImage: string;
  /** Another image that the cluster can run, to change to. */
  readonly nextImage: string;
  /** The cluster stays when the demo goes, so what the demo made in it must go first. */
  readonly outlivesDemo: boolean;
  /** Sends something to the sample server through its Service and tells, line by line, what came back. */
  readonly askSample?: (namespace: string, deployment: string) => Promise<readonly string[]>;
  /** Starts Davit together with all that builds take; only where builds were asked for. */
  readonly startBuildPlatform?: () => Promise<PlatformThatBuilds>;
  /** Only where it was asked for. */
  readonly backups?: DemoBackups;
  /** Further commands to try. */
  readonly commands?: readonly string[];
  /** Starts Davit by Helm, or with listeners, people's tokens or backups; only where one of them was asked for. */
  readonly startHub?: () => Promise<Platform>;
  stop(): Promise<void>;
}
