// What a build is made from.

import type { BuildSettings } from '../../api/settings.ts';
import type { RegistryLogin } from '../../record/docker-config.ts';
import type { RegistrySettings, TenantIdentity } from '../../record/registry-names.ts';

/** How the builder gets the rights that it needs: by a user namespace of the pod, or as an unprivileged user. */
export type BuilderMode = 'userns' | 'rootless';

export type BuildSource =
  /** `ref`: a commit, or a branch or tag where no code host was asked. */
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
  readonly registry: RegistrySettings;
  readonly images: { readonly builder: string; readonly davit: string };
}

/** What a build needs beside, given to it in Secrets that go with its Job. */
export interface BuildCredentials {
  /** Files of the container that fetches: token, or username and password of the registry. */
  readonly source: Readonly<Record<string, string>>;
  /** PEM; authorities that are trusted for the source, instead of the image's own. */
  readonly sourceCa?: string | undefined;
  /** Docker's configuration file, with the credential that pushes. */
  readonly push: string;
  /** The same, apart, for what keeps the log. */
  readonly login: RegistryLogin;
}
