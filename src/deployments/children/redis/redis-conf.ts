// The part of Redis' configuration that contains the password and is therefore in the Secret. It is created once, so it
// contains only values that never change. Sizes are arguments of the server (stateful-set.ts).

/**
 * Text of redis.conf. The data is the state of the queue. It is in an append-only file on the pod's scratch space: a restarted
 * container loses at most a second, and a replaced pod starts empty. Source of the quoting: "redis.conf", strings in double
 * quotes.
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
