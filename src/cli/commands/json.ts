// JSON in what objects and pods say, which somebody else may have written.

/** Undefined for text that is no JSON. Nobody has looked at its shape. */
export function jsonIn<T>(text: string | undefined): T | undefined {
  try {
    return JSON.parse(text ?? '') as T;
  } catch {
    return undefined;
  }
}
