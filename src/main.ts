// Composition root: dispatches a command. Each is imported only by the process that runs it: `davit plan` starts in a
// build's pod, and needs neither the client of Kubernetes nor an HTTP server.

const USAGE = `Usage: davit controller | api | all | plan

  controller   turns AppDeployments into what they ask for
  api          serves the HTTP API
  all          both in one process, for development
  plan         makes a Dockerfile of a workflow configuration file; davit plan --help

Settings and connections come from the environment; docs/operations.md lists them.
`;

const [command = '', ...args] = process.argv.slice(2);
if (['controller', 'api', 'all'].includes(command)) {
  try {
    const { serve } = await import('./process/serve.ts');
    await serve(command, (code) => process.exit(code));
    process.exit(0);
  } catch (error) {
    process.stderr.write(`davit ${command}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
} else if (command === 'plan') {
  const { plan } = await import('./process/plan.ts');
  process.exitCode = plan(args);
} else {
  process.stderr.write(USAGE);
  process.exit(command === '' || command === 'help' ? 0 : 2);
}
