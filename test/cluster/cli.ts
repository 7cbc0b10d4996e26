// The cluster from a shell: `node test/cluster/cli.ts up [--pods on|off]` stays up until Ctrl-C, `build` only builds.
import { startCluster } from './cluster.ts';
import { ensureTools } from './tools.ts';

const started = Date.now();

function progress(line: string): void {
  process.stderr.write(`[${((Date.now() - started) / 1000).toFixed(1).padStart(5)} s] ${line}\n`);
}

async function up(args: readonly string[]): Promise<void> {
  const pods = args[args.indexOf('--pods') + 1];
  const wanted = args.includes('--pods') && (pods === 'on' || pods === 'off') ? pods : 'auto';
  const cluster = await startCluster({ pods: wanted, keepLogs: args.includes('--keep-logs'), progress });
  progress(`up, pods: ${cluster.node}`);
  process.stdout.write(`KUBECONFIG=${cluster.kubeconfig}\n`);
  await new Promise<void>((resolve) => {
    // Keeps the process alive: the cluster itself deliberately does not.
    const alive = setInterval(() => undefined, 1 << 30);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        clearInterval(alive);
        resolve();
      });
    }
  });
  await cluster.stop();
}

const [command, ...rest] = process.argv.slice(2);
if (command === 'up') await up(rest);
else if (command === 'build') await ensureTools(['kubernetes', 'helm', 'containerd'], progress);
else {
  process.stderr.write('usage: node test/cluster/cli.ts up [--pods on|off] [--keep-logs] | build\n');
  process.exitCode = 2;
}
