// What `davit backup list` prints and kubectl-davit reads: nothing of zod.

/** Backups in the store, newest first. */
export interface StoredBackups {
  readonly backups: readonly StoredBackup[];
}

export interface StoredBackup {
  readonly name: string;
  /** RFC 3339: it has the state of this time. */
  readonly takenAt: string;
  readonly sizeBytes: number;
  /** uid of the record whose database it was. */
  readonly uid: string;
}
