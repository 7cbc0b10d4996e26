// What helps a container that was killed for its memory: the sentence, and the field that it names, for who offers to raise it. Pure.

/** Ends a message about a container whose limit `field` of resource_spec is. */
export function memoryAdvice(field: string | undefined): string {
  return field === undefined
    ? 'Raise the limit, or reduce its memory use.'
    : `Raise ${field} in resource_spec, or reduce its memory use.`;
}

/** The field of resource_spec that a message with `memoryAdvice` names. */
export function memoryFieldIn(message: string): string | undefined {
  return /\bRaise ([a-z_]{1,40}_mb) in resource_spec, or reduce its memory use\./.exec(message)?.[1];
}
