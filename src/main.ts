// Composition root: dispatches a command. Each command's modules are imported only when it runs: `davit plan` runs in a
// build's pod and needs neither the Kubernetes client nor an HTTP server.

const USAGE = `Usage: davit controller | api | all | listener | plan | backup | registry-password

  controller   reconciles AppDeployments
  api          serves the HTTP API
  all          runs both in one process, for development
  listener     runs the deployments that a hub assigns to this cluster
  plan         creates a Dockerfile from a workflow configuration file; see davit plan --help
  backup       takes a dump of a database to the store of backups, or fetches one; see davit backup
  registry-password
               prints a password for the base images of the registry

Settings and connections come from the environment; docs/settings.md lists them.
`;

const [command = '', ...args] = process.argv.slice(2);
if (['controller', 'api', 'all', 'listener'].includes(command)) {
  try {
    const { serve } = await import('./main/serve.ts');
    await serve(command, (code) => process.exit(code));
    process.exit(0);
  } catch (error) {
    process.stderr.write(`davit ${command}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
} else if (command === 'plan') {
  const { plan } = await import('./main/plan.ts');
  process.exitCode = plan(args);
} else if (command === 'backup') {
  const { backup } = await import('./main/backup.ts');
  process.exitCode = await backup(args);
} else if (command === 'registry-password') {
  const { registryPasswordCommand } = await import('./main/registry-password.ts');
  process.exit(await registryPasswordCommand(args));
} else {
  process.stderr.write(USAGE);
  process.exit(command === '' || command === 'help' ? 0 : 2);
}
