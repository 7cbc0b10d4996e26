// With what a caller shows who it is.

/** The sender of a token. Caches use `hash` as the key, not the token. */
export interface Credentials {
  readonly token: string;
  readonly hash: string;
}
