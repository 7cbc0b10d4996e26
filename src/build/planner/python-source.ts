// What a Python application is installed from.

/** A folder of the workspace and its path in the image. */
export interface LocalPackage {
  readonly source: string;
  readonly target: string;
  /** Folder on PYTHONPATH. Absent if the folder is installed as a package. */
  readonly importRoot?: string;
  /** Path of its requirements.txt in the workspace. */
  readonly requirements?: string;
}

/** Local packages and the instructions that install all dependencies. */
export interface PythonSource {
  readonly packages: readonly LocalPackage[];
  readonly body: readonly string[];
  readonly warnings: readonly string[];
}
