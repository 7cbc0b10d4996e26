// Ids of revisions in messages, as people read them.

const OF_REVISION = /\b(revision )([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;

/** The beginnings of ids of revisions, which every command takes for them. */
export function withShortIds(message: string): string {
  return message.replaceAll(OF_REVISION, '$1$2');
}
