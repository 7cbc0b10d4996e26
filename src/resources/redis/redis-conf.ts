// The part of Redis' configuration that needs the password, and so lives in the Secret. Made once with it, therefore
// only what never changes is here; sizes are arguments of the server (stateful-set.ts).

/**
 * Text of redis.conf. The data is the queue's state, which PostgreSQL outlives: it is kept in an append-only file on
 * the pod's scratch space, so a container that ends and starts again loses at most a second, and a pod that moves to
 * another node starts empty. Source of the quoting: "redis.conf", strings in double quotes.
 */
export function redisConf(password: string): string {
  const quoted = `"${password.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}"`;
  return `${[
    'bind * -::*',
    'port 6379',
    'protected-mode no',
    'dir /data',
    'save ""',
    'appendonly yes',
    'appendfsync everysec',
    `requirepass ${quoted}`,
  ].join('\n')}\n`;
}
