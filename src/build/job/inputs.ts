// Inputs of a build's objects.

import type { RegistrySettings, TenantIdentity } from '../../deploy/record/registry-names.ts';
import type { BuildSettings, ProxySettings } from '../../kinds/settings.ts';
import type { RegistryLogin } from '../registry/docker-config.ts';

/** How BuildKit runs without privileges on the node: as root in a user namespace of the pod, or rootless. */
export type BuilderMode = 'userns' | 'rootless';

export type BuildSource =
  /** `ref` is a commit, or a branch or tag if no code host resolved it. */
  | { readonly kind: 'git'; readonly url: string; readonly ref: string }
  | { readonly kind: 'upload'; readonly tag: string };

export interface BuildInputs {
  readonly revisionId: string;
  readonly tenant: TenantIdentity;
  readonly deployment: { readonly name: string; readonly uid: string };
  readonly source: BuildSource;
  readonly workflowConfigPath: string;
  readonly installCommand?: string | undefined;
  readonly buildCommand?: string | undefined;
  readonly mode: BuilderMode;
  readonly settings: BuildSettings;
  readonly proxies?: ProxySettings | undefined;
  readonly registry: RegistrySettings;
  readonly images: { readonly builder: string; readonly davit: string };
}

/** Credentials of a build. Its Secrets hold them, which its Job owns. */
export interface BuildCredentials {
  /** Files of the container `fetch`, by name: `token`, or `username` and `password` of the registry. */
  readonly source: Readonly<Record<string, string>>;
  /** CA certificates (PEM) that are trusted for the source's host instead of the image's own. */
  readonly sourceCa?: string | undefined;
  /** CA certificates (PEM) that are trusted besides those of the image, for all hosts. */
  readonly authorities?: string | undefined;
  /** Docker configuration file (JSON) with the credential that may push. */
  readonly push: string;
  /** The push credential as user name and password, with which the script stores the log. */
  readonly login: RegistryLogin;
}
