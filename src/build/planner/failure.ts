// Failures of the plan. A reason is one word for programs. Its message says what to do.

/** Every reason and its meaning, which docs/builds.md lists. */
export const PLAN_REASONS = {
  ConfigurationMissing: 'The file that workflow_config_path names is not in the workspace.',
  ConfigurationTooLarge: 'The configuration file, or a part of it that becomes an environment variable, is too large.',
  ConfigurationNotJson: 'The configuration file is neither a Dockerfile nor valid JSON.',
  ConfigurationInvalid: 'A key of the configuration file has a wrong type or value.',
  PathOutsideWorkspace: 'A path is absolute or outside the workspace.',
  PathMissing: 'A path does not exist in the workspace.',
  PathIsLink: 'A path goes through a symbolic link.',
  CredentialsInDependency: 'A dependency has a user name or a password in its URL.',
  BaseImageMissing: 'Neither the platform nor the configuration file names a base image for this language.',
  ImageNotAllowed: "An image of the Dockerfile is in a part of the platform's registry that this tenant may not use.",
  WorkspaceTooLarge: 'The workspace has more files than a build allows.',
} as const;

export type PlanReason = keyof typeof PLAN_REASONS;

/** Thrown within the plan. `dockerfileOf` catches it. */
export class PlanFailure extends Error {
  override readonly name = 'PlanFailure';
  readonly reason: PlanReason;
  constructor(reason: PlanReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * Quotes a value for a message, in at most 120 characters. Escapes control characters, line breaks and bidirectional
 * formatting.
 */
export function shown(value: string): string {
  const text = JSON.stringify(value).replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return text.length <= 120 ? text : `${text.slice(0, 117)}..."`;
}

/** A path at the beginning of a message, quoted only if it contains special characters. */
export function shownPath(path: string): string {
  return /^[\w./@+-]{1,200}$/.test(path) ? path : shown(path);
}
